"""Bases as sets of bits: two bases match where their sets meet. N meets every letter; END and PAD are columns behind a haplotype."""

import functools

import numpy as np

from haplowave.errors import UserError

END, PAD = 1 << 29, 1 << 30
_LETTERS = (1 << 29) - 1
_ORPHAN_OF_READS, _ORPHAN_OF_HAPLOTYPES = 1 << 28, 1 << 27  # letters that only one side has: they meet nothing but N
_MOST = 27
_N = ord("N")


def letters_in(data: np.ndarray) -> bytes:
    """The distinct bytes of `data` (uint8) together with ACGT, sorted."""
    return bytes(sorted({*b"ACGT", *data.tobytes().translate(None, b"ACGT")}))


@functools.lru_cache
def symbol_tables(in_reads: bytes, in_haplotypes: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tables for reads and haplotypes made of the letters given (each from `letters_in`).

    Returns: sets of reads by byte, int32 (256,); symbol code of haplotypes by byte, uint8 (256,); set by symbol code, int32 (symbols,).
    Codes 0 and 1 are END and PAD.
    """
    common = [letter for letter in in_haplotypes if letter in in_reads and letter != _N]
    if len(common) > _MOST:
        raise UserError(f"reads and haplotypes share {len(common)} different letters; at most {_MOST} besides N are possible")
    bits = {letter: 1 << index for index, letter in enumerate(common)}
    bits[_N] = _LETTERS
    sets, codes = np.zeros(256, np.int32), np.zeros(256, np.uint8)
    for letter in in_reads:
        sets[letter] = bits.get(letter, _ORPHAN_OF_READS)
    by_code = [END, PAD]
    for letter in in_haplotypes:
        codes[letter] = len(by_code)
        by_code.append(bits.get(letter, _ORPHAN_OF_HAPLOTYPES))
    return sets, codes, np.array(by_code, np.int32)
