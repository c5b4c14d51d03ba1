"""A progress line on standard error, on a terminal only."""

import sys
import time
from typing import TextIO

_INTERVAL = 0.2  # seconds between two updates
_WIDTH = 30


class Progress:
    """`update` as often as you like; `close` (or leave the `with` block) wipes the line."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._next = 0.0
        self._length = 0

    def update(self, share: float | None, text: str) -> None:
        """share: 0..1 of the work that is done, None where the whole is unknown."""
        now = time.monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + _INTERVAL
        bar = ""
        if share is not None:
            done = round(_WIDTH * min(max(share, 0.0), 1.0))
            bar = f"[{'#' * done}{'.' * (_WIDTH - done)}] {share:4.0%} "
        self._write(bar + text)

    def _write(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._length))
        self._stream.flush()
        self._length = len(line)

    def close(self) -> None:
        if self._length:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()
            self._length = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
