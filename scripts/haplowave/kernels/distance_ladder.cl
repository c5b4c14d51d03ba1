// The ladder of wavefront designs of Castells-Rufas 2023, section 4, exact, on plain bytes.
//
//     c[k,r] = max(w[k+1,r-1] + [k >= 0], w[k,r-1] + 1, w[k-1,r-1] + [k <= 0])       w[k,r] = c[k,r] + matching symbols from there
//
// k = j - i; w = min(i, j), the paper's radius (equations 3-8) less |k|, so i = w + max(0, -k), j = w + max(0, k). STAGE:
//     0 one item a cell (4.1: baseline, dynamic, fewer-reads differ in what the host launches and reads)
//     1 the same with the previous column prefetched to local memory (4.2.1)
//     2, 3, 4 a diamond of 2 T^2 cells an item, its state in global memory, registers, local memory (4.2.2)
//     5 a diamond a work-group of 2 T + 1 items (4.2.3; with BOUND also 4.3, the dynamic diamond)
//
// A diamond centred at diagonal K that starts at column C has in its column s (0 <= s < 2 T) the diagonals |k - K| <= min(s, 2 T - 1 - s).
// Two entries a diagonal pass from band to band of diamonds: its last two columns (Fig. 9, the zig-zag). Bands start every T columns,
// centres of one band are 2 T apart, those of the next lie between them. Entries of diamonds left out stay behind; they are true
// statements about fewer edits, so results cannot become too small.
//
// control: 0 the distance once found, 1 its upper bound, 2, 3 cells computed (low, high word).

#define NOWHERE (-(1 << 29))

inline int extended(__global const uchar *restrict a, __global const uchar *restrict b, int m, int n, int k, int value) {
    const int down = max(0, -k), right = max(0, k);
    const int end = min(m - down, n - right);
    value = min(value, end);
    while (value < end && a[value + down] == b[value + right]) value++;
    return value;
}

// w[k,r] from its three neighbours; reports the end of the solution diagonal
inline int cell(__global const uchar *restrict a, __global const uchar *restrict b, int m, int n, int k, int r, int above, int same, int under,
                __global int *control) {
    if (k < -m || k > n || k > r || -k > r) return NOWHERE;
    const int reached = r == 0 ? 0 : max(max(above + (k >= 0), same + 1), under + (k <= 0));
    if (reached < 0) return NOWHERE;
    const int value = extended(a, b, m, n, k, reached);
    if (k == n - m) {
        const int end = min(m - max(0, -k), n - max(0, k));
        if (value >= end) atomic_min(&control[0], r);
#if BOUND
        atomic_min(&control[1], r + end - value);
#endif
    }
    return value;
}

inline void count_cells(__global int *control, uint cells) {
    const uint total = atomic_add((__global uint *)&control[2], cells);
    if (total + cells < total) atomic_inc((__global uint *)&control[3]);
}

