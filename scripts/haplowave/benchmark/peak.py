"""What a device could do at best: its rate of fused multiply-adds, measured."""

import numpy as np
import pyopencl as cl

from haplowave.opencl import Device

OPERATIONS_A_CELL = 5
"""Of the form that haplowave.pairhmm.model derives; peak / 5 is the rate that no kernel of this kind can pass."""


def multiply_adds(device: Device, precision: str) -> float:
    """Multiply-adds a second of `precision` ('fp32' or 'fp64'), best of several runs of kernels/benchmark_fma.cl."""
    real = np.float32 if precision == "fp32" else np.float64
    lanes = 1 if device.kind != "cpu" else device.vector_width * 4 // np.dtype(real).itemsize
    chains = 16 if lanes == 1 else 8
    items, group, steps = (device.compute_units * 8192, 256, 4096) if lanes == 1 else (device.compute_units * 4, 1, 2_000_000)
    defines = {"LANES": lanes, "CHAINS": chains} | ({"FP64": 1} if precision == "fp64" else {})
    kernel = cl.Kernel(device.build("benchmark_fma.cl", defines), "multiply_add")
    sums = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, items * np.dtype(real).itemsize)
    best = 0.0
    for _ in range(4):
        event = kernel(device.queue, (items,), (group,), real(0.999), real(0.5), np.int32(steps), sums)
        event.wait()
        best = max(best, items * steps * chains * lanes / ((event.profile.end - event.profile.start) * 1e-9))
    return best
