rule edit_distance:
    input:
        unpack(pair_files),
    output:
        table=result("edit_distance/{pair}.tsv"),
        alignment=result("edit_distance/{pair}.paf") if PLAN.aligned_pairs else [],
    log:
        result("logs/edit_distance/{pair}.log"),
    benchmark:
        result("benchmarks/edit_distance/{pair}.tsv")
    conda:
        ENVIRONMENT
    threads: opencl("threads")
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 120 * attempt,
        gpu=gpus(),
    params:
        command=command("edit_distance"),
        alignment=lambda wildcards, output: ["--alignment", output.alignment] if output.alignment else [],
        device=opencl("device"),
        version=VERSION,
    message:
        "Compare the strings of pair {wildcards.pair}"
    shell:
        "{params.command} {input.query:q} {input.target:q} --all-vs-all --output {output.table:q} {params.alignment:q} "
        "--device {params.device:q} --threads {threads} > {log:q} 2>&1"
