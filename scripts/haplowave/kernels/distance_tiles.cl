// Bit-parallel edit distance in tiles (Myers 1999, in Hyyroe's 2003 form for blocks), banded and pruned.
//
// One column of a word of rows, with the horizontal difference (hp, hm) that enters from above:
//     Xv = Eq | Mv            Eq |= hm           Xh = (((Eq & Pv) + Pv) ^ Pv) | Eq
//     Ph = Mv | ~(Xh | Pv)    Mh = Pv & Xh       Phs = (Ph << 1) | hp    Mhs = (Mh << 1) | hm
//     Pv = Mhs | ~(Xv | Phs)  Mv = Phs & Xv
//
// A strip is ROWS = LANES * K * W rows; a lane holds K words of W rows in registers, and lane l is LAG * l columns behind
// lane 0, so that one shuffle a column hands the top bits of (Ph, Mh) down. A tile is a strip by CHUNK columns; the tiles of one launch lie on an
// anti-diagonal: strip a, chunk launch - a. With LANES = 1 (any device) a work-item does a tile alone in 64-bit words.
//
// Pruning: no cell of a path of cost <= bound has D[i,j] + |(N - j) - (M - i)| > bound. A tile is left out when both borders through
// which such a path would enter are too dear; what enters a tile from one that was left out is replaced by the dearest legal values
// (+1 a step), which are costs of real paths: results never fall below the distance, and equal it when it is <= bound.
//
// LAG = 2: lane l is two columns behind lane l - 1, so that the shuffle of one column runs while the next one is computed; a warp alone
// on its scheduler waits for nothing but its own chain of additions.
//
// Strings: bit planes, see distance_planes.cl. Per problem (FIELDS longs): see tiles.py. Per strip: pv, mv (word [LANES * K], row
// order), score = D at its lowest row after chunk `last`. Per chunk: strip that was last computed there, D at that strip's lowest row
// before and after the chunk. border: per chunk and 32 columns one word of Ph bits and one of Mh bits, first column highest.

#include "distance_planes.cl"

#if LANES == 32
typedef uint word;
#define W 32
#define LAG 2
#else
typedef ulong word;
#define W 64
#define LAG 0
#endif
#define SKEW (32 * LAG) // columns that the last lane is behind, rounded up to whole words of the border
#define ROWS ((long)LANES * K * W)
#define BLOCKS (CHUNK / 32)
#define FIELDS 12
#define ALL_ONES (~(word)0)

inline long magnitude(long x) { return x < 0 ? -x : x; }

inline long floor_div(long x, long y) { return x >= 0 ? x / y : -((-x + y - 1) / y); }

// sum = ep + pv over K words, carry from word to word
inline void add_words(const word *ep, const word *pv, word *sum) {
#if LANES == 32 && K == 8
    asm("add.cc.u32 %0,%8,%16; addc.cc.u32 %1,%9,%17; addc.cc.u32 %2,%10,%18; addc.cc.u32 %3,%11,%19;"
        "addc.cc.u32 %4,%12,%20; addc.cc.u32 %5,%13,%21; addc.cc.u32 %6,%14,%22; addc.u32 %7,%15,%23;"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3]), "=r"(sum[4]), "=r"(sum[5]), "=r"(sum[6]), "=r"(sum[7])
        : "r"(ep[0]), "r"(ep[1]), "r"(ep[2]), "r"(ep[3]), "r"(ep[4]), "r"(ep[5]), "r"(ep[6]), "r"(ep[7]), "r"(pv[0]), "r"(pv[1]),
          "r"(pv[2]), "r"(pv[3]), "r"(pv[4]), "r"(pv[5]), "r"(pv[6]), "r"(pv[7]));
#elif LANES == 32 && K == 4
    asm("add.cc.u32 %0,%4,%8; addc.cc.u32 %1,%5,%9; addc.cc.u32 %2,%6,%10; addc.u32 %3,%7,%11;"
        : "=r"(sum[0]), "=r"(sum[1]), "=r"(sum[2]), "=r"(sum[3])
        : "r"(ep[0]), "r"(ep[1]), "r"(ep[2]), "r"(ep[3]), "r"(pv[0]), "r"(pv[1]), "r"(pv[2]), "r"(pv[3]));
#elif LANES == 32 && K == 2
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

