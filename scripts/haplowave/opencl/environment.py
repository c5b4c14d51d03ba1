"""Environment variables that the runtimes read at their first use: how many threads, and where compiled kernels are kept."""

import os
import tempfile
from pathlib import Path

from haplowave.ahead import cores

_prepared = False


def prepare_import() -> None:
    """Before pyopencl is imported: without a cache folder that can be written (a container's home) it does without its cache."""
    if not _writable(_user_cache() / "pytools"):
        os.environ.setdefault("PYOPENCL_NO_CACHE", "1")


def prepare_environment(threads: int | None = None) -> None:
    """Set POCL_MAX_PTHREAD_COUNT and POCL_CACHE_DIR, once a process; what the user has set stays, but `threads` goes first.

    PoCL otherwise takes every core of a node, whatever share the scheduler gave. Its cache may be shared by parallel jobs.
    """
    global _prepared
    if _prepared:
        return
    _prepared = True
    if threads is not None:
        os.environ["POCL_MAX_PTHREAD_COUNT"] = str(max(1, threads))
    elif not os.environ.get("POCL_MAX_PTHREAD_COUNT"):
        os.environ["POCL_MAX_PTHREAD_COUNT"] = str(cores())
    if not _writable(os.environ.get("POCL_CACHE_DIR")):
        os.environ["POCL_CACHE_DIR"] = str(_cache_folder())


def _writable(folder: str | Path | None) -> bool:
    if not folder:
        return False
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


def _cache_folder() -> Path:
    """~/.cache/haplowave/pocl, or a temporary folder where there is no home to write to."""
    shared = _user_cache() / "haplowave" / "pocl"
    if _writable(shared):
        return shared
    return Path(tempfile.mkdtemp(prefix="haplowave-pocl-"))
