rule genotype_regions:
    input:
        **reference_files(),
        samples=str(PLAN.config.samples),
        regions=table("regions"),
        haplotypes=table("haplotypes"),
        reads=table("reads"),
        likelihoods=table("likelihoods"),
    output:
        temp(result("calls/chunks/{chunk}.vcf.gz")),
    log:
        result("logs/genotype_regions/{chunk}.log"),
    benchmark:
        result("benchmarks/genotype_regions/{chunk}.tsv")
    conda:
        ENVIRONMENT
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        command=command("genotype"),
        options=flags("genotyping"),
        version=VERSION,
    message:
        "Genotype chunk {wildcards.chunk}"
    shell:
        "{params.command} --reference {input.reference:q} --samples {input.samples:q} --regions {input.regions:q} "
        "--haplotypes {input.haplotypes:q} --reads {input.reads:q} --likelihoods {input.likelihoods:q} "
        "--output {output:q} {params.options:q} > {log:q} 2>&1"
