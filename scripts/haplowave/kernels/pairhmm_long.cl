// What LONG adds to pairhmm_skewed.cl: exponents of lanes, borders of strips through global memory, progress counters.
//
// borders: 2*ROWS numbers a block of rows of a pair (t of each row, then K of each row), one exponent a block. One buffer serves all
// strips of a pair: a strip overwrites a block long after it has read it. progress[job]: blocks whose border can be read.

#ifdef VARIANT_NVIDIA
inline int load_acquire(volatile __global int *address) {
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
inline void store_release(volatile __global int *address, int value) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}
#else
inline int load_acquire(volatile __global int *address) {
    const int value = atomic_add(address, 0);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return value;
}
inline void store_release(volatile __global int *address, int value) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(address, value);
}
#endif

#ifdef FP64
inline real power_of_two(int e) { return e < -1022 ? 0.0 : as_double((ulong)(min(e, 1023) + 1023) << 52); }
inline int exponent_of(real x) { return (int)(as_ulong(x) >> 52) - 1023; }
#else
inline real power_of_two(int e) { return e < -126 ? 0.0f : as_float((uint)(min(e, 127) + 127) << 23); }
inline int exponent_of(real x) { return (int)(as_uint(x) >> 23) - 127; }
#endif

// The next job of a sub-warp; lane 0 draws it, the others follow their left neighbour. IDLE where the warp must empty its pipeline
// first, because the strip before the drawn one is not far enough ahead.
inline int take_job(int job, int sub, int job_left, int *pending, int end, int base, volatile __global int *counter,
                    __global const job_type *jobs, volatile __global int *progress) {
    if (sub) return job_left;
    int next = *pending;
    *pending = NONE;
    if (next != NONE) return next;
    next = base + atomic_inc(counter);
    if (next < end && job >= 0) {
        const int predecessor = jobs[next].w;
        if (predecessor >= 0 && load_acquire(progress + predecessor) < WAIT_FOR) {
            *pending = next;
            return IDLE;
        }
    }
    return next;
}

// t and K at the left border of block `done` of a strip, into t_in and K; returns their exponent.
inline int read_border(real *t_in, real *K, volatile __global real *borders, volatile __global int *border_exponents, uint at, int done,
                       volatile __global int *progress) {
    if (done % PUBLISH == 0)
        while (load_acquire(progress) < done + PUBLISH) {}
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        t_in[r] = borders[(size_t)at * (2 * ROWS) + r];
        K[r] = borders[(size_t)at * (2 * ROWS) + ROWS + r];
    }
    return border_exponents[at];
}

inline void write_border(const real *t_out, const real *K_out, int exponent, volatile __global real *borders,
                         volatile __global int *border_exponents, uint at, int done, int left, volatile __global int *progress) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        borders[(size_t)at * (2 * ROWS) + r] = t_out[r];
        borders[(size_t)at * (2 * ROWS) + ROWS + r] = K_out[r];
    }
    border_exponents[at] = exponent;
    if (left == 0 || done % PUBLISH == 0) store_release(progress, left == 0 ? FOREVER : done);
}

// Bring what came from the left and the lane's own numbers to one exponent, the larger of the two.
inline void align(real *t, real *J, real *m, real *t_left, int *exponent, real *t_in, real *K, int exponent_in) {
    if (exponent_in > *exponent) {
        const real factor = power_of_two(*exponent - exponent_in);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            t[k] *= factor;
            J[k] *= factor;
            m[k] *= factor;
        }
        *t_left *= factor;
        *exponent = exponent_in;
    }
    const real factor = power_of_two(exponent_in - *exponent);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        t_in[r] *= factor;
        K[r] *= factor;
    }
}

// Keep the largest number of the lane near 2^TOP. A lane of zeros takes whatever comes.
inline void rescale(real *t, real *J, real *m, real *t_left, real *t_out, real *K_out, int *exponent) {
    real largest = *t_left;
#pragma unroll
    for (int k = 0; k < N; ++k) largest = fmax(largest, fmax(t[k], J[k]));
    if (largest == 0) {
        *exponent = EMPTY;
        return;
    }
    const int shift = clamp(TOP - exponent_of(largest), -LIMIT, LIMIT);
    if (abs(shift) <= SLACK) return;
    const real factor = power_of_two(shift);
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
    *exponent -= shift;
}
