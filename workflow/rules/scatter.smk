rule index_reference:
    input:
        str(PLAN.config.reference),
    output:
        fasta=result(f"reference/{PLAN.config.reference.name}"),
        index=result(f"reference/{PLAN.config.reference.name}.fai"),
    log:
        result("logs/index_reference.log"),
    benchmark:
        result("benchmarks/index_reference.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        command=command("index_reference"),
        version=VERSION,
    message:
        "Index the reference, whose folder has no index"
    shell:
        "{params.command} --reference {input:q} --output {output.fasta:q} > {log:q} 2>&1"


rule scatter_intervals:
    input:
        **read_files(),
        regions=[str(PLAN.config.regions)] if PLAN.config.regions else [],
        contig_source=str(PLAN.contig_source),
    output:
        every(result("intervals/{chunk}.bed")),
    log:
        result("logs/scatter_intervals.log"),
    benchmark:
        result("benchmarks/scatter_intervals.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        command=command("scatter_intervals"),
        regions=["--regions", str(PLAN.config.regions)] if PLAN.config.regions else [],
        contigs=["--contigs", *PLAN.config.contigs] if PLAN.config.contigs else [],
        chunk_size=PLAN.config.chunk_size,
        results=lambda wildcards, output: Path(output[0]).parents[1],
        version=VERSION,
    message:
        "Check the alignment files against the reference and cut the genome into chunks"
    shell:
        "{params.command} --reference {input.reference:q} --samples {input.samples:q} --contig-source {input.contig_source:q} "
        "{params.regions:q} {params.contigs:q} --chunk-size {params.chunk_size} --clean {params.results:q} --output {output:q} > {log:q} 2>&1"
