// One-lane exchange inside a warp of W work-items, in four variants; the host defines exactly one of
//   VARIANT_NVIDIA   inline PTX, W = 32; with SM_80 that of compute capability 8.0
//   VARIANT_KHR      cl_khr_subgroup_shuffle_relative and cl_khr_subgroups, W = the sub-group's size
//   VARIANT_INTEL    cl_intel_subgroups, W = the sub-group's size
//   VARIANT_LOCAL    local memory and barriers: W = the work-group's size, every device runs it
//
// EXCHANGE_STORAGE      declares what the variant needs; once, at the top of a kernel
// BEGIN_EXCHANGE(...)   gives the lane's values away; FROM_LEFT(slot, value) is what the lane to the left gave as `value`, slot by slot
// FROM_LEFT_BY(value, n) the same from n lanes to the left (not VARIANT_LOCAL)
// WARP_BARRIER          makes local memory written by one lane visible to the others
// FROM_LANE(slot, value, source)  what the lane `source` gave
// ANY_LANE(condition)   true for all lanes when the condition holds for one of them; ANY_NEGATIVE(value) when its int is negative
// UNIFORM(condition)    a condition that is the same in all lanes, in a form that tells the compiler so
// FETCH_AHEAD(pointer)  brings a line of global memory near, without waiting for it; nothing where that is not sure to be possible
// GROUP_OF_WARPS        attributes of a kernel: the sizes of work-group (WARPS warps; not with FREE_SIZE) and sub-group
// copy_row(to, from)    copies from global to local memory; the copy is there after COPIES_LANDED and WARP_BARRIER
// LARGEST_OF(value)     the largest int that a lane of the warp has; FIRST_LANES(value) the int of lane 0

#define LANES (W * WARPS)
#ifdef FREE_SIZE
#define GROUP_SIZE
#else
#define GROUP_SIZE __attribute__((reqd_work_group_size(LANES, 1, 1)))
#endif
#if defined(VARIANT_INTEL) || defined(VARIANT_KHR) && defined(cl_intel_required_subgroup_size)
#define GROUP_OF_WARPS GROUP_SIZE __attribute__((intel_reqd_sub_group_size(W)))
#else
#define GROUP_OF_WARPS GROUP_SIZE
#endif

#if defined(VARIANT_NVIDIA)

inline uint shuffle_up_32(uint value, uint offset) {
    uint result;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(result) : "r"(value), "r"(offset));
    return result;
}
inline uint any_lane(int condition) {
    uint result;
    asm volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
                 : "=r"(result) : "r"(condition));
    return result;
}
inline uint any_negative(int value) {
    uint result;
    asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
                 : "=r"(result) : "r"(value));
    return result;
}
inline int first_lanes(int value) {
    int result;
    asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;" : "=r"(result) : "r"(value));
    return result;
}
#ifdef SM_80
inline int largest_of(int value) {
    int result;
    asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
    return result;
}
inline void copy_row(__local real4 *to, __global const real4 *from) { // past the registers
    const uint local_to = (uint)(size_t)to;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" : : "r"(local_to), "l"(from) : "memory");
#ifdef FP64
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" : : "r"(local_to + 16), "l"((__global const real *)from + 2) : "memory");
#endif
}
#define COPIES_LANDED asm volatile("cp.async.wait_all;" : : : "memory");
#else
inline int largest_of(int value) {
#pragma unroll
    for (uint distance = W / 2; distance; distance /= 2) {
        int other;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(value), "r"(distance));
        value = max(value, other);
    }
    return value;
}
#endif
inline uint shuffle_32(uint value, int source) {
    uint result;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(result) : "r"(value), "r"(source));
    return result;
}
#define EXCHANGE_STORAGE
#define BEGIN_EXCHANGE
#define GIVE(slot, value)
#define GIVE_INT(slot, value)
#define END_EXCHANGE
#define INT_FROM_LEFT(slot, value) ((int)shuffle_up_32((uint)(value), 1u))
#define ANY_LANE(condition) any_lane(condition)
#define UNIFORM(condition) any_lane(condition)
#define ANY_NEGATIVE(value) any_negative(value)
#define LARGEST_OF(value) largest_of(value)
#define FIRST_LANES(value) first_lanes(value)
#define FETCH_AHEAD(pointer) asm volatile("prefetch.global.L1 [%0];" : : "l"(pointer));
#define WARP_BARRIER asm volatile("bar.warp.sync 0xffffffff;" : : : "memory");
#ifdef FP64
inline double shuffle_up_64(double value, uint offset) {
    const uint2 halves = as_uint2(value);
    return as_double((uint2)(shuffle_up_32(halves.x, offset), shuffle_up_32(halves.y, offset)));
}
inline double shuffle_64(double value, int source) {
    const uint2 halves = as_uint2(value);
    return as_double((uint2)(shuffle_32(halves.x, source), shuffle_32(halves.y, source)));
}
#define FROM_LEFT_BY(value, offset) shuffle_up_64(value, offset)
#define FROM_LANE(slot, value, source) shuffle_64(value, source)
#else
#define FROM_LEFT_BY(value, offset) as_float(shuffle_up_32(as_uint(value), offset))
#define FROM_LANE(slot, value, source) as_float(shuffle_32(as_uint(value), source))
#endif
#define FROM_LEFT(slot, value) FROM_LEFT_BY(value, 1u)

