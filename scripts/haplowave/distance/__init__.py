"""Edit distance: batches of short pairs (`batch`) and long strings (`distance`, `align`)."""

import haplowave.opencl  # noqa: F401 - sets what pyopencl reads when it is imported, and so comes first
from haplowave.distance.alignment import Alignment, align
from haplowave.distance.long import DistanceResult, distance
from haplowave.distance.short import batch

__all__ = ["Alignment", "DistanceResult", "align", "batch", "distance"]
