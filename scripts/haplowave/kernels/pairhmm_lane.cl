// What the kernels with skewed lanes share: the arithmetic of a row in a lane of N columns.

#include "real.cl"
#ifdef FP64
#define CODE(value) (as_uint2(value).x & 15u)
#else
#define CODE(value) (as_uint(value) & 15u)
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

// The mismatches of the lane's columns with the letter of a row whose r this is.
inline uint mask_of(__local const uint *own, real r) {
#ifdef VARIANT_NVIDIA
    uint code; // hidden from the compiler, which would turn the product into a shift, a mask and another shift
#ifdef FP64
    asm("and.b32 %0, %1, 15;" : "=r"(code) : "r"(as_uint2(r).x));
#else
    asm("and.b32 %0, %1, 15;" : "=r"(code) : "r"(as_uint(r)));
#endif
    return own[code * LANES];
#else
    return own[CODE(r) * LANES];
#endif
}

// A row. t_in and `across` (K) are those of the lane before, at its last column; returns K at the lane's last column. p: r, b, u, v.
inline real compute_row(real *t, real *J, real *m, real *t_left, real t_in, real across, real4 p, real ii, uint mismatch) {
#pragma unroll
    for (int k = 0; k < N; ++k) J[k] = FMA(p.y, J[k], m[k]);
    real diagonal = *t_left;
    *t_left = t_in;
#pragma unroll
    for (int k = 0; k < N; ++k) {
#ifdef FP64
        const real now = diagonal * (mismatch & COLUMN_BIT(k) ? p.x : (real)1); // selecting a factor reads fewer registers than a result
#else
        real now = diagonal;
        if (mismatch & COLUMN_BIT(k)) now *= p.x;
#endif
        diagonal = t[k];
#ifdef K_FIRST // the same in another order, which decides what registers the compiler takes
        const real before = across;
        across = FMA(ii, across, now);
        t[k] = FMA(p.z, J[k], FMA(p.w, before, now));
#else
        t[k] = FMA(p.z, J[k], FMA(p.w, across, now));
        across = FMA(ii, across, now);
#endif
        m[k] = now;
    }
    return across;
}
