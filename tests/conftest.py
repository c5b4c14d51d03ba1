"""Data that many tests share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data: HAPLOWAVE_TEST_DATA, else ../shared/data beside the repository.

    Without it a test is skipped, or fails where HAPLOWAVE_REQUIRE_DATA=1 (as .ci/run sets it).
    """
    folder = Path(os.environ.get("HAPLOWAVE_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        message = f"no real data at {folder}; set HAPLOWAVE_TEST_DATA"
        if os.environ.get("HAPLOWAVE_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated data set of a few short contigs, one with colon and asterisk in its name: read it, never write to it."""
    folder = tmp_path_factory.mktemp("simulated")
    command = [sys.executable, str(ROOT / "scripts" / "simulate.py"), "--output", str(folder)]
    subprocess.run([*command, "--seed", "7", "--size", "24000", "--short-depth", "24", "--long-depth", "12"], check=True)
    return folder
