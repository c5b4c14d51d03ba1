rule extract_pairs:
    input:
        **read_files(),
        regions=table("regions"),
    output:
        haplotypes=table("haplotypes"),
        reads=table("reads"),
    log:
        result("logs/extract_pairs/{chunk}.log"),
    benchmark:
        result("benchmarks/extract_pairs/{chunk}.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 90 * attempt,
    params:
        command=command("extract_pairs"),
        options=flags("active_regions", "haplotypes", "reads"),
        version=VERSION,
    message:
        "Build haplotypes and collect reads of chunk {wildcards.chunk}"
    shell:
        "{params.command} --reference {input.reference:q} --samples {input.samples:q} --regions {input.regions:q} "
        "--haplotypes {output.haplotypes:q} --reads {output.reads:q} {params.options:q} > {log:q} 2>&1"


rule summarize_pairs:
    input:
        haplotypes=every(table("haplotypes")),
        reads=every(table("reads")),
        samples=str(PLAN.config.samples),
    output:
        result("tables/pairs.tsv"),
    log:
        result("logs/summarize_pairs.log"),
    benchmark:
        result("benchmarks/summarize_pairs.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        command=command("summarize_pairs"),
        version=VERSION,
    message:
        "Count the read-haplotype pairs of each sample"
    shell:
        "{params.command} --samples {input.samples:q} --haplotypes {input.haplotypes:q} --reads {input.reads:q} "
        "--output {output:q} > {log:q} 2>&1"
