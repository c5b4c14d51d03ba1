// One tile of the bit-parallel edit distance (Myers 1999, in Hyyroe's 2003 form for blocks): the work of one item or
// warp. The launches: distance_tiles.cl.
//
// One column of a word of rows, with the horizontal difference (hp, hm) that enters from above:
//     Xv = Eq | Mv            Eq |= hm           Xh = (((Eq & Pv) + Pv) ^ Pv) | Eq
//     Ph = Mv | ~(Xh | Pv)    Mh = Pv & Xh       Phs = (Ph << 1) | hp    Mhs = (Mh << 1) | hm
//     Pv = Mhs | ~(Xv | Phs)  Mv = Phs & Xv
//
// A strip is ROWS = LANES * K * W rows; a lane holds K words of W rows in registers, and lane l is LAG * l columns behind lane 0, so that
// one shuffle a column hands the top bits of (Ph, Mh) down. LAG = 2: the shuffle of one column runs while the next one is computed.
// A tile is a strip by CHUNK columns. With LANES = 1 (any device) a work-item does a tile alone in 64-bit words.
//
// Pruning: no cell of a path of cost <= bound has D[i,j] + |(N - j) - (M - i)| > bound. A tile is left out when both borders through
// which such a path would enter are too dear; what enters a tile from one that was left out is replaced by the dearest legal values
// (+1 a step), which are costs of real paths: results never fall below the distance, and equal it when it is <= bound.
//
// Where the band has a hole, the tiles left of and above a tile may have come to different costs of their common corner. Both are costs of
// real paths, so the higher border is lowered to what the lower one's corner and steps of +1 allow: min(itself, corner + steps).
//
// border: per chunk and 32 columns one word of Ph bits and one of Mh bits, first column highest.

#include "distance_planes.cl"

#if LANES > 1
typedef uint word;
#define W 32
#define LAG 2
#else
typedef ulong word;
#define W 64
#define LAG 0
#endif
#define SKEW ((LAG * (LANES - 1) + 31) / 32 * 32) // columns that the last lane is behind, rounded up to whole words of the border
#define ROWS ((long)LANES * K * W)
#define BLOCKS (CHUNK / 32)
#define FIELDS 14
#define ALL_ONES (~(word)0)

inline long magnitude(long x) { return x < 0 ? -x : x; }

inline long floor_div(long x, long y) { return x >= 0 ? x / y : -((-x + y - 1) / y); }

// sum = ep + pv over K words, carry from word to word
inline void add_words(const word *ep, const word *pv, word *sum) {
#if defined(NVIDIA) && LANES == 32 && K == 8
    asm("add.cc.u32 %0,%8,%16; addc.cc.u32 %1,%9,%17; addc.cc.u32 %2,%10,%18; addc.cc.u32 %3,%11,%19;"
        "addc.cc.u32 %4,%12,%20; addc.cc.u32 %5,%13,%21; addc.cc.u32 %6,%14,%22; addc.u32 %7,%15,%23;"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3]), "=r"(sum[4]), "=r"(sum[5]), "=r"(sum[6]), "=r"(sum[7])
        : "r"(ep[0]), "r"(ep[1]), "r"(ep[2]), "r"(ep[3]), "r"(ep[4]), "r"(ep[5]), "r"(ep[6]), "r"(ep[7]), "r"(pv[0]), "r"(pv[1]),
          "r"(pv[2]), "r"(pv[3]), "r"(pv[4]), "r"(pv[5]), "r"(pv[6]), "r"(pv[7]));
#elif defined(NVIDIA) && LANES == 32 && K == 4
    asm("add.cc.u32 %0,%4,%8; addc.cc.u32 %1,%5,%9; addc.cc.u32 %2,%6,%10; addc.u32 %3,%7,%11;"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(ep[0]), "r"(ep[1]), "r"(ep[2]), "r"(ep[3]), "r"(pv[0]), "r"(pv[1]), "r"(pv[2]), "r"(pv[3]));
#elif defined(NVIDIA) && LANES == 32 && K == 2
    asm("add.cc.u32 %0,%2,%4; addc.u32 %1,%3,%5;"
        : "=r"(sum[0]), "=r"(sum[1]) : "r"(ep[0]), "r"(ep[1]), "r"(pv[0]), "r"(pv[1]));
#else
    word carry = 0;
#pragma unroll
    for (int k = 0; k < K; k++) {
        const word first = ep[k] + carry;
        sum[k] = first + pv[k];
        carry = (first < carry) | (sum[k] < first);
    }
#endif
}

// Lanes are the first items of a warp (NVIDIA), of a sub-group (VARIANT_KHR, VARIANT_INTEL), or one alone.
#if defined(VARIANT_KHR)
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle_relative : enable
#define from_lane_above(value) sub_group_shuffle_up(value, 1u)
#elif defined(VARIANT_INTEL)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define from_lane_above(value) intel_sub_group_shuffle_up(0u, value, 1u)
#elif LANES == 32
inline word from_lane_above(word value) {
    word above;
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(above) : "r"(value));
    return above;
}
#else
#define from_lane_above(value) (value)
#endif

