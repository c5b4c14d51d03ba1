rule compute_distances:
    input:
        haplotypes=table("haplotypes"),
        reads=table("reads"),
    output:
        table("distances"),
    log:
        result("logs/compute_distances/{chunk}.log"),
    benchmark:
        result("benchmarks/compute_distances/{chunk}.tsv")
    conda:
        ENVIRONMENT
    threads: opencl("threads")
    resources:
        mem_mb=lambda wildcards, attempt: 3000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
        gpu=gpus(),
    params:
        command=command("edit_distances"),
        device=opencl("device"),
        version=VERSION,
    message:
        "Compute edit distances of chunk {wildcards.chunk}"
    shell:
        "{params.command} --haplotypes {input.haplotypes:q} --reads {input.reads:q} --output {output:q} "
        "--device {params.device:q} --threads {threads} > {log:q} 2>&1"
