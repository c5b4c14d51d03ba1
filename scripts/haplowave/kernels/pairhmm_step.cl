// What pairhmm_skewed.cl and pairhmm_long.cl share beyond the arithmetic: the start and the end of a job.

#include "pairhmm_lane.cl"
#ifdef FP64
#define LARGEST 8.9e307
#else
#define LARGEST 4e37f
#endif

#define READ_BLOCK 8 // rows that reads are padded to by pairhmm_prepare.cl
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
    if (valid == ALL_COLUMNS) { // as of most lanes
#pragma unroll
        for (int k = 0; k < N; ++k) sum += t[k];
    } else {
#pragma unroll
        for (int k = 0; k < N; ++k) if (valid & (1u << k)) sum += t[k];
    }
    return sum;
}

// A value that branches end in. To the compiler it is a new one, or it would write the state that depends on it in each branch apart.
#ifdef VARIANT_NVIDIA
inline real joined(real value) {
#ifdef FP64
    asm volatile("" : "+d"(value));
#else
    asm volatile("" : "+f"(value));
#endif
    return value;
}
#define JOINED(value) joined(value)
#else
#define JOINED(value) (value)
#endif

// Row 0 of a job. Everything is set, so that no number of the job before matters, and no register holds one while the job is looked up.
inline void begin_state(real *t, real *J, real *m, real start) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
        t[k] = start;
        J[k] = m[k] = 0;
    }
}

// t[0,j]; zero where sums could overflow: a result of zero says so.
inline real start_value(real start, real scale, uint haplotype_length) {
    const real begin = start * scale;
    return begin < LARGEST ? begin / (real)haplotype_length : (real)0;
}
