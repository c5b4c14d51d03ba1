"""Running the workflow as a user does."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


def write_config(path: Path, **config: Any) -> Path:
    """A configuration file with these keys; paths may be Path objects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(_plain(config)))
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, Path) else value


def write_sheet(path: Path, *rows: tuple[str | Path, ...]) -> Path:
    """A sample sheet of (sample, reads, platform, optionally ploidy)."""
    lines = ["sample\treads\tplatform\tploidy", *("\t".join(map(str, (*row, *[""] * (4 - len(row))))) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def snakemake(
    *arguments: str | Path, cwd: Path, snakefile: Path = ROOT / "Snakefile", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`snakemake -s SNAKEFILE ARGUMENTS` in `cwd`; `stdout` holds both streams."""
    command = [sys.executable, "-m", "snakemake", "-s", str(snakefile), *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def succeed(*arguments: str | Path, **options: Any) -> str:
    """The same, which must work; what it printed."""
    done = snakemake(*arguments, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def errors(*arguments: str | Path, **options: Any) -> list[str]:
    """The same, which must stop before any job: the error lines, without traceback."""
    done = snakemake(*arguments, **options)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stdout
    assert "Job stats" not in done.stdout
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Using workflow specific profile")]
    found = [line for line in lines if line.startswith("haplowave: error: ")]
    assert lines == found, done.stdout
    return [line.removeprefix("haplowave: error: ") for line in found]
