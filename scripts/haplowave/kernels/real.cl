// The type that a kernel computes in: float, or double where the host defines FP64.
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double4 real4;
#else
typedef float real;
typedef float4 real4;
#endif
