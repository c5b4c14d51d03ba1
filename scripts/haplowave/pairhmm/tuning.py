"""Which shapes the GPU kernels take on a device: columns a lane, warps a work-group, when a pair counts as long.

A small built-in table, refined by `scripts/tune.py`, whose measurements are kept in a file a user (`settings_file`).
"""

import dataclasses
import functools
import json
import os
from pathlib import Path

from haplowave.files import atomic_path
from haplowave.opencl import Device

Rates = dict[int, float]
"""Columns a lane -> relative cell rate when every lane is in use."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """How `skewed` and `rowwise` run on one device; `rates` and `long_rates` have an entry a precision."""

    warp: int = 32
    """Lanes that exchange values: 32 with NVIDIA, the sub-group's or work-group's size elsewhere."""
    warps: int = 4
    """Warps a work-group."""
    groups_a_unit: int = 4
    """Work-groups a compute unit holds at once."""
    block: int = 2
    """Rows that a lane computes at a time (2 or 4)."""
    long_rows: int = 1024
    """Reads of more rows than this keep an exponent a lane (kernel variant LONG)."""
    widest_tree: int = 768
    """Haplotypes of more bases leave hardly any room in a warp for one that shares lanes with them: `trees` leaves them to `skewed`."""
    tree_rates: Rates = dataclasses.field(default_factory=dict)
    """As `rates` in FP32, for `trees`; empty: the same."""
    rates: dict[str, Rates] = dataclasses.field(default_factory=lambda: {"fp32": {16: 0.9, 24: 0.96, 32: 1.0}, "fp64": {8: 0.9, 16: 1.0}})
    long_rates: dict[str, Rates] = dataclasses.field(default_factory=lambda: {"fp32": {16: 0.9, 32: 1.0}, "fp64": {16: 1.0}})
    registers: dict[str, int] = dataclasses.field(default_factory=dict)
    """NVIDIA: registers a lane may have, by 'fp32', 'fp64', 'long fp32' and 'long fp64'; fewer let more warps run at a time."""
    chunk_bytes: int = 48 << 20
    """Bytes of input a chunk: small enough that transfers hide behind the chunk before."""
    speed: float = 1e9
    """Cells a second, roughly: what it saves to compute less."""

    @property
    def of_trees(self) -> Rates:
        """Rates of `trees`."""
        return self.tree_rates or self.rates["fp32"]

    @property
    def most_in_tree(self) -> int:
        """Bases of the longest haplotype that may stand in a tree."""
        return min(self.widest_tree, self.warp * max(self.of_trees))


_CELLS_A_CLOCK = 12  # of a compute unit with some 100 lanes
_NVIDIA_REGISTERS = 65536  # registers of a compute unit

_PORTABLE = Settings(
    warp=8,
    warps=1,
    groups_a_unit=2,
    rates={"fp32": {8: 0.8, 16: 1.0}, "fp64": {8: 1.0}},
    long_rates={"fp32": {8: 1.0}, "fp64": {8: 1.0}},
    chunk_bytes=4 << 20,
)


def settings_file() -> Path:
    """$HAPLOWAVE_TUNING, else haplowave/tuning.json in the user's cache folder."""
    return _file(os.environ.get("HAPLOWAVE_TUNING"), os.environ.get("XDG_CACHE_HOME"))


@functools.cache
def _file(given: str | None, folder: str | None) -> Path:
    return Path(given) if given else Path(folder or Path.home() / ".cache") / "haplowave" / "tuning.json"


_NVIDIA = Settings(
    warps=1,
    groups_a_unit=32,
    chunk_bytes=40 << 20,
    rates={
        "fp32": {32: 4.49, 30: 4.39, 27: 4.37, 25: 4.41, 21: 4.34},
        "fp64": {18: 2.07, 16: 1.95, 13: 1.89},
    },
    tree_rates={32: 4.4, 30: 4.4, 27: 4.1, 25: 4.0, 22: 3.8},
    long_rates={"fp32": {32: 4.04, 28: 3.8, 24: 3.77, 20: 3.57, 16: 3.42}, "fp64": {16: 2.06}},
    registers={"fp32": 128, "fp64": 168, "long fp32": 128, "long fp64": 168},
)
"""Rates in TCUPS on an H200."""


@functools.cache
def built_in(device: Device) -> Settings:
    """What is used where nothing was measured."""
    if device.kind == "cpu":
        return _PORTABLE
    chosen = _PORTABLE if exchange_variant(device) == "local" else Settings(warp=16 if "intel" in device.platform_name.lower() else 32)
    chosen = _NVIDIA if device.is_nvidia else chosen
    return dataclasses.replace(chosen, speed=_CELLS_A_CLOCK * device.compute_units * device.clock)


def exchange_variant(device: Device) -> str:
    """As Device.subgroup_variant, but 'local' on CPUs: a sub-group gains nothing there, and one compiler fails on the long form."""
    return "local" if device.kind == "cpu" else device.subgroup_variant


def settings(device: Device) -> Settings:
    """The settings of `device`: measured ones where `scripts/tune.py` has left them, else the built-in table."""
    measured = _stored().get(_key(device))
    base = built_in(device)
    if not measured:
        return base
    fields = {field.name for field in dataclasses.fields(Settings)}
    known = {name: value for name, value in measured.items() if name in fields}
    for name in ("rates", "long_rates"):
        if name in known:
            known[name] = {precision: {int(n): rate for n, rate in rates.items()} for precision, rates in known[name].items()}
    if "tree_rates" in known:
        known["tree_rates"] = {int(n): rate for n, rate in known["tree_rates"].items()}
    return dataclasses.replace(base, **known)


def options(chosen: Settings, precision: str, long: bool) -> tuple[str, ...]:
    """Compiler options of a main kernel."""
    count = chosen.registers.get(f"long {precision}" if long else precision)
    return ("-DFREE_SIZE", f"-cl-nv-maxrregcount={count}") if count else ()


def warps_at_once(chosen: Settings, precision: str, long: bool = False) -> int:
    """Warps of the kernel of short pairs, or of long ones, that a compute unit holds."""
    most = chosen.groups_a_unit * chosen.warps
    count = chosen.registers.get(f"long {precision}" if long else precision)
    if not count:
        return most
    a_group = 1 if long else chosen.warps
    return min(_NVIDIA_REGISTERS // count // (chosen.warp * a_group) * a_group, most)


def store(device: Device, chosen: Settings) -> Path:
    """Keep what `chosen` has unlike the built-in table, which may be another in a later version; returns the file."""
    path = settings_file()
    _content.cache_clear()  # another process may have stored something
    base = dataclasses.asdict(built_in(device))
    unlike = {name: value for name, value in dataclasses.asdict(chosen).items() if value != base[name]}
    everything = _stored() | {_key(device): unlike}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n")
    _content.cache_clear()
    return path


def _key(device: Device) -> str:
    return f"{device.platform_name} / {device.name}"


def _stored() -> dict[str, dict]:
    return _content(settings_file())


@functools.cache
def _content(path: Path) -> dict[str, dict]:
    """What `path` holds; looked at once, for some file systems take longer than a small call."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):  # nothing measured yet, or a file that is not ours: measuring again repairs it
        return {}
    return content if isinstance(content, dict) else {}
