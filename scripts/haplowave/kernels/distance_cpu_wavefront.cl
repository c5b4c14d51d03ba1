/* Edit distance of two long strings on a CPU: wavefronts from both ends (Marco-Sola et al. 2021; bidirectional: 2023), one
 * work-item an end.
 *
 * F[r,k]: furthest row i on diagonal k = j - i that r edits reach, extended along matches:
 *     F[r,k] = extend( max( F[r-1,k] + 1,  F[r-1,k-1],  F[r-1,k+1] + 1 ) ),   F[0,0] = extend(0),   F <= min(m, n - k)
 * (substitution, symbol of b alone, symbol of a alone). Item 1 reads both strings backwards. offset_t holds a row.
 *
 * Buffers: a0, b0 and a1, b1 the strings forwards and backwards, with 80 bytes to spare behind each;
 *   front offset_t [2 items][2 parities of r][2 * reach + 5], diagonal k at index k + reach + 2; two cells of -infinity on each side;
 *   from: r that the front of each item holds (-1: none); to: r to go to; item 0 stops early when F[r, n - m] = m;
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

/* The front of r edits from that of r - 1; four symbols at a time for all diagonals (the compiler makes gathers of this), then the
   few diagonals that matched all four. */
inline void step(__global const uchar* restrict a, __global const uchar* restrict b, const offset_t m, const offset_t n, const int r,
                 __global const offset_t* restrict old, __global offset_t* restrict next, __global uchar* restrict more) {
    const offset_t low = MAX((offset_t)-r, -m), high = MIN((offset_t)r, n);
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

inline void begin(__global const uchar* a, __global const uchar* b, const offset_t m, const offset_t n, __global offset_t* front) {
    front[-2] = front[-1] = front[1] = front[2] = NONE;
    front[0] = extend(a, b, 0, 0, MIN(m, n));
}

__kernel void advance(__global const uchar* restrict a0, __global const uchar* restrict b0, __global const uchar* restrict a1,
                      __global const uchar* restrict b1, const offset_t m, const offset_t n, __global offset_t* restrict front, const int reach,
                      __global uchar* restrict spare, const int2 from, const int2 to, __global int* at) {
    const int item = get_global_id(0);
    __global const uchar* restrict a = item ? a1 : a0;
    __global const uchar* restrict b = item ? b1 : b0;
    const long size = 2L * reach + 5;
    __global offset_t* fronts = front + item * 2 * size + reach + 2;
    __global uchar* restrict more = spare + item * (size + 11) + reach + 2;
    const offset_t goal = n - m;
    int r = item ? from.s1 : from.s0;
    const int last = item ? to.s1 : to.s0;
    if (r < 0) {
        r = 0;
        begin(a, b, m, n, fronts);
    }
    while (r < last) {
        __global const offset_t* old = fronts + (r & 1) * size;
        if (item == 0 && goal >= -r && goal <= r && old[goal] >= m) break;
        r++;
        step(a, b, m, n, r, old, fronts + (r & 1) * size, more);
    }
    at[item] = r;
}

/* Both fronts in turn, one edit at a time, until they meet (F0[k] + F1[n - m - k] >= m on a diagonal) or have `limit` edits in all.
 * at: edits of both; at[2]: whether they met. One work-item. */
__kernel void meet(__global const uchar* restrict a0, __global const uchar* restrict b0, __global const uchar* restrict a1,
                   __global const uchar* restrict b1, const offset_t m, const offset_t n, __global offset_t* restrict front, const int reach,
                   __global uchar* restrict spare, const int2 from, const int limit, __global int* at) {
    const long size = 2L * reach + 5;
    __global offset_t* ahead = front + reach + 2;
    __global offset_t* behind = ahead + 2 * size;
    __global uchar* restrict more = spare + reach + 2;
    const offset_t goal = n - m;
    int r0 = from.s0, r1 = from.s1, met = 0;
    if (r0 < 0) {
        r0 = 0;
        begin(a0, b0, m, n, ahead);
    }
    if (r1 < 0) {
        r1 = 0;
        begin(a1, b1, m, n, behind);
    }
    for (;;) {
        __global const offset_t* restrict f0 = ahead + (r0 & 1) * size;
        __global const offset_t* restrict f1 = behind + (r1 & 1) * size + goal;
        const offset_t low0 = MAX((offset_t)-r0, -m), high0 = MIN((offset_t)r0, n);
        const offset_t low1 = goal - MIN((offset_t)r1, n), high1 = goal - MAX((offset_t)-r1, -m);
        const offset_t low = MAX(low0, low1), high = MIN(high0, high1);
        for (offset_t k = low; k <= high; k++) met |= f0[k] >= m - f1[-k];
        if (met || r0 + r1 >= limit) break;
        if (r0 <= r1) {
            r0++;
            step(a0, b0, m, n, r0, f0, ahead + (r0 & 1) * size, more);
        } else {
            r1++;
            step(a1, b1, m, n, r1, f1 - goal, behind + (r1 & 1) * size, more);
        }
    }
    at[0] = r0;
    at[1] = r1;
    at[2] = met;
}

/* Paths of pairs whose distance is known, one work-item a pair: all fronts are kept, front r at r * (r + 4) of the pair's, diagonal k
 * at r + 2 + k within it; then the walk from (m, n) back. A cell that r edits reach comes from one on a neighbouring diagonal, or its
 * own, that r - 1 edits reach, which any row up to that front's is, because scores along a diagonal never fall.
 *   pairs long [items][4]: begin in a, begin in b, m, n;   edits int;   front_begin, spare_begin, out_begin long [items];
 *   kinds uchar, matches int [out_begin + r]: the r-th edit (1 substitution, 2 symbol of a only, 3 of b only), matches after it
 */
__kernel void trail(__global const uchar* restrict a_all, __global const uchar* restrict b_all, __global const long* pairs, __global const int* edits,
                    __global offset_t* restrict fronts, __global const long* front_begin, __global uchar* restrict spare,
                    __global const long* spare_begin, __global uchar* kinds, __global int* matches, __global const long* out_begin) {
    const int item = get_global_id(0), distance = edits[item];
    __global const uchar* a = a_all + pairs[4 * item];
    __global const uchar* b = b_all + pairs[4 * item + 1];
    const offset_t m = pairs[4 * item + 2], n = pairs[4 * item + 3];
    __global offset_t* base = fronts + front_begin[item];
#define FRONT(r) (base + (long)(r) * ((r) + 4) + (r) + 2)
    begin(a, b, m, n, FRONT(0));
    for (int r = 1; r <= distance; r++) step(a, b, m, n, r, FRONT(r - 1), FRONT(r), spare + spare_begin[item] + distance + 2);
    offset_t k = n - m, i = m;
    for (int r = distance; r > 0; r--) {
        __global const offset_t* old = FRONT(r - 1);
        const offset_t end = MIN(m, n - k);
        offset_t start = MAX(old[k], old[k + 1]) + 1;
        start = MAX(start, old[k - 1]);
        start = MIN(start, end);
        matches[out_begin[item] + r] = i > start ? (int)(i - start) : 0;
        i = MIN(i, start);
        uchar kind = 1;
        if (i > 0 && i + k > 0 && old[k] >= i - 1) i--;
        else if (i > 0 && old[k + 1] >= i - 1) {
            kind = 2;
            i--;
            k++;
        } else {
            kind = 3;
            k--;
        }
        kinds[out_begin[item] + r] = kind;
    }
    matches[out_begin[item]] = (int)i;
    kinds[out_begin[item]] = 0;
}
