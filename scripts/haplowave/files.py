"""Outputs appear under their final name only when they are complete."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from haplowave.errors import UserError


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` on success, remove it on failure.

    The temporary name keeps all suffixes of `path`, because readers and compressors go by them. A device or a pipe (/dev/null) is
    never replaced: it is yielded itself.
    Raises UserError where the folder cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=".partial-", dir=path.parent)
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
    temporary = Path(folder) / path.name
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
        for left in Path(folder).iterdir():
            left.unlink()
        os.rmdir(folder)
