"""The pages and schemas in the repository are those that the code describes; the environments name one set of packages."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from haplowave.documents import all_documents

ROOT = Path(__file__).resolve().parents[2]
# conda-forge names what PyPI names otherwise
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
# what a step needs on top of pyproject's own list: the rest of the extra `workflow` only runs outside of jobs
NOT_IN_JOBS = {"snakemake"}


@pytest.mark.parametrize("name", all_documents())
def test_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == all_documents()[name], "run 'python scripts/document.py'"


def test_conda_environment_agrees_with_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {"python": project["requires-python"].removeprefix(">=")}
    for line in project["dependencies"] + project["optional-dependencies"]["workflow"]:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups()
        if name not in NOT_IN_JOBS:
            wanted[CONDA_NAMES.get(name, name)] = bound
    environment = yaml.safe_load((ROOT / "envs/haplowave.yaml").read_text())
    found = dict(re.fullmatch(r"([\w-]+)(?: >=([\d.]+))?", line).groups() for line in environment["dependencies"])
    assert found.pop("pocl", "missing") is None  # the extra of pyopencl
    assert found == wanted