#if LANES == 32
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

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void tiles(__global const uint *restrict a_planes, __global const uint *restrict b_planes, __global const long *restrict problems,
           __global word *restrict pv_all, __global word *restrict mv_all, __global long *restrict strip_score,
           __global int *restrict strip_last, __global long *restrict chunk_strip, __global long *restrict chunk_before,
           __global long *restrict chunk_after, __global uint *restrict border_ph, __global uint *restrict border_mh,
           __global uint *restrict computed, const long launch, const long strip_low, const long strip_high) {
    __global const long *problem = problems + (long)get_global_id(1) * FIELDS;
    const int lane = LANES == 32 ? (int)get_local_id(0) & 31 : 0;
    const long m = problem[M_ROWS], n = problem[N_COLUMNS], bound = problem[BOUND], difference = problem[DIFFERENCE];
    const long strips = (m + ROWS - 1) / ROWS, chunks = (n + CHUNK - 1) / CHUNK;
    // Ukkonen's band: j - i in [-(bound - difference) / 2, (bound + difference) / 2]
    const long lowest = -floor_div(bound - difference, 2), highest = floor_div(bound + difference, 2);
    const long first = max(max(strip_low, launch - chunks + 1), -floor_div(highest + ROWS - launch * CHUNK, ROWS + CHUNK));
    const long final = min(min(min(strips, strip_high) - 1, launch), floor_div((launch + 1) * CHUNK - lowest, ROWS + CHUNK));
    const long a = first + (long)get_global_id(0) / LANES;
    if (a > final) return;
    const long c = launch - a;
    const long strip = problem[STRIP_BASE] + a, chunk = problem[CHUNK_BASE] + c;
    const long j0 = c * CHUNK;
    const int length = (int)min((long)CHUNK, n - j0);

    const bool has_left = c == 0 || strip_last[strip] == (int)c - 1;
    const bool has_above = a == 0 || chunk_strip[chunk] == a - 1;
    const long left_score = c == 0 ? (a + 1) * ROWS : strip_score[strip];
    const long above_before = a == 0 ? j0 : chunk_before[chunk];
    const long above_after = a == 0 ? j0 + length : chunk_after[chunk];
    const long to_end = problem[N_WHOLE] - problem[DIFFERENCE]; // M
    const long left_least = left_score + magnitude(problem[N_WHOLE] - j0 - (to_end - (a + 1) * ROWS)) - 2 * ROWS;
    const long above_least = above_after + magnitude(problem[N_WHOLE] - j0 - length - (to_end - a * ROWS)) - 2 * length;
    if (!(has_left && left_least <= bound) && !(has_above && above_least <= bound)) return;

    const int step = (int)problem[STEP];
    const long words_at = (strip * LANES + lane) * K;
    word rows[BITS][K], pv[K], mv[K];
#pragma unroll
    for (int k = 0; k < K; k++) {
        const long at = problem[A_AT] + step * (a * ROWS + (lane * K + k) * W);
#pragma unroll
        for (int plane = 0; plane < BITS; plane++) {
#if W == 32
            rows[plane][k] = plane_word_lsb(a_planes, plane, at, step);
#else
            rows[plane][k] = (word)plane_word_lsb(a_planes, plane, at, step)
                | (word)plane_word_lsb(a_planes, plane, at + 32 * step, step) << 32;
#endif
        }
        pv[k] = has_left && c ? pv_all[words_at + k] : ALL_ONES;
        mv[k] = has_left && c ? mv_all[words_at + k] : 0;
    }
    const long score_before = has_left ? left_score : above_before + ROWS;
    long score = score_before;
    const bool border = has_above && a > 0;
    __global uint *ph_border = border_ph + chunk * BLOCKS, *mh_border = border_mh + chunk * BLOCKS;
    const int offset = LAG * (LANES - 1 - lane) - SKEW; // this lane's column in step 0
    const int blocks = (length + 31) / 32 + SKEW / 32;
    word ph = 0, mh = 0, ph_above = 0, mh_above = 0;
    uint ph_previous = 0, mh_previous = 0;
    for (int block = 0; block < blocks; block++) {
        uint text[BITS];
#pragma unroll
        for (int plane = 0; plane < BITS; plane++)
            text[plane] = plane_word_msb(b_planes, plane, problem[B_AT] + step * (j0 + 32 * block + offset), step);
        uint ph_in = ~0u, mh_in = 0;
        if (border) {
            ph_in = block < BLOCKS ? ph_border[block] : 0;
            mh_in = block < BLOCKS ? mh_border[block] : 0;
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
            score += (long)popcount(ph_out & valid) - (long)popcount(mh_out & valid);
        }
    }
#pragma unroll
    for (int k = 0; k < K; k++) {
        pv_all[words_at + k] = pv[k];
        mv_all[words_at + k] = mv[k];
    }
    if (lane == LANES - 1) {
        strip_score[strip] = score;
        strip_last[strip] = (int)c;
        chunk_strip[chunk] = a;
        chunk_before[chunk] = score_before;
        chunk_after[chunk] = score;
        atomic_inc(&computed[get_global_id(1)]);
    }
}