// one column of a lane's K words; the highest bits of ph_in, mh_in enter from above; ph_out, mh_out: the last word's
inline void column(word rows[BITS][K], const word *symbol, word *pv, word *mv, word ph_in, word mh_in, word *ph_out, word *mh_out) {
    word eq[K], xv[K], ep[K], sum[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
        word different = rows[0][k] ^ symbol[0];
#pragma unroll
        for (int plane = 1; plane < BITS; plane++) different |= rows[plane][k] ^ symbol[plane];
        eq[k] = ~different;
        xv[k] = eq[k] | mv[k];
    }
    eq[0] |= mh_in >> (W - 1);
#pragma unroll
    for (int k = 0; k < K; k++) ep[k] = eq[k] & pv[k];
    add_words(ep, pv, sum);
    word ph_below = ph_in, mh_below = mh_in;
#pragma unroll
    for (int k = 0; k < K; k++) {
        const word xh = (sum[k] ^ pv[k]) | eq[k];
        const word ph = mv[k] | ~(xh | pv[k]);
        const word mh = pv[k] & xh;
        const word phs = (ph << 1) | (ph_below >> (W - 1));
        const word mhs = (mh << 1) | (mh_below >> (W - 1));
        ph_below = ph;
        mh_below = mh;
        pv[k] = mhs | ~(xv[k] | phs);
        mv[k] = phs & xv[k];
    }
    *ph_out = ph_below;
    *mh_out = mh_below;
}

// a step of the loop over 32 columns: takes the next symbol and border bits, hands over the bits of the lane above, collects the last lane's
#define ONE_COLUMN(valid)                                                        \
    {                                                                            \
        word symbol[BITS];                                                       \
        for (int plane = 0; plane < BITS; plane++) {                             \
            symbol[plane] = (word)((int)text[plane] >> 31);                      \
            text[plane] <<= 1;                                                   \
        }                                                                        \
        const word ph_enters = lane ? ph_above : (word)ph_in << (W - 32);        \
        const word mh_enters = lane ? mh_above : (word)mh_in << (W - 32);        \
        ph_in <<= 1;                                                             \
        mh_in <<= 1;                                                             \
        ph_above = from_lane_above(ph);                                          \
        mh_above = from_lane_above(mh);                                          \
        if (valid) column(rows, symbol, pv, mv, ph_enters, mh_enters, &ph, &mh); \
        ph_out = (ph_out << 1) | (uint)(ph >> (W - 1));                          \
        mh_out = (mh_out << 1) | (uint)(mh >> (W - 1));                          \
    }

inline void load_rows(TEXT_IN(a_planes), long at, int step, word rows[BITS][K]) {
#pragma unroll
    for (int k = 0; k < K; k++)
#pragma unroll
        for (int plane = 0; plane < BITS; plane++) {
            const long here = at + (long)step * k * W;
#if W == 32
            rows[plane][k] = plane_word_lsb(a_planes, plane, here, step);
#else
            rows[plane][k] = (word)plane_word_lsb(a_planes, plane, here, step)
                | (word)plane_word_lsb(a_planes, plane, here + 32 * step, step) << 32;
#endif
        }
}

// Sweeps `length` columns from the symbol at b_at on; pv, mv are the lane's state; returns the change of D along the lowest row (in the
// last lane). border: whether the border words above are there; otherwise D rises by 1 a column. They are replaced by those below.
inline long sweep_tile(TEXT_IN(b_planes), long b_at, int step, int length, int lane, word rows[BITS][K], word *pv, word *mv,
                       bool border, __global uint *ph_border, __global uint *mh_border) {
    const int offset = LAG * (LANES - 1 - lane) - SKEW; // this lane's column in step 0
    const int blocks = (length + 31) / 32 + SKEW / 32, border_blocks = (length + 31) / 32;
    word ph = 0, mh = 0, ph_above = 0, mh_above = 0;
    uint ph_previous = 0, mh_previous = 0;
    long change = 0;
    for (int block = 0; block < blocks; block++) {
        uint text[BITS];
#pragma unroll
        for (int plane = 0; plane < BITS; plane++) text[plane] = plane_word_msb(b_planes, plane, b_at + step * (32 * block + offset), step);
        uint ph_in = ~0u, mh_in = 0;
        if (border && block < border_blocks) {
            ph_in = ph_border[block];
            mh_in = mh_border[block];
        }
#if LAG
        const uint ph_here = ph_in, mh_here = mh_in;
        ph_in = (ph_previous << (32 - LAG)) | (ph_in >> LAG);
        mh_in = (mh_previous << (32 - LAG)) | (mh_in >> LAG);
        ph_previous = ph_here;
        mh_previous = mh_here;
#endif
        uint ph_out = 0, mh_out = 0;
        const bool whole = 32 * block >= SKEW && 32 * block + 31 + LAG * (LANES - 1) - SKEW < length;
        if (whole) {
#pragma unroll UNROLL
            for (int q = 0; q < 32; q++) ONE_COLUMN(true)
        } else {
            for (int q = 0; q < 32; q++) ONE_COLUMN((uint)(32 * block + q + offset) < (uint)length)
        }
        const int finished = block - SKEW / 32;
        if (lane == LANES - 1 && finished >= 0) {
            ph_border[finished] = ph_out;
            mh_border[finished] = mh_out;
            const int left = length - 32 * finished;
            const uint valid = left >= 32 ? ~0u : ~0u << (32 - left);
            change += (long)popcount(ph_out & valid) - (long)popcount(mh_out & valid);
        }
    }
    return change;
}

