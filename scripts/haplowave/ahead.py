"""Work that overlaps: the next item is prepared, or several are worked on, while the present one is used."""

import functools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")
_END = object()
_WAITERS = 64


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


def overlapped(function: Callable[[Item], Made], items: Iterable[Item], workers: int = 2) -> Iterator[tuple[Item, Made]]:
    """(item, function(item)) in the order of `items`, with up to `workers` items in work at a time.

    For functions that leave the interpreter much of the time: one waits for the device while another prepares.
    """
    pending: deque[tuple[Item, Future[Made]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                pending.append((item, pool.submit(function, item)))
                if len(pending) >= workers:
                    first, future = pending.popleft()
                    yield first, future.result()
            while pending:
                first, future = pending.popleft()
                yield first, future.result()
        finally:
            for _, future in pending:
                future.cancel()


@functools.cache
def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def pool() -> ThreadPoolExecutor:
    """Threads, one a core, for short pieces of work that leave the interpreter; none of them may wait for another of the pool."""
    return ThreadPoolExecutor(cores())


@functools.cache
def waiters() -> ThreadPoolExecutor:
    """Threads for work that waits for a device; what more there is waits for them. Nothing that they do waits for another of them."""
    return ThreadPoolExecutor(_WAITERS)


def in_slices(function: Callable[[int, int], Made], count: int, size: int) -> list[Made]:
    """[function(begin, end), ...] for slices of `size` of range(count), in order, on all cores. Not from within a thread of `pool`."""
    bounds = [(begin, min(begin + size, count)) for begin in range(0, count, size)]
    if len(bounds) < 2 or cores() == 1:
        return [function(*bound) for bound in bounds]
    return list(pool().map(lambda bound: function(*bound), bounds))
