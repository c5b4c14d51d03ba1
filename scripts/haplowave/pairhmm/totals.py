"""What a run of several calls computed."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Totals:
    """Counts as in `haplowave.pairhmm.Result`; `pruned`: pairs that were left out by proof."""

    pairs: int = 0
    pruned: int = 0
    rescued: int = 0
    cells: int = 0
    cells_computed: int = 0
    kernel_seconds: float = 0.0

    def add(self, other: Any) -> None:
        """Add the counts that `other` has: other Totals, or the Result of one call."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name, 0))