// Differences of min(f(s), f(0) - gap + s) from those of f: `difference` is that of the next step, *gap (> 0) what f lies above the other.
// *gap <= 0 afterwards: f is the lower one from there on.
inline int lowered_step(int difference, long *gap) {
    const long next = *gap + difference - 1;
    *gap = next;
    return next >= 0 ? 1 : (int)next + 1;
}

// lowers a row of a border (first column highest in its word)
inline void lower_row(__global uint *ph_border, __global uint *mh_border, int length, long gap) {
    for (int j = 0; j < length && gap > 0; j++) {
        const uint bit = 0x80000000u >> (j & 31);
        const int step = lowered_step(((ph_border[j >> 5] & bit) != 0) - ((mh_border[j >> 5] & bit) != 0), &gap);
        ph_border[j >> 5] = (ph_border[j >> 5] & ~bit) | (step > 0 ? bit : 0);
        mh_border[j >> 5] = (mh_border[j >> 5] & ~bit) | (step < 0 ? bit : 0);
    }
}

// lowers a strip's column; returns how much its lowest row falls
inline long lower_column(__global word *pv, __global word *mv, long gap) {
    for (long i = 0; i < ROWS && gap > 0; i++) {
        const word bit = (word)1 << (i % W);
        const int step = lowered_step(((pv[i / W] & bit) != 0) - ((mv[i / W] & bit) != 0), &gap);
        pv[i / W] = (pv[i / W] & ~bit) | (step > 0 ? bit : 0);
        mv[i / W] = (mv[i / W] & ~bit) | (step < 0 ? bit : 0);
    }
    return max(gap, 0L);
}

#if defined(VARIANT_KHR) || defined(VARIANT_INTEL)
#define LANE ((int)get_sub_group_local_id())
#define sum_of_lanes(value) ((long)sub_group_reduce_add((int)(value)))
#define wait_for_lanes() sub_group_barrier(CLK_GLOBAL_MEM_FENCE)
#elif LANES == 32
#define LANE ((int)get_local_id(0) & 31)
inline long sum_of_lanes(long value) {
    int sum = (int)value;
    for (int distance = 16; distance; distance >>= 1) {
        int other;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(sum), "r"(distance));
        sum += other;
    }
    return sum;
}
#define wait_for_lanes() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define LANE 0
#define sum_of_lanes(value) (value)
#define wait_for_lanes()
#endif

// problem fields
#define A_AT 0       // position of row 1's symbol
#define B_AT 1       // position of column 1's symbol
#define M_ROWS 2
#define N_COLUMNS 3  // columns to sweep
#define STEP 4       // +1 or -1: direction in which both strings are read
#define DIFFERENCE 5 // N - M of the whole problem
#define N_WHOLE 6
#define BOUND 7
#define STRIP_BASE 8
#define CHUNK_BASE 9
#define OFFSET 10      // columns that the first chunk is shorter than CHUNK
#define KEPT_PHASE 11  // borders after chunks c with (c + 1 + phase) % every = 0 are kept
#define KEPT_STRIPS 12 // slots of a kept border
#define KEPT_BASE 13   // first slot of the problem

// columns before chunk c
inline long chunk_begin(__global const long *problem, long c) { return max(0L, c * CHUNK - problem[OFFSET]); }

inline long chunks_of(__global const long *problem) { return (problem[N_COLUMNS] + problem[OFFSET] + CHUNK - 1) / CHUNK; }

// first strip of Ukkonen's band in chunk c: j - i <= (bound + difference) / 2 somewhere in the tile
inline long first_strip(__global const long *problem, long c) {
    const long highest = floor_div(problem[BOUND] + problem[DIFFERENCE], 2);
    return max(0L, -floor_div(highest + ROWS - (c * CHUNK - problem[OFFSET]), ROWS));
}

#define UNKNOWN (1L << 60)
