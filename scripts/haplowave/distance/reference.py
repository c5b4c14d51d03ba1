"""Plain dynamic programming over whole matrices: slow, obvious, and what every kernel is tested against.

D[i,j] = min(D[i-1,j-1] + (q_i != t_j), D[i-1,j] + 1, D[i,j-1] + 1)        Wagner and Fischer 1974, equation 1 of Castells-Rufas 2023

`global`: D[0,j] = j, result D[m,n]. `infix`: D[0,j] = 0, result min_j D[m,j] (the whole query inside the target, ends of the
target free). D[i,0] = i in both.
"""

import numpy as np

MODES = ("infix", "global")


def edit_distance(query: np.ndarray | bytes, target: np.ndarray | bytes, mode: str = "global") -> int:
    """Unit-cost distance of two uint8 arrays (or bytes); O(m·n) time, one row of memory."""
    query, target = _symbols(query), _symbols(target)
    columns = np.arange(len(target) + 1)
    row = columns.copy() if mode == "global" else np.zeros_like(columns)
    for index, symbol in enumerate(query):
        below = np.empty_like(row)
        below[0] = index + 1
        below[1:] = np.minimum(row[:-1] + (target != symbol), row[1:] + 1)
        row = np.minimum.accumulate(below - columns) + columns  # the horizontal step: min over k <= j of below[k] + (j - k)
    return int(row[-1] if mode == "global" else row.min())


def _symbols(text: np.ndarray | bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8) if isinstance(text, bytes) else text
