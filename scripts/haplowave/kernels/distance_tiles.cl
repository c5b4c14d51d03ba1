// Bit-parallel edit distance, one launch an anti-diagonal of tiles: strip a, chunk launch - a. Any number of problems side by side.
// Recurrence, tiles and pruning: distance_tile.cl.
//
// Strings: bit planes, see distance_planes.cl. Per problem (FIELDS longs): see tiles.py. Per strip: pv, mv (word [LANES * K], row
// order), score = D at its lowest row after chunk `last`. Per chunk: strip that was last computed there, D at that strip's lowest row
// before and after the chunk. Where borders are kept (every > 0), slot KEPT_BASE + v * KEPT_STRIPS + strip - first_strip holds the right
// border of the tile: pv, mv in kept_words [slot][2][LANES * K], D at the strip's lowest row in kept_scores (UNKNOWN where pruned).

#include "distance_tile.cl"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void tiles(__global const uint *restrict a_planes, __global const uint *restrict b_planes, __global const long *restrict problems,
           __global word *restrict pv_all, __global word *restrict mv_all, __global long *restrict strip_score,
           __global int *restrict strip_last, __global long *restrict chunk_strip, __global long *restrict chunk_before,
           __global long *restrict chunk_after, __global uint *restrict border_ph, __global uint *restrict border_mh,
           __global uint *restrict computed, const long launch, const long strip_low, const long strip_high, const int every,
           __global word *restrict kept_words, __global long *restrict kept_scores) {
    __global const long *problem = problems + (long)get_global_id(1) * FIELDS;
    const int lane = LANES == 32 ? (int)get_local_id(0) & 31 : 0;
    const long m = problem[M_ROWS], n = problem[N_COLUMNS], bound = problem[BOUND], difference = problem[DIFFERENCE];
    const long strips = (m + ROWS - 1) / ROWS, chunks = chunks_of(problem), offset = problem[OFFSET];
    // Ukkonen's band: j - i in [-(bound - difference) / 2, (bound + difference) / 2]
    const long lowest = -floor_div(bound - difference, 2), highest = floor_div(bound + difference, 2);
    const long first = max(max(strip_low, launch - chunks + 1), -floor_div(highest + ROWS + offset - launch * CHUNK, ROWS + CHUNK));
    const long final = min(min(min(strips, strip_high) - 1, launch), floor_div((launch + 1) * CHUNK - offset - lowest, ROWS + CHUNK));
    const long a = first + (long)get_global_id(0) / LANES;
    if (a > final) return;
    const long c = launch - a;
    const long strip = problem[STRIP_BASE] + a, chunk = problem[CHUNK_BASE] + c;
    const long j0 = chunk_begin(problem, c);
    const int length = (int)(min((c + 1) * CHUNK - offset, n) - j0);

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
    if (every && (c + 1 + problem[KEPT_PHASE]) % every == 0) {
        const long slot = problem[KEPT_BASE] + ((c + 1 + problem[KEPT_PHASE]) / every - 1) * problem[KEPT_STRIPS] + a - first_strip(problem, c);
        const long at = (2 * slot * LANES + lane) * K;
#pragma unroll
        for (int k = 0; k < K; k++) {
            kept_words[at + k] = pv[k];
            kept_words[at + LANES * K + k] = mv[k];
        }
        if (lane == LANES - 1) kept_scores[slot] = score;
    }
}

