"""`distance`: two strings of any length, by a named strategy or by the one that suits them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haplowave.distance import auto, bitparallel_tiles, cpu_long, ladder, wavefront  # noqa: F401  (importing them enters their strategies)
from haplowave.distance.strategies import Problem, Strategy, find
from haplowave.errors import UserError
from haplowave.opencl import Device, device_failures, select


@dataclass(frozen=True)
class DistanceResult:
    """`distance`: unit-cost global distance, or `maximum` + 1 where it exceeds that. `seconds`: from strings in memory to result.

    `strategy`: what computed it ('auto' names its choice). `cells`: matrix entries computed. `notes`: how it went.
    """

    distance: int
    strategy: str
    seconds: float
    cells: int
    query_length: int
    target_length: int
    notes: dict[str, object]

    @property
    def gcups(self) -> float:
        """Product of the lengths over the time, in 10^9 a second (Castells-Rufas 2023, equation 2)."""
        return self.query_length * self.target_length / max(self.seconds, 1e-9) / 1e9

    @property
    def similarity(self) -> float:
        """1 - distance / length of the longer string; 1 for two empty strings."""
        return 1 - self.distance / max(1, self.query_length, self.target_length)


def symbols(text: bytes | str | np.ndarray, ignore_case: bool = False) -> np.ndarray:
    """uint8 array of `text`; a-z become A-Z on request, every other byte stays itself."""
    array = np.frombuffer(text.encode() if isinstance(text, str) else text, np.uint8) if not isinstance(text, np.ndarray) else text
    if ignore_case:
        array = np.where((array >= ord("a")) & (array <= ord("z")), array - 32, array)
    return np.ascontiguousarray(array, np.uint8)


def distance(
    a: bytes | str | np.ndarray,
    b: bytes | str | np.ndarray,
    *,
    strategy: str = "auto",
    device: Device | str = "auto",
    maximum: int | None = None,
    progress: Callable[[float, int | None], None] | None = None,
    checkpoint: str | Path | None = None,
    others: Sequence[Device] = (),
    ignore_case: bool = False,
) -> DistanceResult:
    """Exact edit distance of a and b (any bytes, N and IUPAC codes as themselves).

    maximum: give up above it. progress(share done, upper bound or None). checkpoint: file from which the bit-parallel strategy
    resumes and to which it saves every minute. others: more devices, to sweep one very long pair together. Both go with
    strategies auto and bitparallel, and make auto choose the sweep. Raises UserError for an unknown strategy or a failing device.
    """
    device = select(device)
    a, b = symbols(a, ignore_case), symbols(b, ignore_case)
    began = time.perf_counter()
    problem = Problem(a, b, device, maximum, progress, Path(checkpoint) if checkpoint else None, tuple(others))
    function = _function(strategy, problem)
    if len(a) == 0 or len(b) == 0:
        value = max(len(a), len(b))
        if maximum is not None:
            value = min(value, maximum + 1)
    else:
        with device_failures(device):
            value = function(problem)
    name = str(problem.notes.get("strategy", strategy))
    return DistanceResult(value, name, time.perf_counter() - began, problem.cells, len(a), len(b), problem.notes)


def _function(strategy: str, problem: Problem) -> Strategy:
    if problem.checkpoint is None and not problem.others:
        return find(strategy, problem.device, problem.longest)
    if strategy not in ("auto", "bitparallel"):
        raise UserError(f"strategy '{strategy}': keeps no checkpoint and shares no devices; use bitparallel or auto")
    problem.notes["strategy"] = "bitparallel"
    return bitparallel_tiles.bitparallel if problem.others else find("bitparallel", problem.device, problem.longest)
