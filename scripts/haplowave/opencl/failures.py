"""What the OpenCL runtime raises, sorted into: too little memory (retry smaller) and device trouble (tell the user)."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyopencl as cl

from haplowave.errors import UserError

if TYPE_CHECKING:
    from haplowave.opencl.device import Device

_OUT_OF_MEMORY = {
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.INVALID_BUFFER_SIZE,
}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` means that a smaller batch may succeed."""
    if isinstance(error, MemoryError | cl.MemoryError):
        return True
    return isinstance(error, cl.Error) and getattr(error, "code", None) in _OUT_OF_MEMORY


@contextlib.contextmanager
def device_failures(device: "Device") -> Iterator[None]:
    """Turn what the runtime raises inside the block into a UserError that names the device.

    Put it around the whole computation, outside any handling of `is_out_of_memory`.
    """
    try:
        yield
    except cl.Error as error:
        hint = "use a smaller --batch-size" if is_out_of_memory(error) else "check the device and its driver, or choose another by --device"
        raise UserError(f"device {device.name}: {str(error).splitlines()[0]}; {hint}") from error
