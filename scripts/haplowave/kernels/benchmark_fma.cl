// The multiply-adds that a device can issue: CHAINS independent chains of x = x*a + b in each of LANES lanes of a vector, nothing else.
#include "real.cl"
#pragma OPENCL FP_CONTRACT ON
#define JOIN(a, b) a##b
#define VECTOR(type, n) JOIN(type, n)
#if LANES == 1
typedef real lanes;
#define FIRST(x) (x)
#elif defined(FP64)
typedef VECTOR(double, LANES) lanes;
#define FIRST(x) (x).s0
#else
typedef VECTOR(float, LANES) lanes;
#define FIRST(x) (x).s0
#endif

__kernel void multiply_add(const real a, const real b, const int steps, __global real *sums) {
    lanes x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = (lanes)((real)(get_global_id(0) + c));
    for (int i = 0; i < steps; ++i) {
#pragma unroll
        for (int c = 0; c < CHAINS; ++c) x[c] = x[c] * (lanes)(a) + (lanes)(b);
    }
    lanes sum = x[0];
#pragma unroll
    for (int c = 1; c < CHAINS; ++c) sum += x[c];
    sums[get_global_id(0)] = FIRST(sum);
}
