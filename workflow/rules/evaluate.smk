rule evaluate_calls:
    input:
        unpack(truth_files),
        **reference_files(),
        calls=result("calls/all.vcf.gz"),
        index=result("calls/all.vcf.gz.tbi"),
    output:
        summary=result("evaluation/{sample}/summary.tsv"),
        false_positives=result("evaluation/{sample}/fp.vcf.gz"),
        false_negatives=result("evaluation/{sample}/fn.vcf.gz"),
    log:
        result("logs/evaluate_calls/{sample}.log"),
    benchmark:
        result("benchmarks/evaluate_calls/{sample}.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=60,
    params:
        command=command("evaluate"),
        folder=lambda wildcards, output: Path(output.summary).parent,
        confident=lambda wildcards, input: ["--confident", input.confident] if "confident" in input.keys() else [],
        version=VERSION,
    message:
        "Compare the calls of {wildcards.sample} with the truth"
    shell:
        "{params.command} --calls {input.calls:q} --truth {input.truth:q} {params.confident:q} --sample {wildcards.sample:q} "
        "--reference {input.reference:q} --output {params.folder:q} > {log:q} 2>&1"


rule collect_evaluations:
    input:
        expand(result("evaluation/{sample}/summary.tsv"), sample=list(TRUTHS)),
    output:
        result("evaluation/summary.tsv"),
    log:
        result("logs/collect_evaluations.log"),
    benchmark:
        result("benchmarks/collect_evaluations.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        command=command("collect_evaluations"),
        version=VERSION,
    message:
        "Put the samples' evaluations into one table"
    shell:
        "{params.command} --output {output:q} {input:q} > {log:q} 2>&1"
