"""The device layer: finding an OpenCL device, building kernels on it, and telling its failures from the user's."""

from haplowave.opencl.environment import prepare_import

prepare_import()

from haplowave.opencl.device import Device  # noqa: E402 - pyopencl reads the environment when it is imported
from haplowave.opencl.discovery import alike, list_devices, select  # noqa: E402
from haplowave.opencl.failures import device_failures, is_out_of_memory  # noqa: E402
from haplowave.opencl.launch import TypedKernel  # noqa: E402

__all__ = ["Device", "TypedKernel", "alike", "device_failures", "is_out_of_memory", "list_devices", "select"]
