// Strings as bit planes: symbol code = sum over p of plane_p << p, BITS planes, 32 symbols a word.
//
// Buffer layout: uint words[(word * BITS) + plane], word = PAD + position / 32, symbol `position % 32` in that bit (lowest first).
// PAD words of no meaning lie before and after the string, so that a reader may overrun either end.

#define PAD 512

#if defined(__NV_CL_C_VERSION) || defined(NVIDIA)
inline uint reverse_bits(uint x) { uint y; asm("brev.b32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
#else
inline uint reverse_bits(uint x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
    return (x >> 16) | (x << 16);
}
#endif

// 32 symbols' bits of one plane, the symbol at `position` lowest
inline uint plane_word(__global const uint *restrict planes, int plane, long position) {
    position += 32L * PAD;
    const __global uint *at = planes + (position >> 5) * BITS + plane;
    const uint shift = (uint)position & 31u;
    return (uint)(((ulong)at[BITS] << 32 | at[0]) >> shift); // one funnel shift
}

// the same 32 symbols read in direction `step` (+1 or -1) from `position` on, the first in the highest bit
inline uint plane_word_msb(__global const uint *restrict planes, int plane, long position, int step) {
    return step > 0 ? reverse_bits(plane_word(planes, plane, position)) : plane_word(planes, plane, position - 31);
}

// read in direction `step`, the first in the lowest bit
inline uint plane_word_lsb(__global const uint *restrict planes, int plane, long position, int step) {
    return step > 0 ? plane_word(planes, plane, position) : reverse_bits(plane_word(planes, plane, position - 31));
}

// flags of the 32 symbols from i in a and from j in b that differ, the first in the lowest bit
inline uint mismatches(__global const uint *restrict a, __global const uint *restrict b, long i, long j) {
#if BITS == 2 // both planes of a word in one load
    i += 32L * PAD;
    j += 32L * PAD;
    __global const uint2 *at_a = (__global const uint2 *)a + (i >> 5), *at_b = (__global const uint2 *)b + (j >> 5);
    const uint2 a_low = at_a[0], a_high = at_a[1], b_low = at_b[0], b_high = at_b[1];
    const uint shift_a = (uint)i & 31u, shift_b = (uint)j & 31u;
    return ((uint)(((ulong)a_high.x << 32 | a_low.x) >> shift_a) ^ (uint)(((ulong)b_high.x << 32 | b_low.x) >> shift_b))
        | ((uint)(((ulong)a_high.y << 32 | a_low.y) >> shift_a) ^ (uint)(((ulong)b_high.y << 32 | b_low.y) >> shift_b));
#else
    uint different = 0;
    for (int plane = 0; plane < BITS; plane++) different |= plane_word(a, plane, i) ^ plane_word(b, plane, j);
    return different;
#endif
}

inline int lowest_one(uint x) { return popcount((x & -x) - 1); }
