// Strings as bit planes: symbol code = sum over p of plane_p << p, BITS planes, 32 symbols a word.
//
// Buffer layout: uint words[(word * BITS) + plane], word = PAD + position / 32, symbol `position % 32` in that bit (lowest first).
// PAD words of no meaning lie before and after the string, so that a reader may overrun either end.

//
// A string too long for one buffer lies in SEGMENTS of them (2, 4 or 8): segment s holds the symbols from s << SEGMENT_BITS on, and the
// words that follow its own. TEXT(x) declares the parameters of a kernel, TEXT_OF(x) is what functions take of them.

#define PAD 512

#if !defined(SEGMENTS)
#define SEGMENTS 1
#endif

#if SEGMENTS == 1
#define TEXT(x) __global const uint *restrict x
#define TEXT_OF(x) x
#define TEXT_IN(x) __global const uint *restrict x
#else
typedef struct { __global const uint *part[SEGMENTS]; } segments;
#define PARTS_2(x, from, to) __global const uint *restrict x##from, __global const uint *restrict x##to
#if SEGMENTS == 2
#define TEXT(x) PARTS_2(x, 0, 1)
#define TEXT_OF(x) ((segments){{x##0, x##1}})
#elif SEGMENTS == 4
#define TEXT(x) PARTS_2(x, 0, 1), PARTS_2(x, 2, 3)
#define TEXT_OF(x) ((segments){{x##0, x##1, x##2, x##3}})
#else
#define TEXT(x) PARTS_2(x, 0, 1), PARTS_2(x, 2, 3), PARTS_2(x, 4, 5), PARTS_2(x, 6, 7)
#define TEXT_OF(x) ((segments){{x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7}})
#endif
#define TEXT_IN(x) const segments x
#endif

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

// the buffer that holds the symbol at *position, which becomes its position there
inline __global const uint *segment_at(TEXT_IN(text), long *position) {
#if SEGMENTS == 1
    return text;
#else
    const long wanted = *position >> SEGMENT_BITS;
    const int segment = wanted < 0 ? 0 : wanted < SEGMENTS ? (int)wanted : SEGMENTS - 1;
    *position -= (long)segment << SEGMENT_BITS;
    __global const uint *part = text.part[0];
#pragma unroll
    for (int s = 1; s < SEGMENTS; s++) part = segment == s ? text.part[s] : part;
    return part;
#endif
}

// 32 symbols' bits of one plane, the symbol at `position` lowest
inline uint plane_word(TEXT_IN(planes), int plane, long position) {
    __global const uint *restrict buffer = segment_at(planes, &position);
    position += 32L * PAD;
    const __global uint *at = buffer + (position >> 5) * BITS + plane;
    const uint shift = (uint)position & 31u;
    return (uint)(((ulong)at[BITS] << 32 | at[0]) >> shift); // one funnel shift
}

// the same 32 symbols read in direction `step` (+1 or -1) from `position` on, the first in the highest bit
inline uint plane_word_msb(TEXT_IN(planes), int plane, long position, int step) {
    return step > 0 ? reverse_bits(plane_word(planes, plane, position)) : plane_word(planes, plane, position - 31);
}

// read in direction `step`, the first in the lowest bit
inline uint plane_word_lsb(TEXT_IN(planes), int plane, long position, int step) {
    return step > 0 ? plane_word(planes, plane, position) : reverse_bits(plane_word(planes, plane, position - 31));
}

// flags of the 32 symbols from i in a and from j in b that differ, the first in the lowest bit
inline uint mismatches(TEXT_IN(a), TEXT_IN(b), long i, long j) {
#if BITS == 2 // both planes of a word in one load
    __global const uint *restrict buffer_a = segment_at(a, &i), *restrict buffer_b = segment_at(b, &j);
    i += 32L * PAD;
    j += 32L * PAD;
    __global const uint2 *at_a = (__global const uint2 *)buffer_a + (i >> 5), *at_b = (__global const uint2 *)buffer_b + (j >> 5);
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