#define UNKNOWN (1L << 60)

// corner[task] = D[M_ROWS, N_COLUMNS], UNKNOWN where the last tile was left out
__kernel void corners(__global const long *restrict problems, __global const word *restrict pv_all, __global const word *restrict mv_all,
                      __global const long *restrict strip_score, __global const int *restrict strip_last, __global long *restrict corner) {
    const int which = get_global_id(0);
    __global const long *problem = problems + (long)which * FIELDS;
    const long m = problem[M_ROWS], chunks = (problem[N_COLUMNS] + CHUNK - 1) / CHUNK, strips = (m + ROWS - 1) / ROWS;
    const long strip = problem[STRIP_BASE] + strips - 1;
    long value = strip_score[strip];
    const long below = strips * ROWS - m; // rows of the strip that lie under the last row
    for (long row = 0; row < below; row += W) {
        const long at = (strip + 1) * LANES * K - 1 - row / W;
        const word kept = below - row >= W ? ALL_ONES : ALL_ONES << (W - (below - row));
        value -= (long)popcount(pv_all[at] & kept) - (long)popcount(mv_all[at] & kept);
    }
    corner[which] = strip_last[strip] == (int)chunks - 1 ? value : UNKNOWN;
}

// values[row_base + i] = D[i, N_COLUMNS] of the swept part for i = 1..M_ROWS (UNKNOWN where pruned); row 0 is known to be N_COLUMNS
__kernel void last_column(__global const long *restrict problems, __global const word *restrict pv_all, __global const word *restrict mv_all,
                          __global const long *restrict strip_score, __global const int *restrict strip_last,
                          __global const long *restrict row_base, __global long *restrict values) {
    const int which = get_global_id(1);
    __global const long *problem = problems + (long)which * FIELDS;
    const long m = problem[M_ROWS], n = problem[N_COLUMNS];
    const long strips = (m + ROWS - 1) / ROWS, chunks = (n + CHUNK - 1) / CHUNK;
    const long a = get_global_id(0);
    if (a == 0) values[row_base[which]] = n;
    if (a >= strips) return;
    const long strip = problem[STRIP_BASE] + a;
    const bool known = strip_last[strip] == (int)chunks - 1;
    long value = strip_score[strip];
    long row = (a + 1) * ROWS;
    for (int at = LANES * K - 1; at >= 0; at--) {
        word pv = pv_all[strip * LANES * K + at], mv = mv_all[strip * LANES * K + at];
        for (int bit = W - 1; bit >= 0; bit--) {
            if (row <= m) values[row_base[which] + row] = known ? value : UNKNOWN;
            value += (long)((mv >> bit) & 1) - (long)((pv >> bit) & 1);
            row--;
        }
    }
}

// Problems 2 pair and 2 pair + 1; part q of `parts` of the rows: best[3 (pair * parts + q) + 0, 1, 2] = min over its rows i of
// forward[i] + backward[m - i], the least such i, forward[i].
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void meet(__global const long *restrict problems, __global const long *restrict row_base, __global const long *restrict values,
          __global long *restrict best) {
    __local long least[64], where[64];
    const int pair = get_group_id(1), part = get_group_id(0), parts = get_num_groups(0), lane = get_local_id(0);
    const long m = problems[2L * pair * FIELDS + M_ROWS];
    __global const long *forward = values + row_base[2 * pair], *backward = values + row_base[2 * pair + 1];
    const long end = (m + 1) * (part + 1) / parts;
    long value = UNKNOWN * 2, at = 0;
    for (long i = (m + 1) * part / parts + lane; i < end; i += 64) {
        const long sum = forward[i] + backward[m - i];
        if (sum < value) {
            value = sum;
            at = i;
        }
    }
    least[lane] = value;
    where[lane] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane) return;
    for (int other = 1; other < 64; other++)
        if (least[other] < value || (least[other] == value && where[other] < at)) {
            value = least[other];
            at = where[other];
        }
    best += 3L * (pair * parts + part);
    best[0] = value;
    best[1] = at;
    best[2] = forward[at];
}
