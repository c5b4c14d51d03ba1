"""What the tests of kernels run on."""

import pytest
from pairhmm_cases import small_shape

from devices import DEVICE
from haplowave.opencl import Device, select
from haplowave.pairhmm.tuning import Settings


@pytest.fixture(scope="session")
def device() -> Device:
    return select(DEVICE)


@pytest.fixture(scope="session")
def shape(device: Device) -> Settings:
    return small_shape(device)
