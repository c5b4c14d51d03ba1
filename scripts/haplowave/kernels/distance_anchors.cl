// Exact matches of SEED symbols that occur once in the sample of a and once in b: anchors of a guess at the alignment.
//
// sample s of a starts at symbol s * spacing. table: open addressing, slot = sample + 1, 0 free. hits[s]: occurrences of s's seed among the
// positions of b, plus REPEATED when another sample has the same seed. where[s]: position in b of the last one found.

#include "distance_planes.cl"

#define REPEATED (1u << 30)

inline ulong seed(TEXT_IN(planes), long position) {
    ulong key = 0;
#pragma unroll
    for (int plane = 0; plane < BITS; plane++) {
        const ulong word = plane_word(planes, plane, position) & ((1u << SEED) - 1u);
        key = key * 0x9e3779b97f4a7c15UL ^ word;
    }
    return key;
}

inline uint slot_of(ulong key, uint mask) {
    key *= 0xff51afd7ed558ccdUL;
    return (uint)(key >> 32) & mask;
}

__kernel void sample(TEXT(a), const long spacing, const uint samples, __global uint *restrict table, const uint mask,
                     __global uint *restrict hits) {
    const uint s = get_global_id(0);
    if (s >= samples) return;
    const ulong key = seed(TEXT_OF(a), s * spacing);
    uint slot = slot_of(key, mask);
    for (;;) {
        const uint other = atomic_cmpxchg(&table[slot], 0u, s + 1);
        if (other == 0) return;
        if (seed(TEXT_OF(a), (other - 1) * spacing) == key) {
            atomic_or(&hits[other - 1], REPEATED);
            return;
        }
        slot = (slot + 1) & mask;
    }
}

__kernel void scan(TEXT(a), TEXT(b), const long spacing, const long positions,
                   __global const uint *restrict table, const uint mask, __global uint *restrict hits, __global long *restrict where) {
    const long position = get_global_id(0);
    if (position >= positions) return;
    const ulong key = seed(TEXT_OF(b), position);
    for (uint slot = slot_of(key, mask); table[slot]; slot = (slot + 1) & mask) {
        const uint s = table[slot] - 1;
        if (seed(TEXT_OF(a), s * spacing) == key) {
            atomic_inc(&hits[s]);
            where[s] = position;
            return;
        }
    }
}
