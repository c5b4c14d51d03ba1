"""The named ways to compute the distance of two long strings: one registry for all devices.

A strategy is a function from a `Problem` to the exact unit-cost global distance (int). It adds what it computes to
`problem.cells` and may write how it went about it into `problem.notes`. Implementations for one kind of device go
before those for all kinds, so that `wfa` on a CPU and `wfa` on a GPU may be different programs with one name.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from haplowave.errors import UserError
from haplowave.opencl import Device


@dataclass
class Problem:
    """Two strings and what a strategy may use.

    `a`, `b`: uint8, one symbol a byte, any alphabet. `maximum`: give up above this distance (None: never); a strategy then
    returns maximum + 1. `progress(done, bound)`: called now and then with the share done (0 to 1) and the best known upper
    bound of the distance (None: none yet). `checkpoint`: file to resume from and to write to (None: none).
    `others`: more devices that may share the work.
    `cells`: entries of the strategy's matrix that were computed (wavefront cells or dynamic-programming cells).
    """

    a: np.ndarray
    b: np.ndarray
    device: Device
    maximum: int | None = None
    progress: Callable[[float, int | None], None] | None = None
    checkpoint: Path | None = None
    others: tuple[Device, ...] = ()
    cells: int = 0
    notes: dict[str, object] = field(default_factory=dict)

    def count(self, cells: int) -> None:
        self.cells += cells

    @property
    def longest(self) -> int:
        return max(len(self.a), len(self.b))

    def report(self, done: float, bound: int | None = None) -> None:
        if self.progress is not None:
            self.progress(done, bound)


Strategy = Callable[[Problem], int]

STRATEGIES: dict[str, Strategy] = {}  # for any device
CPU_STRATEGIES: dict[str, Strategy] = {}  # preferred where the device is a CPU
CPU_SLACK = 1 << 16  # symbols that their tiles may read behind a string: more than a tile's rows or columns


def register(name: str, *, cpu_only: bool = False) -> Callable[[Strategy], Strategy]:
    """Decorator: enter a function under `name`."""

    def enter(function: Strategy) -> Strategy:
        (CPU_STRATEGIES if cpu_only else STRATEGIES)[name] = function
        return function

    return enter


def names(device: Device) -> list[str]:
    """Strategies that `device` can run, sorted."""
    return sorted(STRATEGIES.keys() | (CPU_STRATEGIES.keys() if device.kind == "cpu" else set()))


def has_cpu_programs(device: Device, longest: int) -> bool:
    """Whether `device` is a CPU whose buffers hold strings of that length, a byte a symbol, as the strategies for CPUs want them."""
    return device.kind == "cpu" and longest + CPU_SLACK <= device.max_allocation


def find(name: str, device: Device, longest: int = 0) -> Strategy:
    """The implementation of `name` for `device` and strings of up to `longest` symbols. Raises UserError with the names there are."""
    if has_cpu_programs(device, longest) and name in CPU_STRATEGIES:
        return CPU_STRATEGIES[name]
    if name in STRATEGIES:
        return STRATEGIES[name]
    raise UserError(f"strategy '{name}': unknown on {device.name}; choose one of {', '.join(names(device))}")
