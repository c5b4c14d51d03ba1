"""Public reads of the GIAB consortium: only made when asked for, `snakemake fetch_giab` or RESULTS/giab/NAME.bam."""


rule fetch_giab:
    input:
        expand(result("giab/{name}.bam"), name=list(GIAB)),
        expand(result("giab/{name}.bam.bai"), name=list(GIAB)),
    message:
        "All files of resources/giab.tsv are here"


rule fetch_alignments:
    output:
        result("giab/{name}.bam{index,(\.bai)?}"),
    log:
        result("logs/fetch_alignments/{name}.bam{index}.log"),
    benchmark:
        result("benchmarks/fetch_alignments/{name}.bam{index}.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=1440,
    params:
        command=command("fetch"),
        address=lambda wildcards: GIAB[wildcards.name] + wildcards.index,
        version=VERSION,
    message:
        "Fetch {params.address}"
    shell:
        "{params.command} {params.address:q} --output {output:q} > {log:q} 2>&1"
