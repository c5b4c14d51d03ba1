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

// The borders of PUBLISH blocks from `at` on, fetched by all lanes; past the caches that are not coherent.
inline void read_borders(__local real *numbers, __local int *powers, volatile __global const real *borders,
                         volatile __global const int *border_exponents, uint at, int lane) {
    for (int i = lane; i < PUBLISH * 2 * ROWS; i += W) numbers[i] = borders[(size_t)at * (2 * ROWS) + i];
    for (int i = lane; i < PUBLISH; i += W) powers[i] = border_exponents[at + i];
}

inline void write_border(const real *t_out, const real *K_out, int exponent, __global real *borders, __global int *border_exponents,
                         uint at, int done, int left, volatile __global int *progress) {
    __global real4 *const to = (__global real4 *)(borders + (size_t)at * (2 * ROWS));
#if ROWS == 2
    to[0] = (real4)(t_out[0], t_out[1], K_out[0], K_out[1]);
#else
#pragma unroll
    for (int r = 0; r < ROWS; r += 4) {
        to[r / 4] = (real4)(t_out[r], t_out[r + 1], t_out[r + 2], t_out[r + 3]);
        to[(ROWS + r) / 4] = (real4)(K_out[r], K_out[r + 1], K_out[r + 2], K_out[r + 3]);
    }
#endif
    border_exponents[at] = exponent;
    if (left == 0 || done % PUBLISH == 0) store_release(progress, left == 0 ? FOREVER : done);
}

// Bring what came from the left to the lane's exponent; where it is too large for that, the lane goes up first.
inline void align(real *t, real *J, real *m, real *t_left, int *exponent, real *t_in, real *K, int exponent_in) {
    int difference = exponent_in - *exponent;
    real largest = fmax(t_in[0], K[0]);
#pragma unroll
    for (int r = 1; r < ROWS; ++r) largest = fmax(largest, fmax(t_in[r], K[r]));
    const int excess = exponent_of(largest) + difference - TOP;
    if (largest > 0 && excess > SLACK / 2) {
        const real factor = power_of_two(-excess);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            t[k] *= factor;
            J[k] *= factor;
            m[k] *= factor;
        }
        *t_left *= factor;
        *exponent += excess;
        difference -= excess;
    }
    difference = clamp(difference, -2 * LIMIT, 2 * LIMIT); // in two steps: the factor alone may be out of range
    const real half_factor = power_of_two(difference / 2), rest = power_of_two(difference - difference / 2);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        t_in[r] = t_in[r] * half_factor * rest;
        K[r] = K[r] * half_factor * rest;
    }
}

// Keep the largest number of the lane near 2^TOP. A lane of zeros takes whatever comes.
inline void rescale(real *t, real *J, real *m, real *t_left, real *t_out, real *K_out, int *exponent) {
    real largest = *t_left;
#pragma unroll
    for (int k = 0; k < N; ++k) largest = fmax(largest, fmax(t[k], J[k]));
#pragma unroll
    for (int r = 0; r < ROWS; ++r) largest = fmax(largest, fmax(t_out[r], K_out[r])); // earlier rows of the block may be far above
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
