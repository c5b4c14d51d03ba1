"""Edit distance: batches of short pairs (`batch`) and long strings (`distance`, `align`)."""

from haplowave.distance.short import batch

__all__ = ["batch"]
