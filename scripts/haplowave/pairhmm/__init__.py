"""PairHMM: log10 P(read | haplotype) for reads with Phred qualities, by OpenCL kernels of any device (docs/pairhmm.md)."""

import haplowave.opencl  # noqa: F401 - sets what pyopencl reads when it is imported, and so comes first
from haplowave.pairhmm.api import HOW, Result, log10_likelihoods
from haplowave.pairhmm.engines import ENGINES
from haplowave.pairhmm.regions import Regions

__all__ = ["ENGINES", "HOW", "Regions", "Result", "log10_likelihoods"]
