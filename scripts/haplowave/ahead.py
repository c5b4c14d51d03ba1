"""Preparing the next item while the present one is worked on."""

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item], depth: int = 1) -> Iterator[Item]:
    """The same items in the same order, made in a thread that is at most `depth` items ahead. Its exceptions are raised here."""
    ready: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item: Any) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for item in items:
                if not offer((item, None)):
                    return
            offer((_END, None))
        except BaseException as error:
            offer((_END, error))

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        thread.join()