#if STAGE < 2
// entry of diagonal k: k - k_base; item 0 does diagonal k_first
__kernel void column(__global const uchar *restrict a, __global const uchar *restrict b, const int m, const int n,
                     __global const int *restrict before, __global int *restrict after, const int k_base, const int k_first, const int items,
                     const int r, __global int *control) {
    const int item = get_global_id(0), k = k_first + item, at = k - k_base;
    const bool inside = item < items && k >= -m && k <= n;
#if STAGE == 1
    __local int shared[GROUP + 2];
    const int lane = get_local_id(0);
    if (item < items) {
        shared[lane + 1] = before[at];
        if (lane == 0) shared[0] = before[at - 1];
        if (lane == GROUP - 1 || item == items - 1) shared[lane + 2] = before[at + 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside) after[at] = cell(a, b, m, n, k, r, shared[lane + 2], shared[lane + 1], shared[lane], control);
#else
    if (inside) after[at] = cell(a, b, m, n, k, r, before[at + 1], before[at], before[at - 1], control);
#endif
    if (get_local_id(0) == 0) {
        const int first = max(k, max(-m, -r)), last = min(min(k + (int)get_local_size(0), k_first + items) - 1, min(n, r));
        if (last >= first) count_cells(control, last - first + 1);
    }
}
#endif

#if STAGE >= 2 && STAGE <= 4
#define WIDTH (2 * T + 1)
#if STAGE == 2
#define LATEST(x) scratch[((x) * 2) * (long)get_global_size(0) + item]
#define EARLIER(x) scratch[((x) * 2 + 1) * (long)get_global_size(0) + item]
#elif STAGE == 3
#define LATEST(x) held[x]
#define EARLIER(x) held[WIDTH + (x)]
#else
#define LATEST(x) held[(x) * 2 * GROUP + get_local_id(0)]
#define EARLIER(x) held[((x) * 2 + 1) * GROUP + get_local_id(0)]
#endif

// item q does the diamond centred at k_first + 2 T q, of columns column..column + 2 T - 1
__kernel void diamonds(__global const uchar *restrict a, __global const uchar *restrict b, const int m, const int n, __global int *restrict last,
                       __global int *restrict previous, const int k_base, const int k_first, const int items, const int column,
                       __global int *control, __global int *scratch) {
#if STAGE == 3
    int held[2 * WIDTH];
#elif STAGE == 4
    __local int held[2 * WIDTH * GROUP];
#endif
    const int item = get_global_id(0);
    if (item >= items) return;
    const int centre = k_first + 2 * T * item;
    const int at = centre - T - k_base;
#pragma unroll
    for (int x = 0; x < WIDTH; x++) {
        LATEST(x) = last[at + x];
        EARLIER(x) = previous[at + x];
    }
#pragma unroll
    for (int s = 0; s < 2 * T; s++) {
        const int half_width = s < T ? s : 2 * T - 1 - s;
        // growing: the neighbours just outside were filled by other diamonds one column further than needed
        int under = s < T ? EARLIER(T - half_width - 1) : LATEST(T - half_width - 1);
#pragma unroll
        for (int x = T - half_width; x <= T + half_width; x++) {
            const int same = LATEST(x);
            const int above = s < T && x == T + half_width ? EARLIER(x + 1) : LATEST(x + 1);
            EARLIER(x) = same;
            LATEST(x) = cell(a, b, m, n, centre - T + x, column + s, above, same, under, control);
            under = same;
        }
    }
#pragma unroll
    for (int x = 1; x < 2 * T; x++) {
        last[at + x] = LATEST(x);
        previous[at + x] = EARLIER(x);
    }
    count_cells(control, 2 * T * T);
}
#endif

#if STAGE == 5
// work-group q does the diamond centred at k_first + 2 T q; item x the diagonal x - T from its centre
__kernel __attribute__((reqd_work_group_size(2 * T + 1, 1, 1)))
void diamonds(__global const uchar *restrict a, __global const uchar *restrict b, const int m, const int n, __global int *restrict last,
              __global int *restrict previous, const int k_base, const int k_first, const int items, const int column,
              __global int *control, __global int *scratch) {
    __local int latest[2 * T + 1], earlier[2 * T + 1];
    const int x = get_local_id(0);
    const int k = k_first + 2 * T * (int)get_group_id(0) - T + x;
    const int at = k - k_base;
    latest[x] = last[at];
    earlier[x] = previous[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 0; s < 2 * T; s++) {
        const int half_width = s < T ? s : 2 * T - 1 - s;
        const bool mine = x >= T - half_width && x <= T + half_width;
        int value = 0, same = 0;
        if (mine) {
            same = latest[x];
            const int under = s < T && x == T - half_width ? earlier[x - 1] : latest[x - 1];
            const int above = s < T && x == T + half_width ? earlier[x + 1] : latest[x + 1];
            value = cell(a, b, m, n, k, column + s, above, same, under, control);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine) {
            earlier[x] = same;
            latest[x] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (x > 0 && x < 2 * T) {
        last[at] = latest[x];
        previous[at] = earlier[x];
    }
    if (x == 0) count_cells(control, 2 * T * T);
}
#endif
