"""Kernels that are called many times."""

import numpy as np
import pyopencl as cl


class TypedKernel:
    """A kernel whose scalar arguments have the NumPy types of the first call: `kernel(queue, global_size, local_size, *arguments)`.

    pyopencl packs a number of known type in a tenth of a microsecond, and takes ten to try what one of unknown type may be.
    """

    def __init__(self, program: cl.Program, name: str):
        self.kernel = cl.Kernel(program, name)
        self.typed = False

    def __call__(
        self,
        queue: cl.CommandQueue,
        size: tuple[int, ...],
        local: tuple[int, ...] | None,
        *arguments: cl.Buffer | cl.LocalMemory | np.generic,
    ) -> cl.Event:
        self._know(arguments)
        return self.kernel(queue, size, local, *arguments)

    def set_args(self, *arguments: cl.Buffer | cl.LocalMemory | np.generic) -> None:
        self._know(arguments)
        self.kernel.set_args(*arguments)

    def _know(self, arguments: tuple) -> None:
        if not self.typed:
            self.kernel.set_arg_types([argument.dtype if isinstance(argument, np.generic) else None for argument in arguments])
            self.typed = True
