// Bit-parallel edit distance, one launch an anti-diagonal of tiles: strip a, chunk launch - a. Any number of problems side by side: the
// second dimension. The third has one item, at the number of the launch: an offset costs less than an argument.
// Recurrence, tiles and pruning: distance_tile.cl.
//
// Strings: bit planes, see distance_planes.cl. Per problem (FIELDS longs): see tiles.py. Per strip: pv, mv (word [LANES * K], row
// order), score = D at its lowest row after chunk `last`. Per chunk: strip that was last computed there, D at that strip's lowest row
// before and after the chunk. Where borders are kept (every > 0), slot KEPT_BASE + v * KEPT_STRIPS + strip - first_strip holds the right
// border of the tile: pv, mv in kept_words [slot][2][LANES * K], D at the strip's lowest row in kept_scores (UNKNOWN where pruned).

#include "distance_tile.cl"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#if defined(VARIANT_KHR) || defined(VARIANT_INTEL)
__attribute__((intel_reqd_sub_group_size(LANES)))
#endif
void tiles(TEXT(a_planes), TEXT(b_planes), __global const long *restrict problems,
           __global word *restrict pv_all, __global word *restrict mv_all, __global long *restrict strip_score,
           __global int *restrict strip_last, __global long *restrict chunk_strip, __global long *restrict chunk_before,
           __global long *restrict chunk_after, __global uint *restrict border_ph, __global uint *restrict border_mh,
           __global uint *restrict computed, const long strip_low, const long strip_high, const int every,
           __global word *restrict kept_words, __global long *restrict kept_scores) {
    __global const long *problem = problems + (long)get_global_id(1) * FIELDS;
    const long launch = get_global_id(2);
    const int lane = LANE;
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
    load_rows(TEXT_OF(a_planes), problem[A_AT] + step * (a * ROWS + lane * K * W), step, rows);
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
        + sweep_tile(TEXT_OF(b_planes), problem[B_AT] + step * j0, step, length, lane, rows, pv, mv, has_above && a > 0, border_ph + chunk * BLOCKS,
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

// D[i, j] for i = 0..M_ROWS at one j: a kept border, or the end of a sweep.
typedef struct {
    __global const word *pv, *mv; // of the first strip
    __global const long *scores;
    __global const int *last; // at the end: the chunk that a strip has come to
    long stride, chunk, first, strips, j;
} Border;

inline Border kept_border(__global const long *problem, __global const word *words, __global const long *scores, int every, long v) {
    const long slot = problem[KEPT_BASE] + v * problem[KEPT_STRIPS], c = (v + 1) * every - problem[KEPT_PHASE] - 1;
    __global const word *pv = words + 2 * slot * LANES * K;
    Border border = {pv, pv + LANES * K, scores + slot, 0, 2 * LANES * K, c, first_strip(problem, c), problem[KEPT_STRIPS],
                     chunk_begin(problem, c + 1)};
    return border;
}

inline Border end_border(__global const long *problem, __global const word *pv_all, __global const word *mv_all,
                         __global const long *strip_score, __global const int *strip_last) {
    const long base = problem[STRIP_BASE], at = base * LANES * K;
    Border border = {pv_all + at, mv_all + at, strip_score + base, strip_last + base, LANES * K, chunks_of(problem) - 1, 0,
                     (problem[M_ROWS] + ROWS - 1) / ROWS, problem[N_COLUMNS]};
    return border;
}

// D at the lowest row of a strip, UNKNOWN where it was pruned
inline long score_of(const Border *border, long strip) {
    const long at = strip - border->first;
    if (at < 0 || at >= border->strips || (border->last && border->last[at] != (int)border->chunk)) return UNKNOWN;
    return border->scores[at];
}

// D in row i - D in row i - 1
inline int rise(const Border *border, long i) {
    const long at = ((i - 1) / ROWS - border->first) * border->stride + (i - 1) % ROWS / W;
    const int bit = (int)((i - 1) % W);
    return (int)((border->pv[at] >> bit) & 1) - (int)((border->mv[at] >> bit) & 1);
}

inline long value_at(const Border *border, long i) {
    if (i == 0) return border->j;
    const long strip = (i - 1) / ROWS;
    long value = score_of(border, strip);
    if (value >= UNKNOWN) return UNKNOWN;
    __global const word *pv = border->pv + (strip - border->first) * border->stride;
    __global const word *mv = border->mv + (strip - border->first) * border->stride;
    const int row = (int)((i - 1) % ROWS), last = row / W;
    for (int at = LANES * K - 1; at > last; at--) value -= (long)popcount(pv[at]) - (long)popcount(mv[at]);
    const word below = row % W == W - 1 ? 0 : ALL_ONES << (row % W + 1);
    return value - (long)popcount(pv[last] & below) + (long)popcount(mv[last] & below);
}

// best: 3 longs: min over rows i in strips from .. to - 1 (and 0 with the first) of first[i] + second[rows - i], the least such i,
// first[i]; what exceeds `cost` may be missed. By a group of 64.
inline void cross_borders(const Border *first, const Border *second, long rows, long cost, long from, long to, __local long *least,
                          __local long *where, __local long *values, __global long *restrict best) {
    const int lane = get_local_id(0);
    long value = 2 * UNKNOWN, at = 0, found = 0;
    for (long strip = from; strip < to && strip * ROWS < rows; strip++) {
        const long score = score_of(first, strip);
        if (score >= UNKNOWN) continue;
        const long highest = rows - strip * ROWS, lowest = max(0L, rows - (strip + 1) * ROWS); // rows of the second
        long other = UNKNOWN;
        for (long s = max(0L, lowest - 1) / ROWS; s <= (highest - 1) / ROWS; s++) other = min(other, score_of(second, s));
        if (lowest == 0) other = min(other, second->j + ROWS);
        if (other >= UNKNOWN || score + other - 2 * ROWS > cost) continue;
        const long end = min(rows, strip * ROWS + (lane + 1) * (ROWS / 64)), begin = strip * ROWS + lane * (ROWS / 64) + (strip || lane);
        if (begin > end) continue;
        long ahead = value_at(first, end), behind = value_at(second, rows - end);
        for (long i = end;; i--) {
            const long sum = (i ? ahead : first->j) + behind;
            if (sum < value || (sum == value && i < at)) {
                value = sum;
                at = i;
                found = i ? ahead : first->j;
            }
            if (i == begin) break;
            ahead -= rise(first, i);
            const long j = rows - i + 1;
            behind = (j - 1) % ROWS == 0 ? value_at(second, j) : behind >= UNKNOWN ? UNKNOWN : behind + rise(second, j);
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
    best[0] = least[winner];
    best[1] = where[winner];
    best[2] = values[winner];
}

// Where problems 2 pair (forward) and 2 pair + 1 (backward) meet: best[pair][part], a part of the strips each.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void meetings(__global const long *restrict problems, __global const word *restrict pv_all, __global const word *restrict mv_all,
              __global const long *restrict strip_score, __global const int *restrict strip_last, __global long *restrict best) {
    __local long least[64], where[64], values[64];
    const long pair = get_group_id(1), part = get_group_id(0), parts = get_num_groups(0);
    __global const long *problem = problems + 2 * pair * FIELDS;
    const Border forward = end_border(problem, pv_all, mv_all, strip_score, strip_last);
    const Border backward = end_border(problem + FIELDS, pv_all, mv_all, strip_score, strip_last);
    cross_borders(&forward, &backward, problem[M_ROWS], problem[BOUND], forward.strips * part / parts, forward.strips * (part + 1) / parts, least,
                  where, values, best + 3 * (pair * parts + part));
}

// Where an optimal path crosses kept borders. Two sweeps of a rectangle of `rows` rows, from opposite corners, meet at a border that both
// kept; a group a border. entries: 6 longs each: problem and border of the first sweep, of the second, rows, cost of the rectangle.
// best: 3 longs each. The least rows of all borders lie on one optimal path.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void crossings(__global const long *restrict first_problems, __global const word *restrict first_words, __global const long *restrict first_scores,
               __global const long *restrict second_problems, __global const word *restrict second_words,
               __global const long *restrict second_scores, const int every, __global const long *restrict entries, __global long *restrict best) {
    __local long least[64], where[64], values[64];
    entries += 6L * get_group_id(0);
    const Border first = kept_border(first_problems + entries[0] * FIELDS, first_words, first_scores, every, entries[1]);
    const Border second = kept_border(second_problems + entries[2] * FIELDS, second_words, second_scores, every, entries[3]);
    cross_borders(&first, &second, entries[4], entries[5], first.first, first.first + first.strips, least, where, values,
                  best + 3L * get_group_id(0));
}
