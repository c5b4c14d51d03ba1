// The type that a kernel computes in: float, or double where the host defines FP64.
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double4 real4;
#else
typedef float real;
typedef float4 real4;
#endif

// Where column k of a lane is in a word of masks. NVIDIA's GPUs make predicates of the lower seven bits of a byte in one instruction, but
// the compiler tests bit 0 by itself: the first 27 columns avoid it and each byte's highest bit.
#define COLUMN_BIT(k) (1u << ((k) < 6 ? (k) + 1 : (k) < 27 ? (k) + 2 + ((k) - 6) / 7 : (k) == 27 ? 0 : 8 * (k) - 217))