// corner[task] = D[M_ROWS, N_COLUMNS], UNKNOWN where the last tile was left out
__kernel void corners(__global const long *restrict problems, __global const word *restrict pv_all, __global const word *restrict mv_all,
                      __global const long *restrict strip_score, __global const int *restrict strip_last, __global long *restrict corner) {
    const int which = get_global_id(0);
    __global const long *problem = problems + (long)which * FIELDS;
    const long m = problem[M_ROWS], chunks = chunks_of(problem), strips = (m + ROWS - 1) / ROWS;
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
    const long strips = (m + ROWS - 1) / ROWS, chunks = chunks_of(problem);
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

// A kept border: D[i, j] for i = 0..M_ROWS at the end of its chunk.
typedef struct {
    __global const word *words; // of the first slot of the border
    __global const long *scores;
    long first, strips, j;
} Border;

inline Border border_of(__global const long *problem, __global const word *words, __global const long *scores, int every, long v) {
    const long slot = problem[KEPT_BASE] + v * problem[KEPT_STRIPS], c = (v + 1) * every - problem[KEPT_PHASE] - 1;
    Border border = {words + 2 * slot * LANES * K, scores + slot, first_strip(problem, c), problem[KEPT_STRIPS], chunk_begin(problem, c + 1)};
    return border;
}

inline long score_of(const Border *border, long strip) {
    return strip < border->first || strip >= border->first + border->strips ? UNKNOWN : border->scores[strip - border->first];
}

// D in row i - D in row i - 1
inline int rise(const Border *border, long i) {
    const long strip = (i - 1) / ROWS, bit = (i - 1) % ROWS;
    __global const word *pv = border->words + 2 * (strip - border->first) * LANES * K + bit / W;
    return (int)((pv[0] >> (bit % W)) & 1) - (int)((pv[LANES * K] >> (bit % W)) & 1);
}

inline long value_at(const Border *border, long i) {
    if (i == 0) return border->j;
    const long strip = (i - 1) / ROWS;
    long value = score_of(border, strip);
    if (value >= UNKNOWN) return UNKNOWN;
    __global const word *pv = border->words + 2 * (strip - border->first) * LANES * K;
    const int row = (int)((i - 1) % ROWS), last = row / W;
    for (int at = LANES * K - 1; at > last; at--) value -= (long)popcount(pv[at]) - (long)popcount(pv[LANES * K + at]);
    const word below = row % W == W - 1 ? 0 : ALL_ONES << (row % W + 1);
    return value - (long)popcount(pv[last] & below) + (long)popcount(pv[LANES * K + last] & below);
}

// Where an optimal path crosses kept borders. Two sweeps of a rectangle of `rows` rows, from opposite corners, meet at a border that both
// kept; a group a border. entries: 6 longs each: problem and border of the first sweep, of the second, rows, cost of the rectangle.
// best: 3 longs each: min over i of first[i] + second[rows - i], the least such i, first[i]. Least rows lie on one optimal path.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void crossings(__global const long *restrict first_problems, __global const word *restrict first_words, __global const long *restrict first_scores,
               __global const long *restrict second_problems, __global const word *restrict second_words,
               __global const long *restrict second_scores, const int every, __global const long *restrict entries, __global long *restrict best) {
    __local long least[64], where[64], values[64];
    const int lane = get_local_id(0);
    entries += 6L * get_group_id(0);
    const Border first = border_of(first_problems + entries[0] * FIELDS, first_words, first_scores, every, entries[1]);
    const Border second = border_of(second_problems + entries[2] * FIELDS, second_words, second_scores, every, entries[3]);
    const long rows = entries[4], cost = entries[5];
    long value = 2 * UNKNOWN, at = 0, found = 0;
    for (long strip = first.first; strip < first.first + first.strips && strip * ROWS < rows; strip++) {
        const long score = score_of(&first, strip);
        if (score >= UNKNOWN) continue;
        const long highest = rows - strip * ROWS, lowest = max(0L, rows - (strip + 1) * ROWS); // rows of the second sweep
        long other = UNKNOWN;
        for (long s = max(0L, lowest - 1) / ROWS; s <= (highest - 1) / ROWS; s++) other = min(other, score_of(&second, s));
        if (lowest == 0) other = min(other, second.j + ROWS);
        if (other >= UNKNOWN || score + other - 2 * ROWS > cost) continue;
        const long end = min(rows, strip * ROWS + (lane + 1) * (ROWS / 64)), begin = strip * ROWS + lane * (ROWS / 64) + (strip || lane);
        if (begin > end) continue;
        long ahead = value_at(&first, end), behind = value_at(&second, rows - end);
        for (long i = end;; i--) {
            const long sum = (i ? ahead : first.j) + behind;
            if (sum < value || (sum == value && i < at)) {
                value = sum;
                at = i;
                found = i ? ahead : first.j;
            }
            if (i == begin) break;
            ahead -= rise(&first, i);
            const long j = rows - i + 1;
            behind = (j - 1) % ROWS == 0 ? value_at(&second, j) : behind >= UNKNOWN ? UNKNOWN : behind + rise(&second, j);
        }
    }
    least[lane] = value;
    where[lane] = at;
    values[lane] = found;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane) return;
    int winner = 0;
    for (int other = 1; other < 64; other++)
        if (least[other] < least[winner] || (least[other] == least[winner] && where[other] < where[winner])) winner = other;
    best += 3L * get_group_id(0);
    best[0] = least[winner];
    best[1] = where[winner];
    best[2] = values[winner];
}
