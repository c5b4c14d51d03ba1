// Bit-parallel edit distance, one launch an anti-diagonal of tiles: strip a, chunk launch - a. Any number of problems side by side.
// Recurrence, tiles and pruning: distance_tile.cl.
//
// Strings: bit planes, see distance_planes.cl. Per problem (FIELDS longs): see tiles.py. Per strip: pv, mv (word [LANES * K], row
// order), score = D at its lowest row after chunk `last`. Per chunk: strip that was last computed there, D at that strip's lowest row
// before and after the chunk.

#include "distance_tile.cl"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void tiles(__global const uint *restrict a_planes, __global const uint *restrict b_planes, __global const long *restrict problems,
           __global word *restrict pv_all, __global word *restrict mv_all, __global long *restrict strip_score,
           __global int *restrict strip_last, __global long *restrict chunk_strip, __global long *restrict chunk_before,
           __global long *restrict chunk_after, __global uint *restrict border_ph, __global uint *restrict border_mh,
           __global uint *restrict computed, const long launch, const long strip_low, const long strip_high) {
    __global const long *problem = problems + (long)get_global_id(1) * FIELDS;
    const int lane = LANES == 32 ? (int)get_local_id(0) & 31 : 0;
    const long m = problem[M_ROWS], n = problem[N_COLUMNS], bound = problem[BOUND], difference = problem[DIFFERENCE];
    const long strips = (m + ROWS - 1) / ROWS, chunks = (n + CHUNK - 1) / CHUNK;
    // Ukkonen's band: j - i in [-(bound - difference) / 2, (bound + difference) / 2]
    const long lowest = -floor_div(bound - difference, 2), highest = floor_div(bound + difference, 2);
    const long first = max(max(strip_low, launch - chunks + 1), -floor_div(highest + ROWS - launch * CHUNK, ROWS + CHUNK));
    const long final = min(min(min(strips, strip_high) - 1, launch), floor_div((launch + 1) * CHUNK - lowest, ROWS + CHUNK));
    const long a = first + (long)get_global_id(0) / LANES;
    if (a > final) return;
    const long c = launch - a;
    const long strip = problem[STRIP_BASE] + a, chunk = problem[CHUNK_BASE] + c;
    const long j0 = c * CHUNK;
    const int length = (int)min((long)CHUNK, n - j0);

    const bool has_left = c == 0 || strip_last[strip] == (int)c - 1;
    const bool has_above = a == 0 || chunk_strip[chunk] == a - 1;
    long left_score = c == 0 ? (a + 1) * ROWS : strip_score[strip];
    const long above_before = a == 0 ? j0 : chunk_before[chunk];
    const long above_after = a == 0 ? j0 + length : chunk_after[chunk];
    const long to_end = problem[N_WHOLE] - problem[DIFFERENCE]; // M
    const long left_least = left_score + magnitude(problem[N_WHOLE] - j0 - (to_end - (a + 1) * ROWS)) - 2 * ROWS;
    const long above_least = above_after + magnitude(problem[N_WHOLE] - j0 - length - (to_end - a * ROWS)) - 2 * length;
    if (!(has_left && left_least <= bound) && !(has_above && above_least <= bound)) return;

    const int step = (int)problem[STEP];
    const long words_at = (strip * LANES + lane) * K;
    word rows[BITS][K], pv[K], mv[K];
    load_rows(a_planes, problem[A_AT] + step * (a * ROWS + lane * K * W), step, rows);
#pragma unroll
    for (int k = 0; k < K; k++) {
        pv[k] = has_left && c ? pv_all[words_at + k] : ALL_ONES;
        mv[k] = has_left && c ? mv_all[words_at + k] : 0;
    }
    if (has_left && has_above && a && c) {
        long rises = 0;
#pragma unroll
        for (int k = 0; k < K; k++) rises += (long)popcount(pv[k]) - (long)popcount(mv[k]);
        const long gap = left_score - sum_of_lanes(rises) - above_before; // at the common corner
        if (gap) {
            long fall = 0;
            wait_for_lanes();
            if (lane == 0) {
                if (gap > 0)
                    fall = lower_column(pv_all + strip * LANES * K, mv_all + strip * LANES * K, gap);
                else
                    lower_row(border_ph + chunk * BLOCKS, border_mh + chunk * BLOCKS, length, -gap);
            }
            wait_for_lanes();
            left_score -= sum_of_lanes(fall);
#pragma unroll
            for (int k = 0; k < K; k++) {
                pv[k] = pv_all[words_at + k];
                mv[k] = mv_all[words_at + k];
            }
        }
    }
    const long score_before = has_left ? left_score : above_before + ROWS;
    const long score = score_before
        + sweep_tile(b_planes, problem[B_AT] + step * j0, step, length, lane, rows, pv, mv, has_above && a > 0, border_ph + chunk * BLOCKS,
                     border_mh + chunk * BLOCKS);
#pragma unroll
    for (int k = 0; k < K; k++) {
        pv_all[words_at + k] = pv[k];
        mv_all[words_at + k] = mv[k];
    }
    if (lane == LANES - 1) {
        strip_score[strip] = score;
        strip_last[strip] = (int)c;
        chunk_strip[chunk] = a;
        chunk_before[chunk] = score_before;
        chunk_after[chunk] = score;
        atomic_inc(&computed[get_global_id(1)]);
    }
}

