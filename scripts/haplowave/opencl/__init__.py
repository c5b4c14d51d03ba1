"""The device layer: finding an OpenCL device, building kernels on it, and telling its failures from the user's."""

from haplowave.opencl.device import Device
from haplowave.opencl.discovery import list_devices, select
from haplowave.opencl.failures import device_failures, is_out_of_memory

__all__ = ["Device", "device_failures", "is_out_of_memory", "list_devices", "select"]
