rule gather_calls:
    input:
        every(result("calls/chunks/{chunk}.vcf.gz")),
    output:
        calls=result("calls/all.vcf.gz"),
        index=result("calls/all.vcf.gz.tbi"),
    log:
        result("logs/gather_calls.log"),
    benchmark:
        result("benchmarks/gather_calls.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        command=command("gather"),
        version=VERSION,
    message:
        "Join the chunks' calls into one VCF"
    shell:
        "{params.command} --output {output.calls:q} {input:q} > {log:q} 2>&1"