// corner[task] = D[M_ROWS, N_COLUMNS], UNKNOWN where the last tile was left out
__kernel void corners(__global const long *restrict problems, __global const word *restrict pv_all, __global const word *restrict mv_all,
                      __global const long *restrict strip_score, __global const int *restrict strip_last, __global long *restrict corner) {
    const int which = get_global_id(0);
    __global const long *problem = problems + (long)which * FIELDS;
    const long m = problem[M_ROWS], chunks = (problem[N_COLUMNS] + CHUNK - 1) / CHUNK, strips = (m + ROWS - 1) / ROWS;
    const long strip = problem[STRIP_BASE] + strips - 1;
    long value = strip_score[strip];
    const long below = strips * ROWS - m; // rows of the strip that lie under the last row
    for (long row = 0; row < below; row += W) {
        const long at = (strip + 1) * LANES * K - 1 - row / W;
        const word kept = below - row >= W ? ALL_ONES : ALL_ONES << (W - (below - row));
        value -= (long)popcount(pv_all[at] & kept) - (long)popcount(mv_all[at] & kept);
    }
    corner[which] = strip_last[strip] == (int)chunks - 1 ? value : UNKNOWN;
}

// values[row_base + i] = D[i, N_COLUMNS] of the swept part for i = 1..M_ROWS (UNKNOWN where pruned); row 0 is known to be N_COLUMNS
__kernel void last_column(__global const long *restrict problems, __global const word *restrict pv_all, __global const word *restrict mv_all,
                          __global const long *restrict strip_score, __global const int *restrict strip_last,
                          __global const long *restrict row_base, __global long *restrict values) {
    const int which = get_global_id(1);
    __global const long *problem = problems + (long)which * FIELDS;
    const long m = problem[M_ROWS], n = problem[N_COLUMNS];
    const long strips = (m + ROWS - 1) / ROWS, chunks = (n + CHUNK - 1) / CHUNK;
    const long a = get_global_id(0);
    if (a == 0) values[row_base[which]] = n;
    if (a >= strips) return;
    const long strip = problem[STRIP_BASE] + a;
    const bool known = strip_last[strip] == (int)chunks - 1;
    long value = strip_score[strip];
    long row = (a + 1) * ROWS;
    for (int at = LANES * K - 1; at >= 0; at--) {
        word pv = pv_all[strip * LANES * K + at], mv = mv_all[strip * LANES * K + at];
        for (int bit = W - 1; bit >= 0; bit--) {
            if (row <= m) values[row_base[which] + row] = known ? value : UNKNOWN;
            value += (long)((mv >> bit) & 1) - (long)((pv >> bit) & 1);
            row--;
        }
    }
}

// Problems 2 pair and 2 pair + 1; part q of `parts` of the rows: best[3 (pair * parts + q) + 0, 1, 2] = min over its rows i of
// forward[i] + backward[m - i], the least such i, forward[i].
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void meet(__global const long *restrict problems, __global const long *restrict row_base, __global const long *restrict values,
          __global long *restrict best) {
    __local long least[64], where[64];
    const int pair = get_group_id(1), part = get_group_id(0), parts = get_num_groups(0), lane = get_local_id(0);
    const long m = problems[2L * pair * FIELDS + M_ROWS];
    __global const long *forward = values + row_base[2 * pair], *backward = values + row_base[2 * pair + 1];
    const long end = (m + 1) * (part + 1) / parts;
    long value = UNKNOWN * 2, at = 0;
    for (long i = (m + 1) * part / parts + lane; i < end; i += 64) {
        const long sum = forward[i] + backward[m - i];
        if (sum < value) {
            value = sum;
            at = i;
        }
    }
    least[lane] = value;
    where[lane] = at;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane) return;
    for (int other = 1; other < 64; other++)
        if (least[other] < value || (least[other] == value && where[other] < at)) {
            value = least[other];
            at = where[other];
        }
    best += 3L * (pair * parts + part);
    best[0] = value;
    best[1] = at;
    best[2] = forward[at];
}
