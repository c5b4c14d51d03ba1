"""Which devices there are, fastest first, and the one that a user means."""

import functools

import pyopencl as cl

from haplowave.errors import UserError
from haplowave.opencl.device import Device
from haplowave.opencl.environment import prepare_environment

_NO_DEVICE = (
    "no OpenCL device found; for a CPU run 'pip install pyopencl[pocl]', for an NVIDIA GPU in a container run "
    "'mkdir -p /etc/OpenCL/vendors && echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd'"
)
_RANK = {"gpu": 0, "accelerator": 1, "cpu": 2}


def select(spec: str | Device = "auto", threads: int | None = None) -> Device:
    """The device that `spec` names: 'auto' (fastest), an index of `list_devices`, 'cpu', 'gpu', 'accelerator', or part of a name.

    threads: how many threads a CPU device may use; the first call of a process decides, because the runtime starts them once.
    Default: POCL_MAX_PTHREAD_COUNT, else the cores that this process may run on. Raises UserError where nothing fits.
    """
    if isinstance(spec, Device):
        return spec
    devices = list_devices(threads)
    wanted = str(spec).strip().lower()
    if wanted == "auto":
        return devices[0]
    if wanted.isdecimal():
        fits = devices[int(wanted) : int(wanted) + 1]
    elif wanted in _RANK:
        fits = [device for device in devices if device.kind == wanted]
    else:
        fits = [device for device in devices if wanted and wanted in f"{device.platform_name} {device.name}".lower()]
    if not fits:
        seen = ", ".join(f"{index} = {device.name} ({device.kind})" for index, device in enumerate(devices))
        raise UserError(f"device '{spec}': fits none of {seen}; run scripts/devices.py")
    return fits[0]


def alike(device: Device) -> tuple[Device, ...]:
    """The other devices of the same model, which give the same bits: what a job can be shared with."""
    return tuple(other for other in list_devices() if other is not device and other.name == device.name and other.kind == device.kind)


def list_devices(threads: int | None = None) -> list[Device]:
    """All devices, fastest first (the order that indices refer to). Raises UserError where there is none. `threads` as in `select`."""
    prepare_environment(threads)
    return list(_devices())


@functools.cache
def _devices() -> tuple[Device, ...]:
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        raise UserError(_NO_DEVICE) from error
    found = []
    for platform in platforms:
        try:
            found += [Device(device) for device in platform.get_devices()]
        except cl.Error:  # a platform without devices, for example a driver without its GPU
            continue
    if not found:
        raise UserError(_NO_DEVICE)
    return tuple(sorted(found, key=_slowness))


def _slowness(device: Device) -> tuple[int, float, bool]:
    return _RANK[device.kind], -device.compute_units * float(device.device.max_clock_frequency or 1), not device.is_pocl
