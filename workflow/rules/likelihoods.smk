rule compute_likelihoods:
    input:
        haplotypes=table("haplotypes"),
        reads=table("reads"),
        distances=table("distances"),
    output:
        table("likelihoods"),
    log:
        result("logs/compute_likelihoods/{chunk}.log"),
    benchmark:
        result("benchmarks/compute_likelihoods/{chunk}.tsv")
    conda:
        ENVIRONMENT
    threads: opencl("threads")
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 120 * attempt,
        gpu=gpus(),
    params:
        command=command("likelihoods"),
        device=opencl("device"),
        kernel=opencl("kernel"),
        precision=opencl("precision"),
        share="--share-devices" if opencl("share_devices") else "",
        batch_size=opencl("batch_size"),
        options=flags("pruning"),
        version=VERSION,
    message:
        "Compute PairHMM likelihoods of chunk {wildcards.chunk}"
    shell:
        "{params.command} --haplotypes {input.haplotypes:q} --reads {input.reads:q} --distances {input.distances:q} "
        "--output {output:q} --device {params.device:q} --threads {threads} --kernel {params.kernel} "
        "--precision {params.precision} --batch-size {params.batch_size} {params.share} {params.options:q} > {log:q} 2>&1"
