"""The PairHMM's probabilities and the numbers that the kernels read for every row (base of a read), in FP64.

The model is GATK's LoglessPairHMM (Graca & Ilic 2026, Eq. 1-4). For row i and column j, with the qualities of row i:

    M[i,j] = p(i,j) * ( mm*M[i-1,j-1] + g*(I[i-1,j-1] + D[i-1,j-1]) )
    I[i,j] = mi*M[i-1,j] + ii*I[i-1,j]        D[i,j] = md*M[i,j-1] + ii*D[i,j-1]
    M[0,j] = I[0,j] = 0,  D[0,j] = 1/|H|      L = sum over j of M[R,j] + I[R,j]

    e = 10^(-Q/10); p = 1-e where the bases match or one is N, otherwise e/3 (convention 'gatk') or e ('raw')
    mi = 10^(-insQ/10), md = 10^(-delQ/10), ii = 10^(-GCP/10), g = 1 - ii, mm = 1 - (mi + md) as GATK computes it

Scaled by row, M = s_i*m, I = A_i*J, D = B_i*K with s_i = s_{i-1}*mm_i*(1-e_i), A_i = mi_i*s_{i-1}, B_i = md_i*s_i, a cell takes five
operations (match: 0 or 1 multiply, and four fused multiply-adds):

    m[i,j] = match ? t[i-1,j-1] : r_i*t[i-1,j-1]         t[0,j] = start/|H| for j >= 0,  t[i,0] = 0 for i >= 1
    J[i,j] = m[i-1,j] + b_i*J[i-1,j]                     K[i,j] = m[i,j] + ii_i*K[i,j-1]   (so D[i,j] = B_i*K[i,j-1])
    t[i,j] = m[i,j] + u_i*J[i,j] + v_i*K[i,j-1]          L = s_R * sum over j >= 1 of t[R,j]

The last row's u and v are free, so u_R = A_R/s_R and v_R = 0 make t[R,j] the summand of L.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from haplowave.sequences import Reads, Sequences

QUALITY_MASK = 127  # as GATK's native code: a quality byte has seven bits
CONVENTIONS = ("gatk", "raw")
ALWAYS_REGULAR = (6, 10, 10, 5)  # base, insertion, deletion, gap qualities from which r, ii/(mm*(1-e)), u and v are below one


@dataclass(frozen=True)
class Tables:
    """Probabilities by Phred quality 0..127, FP64, shape (128,); `mm` by (insertion, deletion) quality, shape (128, 128)."""

    match: np.ndarray
    mismatch: np.ndarray
    gap: np.ndarray
    """10^(-q/10): mi, md and ii, whichever quality indexes it."""
    leave: np.ndarray
    """1 - gap: g."""
    mm: np.ndarray


@lru_cache
def tables(convention: str = "gatk") -> Tables:
    """The probabilities of `convention`: 'gatk' (a mismatch has e/3) or 'raw' (e)."""
    if convention not in CONVENTIONS:
        raise ValueError(f"convention {convention!r} is none of {CONVENTIONS}")
    error = 10.0 ** (-np.arange(128) / 10.0)
    result = Tables(1.0 - error, error / (3.0 if convention == "gatk" else 1.0), error, 1.0 - error, _match_to_match())
    for array in vars(result).values():
        array.flags.writeable = False
    return result


def _match_to_match() -> np.ndarray:
    """GATK's mm: 1 - min(1, 10^L), L the log10 of mi + md from a table of step 1e-4 (MathUtils.approximateLog10SumLog10)."""
    phred = -np.arange(128) / 10.0
    big = np.maximum(phred[:, None], phred[None, :])
    difference = big - np.minimum(phred[:, None], phred[None, :])
    rounded = np.floor(difference * 1e4 + 0.5) * 1e-4
    total = big + np.where(difference < 8.0, np.log10(1.0 + 10.0**-rounded), 0.0)
    return 1.0 - np.minimum(1.0, 10.0**total)


