// Small rectangles of an alignment, one a work-item: the bit-parallel matrix is kept whole (its vertical differences, two bits a cell) and
// walked back. Recurrence: see distance_tiles.cl. With v[i,j] = D[i,j] - D[i-1,j], an optimal step back from (i, j) is
//     diagonal where a_i = b_j; otherwise up where v[i,j] = 1; otherwise left where v[i,j-1] = -1; otherwise diagonal (substitution).
//
// leaves: 5 longs each: position in a, position in b, rows, columns (1 or more), end of its steps.
// kept: LANES leaves interleaved, from bases[leaf / LANES] on: [column 0..columns][word of 64 rows][2][LANES], then what goes from one strip
// of WORDS words, whose state lies in registers, to the next, [column 1..columns][LANES]: the lowest row's step, 1 up, 2 down.
// steps: from the first to the last, up to its end: 0 match, 1 substitution, 2 symbol of a only, 3 symbol of b only.

#include "distance_planes.cl"

#define WORDS 8

__kernel void trace(TEXT(a), TEXT(b), __global const long *restrict leaves, const int count,
                    __global const long *restrict bases, __global ulong *restrict kept, __global uchar *restrict steps) {
    const int leaf = get_global_id(0);
    if (leaf >= count) return;
    const long a_at = leaves[5L * leaf], b_at = leaves[5L * leaf + 1];
    const int m = (int)leaves[5L * leaf + 2], n = (int)leaves[5L * leaf + 3], words = (m + 63) / 64;
    kept += bases[leaf / LANES] + leaf % LANES;
#define KEPT(column, word, which) kept[(long)((((column) * words + (word)) * 2 + (which)) * LANES)]
#define HANDED(column) kept[(long)((2 * words * (n + 1) + (column) - 1) * LANES)]
    for (int first = 0; first < words; first += WORDS) {
        const int count_here = words - first;
        ulong rows[BITS][WORDS], pv[WORDS], mv[WORDS];
#pragma unroll
        for (int word = 0; word < WORDS; word++) {
            if (word >= count_here) break;
            const long at = a_at + 64 * (first + word);
#pragma unroll
            for (int plane = 0; plane < BITS; plane++)
                rows[plane][word] = (ulong)plane_word(TEXT_OF(a), plane, at) | (ulong)plane_word(TEXT_OF(a), plane, at + 32) << 32;
            KEPT(0, first + word, 0) = pv[word] = ~0UL;
            KEPT(0, first + word, 1) = mv[word] = 0;
        }
        for (int j = 0; j < n; j++) {
            ulong symbol[BITS];
#pragma unroll
            for (int plane = 0; plane < BITS; plane++) symbol[plane] = 0UL - (ulong)(plane_word(TEXT_OF(b), plane, b_at + j) & 1u);
            ulong hp = 1, hm = 0;
            if (first) {
                hp = HANDED(j + 1) & 1;
                hm = HANDED(j + 1) >> 1;
            }
#pragma unroll
            for (int word = 0; word < WORDS; word++) {
                if (word >= count_here) break;
                ulong different = rows[0][word] ^ symbol[0];
#pragma unroll
                for (int plane = 1; plane < BITS; plane++) different |= rows[plane][word] ^ symbol[plane];
                ulong eq = ~different;
                const ulong xv = eq | mv[word];
                eq |= hm;
                const ulong xh = (((eq & pv[word]) + pv[word]) ^ pv[word]) | eq;
                const ulong ph = mv[word] | ~(xh | pv[word]), mh = pv[word] & xh;
                const ulong phs = (ph << 1) | hp, mhs = (mh << 1) | hm;
                hp = ph >> 63;
                hm = mh >> 63;
                KEPT(j + 1, first + word, 0) = pv[word] = mhs | ~(xv | phs);
                KEPT(j + 1, first + word, 1) = mv[word] = phs & xv;
            }
            if (count_here > WORDS) HANDED(j + 1) = hp | hm << 1;
        }
    }
    __global uchar *out = steps + leaves[5L * leaf + 4];
    int i = m, j = n;
    while (i > 0 || j > 0) {
        int operation;
        if (j == 0)
            operation = 2;
        else if (i == 0)
            operation = 3;
        else if (!(mismatches(TEXT_OF(a), TEXT_OF(b), a_at + i - 1, b_at + j - 1) & 1u))
            operation = 0;
        else {
            const int word = (i - 1) >> 6, bit = (i - 1) & 63;
            operation = (KEPT(j, word, 0) >> bit) & 1 ? 2 : (KEPT(j - 1, word, 1) >> bit) & 1 ? 3 : 1;
        }
        i -= operation != 3;
        j -= operation != 2;
        *--out = (uchar)operation;
    }
}
