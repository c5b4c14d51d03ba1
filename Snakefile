"""haplowave: from aligned reads to likelihood tables and a VCF, with PairHMM and edit distances in OpenCL.

Configuration: config/config.yaml, documented in docs/configuration.md. Without --configfile that file is used, and with
it the simulated data that `make run` builds.
"""

from snakemake.utils import min_version

min_version("9.1")


include: "workflow/rules/common.smk"
include: "workflow/rules/scatter.smk"
include: "workflow/rules/regions.smk"
include: "workflow/rules/pairs.smk"
include: "workflow/rules/distances.smk"
include: "workflow/rules/likelihoods.smk"
include: "workflow/rules/genotype.smk"
include: "workflow/rules/gather.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/edit_distance.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        targets(),


onstart:
    check_device()
    remove_partial(PLAN.config.results)


onsuccess:
    print_closing("done")


onerror:
    print_closing("failed")
