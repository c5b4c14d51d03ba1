rule write_report:
    input:
        calls=result("calls/all.vcf.gz"),
        index=result("calls/all.vcf.gz.tbi"),
        pairs=result("tables/pairs.tsv"),
        read_filters=every(result("tables/read_filters/{chunk}.tsv")),
        evaluation=[result("evaluation/summary.tsv")] if TRUTHS else [],
        edit_distances=[result(f"edit_distance/{pair}.tsv") for pair in PLAN.pairs],
        samples=str(PLAN.config.samples),
    output:
        result("report.html"),
    log:
        result("logs/write_report.log"),
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        command=command("report"),
        benchmarks=lambda wildcards, output: Path(output[0]).parent / "benchmarks",
        evaluation=lambda wildcards, input: ["--evaluation", input.evaluation] if input.evaluation else [],
        edit_distances=lambda wildcards, input: ["--edit-distances", *input.edit_distances] if input.edit_distances else [],
        version=VERSION,
    message:
        "Write the report"
    shell:
        "{params.command} --calls {input.calls:q} --pairs {input.pairs:q} --samples {input.samples:q} "
        "--read-filters {input.read_filters:q} --benchmarks {params.benchmarks:q} {params.evaluation:q} "
        "{params.edit_distances:q} "
        "--output {output:q} > {log:q} 2>&1"