#elif defined(VARIANT_KHR) || defined(VARIANT_INTEL)

#define EXCHANGE_STORAGE
#define BEGIN_EXCHANGE
#define GIVE(slot, value)
#define GIVE_INT(slot, value)
#define END_EXCHANGE
#ifdef VARIANT_KHR
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle_relative : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define FROM_LANE(slot, value, source) sub_group_shuffle(value, (uint)(source))
#define FROM_LEFT_BY(value, offset) sub_group_shuffle_up(value, (uint)(offset))
#define INT_FROM_LEFT(slot, value) sub_group_shuffle_up(value, 1u)
#elif defined(FP64)
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
inline double shuffle_up_64(double value, uint offset) {
    const uint2 halves = as_uint2(value);
    return as_double((uint2)(intel_sub_group_shuffle_up(0u, halves.x, offset), intel_sub_group_shuffle_up(0u, halves.y, offset)));
}
inline double shuffle_64(double value, uint source) {
    const uint2 halves = as_uint2(value);
    return as_double((uint2)(intel_sub_group_shuffle(halves.x, source), intel_sub_group_shuffle(halves.y, source)));
}
#define FROM_LEFT_BY(value, offset) shuffle_up_64(value, (uint)(offset))
#define FROM_LANE(slot, value, source) shuffle_64(value, (uint)(source))
#define INT_FROM_LEFT(slot, value) intel_sub_group_shuffle_up(0, value, 1u)
#else
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#define FROM_LEFT_BY(value, offset) intel_sub_group_shuffle_up(0.0f, value, (uint)(offset))
#define FROM_LANE(slot, value, source) intel_sub_group_shuffle(value, (uint)(source))
#define INT_FROM_LEFT(slot, value) intel_sub_group_shuffle_up(0, value, 1u)
#endif
#define FROM_LEFT(slot, value) FROM_LEFT_BY(value, 1u)
#define ANY_LANE(condition) sub_group_any(condition)
#define UNIFORM(condition) (condition)
#define ANY_NEGATIVE(value) sub_group_any((value) < 0)
#define LARGEST_OF(value) sub_group_reduce_max(value)
#define FIRST_LANES(value) sub_group_broadcast(value, 0u)
#define FETCH_AHEAD(pointer)
#define WARP_BARRIER sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

#else

#define EXCHANGE_STORAGE                          \
    __local real exchange_reals[2 * ROWS + 1][W];     \
    __local int exchange_ints[2][W];              \
    __local int exchange_flags[W];
#define BEGIN_EXCHANGE barrier(CLK_LOCAL_MEM_FENCE);
#define GIVE(slot, value) exchange_reals[slot][lane] = (value);
#define GIVE_INT(slot, value) exchange_ints[slot][lane] = (value);
#define END_EXCHANGE barrier(CLK_LOCAL_MEM_FENCE);
#define FROM_LEFT(slot, value) exchange_reals[slot][lane ? lane - 1 : 0]
#define FROM_LANE(slot, value, source) exchange_reals[slot][source]
#define INT_FROM_LEFT(slot, value) exchange_ints[slot][lane ? lane - 1 : 0]
inline int any_lane(int condition, int lane, __local int *flags) {
    int found = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    flags[lane] = condition; // no branch around the store: a compiler that turns barriers into loops would copy the barrier into it
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < W; ++i) found |= flags[i];
    return found;
}
inline int largest_of(int value, int lane, __local int *flags) {
    int largest = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    flags[lane] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < W; ++i) largest = max(largest, flags[i]);
    return largest;
}
inline int first_lanes(int value, int lane, __local int *flags) {
    barrier(CLK_LOCAL_MEM_FENCE);
    flags[lane] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    return flags[0];
}
#define ANY_LANE(condition) any_lane(condition, lane, exchange_flags)
#define UNIFORM(condition) (condition)
#define ANY_NEGATIVE(value) any_lane((value) < 0, lane, exchange_flags)
#define LARGEST_OF(value) largest_of(value, lane, exchange_flags)
#define FIRST_LANES(value) first_lanes(value, lane, exchange_flags)
#define FETCH_AHEAD(pointer)
#define WARP_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);

#endif

#ifndef COPIES_LANDED
inline void copy_row(__local real4 *to, __global const real4 *from) { *to = *from; }
#define COPIES_LANDED
#endif
