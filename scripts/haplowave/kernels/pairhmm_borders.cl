// Borders between strips, for pairhmm_long.cl.
//
// A border is a record a block of rows and an exponent: t of two rows and K of the same, and so on. The strip to the left writes them,
// the strip to the right reads them, perhaps at the same time. No number is negative, so that its sign says which strip wrote it: its
// bit is the lowest of the strip's number, and so is the uppermost bit of the exponent's word. The host fills the buffers with ones, as if
// strip -1 had been there. A reader looks at the numbers until all have the right sign, and no fence is needed for them.
//
// The sign tells the strip to the left from the one before it, but not from the one before that. The numbers of the latter are gone: the
// strip to the left has seen those of the former in a block before it wrote one that lies less than W blocks before it. So a reader waits
// by `progress` for the first block, and then looks at less than W blocks that follow those that it has.

#define RECORDS (ROWS / 2) // of a block
#define POWER_OF(word) ((int)((uint)(word) << 1) >> 1) // the exponent
#ifdef FP64
#define SIGN_OF(x) ((int)(as_ulong(x) >> 32))
inline real with_sign(real x, uint sign) { return as_double((as_ulong(x) & 0x7ffffffffffffffful) | (ulong)sign << 32); }
#else
#define SIGN_OF(x) as_int(x)
inline real with_sign(real x, uint sign) { return as_float((as_uint(x) & 0x7fffffffu) | sign); }
#endif

#ifdef VARIANT_NVIDIA
inline int peek(volatile __global int *address) {
    int value;
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
inline void leave(volatile __global int *address, int value) {
    asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}
inline real4 peek_record(__global const real4 *address) {
    real a, b, c, d;
#ifdef FP64
    asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];" : "=d"(a), "=d"(b) : "l"(address) : "memory");
    asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2 + 16];" : "=d"(c), "=d"(d) : "l"(address) : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(address) : "memory");
#endif
    return (real4)(a, b, c, d);
}
inline void leave_record(__global real4 *address, real4 record) {
#ifdef FP64
    asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" : : "l"(address), "d"(record.x), "d"(record.y) : "memory");
    asm volatile("st.relaxed.gpu.global.v2.f64 [%0 + 16], {%1, %2};" : : "l"(address), "d"(record.z), "d"(record.w) : "memory");
#else
    asm volatile("st.relaxed.gpu.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 : : "l"(address), "f"(record.x), "f"(record.y), "f"(record.z), "f"(record.w) : "memory");
#endif
}
#else // elsewhere the exponent, which is written last and read first, vouches for the numbers
inline int peek(volatile __global int *address) {
    const int value = atomic_add(address, 0);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return value;
}
inline void leave(volatile __global int *address, int value) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(address, value);
}
inline real4 peek_record(__global const real4 *address) { return *(volatile __global const real4 *)address; }
inline void leave_record(__global real4 *address, real4 record) { *(volatile __global real4 *)address = record; }
#endif

// Writes block `block` of the border of a strip with this lowest bit. Its records lie KEPT apart.
inline void leave_border(__global real4 *borders, volatile __global int *border_exponents, uint block, __local const real4 *records,
                         int exponent, int bit) {
    const uint sign = (uint)bit << 31;
#pragma unroll
    for (int r = 0; r < RECORDS; ++r) {
        const real4 of = records[r * KEPT];
        leave_record(borders + (block * RECORDS + r),
                     (real4)(with_sign(of.x, sign), with_sign(of.y, sign), with_sign(of.z, sign), with_sign(of.w, sign)));
    }
    leave(border_exponents + block, (exponent & 0x7fffffff) | sign);
}

// The records of a block and its exponent's word.
inline void fetch_border(real4 *fetched, int *word, __global const real4 *borders, volatile __global int *border_exponents, uint block) {
    *word = peek(border_exponents + block);
#pragma unroll
    for (int r = 0; r < RECORDS; ++r) fetched[r] = peek_record(borders + (block * RECORDS + r));
}

// Negative where they are not yet those of a strip with this lowest bit.
inline int is_old(const real4 *fetched, int word, int bit) {
    const int sign = bit << 31;
    int old = word ^ sign;
#pragma unroll
    for (int r = 0; r < RECORDS; ++r) {
        const real4 of = fetched[r];
        old |= (SIGN_OF(of.x) ^ sign) | (SIGN_OF(of.y) ^ sign) | (SIGN_OF(of.z) ^ sign) | (SIGN_OF(of.w) ^ sign);
    }
    return old;
}
