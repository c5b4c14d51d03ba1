"""The state of a long sweep in a file, so that a killed job goes on where it was."""

import time
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyopencl as cl

from haplowave.distance.strategies import Problem
from haplowave.distance.tiles import Sweep
from haplowave.errors import UserError
from haplowave.files import atomic_path

VERSION = 2
SECONDS = 60.0  # between two saves


@dataclass
class Checkpoint:
    """`bound`: of the state that the file holds, None where there is no file yet. `due`: clock time of the next save."""

    path: Path
    key: np.ndarray
    bound: int | None = None
    due: float = 0.0

    @classmethod
    def open(cls, problem: Problem) -> Self | None:
        """None where the problem asks for none. Raises UserError where the file is damaged or belongs to other strings."""
        if problem.checkpoint is None:
            return None
        limit = -1 if problem.maximum is None else problem.maximum
        key = [VERSION, len(problem.a), len(problem.b), zlib.crc32(problem.a), zlib.crc32(problem.b), limit, problem.device.is_nvidia]
        result = cls(Path(problem.checkpoint), np.array(key, np.int64), due=time.monotonic() + SECONDS)
        if result.path.exists():
            try:
                with np.load(result.path) as held:
                    same, result.bound = np.array_equal(held["key"], result.key), int(held["bound"])
            except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
                raise UserError(f"{result.path}: is no complete checkpoint ({error}); delete it to begin again") from error
            if not same:
                raise UserError(
                    f"{result.path}: belongs to other strings, options or another kind of device; delete it or name another file"
                )
        return result

    def restore(self, sweep: Sweep) -> None:
        """Load the state into a sweep of the same tasks; nothing where there is no file.

        Raises UserError where its tiles were others: those of a CPU depend on its vectors.
        """
        if self.bound is None:
            return
        with np.load(self.path) as held:
            if any(name not in held or held[name].nbytes != size for name, size in sweep.sizes.items()):
                raise UserError(f"{self.path}: belongs to another kind of device, with other tiles; delete it or name another file")
            for name, buffer in sweep.state.items():
                cl.enqueue_copy(sweep.queue, buffer, held[name])
            sweep.launch = int(held["launch"])

    def save_when_due(self, sweep: Sweep, bound: int) -> None:
        """Write the state of a sweep that has come to rest, when the last save is long enough ago."""
        if time.monotonic() < self.due:
            return
        arrays = {}
        for name, size in sweep.sizes.items():
            arrays[name] = np.empty(size, np.uint8)
            cl.enqueue_copy(sweep.queue, arrays[name], sweep.state[name])
        with atomic_path(self.path) as temporary, open(temporary, "wb") as handle:
            np.savez(handle, key=self.key, bound=bound, launch=sweep.launch, **arrays)
        self.bound, self.due = bound, time.monotonic() + SECONDS

    def remove(self) -> None:
        """After the result: the file has served."""
        self.path.unlink(missing_ok=True)