@dataclass(frozen=True)
class RowParameters:
    """What the scaled recurrence reads. Flat arrays run parallel to `reads.bases.data` (N bases in all, n reads); FP64.

    Only reads that are `regular` have finite, useful numbers here; the others go through the unscaled form (kernel `lanes`, FP64).
    """

    rows: np.ndarray
    """(N, 4): r, b, u, v of each base."""
    ii: np.ndarray
    """(N,): gap continuation probability of each base."""
    start: np.ndarray
    """(n,): g_1/mm_1, so t[0,j] = start * C / |H| for a scale C of the kernel's choice."""
    log10_scale: np.ndarray
    """(n,): log10 s_R; log10 L = log10(sum of t[R,j]) - log10 C + log10_scale."""
    regular: np.ndarray
    """(n,) bool: no path gains probability in the scaled form and nothing is divided by zero."""


def row_parameters(reads: Reads, convention: str = "gatk") -> RowParameters:
    """Row parameters of all `reads`, vectorised over all bases. Every read must have at least one base."""
    table = tables(convention)
    offsets = reads.bases.offsets
    span = slice(offsets[0], offsets[-1])
    first, last = (offsets[:-1] - offsets[0]), (offsets[1:] - offsets[0] - 1)
    base, insertion, deletion, gap = (quals[span] & QUALITY_MASK for quals in reads.qualities)
    mi, md, ii, g = table.gap[insertion], table.gap[deletion], table.gap[gap], table.leave[gap]
    mm, match = table.mm[insertion, deletion], table.match[base]
    with np.errstate(divide="ignore", invalid="ignore"):
        step = mm * match  # s_i / s_{i-1}
        r = table.mismatch[base] / match
        a = mi / step  # A_i / s_i
        enter = g / mm
        b = np.zeros_like(r)
        b[1:] = ii[1:] * a[:-1] / mi[1:]
        u, v = np.empty_like(r), np.zeros_like(r)
        u[:-1], v[:-1] = enter[1:] * a[:-1], enter[1:] * md[:-1]
        b[first], u[last], v[last] = 0.0, a[last], 0.0
        log10_step = np.log10(step)
        harmless = (r <= 1.0) & (ii <= step) & (u <= 1.0) & (v <= 1.0) & (step > 0.0)
    return RowParameters(
        rows=np.stack([r, b, u, v], axis=1),
        ii=ii,
        start=enter[first],
        log10_scale=np.add.reduceat(log10_step, first) if len(first) else np.zeros(0),
        regular=np.logical_and.reduceat(harmless, first) if len(first) else np.zeros(0, bool),
    )


def regular_reads(reads: Reads, convention: str = "gatk") -> np.ndarray:
    """(n,) bool: `row_parameters(...).regular`, much cheaper where qualities are as sequencers and GATK make them."""
    offsets = reads.bases.offsets
    span = slice(offsets[0], offsets[-1])
    plain = np.ones(len(reads), bool)
    for quals, floor in zip(reads.qualities, ALWAYS_REGULAR, strict=True):
        masked = quals[:1] if quals.strides == (0,) else quals[span]  # one value throughout
        if len(masked) and masked.max() > QUALITY_MASK:
            masked = masked & QUALITY_MASK
        if len(masked) and masked.min() < floor:
            plain &= np.minimum.reduceat(masked, offsets[:-1] - offsets[0]) >= floor if len(masked) > 1 else False
    rest = np.flatnonzero(~plain)
    if len(rest):
        plain[rest] = row_parameters(take(reads, rest), convention).regular
    return plain


def take(reads: Reads, which: np.ndarray) -> Reads:
    """The reads with indices `which`, copied into flat arrays of their own."""
    source, offsets = reads.bases.places(which)
    arrays = (reads.bases.data, *reads.qualities)
    bases, *quals = (array[source] for array in arrays)
    return Reads(Sequences(bases, offsets), *quals)
