// Exponents of lanes, for pairhmm_long.cl.

#ifdef FP64
#define TOP 900      // the largest number of a lane is kept near 2^TOP, where J may be 2^31 above t
#define CEILING 1000 // what may come in stays below 2^CEILING
#define MOST 1000
#else
#define TOP 90
#define CEILING 126
#define MOST 120
#endif
#define OWN_GROWTH 24 // binades that a lane's numbers may grow by on their own between two looks
#define SLACK 2       // exponents that the largest number may be off before a lane is scaled

#ifdef FP64
#define BIAS 1023
inline real normal_power(int e) { return as_double((ulong)(uint)(e + BIAS) << 52); }
inline int exponent_of(real x) { return (int)(as_ulong(x) >> 52) - BIAS; }
#else
#define BIAS 127
inline real normal_power(int e) { return as_float((uint)(e + BIAS) << 23); }
inline int exponent_of(real x) { return (int)(as_uint(x) >> 23) - BIAS; }
#endif

// 2^e as far as the range goes, denormal numbers included; e <= MOST. In two factors that are normal numbers: nothing branches.
inline real power_of_two(int e) {
    e = clamp(e, -2 * MOST, MOST);
    return normal_power(e >> 1) * normal_power(e - (e >> 1));
}

// x * 2^e, where the factor alone may be out of range.
inline real4 scaled(real4 x, int e) {
    e = clamp(e, -2 * MOST, 2 * MOST);
    return x * normal_power(e >> 1) * normal_power(e - (e >> 1));
}

inline real largest_border(const real *t_out, const real *K_out) {
    real largest = fmax(t_out[0], K_out[0]);
#pragma unroll
    for (int r = 1; r < ROWS; ++r) largest = fmax(largest, fmax(t_out[r], K_out[r]));
    return largest;
}

inline void scale_lane(real *t, real *J, real *m, real *t_left, real *t_out, real *K_out, real factor) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
        t[k] *= factor;
        J[k] *= factor;
        m[k] *= factor;
    }
    *t_left *= factor;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        t_out[r] *= factor;
        K_out[r] *= factor;
    }
}
