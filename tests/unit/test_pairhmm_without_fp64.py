"""Devices without FP64, as many small GPUs are: what FP32 cannot answer is computed elsewhere."""

import numpy as np
import pytest
from pairhmm_cases import BASES, make_reads, reference, small_shape

from haplowave.opencl import Device, list_devices, select
from haplowave.pairhmm import HOW, api, log10_likelihoods, tuning
from haplowave.pairhmm.engines import Work
from haplowave.sequences import Sequences


@pytest.fixture
def plain(tmp_path, monkeypatch) -> Device:
    """A device that says it has no FP64; the kernels are built for it without."""
    if not any(device.kind == "cpu" for device in list_devices()):
        pytest.skip("no OpenCL device is a CPU")
    device = Device(select("cpu").device)
    device.has_fp64, build = False, device.build

    def build_plain(file: str, defines: dict, *rest: object) -> object:
        assert not {"FP64", "HAS_FP64"} & set(defines)
        assert "renormalised" not in file
        return build(file, defines, *rest)

    monkeypatch.setattr(device, "build", build_plain)
    monkeypatch.setenv("HAPLOWAVE_TUNING", str(tmp_path / "tuning.json"))
    tuning.store(device, small_shape(device))
    return device


def work() -> Work:
    """Two reads that match, one that has nothing in common with the haplotype, and one that has a base quality of 0."""
    rng = np.random.default_rng(7)
    haplotype = np.repeat(BASES[:1], 90)
    reads = make_reads([haplotype[:60], haplotype[:50], np.repeat(BASES[2:3], 60), haplotype[:40]], rng, base=(39, 41))
    reads.base_quals[reads.bases.offsets[3]] = 0
    return Work(reads, Sequences.from_list([haplotype.tobytes()]), np.stack([np.arange(4), np.zeros(4, int)], axis=1))


@pytest.mark.parametrize("elsewhere", [True, False], ids=["another device", "NumPy"])
@pytest.mark.parametrize("precision", ["auto", "fp64"])
def test_other_precision_on_another_device(plain, monkeypatch, precision, elsewhere):
    monkeypatch.setattr(api, "list_devices", lambda: [plain, select("cpu")] if elsewhere else [plain])
    case = work()
    result = log10_likelihoods(case.reads, case.haplotypes, device=plain, kernel="skewed", precision=precision)
    assert result.log10 == pytest.approx(reference(case), abs=1e-4)
    assert [HOW[how] for how in result.how] == (["fp32", "fp32", "fp64", "fp64"] if precision == "auto" else ["fp64"] * 4)
