"""Engine `trees`: as `skewed`, but haplotypes of a region that begin alike share the lanes of their beginnings (kernels/pairhmm_trie.cl).

It spares the device up to half of its cells and costs the host some 5 to 20 microseconds a region, which a fast device computes in less.
"""

from haplowave.opencl import Device
from haplowave.pairhmm import skewed
from haplowave.pairhmm.engines import Outcome, Work
from haplowave.pairhmm.tuning import Settings


def run(work: Work, device: Device, precision: str, settings: Settings | None = None) -> Outcome:
    """Engine `trees` (see `engines`)."""
    return skewed.run(work, device, precision, settings, trees=True)
