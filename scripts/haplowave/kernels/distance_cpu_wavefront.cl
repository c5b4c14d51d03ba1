/* Edit distance of two long strings on a CPU: wavefronts from both ends (Marco-Sola et al. 2021; bidirectional: 2023), one
 * work-item an end.
 *
 * F[r,k]: furthest row i on diagonal k = j - i that r edits reach, extended along matches:
 *     F[r,k] = extend( max( F[r-1,k] + 1,  F[r-1,k-1],  F[r-1,k+1] + 1 ) ),   F[0,0] = extend(0),   F <= min(m, n - k)
 * (substitution, symbol of b alone, symbol of a alone). Item 1 reads both strings backwards. offset_t holds a row.
 *
 * Buffers: a0, b0 and a1, b1 the strings forwards and backwards, with 80 bytes to spare behind each;
 *   front offset_t [2 items][2 parities of r][2 * reach + 5], diagonal k at index k + reach + 2; two cells of -infinity on each side;
 *   from int [2]: r that the front of each item holds (-1: none); to int [2]: r to go to; item 0 stops early when F[r, n - m] = m;
 *   at int [2]: r reached;   spare uchar [2 items][2 * reach + 16].
 */

/* The built-ins min, max, ctz are calls in PoCL's x86 builds. */
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#if defined(__clang__)
#define LOW_ZEROS(x) __builtin_ctzl(x)
#define ONES(x) __builtin_popcount(x)
#else
#define LOW_ZEROS(x) ctz(x)
#define ONES(x) popcount(x)
#endif

/* Sums that the compiler may not widen to 64 bits: indices of 32 bits make gathers of twice the width. */
#define WRAP(x, sign, y) (offset_t)((uoffset_t)(x) sign (uoffset_t)(y))

#define NONE (-((offset_t)1 << 30))
typedef ulong __attribute__((aligned(1))) ulong_at;
typedef uint __attribute__((aligned(1))) uint_at;
typedef ulong8 __attribute__((aligned(1))) ulong8_at;

inline offset_t extend(__global const uchar* restrict a, __global const uchar* restrict b, offset_t i, const offset_t k, const offset_t end) {
    if (i >= end || i < 0) return i;
    ulong differ = *(const __global ulong_at*)(a + i) ^ *(const __global ulong_at*)(b + i + k);
    while (differ == 0) {
        i += 8;
        while (i + 64 <= end) {
            const ulong8 many = *(const __global ulong8_at*)(a + i) ^ *(const __global ulong8_at*)(b + i + k);
            const ulong4 part = many.s0123 | many.s4567;
            if ((part.s0 | part.s1 | part.s2 | part.s3) != 0) break;
            i += 64;
        }
        if (i >= end) return end;
        differ = *(const __global ulong_at*)(a + i) ^ *(const __global ulong_at*)(b + i + k);
    }
    i += (offset_t)(LOW_ZEROS(differ) >> 3);
    return MIN(i, end);
}

__kernel void advance(__global const uchar* restrict a0, __global const uchar* restrict b0, __global const uchar* restrict a1,
                      __global const uchar* restrict b1, const offset_t m, const offset_t n, __global offset_t* restrict front, const int reach,
                      __global const int* from, __global const int* to, __global int* at, __global uchar* restrict spare) {
    const int item = get_global_id(0);
    __global const uchar* restrict a = item ? a1 : a0;
    __global const uchar* restrict b = item ? b1 : b0;
    const long size = 2L * reach + 5;
    __global offset_t* fronts = front + item * 2 * size + reach + 2;
    __global uchar* restrict more = spare + item * (size + 11) + reach + 2;
    const offset_t goal = n - m;
    int r = from[item];
    if (r < 0) { /* nothing yet */
        r = 0;
        fronts[-2] = fronts[-1] = fronts[1] = fronts[2] = NONE;
        fronts[0] = extend(a, b, 0, 0, MIN(m, n));
    }
    while (r < to[item]) {
        __global const offset_t* restrict old = fronts + (r & 1) * size;
        if (item == 0 && goal >= -r && goal <= r && old[goal] >= m) break;
        r++;
        __global offset_t* restrict next = fronts + (r & 1) * size;
        const offset_t low = MAX((offset_t)-r, -m), high = MIN((offset_t)r, n);
        /* four symbols at a time for all diagonals (the compiler makes gathers of this), then the few that matched all four */
        for (offset_t k = low; k <= high; k++) {
            const offset_t room = WRAP(n, -, k), end = MIN(m, room);
            offset_t i = MAX(old[k], old[k + 1]) + 1;
            i = MAX(i, old[k - 1]);
            i = MIN(i, end);
            const offset_t j = WRAP(i, +, k);
            const uint differ = *(const __global uint_at*)(a + i) ^ *(const __global uint_at*)(b + j);
            const uint below = ~differ & (differ - 1);
            i += (offset_t)(ONES(below) >> 3);
            next[k] = MIN(i, end);
            more[k] = differ ? 0 : 1;
        }
        for (offset_t k = low; k <= high; k += 8) {
            if (*(const __global ulong_at*)(more + k) == 0) continue;
            for (offset_t q = k; q < k + 8 && q <= high; q++)
                if (more[q]) next[q] = extend(a, b, next[q], q, MIN(m, n - q));
        }
        next[low - 1] = next[low - 2] = next[high + 1] = next[high + 2] = NONE;
    }
    at[item] = r;
}
