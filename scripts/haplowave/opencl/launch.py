"""Kernels that are called many times."""

from collections.abc import Sequence

import numpy as np
import pyopencl as cl

Argument = cl.Buffer | cl.LocalMemory | np.generic | np.ndarray
"""An array is a vector argument: uint32 (4,) is a uint4."""


class TypedKernel:
    """A kernel whose scalar arguments have the NumPy types of the first call: `kernel(queue, global_size, local_size, *arguments)`.

    pyopencl packs a number of known type in a tenth of a microsecond, and takes ten to try what one of unknown type may be.
    """

    def __init__(self, program: cl.Program, name: str):
        self.kernel, self.name = cl.Kernel(program, name), name
        self.typed = False

    def __call__(
        self,
        queue: cl.CommandQueue,
        size: tuple[int, ...],
        local: tuple[int, ...] | None,
        *arguments: Argument,
        wait_for: Sequence[cl.Event] | None = None,
    ) -> cl.Event:
        self._know(arguments)
        return self.kernel(queue, size, local, *arguments, wait_for=wait_for)

    def set_args(self, *arguments: Argument) -> None:
        self._know(arguments)
        self.kernel.set_args(*arguments)

    def _know(self, arguments: tuple) -> None:
        if not self.typed:
            self.kernel.set_arg_types([_type(argument) for argument in arguments])
            self.typed = True


def _type(argument: Argument) -> np.dtype | None:
    if isinstance(argument, np.ndarray):
        return np.dtype((np.void, argument.nbytes))
    return argument.dtype if isinstance(argument, np.generic) else None
