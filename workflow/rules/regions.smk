rule find_regions:
    input:
        **read_files(),
        intervals=result("intervals/{chunk}.bed"),
    output:
        regions=table("regions"),
        counts=result("tables/read_filters/{chunk}.tsv"),
    log:
        result("logs/find_regions/{chunk}.log"),
    benchmark:
        result("benchmarks/find_regions/{chunk}.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 1500 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        command=command("find_regions"),
        options=flags("active_regions", "reads"),
        version=VERSION,
    message:
        "Find active regions of chunk {wildcards.chunk}"
    shell:
        "{params.command} --reference {input.reference:q} --samples {input.samples:q} --intervals {input.intervals:q} "
        "--output {output.regions:q} --counts {output.counts:q} {params.options:q} > {log:q} 2>&1"
