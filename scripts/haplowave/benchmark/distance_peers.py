"""Other programs' edit distance, for comparison in one run: edlib (PyPI) and WFA2-lib (Debian libwfa2-dev), where they are installed."""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

Peer = Callable[[bytes, bytes], int]

_SHIM = """
#include <stdio.h>
#include <stdint.h>
#include <stdbool.h>
#include <time.h>
#include <wfa2lib/wavefront/wavefront_align.h>
int distance(const char* a, int m, const char* b, int n, int threads, int both_ends) {
    wavefront_aligner_attr_t attributes = wavefront_aligner_attr_default;
    attributes.distance_metric = edit;
    attributes.alignment_scope = compute_score;
    attributes.alignment_form.span = alignment_end2end;
    attributes.heuristic.strategy = wf_heuristic_none;
    attributes.memory_mode = both_ends ? wavefront_memory_ultralow : wavefront_memory_high;
    attributes.system.max_num_threads = threads;
    wavefront_aligner_t* aligner = wavefront_aligner_new(&attributes);
    wavefront_align(aligner, a, m, b, n);
    int score = aligner->cigar->score;
    wavefront_aligner_delete(aligner);
    return score < 0 ? -score : score;
}
"""


def edlib() -> Peer | None:
    """edlib's distance, one thread; None where the package is absent."""
    try:
        import edlib as module
    except ImportError:
        return None
    return lambda a, b: module.align(a, b, mode="NW", task="distance")["editDistance"]


def edlib_infix() -> Peer | None:
    """edlib's distance of the whole first string inside the second."""
    try:
        import edlib as module
    except ImportError:
        return None
    return lambda a, b: module.align(a, b, mode="HW", task="distance")["editDistance"]


def wfa2(threads: int, both_ends: bool = False) -> Peer | None:
    """WFA2-lib's distance, heuristics off; None where its headers, library or a C compiler are absent.

    HAPLOWAVE_WFA2 names the prefix (with include and lib) where it is not in the system's folders.
    """
    library = _compiled()
    if library is None:
        return None
    return lambda a, b: library.distance(a, len(a), b, len(b), threads, int(both_ends))


def _compiled() -> ctypes.CDLL | None:
    prefix = os.environ.get("HAPLOWAVE_WFA2")
    paths = []
    if prefix:
        folders = [str(folder) for folder in (Path(prefix) / "lib").rglob("libwfa2.so")]
        paths = [f"-I{prefix}/include", f"-I{prefix}/include/wfa2lib", *(f"-L{Path(folder).parent}" for folder in folders)]
        paths += [f"-Wl,-rpath,{Path(folder).parent}" for folder in folders]
    else:
        paths = ["-I/usr/include/wfa2lib"]
    folder = tempfile.mkdtemp(prefix="haplowave-peer-")
    source, output = Path(folder) / "peer.c", Path(folder) / "peer.so"
    source.write_text(_SHIM)
    command = ["cc", "-O2", "-shared", "-fPIC", *paths, str(source), "-o", str(output), "-lwfa2"]
    try:
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(str(output))
    except (OSError, subprocess.CalledProcessError):
        return None
