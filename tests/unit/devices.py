"""The device that tests of kernels run on: HAPLOWAVE_TEST_DEVICE (anything that `haplowave.opencl.select` takes), else the CPU."""

import os

DEVICE = os.environ.get("HAPLOWAVE_TEST_DEVICE", "cpu")
