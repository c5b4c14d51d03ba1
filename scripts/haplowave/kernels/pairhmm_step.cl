// What pairhmm_skewed.cl and pairhmm_long.cl share: the arithmetic of a block of rows in a lane of N columns, and the start of a job.

#include "real.cl"
#ifdef FP64
#define CODE(value) (as_uint2(value).x & 15u)
#define LARGEST 8.9e307
#else
#define CODE(value) (as_uint(value) & 15u)
#define LARGEST 4e37f
#endif
#ifndef ROWS
#define ROWS 2
#endif
#if defined(VARIANT_LOCAL)
#pragma OPENCL FP_CONTRACT ON
#define FMA(a, b, c) ((a) * (b) + (c)) // fma() is a slow library call on CPUs
#else
#define FMA(a, b, c) fma(a, b, c)
#endif

#include "pairhmm_exchange.cl"

#define READ_BLOCK 8 // rows that reads are padded to by pairhmm_prepare.cl
#define LANES (W * WARPS)
#define NONE (-1)
#define FOREVER 0x7fffffff

#define ALL_COLUMNS (~0u >> (32 - N))

// Columns of a lane that the haplotype has, a bit each.
inline uint valid_columns(int haplotype_length, int first_lane) {
    const int columns = haplotype_length - first_lane * N;
    return columns >= N ? ALL_COLUMNS : columns > 0 ? (1u << columns) - 1u : 0u;
}

// Sum of the columns that count, at the end of a job.
inline real sum_of(const real *t, uint valid) {
    real sum = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) if (valid & (1u << k)) sum += t[k];
    return sum;
}

// Row 0 of a job. Everything is set, so that no number of the job before matters, and no register holds one while the job is looked up.
inline void begin_state(real *t, real *J, real *m, real start) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
        t[k] = start;
        J[k] = m[k] = 0;
    }
}

inline void copy_masks(__local uint *own, __global const uint *mask) {
#if LETTERS == 4
    const uint4 words = *(__global const uint4 *)mask;
    own[0] = words.x;
    own[LANES] = words.y;
    own[2 * LANES] = words.z;
    own[3 * LANES] = words.w;
#else
    for (int c = 0; c < LETTERS; ++c) own[c * LANES] = mask[c];
#endif
}

// t[0,j]; zero where sums could overflow: a result of zero says so.
inline real start_value(real start, real scale, uint haplotype_length) {
    const real begin = start * scale;
    return begin < LARGEST ? begin / (real)haplotype_length : (real)0;
}

// A row. t_in and `across` (K) are the left neighbour's last column; returns K at the lane's last column. p: r, b, u, v.
inline real compute_row(real *t, real *J, real *m, real *t_left, real t_in, real across, real4 p, real ii, uint mismatch) {
#pragma unroll
    for (int k = 0; k < N; ++k) J[k] = FMA(p.y, J[k], m[k]);
    real diagonal = *t_left;
    *t_left = t_in;
#pragma unroll
    for (int k = 0; k < N; ++k) {
#ifdef FP64
        const real now = diagonal * (mismatch & (1u << k) ? p.x : (real)1); // selecting a factor reads fewer registers than a result
#else
        real now = diagonal;
        if (mismatch & (1u << k)) now *= p.x;
#endif
        diagonal = t[k];
        t[k] = FMA(p.z, J[k], FMA(p.w, across, now));
        across = FMA(ii, across, now);
        m[k] = now;
    }
    return across;
}
