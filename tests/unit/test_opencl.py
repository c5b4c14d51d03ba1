"""The device layer: choice of device, builds that fail with one line, machines without OpenCL."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from devices import DEVICE
from haplowave.errors import UserError
from haplowave.opencl import Device, is_out_of_memory, list_devices, select
from haplowave.opencl import device as device_module
from haplowave.opencl.buffers import BufferPool

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_select_by_index_kind_and_name():
    devices = list_devices()
    assert select("0") is devices[0] is select("auto") is select(devices[0])
    assert select("cpu").kind == "cpu"
    assert select(devices[-1].name[:6].lower()) in devices


@pytest.mark.parametrize("spec", ["99", "no such device", ""])
def test_unknown_device_is_one_line(spec):
    with pytest.raises(UserError, match=r"device '.*': fits none of 0 = ") as caught:
        select(spec)
    assert "\n" not in str(caught.value)


def test_build_resolves_includes_and_defines(tmp_path, monkeypatch):
    monkeypatch.setattr(device_module, "KERNELS", tmp_path)
    (tmp_path / "inner.cl").write_text("#define TWICE(x) (2 * (x))\n")
    (tmp_path / "outer.cl").write_text('#include "inner.cl"\n__kernel void f(__global int* a) { a[0] = TWICE(VALUE); }\n')
    device = select("cpu")
    program = device.build("outer.cl", {"VALUE": 21})
    assert device.build("outer.cl", {"VALUE": 21}) is program
    result = np.zeros(1, np.int32)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, result.nbytes)
    program.f(device.queue, (1,), None, buffer)
    cl.enqueue_copy(device.queue, result, buffer)
    assert result[0] == 42


def test_failed_build_names_device_options_and_line(tmp_path, monkeypatch):
    monkeypatch.setattr(device_module, "KERNELS", tmp_path)
    (tmp_path / "bad.cl").write_text("__kernel void f(__global int* a) { a[0] = MISSING; }\n")
    device = select("cpu")
    with pytest.raises(UserError) as caught:
        device.build("bad.cl", {"WIDTH": 4})
    message = str(caught.value)
    assert device.name in message
    assert "-DWIDTH=4" in message
    assert "MISSING" in message
    assert "\n" not in message


def test_out_of_memory_is_told_from_other_errors():
    assert is_out_of_memory(MemoryError())
    assert not is_out_of_memory(ValueError())
    device = select("cpu")
    with pytest.raises(cl.Error) as caught:
        cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 1 << 50)
    assert is_out_of_memory(caught.value)


def _devices_command(*arguments, **environment):
    command = [sys.executable, str(SCRIPTS / "devices.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)


def test_no_platform_says_what_to_install():
    done = _devices_command(OCL_ICD_VENDORS="/nonexistent", OCL_ICD_FILENAMES="")
    if done.returncode == 0:
        pytest.skip("this OpenCL loader ignores OCL_ICD_VENDORS")
    assert done.stderr.startswith("haplowave: error: no OpenCL device found")
    assert "nvidia.icd" in done.stderr
    assert done.stderr.count("\n") == 1


def test_threads_limit_the_cpu_device(tmp_path):
    done = _devices_command("--threads", "1", POCL_CACHE_DIR=str(tmp_path / "made"), OCL_ICD_VENDORS=os.environ.get("OCL_ICD_VENDORS", ""))
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[2] for line in lines[1:] if line[1] == "cpu"][:1] == ["1"]
    assert (tmp_path / "made").is_dir()


def test_a_home_that_cannot_be_written_does_not_matter(tmp_path):
    environment = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "POCL_CACHE_DIR": "", "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(SCRIPTS / "pairhmm.py"), "--device", "cpu", "--text", "-"]
    text = "1 1\nACGT IIII IIII IIII ++++\nACGTT\n"
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=60, input=text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 1\n-")
    assert [entry.name[:15] for entry in tmp_path.iterdir()] == ["haplowave-pocl-"]


@pytest.mark.parametrize(
    "module", ["haplowave.distance", "haplowave.pairhmm", "haplowave.calling.distances", "haplowave.calling.likelihoods"]
)
def test_no_module_imports_pyopencl_before_its_environment_is_set(module):
    environment = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "PYTHONPATH": str(SCRIPTS)}
    program = f"import {module}, pyopencl; print(pyopencl._PYOPENCL_NO_CACHE)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}, timeout=60)
    assert done.stdout == "True\n", done.stderr


def test_threads_that_ask_first_get_one_context(monkeypatch):
    device = Device(select(DEVICE).device)
    made = cl.Context

    def slow(devices):
        time.sleep(0.05)
        return made(devices)

    monkeypatch.setattr(cl, "Context", slow)
    with ThreadPoolExecutor(4) as pool:
        pools = list(pool.map(lambda _: device.buffers, range(4)))
    assert all(other is pools[0] for other in pools)


def test_buffers_are_handed_out_again():
    pool = BufferPool(select(DEVICE).context, most=40_000)
    sizes = [pool.take(size).size for size in (1, 4096, 4097, 100_000, 1 << 20)]
    assert sizes[:2] == [4096, 4096]
    assert all(size >= wanted for size, wanted in zip(sizes, (1, 4096, 4097, 100_000, 1 << 20), strict=True))
    assert sizes[3] < 112_500
    first, second = pool.take(5000), pool.take(5000)
    assert first is not second
    pool.give([first, second])
    assert pool.take(4500) in (first, second)
    large = pool.take(1 << 20)
    pool.give([large])  # more than it keeps
    assert pool.take(1 << 20) is not large
    assert pool.take(5000) in (first, second)
    pool.clear()
    assert pool.take(5000) not in (first, second)
