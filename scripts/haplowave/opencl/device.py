"""One OpenCL device with what the engines ask of it."""

import re
import threading
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import pyopencl as cl

from haplowave.errors import UserError
from haplowave.opencl.buffers import BufferPool, Staging

KERNELS = Path(__file__).resolve().parent.parent / "kernels"

_KINDS = ((cl.device_type.GPU, "gpu"), (cl.device_type.CPU, "cpu"))
_KEPT = 16  # share of a GPU's memory that is kept for the next call
_INCLUDE = re.compile(r'^[ \t]*#include[ \t]+"([\w.]+)"[ \t]*$', re.MULTILINE)


class _Once(cached_property):
    """A cached_property that is made once even if several threads ask for it first: two contexts would not know each other's memory."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with instance._lock:
            return super().__get__(instance, owner)


class Device:
    """A device, its context and its queue (both made on first use), and the programs built for it.

    Memory figures are in bytes, `clock` in Hz. `threads` is what a CPU device computes with, 0 for other kinds; `compute_capability` is
    NVIDIA's, (0, 0) elsewhere.
    """

    def __init__(self, device: cl.Device):
        self.device = device
        self.name: str = device.name.strip()
        self.platform_name: str = device.platform.name.strip()
        self.kind: str = next((kind for bit, kind in _KINDS if device.type & bit), "accelerator")
        self.extensions: frozenset[str] = frozenset(device.extensions.split())
        self.is_nvidia = "nvidia" in device.vendor.lower() and "nvidia" in self.platform_name.lower()
        self.is_pocl = "portable computing language" in self.platform_name.lower()
        self.compute_units: int = device.max_compute_units
        self.clock: float = device.max_clock_frequency * 1e6
        self.global_memory: int = device.global_mem_size
        self.max_allocation: int = device.max_mem_alloc_size
        self.local_memory: int = device.local_mem_size
        self.has_fp64 = bool(device.double_fp_config)
        self.compute_capability: tuple[int, int] = _compute_capability(device) if self.is_nvidia else (0, 0)
        self.threads: int = self.compute_units if self.kind == "cpu" else 0
        self._programs: dict[tuple, cl.Program] = {}
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<Device {self.name} ({self.kind}, {self.platform_name})>"

    @property
    def subgroup_variant(self) -> str:
        """How lanes of a sub-group pass a value on: 'nvidia-ptx', 'khr', 'intel', or 'local' (through local memory)."""
        if self.is_nvidia:
            return "nvidia-ptx"
        if {"cl_khr_subgroup_shuffle", "cl_khr_subgroup_shuffle_relative"} <= self.extensions:
            return "khr"
        if "cl_intel_subgroups" in self.extensions:
            return "intel"
        return "local"

    @property
    def vector_width(self) -> int:
        """Floats of one vector register on a CPU: 16 with AVX-512, otherwise 8."""
        return 16 if self.device.native_vector_width_float >= 16 else 8

    @_Once
    def context(self) -> cl.Context:
        try:
            return cl.Context([self.device])
        except cl.Error as error:
            raise UserError(f"device {self.name}: no context ({error}); is it used exclusively by another process?") from error

    @_Once
    def buffers(self) -> BufferPool:
        """Memory for the engines' batches. A CPU shares its memory with everybody, so that nothing is kept there."""
        return BufferPool(self.context, 0 if self.kind == "cpu" else self.global_memory // _KEPT)

    @_Once
    def staging(self) -> Staging:
        """Pinned memory for copies to and from the device."""
        return Staging(self.context)

    @_Once
    def queue(self) -> cl.CommandQueue:
        """In order, with profiling, so that events carry start and end."""
        return cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)

    def build(
        self, source_file_name: str, defines: dict[str, int | str | float] | None = None, options: tuple[str, ...] = ()
    ) -> cl.Program:
        """The program of `kernels/<source_file_name>` with `-DNAME=value` for each of `defines`; built once a process.

        `#include "other.cl"` takes a file of the same folder. The binary itself is cached on disk by the driver.
        Raises UserError that names device, options and the compiler's first error line.
        """
        flags = [f"-D{name}={_literal(value)}" for name, value in (defines or {}).items()]
        key = (source_file_name, *flags, *options)
        with self._lock:
            if key not in self._programs:
                self._programs[key] = self._build(source_file_name, [*flags, *options])
            return self._programs[key]

    def _build(self, source_file_name: str, flags: list[str]) -> cl.Program:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # remarks of a compiler that did its work
                return cl.Program(self.context, _source(source_file_name)).build(flags)
        except cl.Error as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            first = next((line for line in lines if re.search(r"\berror\b", line) and not line.startswith("clBuild")), lines[0])
            raise UserError(
                f"device {self.name}: kernel {source_file_name} does not build with options '{' '.join(flags)}': {first}; "
                "choose another --kernel or --device, and report this line"
            ) from error


def _compute_capability(device: cl.Device) -> tuple[int, int]:
    return device.compute_capability_major_nv, device.compute_capability_minor_nv


def _literal(value: int | str | float) -> str:
    return repr(value) if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def _source(name: str) -> str:
    text = (KERNELS / name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda match: _source(match[1]), text)
