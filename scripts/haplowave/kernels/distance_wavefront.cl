// The project's wavefront (WFA) kernel: many columns of the pyramid a launch, long matches extended by the whole work-group.
//
// Castells-Rufas 2023, equations 3-8: w[k] = how far diagonal k = j - i is reached with r edits, counted from the diagonal's start (the
// paper's radius max(i, j), less |k|), so i = w + max(0, -k), j = w + max(0, k):
//     c[k] = max(w[k+1] + [k >= 0], w[k] + 1, w[k-1] + [k <= 0])      w'[k] = c[k] + (matching symbols from there on)
// Dynamic diamond (section 3.1): with x = w[n - m] and e its end, the distance is at most r + e - x =: bound, and only diagonals with
// |k - (n - m)| <= bound - r can lie on such a path.
//
// A group of GROUP items holds one diagonal an item in local memory and advances COLUMNS columns; HALO items at either end start right and
// become useless one a column, so neighbouring groups overlap by 2 HALO. A front that fits one group needs no halo.
//
// before, after: wave at radius `radius` and at radius + columns, entry k - k_base. control: 0 the distance once found, 1 bound, 2, 3
// cells computed (low, high word), 4 the furthest (i + j) / 2 that a diagonal has reached.

#include "distance_planes.cl"

#define NOWHERE (-(1 << 29))
#define SOLO_TURNS 2   // turns of 128 symbols that an item extends alone before it asks the group
#define REPEAT_TURNS 8 // turns that it does when too many ask

// matching symbols of a from i, b from j, at most `limit`; looks at 32 symbols, then at 128 at a time, at most 32 + 128 * more.
// `more` reports whether all of those matched, so that there may be more.
inline VALUE matching(TEXT_IN(a), TEXT_IN(b), VALUE i, VALUE j, VALUE limit, int turns, bool *more) {
    *more = false;
    const uint different = mismatches(a, b, i, j);
    if (different) return min(limit, (VALUE)lowest_one(different));
    VALUE length = 32;
    for (int turn = 0; turn < turns && length < limit; turn++) {
        const uint first = mismatches(a, b, i + length, j + length), second = mismatches(a, b, i + length + 32, j + length + 32);
        const uint third = mismatches(a, b, i + length + 64, j + length + 64), fourth = mismatches(a, b, i + length + 96, j + length + 96);
        if (first | second | third | fourth) {
            const VALUE skipped = first ? 0 : second ? 32 : third ? 64 : 96;
            return min(limit, length + skipped + lowest_one(first ? first : second ? second : third ? third : fourth));
        }
        length += 128;
    }
    *more = length < limit;
    return min(limit, length);
}

// Puts an item's (i, j) and the symbols left on the list of what the group extends together, if it `asks`; returns its place there.
inline int ask(bool asks, VALUE i, VALUE j, VALUE left, __local VALUE *asked, __local int *asking) {
    if (!asks) return -1;
    const int place = atomic_inc(asking);
    asked[place] = i;
    asked[GROUP + place] = j;
    asked[2 * GROUP + place] = left;
    return place;
}

// `value` extended along its diagonal in every item with `valid`; all items of the group call it together. asked: 3 GROUP entries,
// counts: 4, counts[turn] zero on entry; counts[1 - turn] is zero on return.
inline VALUE extended(TEXT_IN(a), TEXT_IN(b), VALUE value, VALUE down, VALUE right, VALUE end,
                      bool valid, int lane, int turn, __local VALUE *asked, __local int *counts) {
    __local int *asking = counts + turn, *nearest = counts + 2;
    VALUE i = value + down, j = value + right, left = end - value;
    bool asks = false;
    if (valid) {
        const VALUE run = matching(a, b, i, j, left, SOLO_TURNS, &asks);
        value += run;
        left -= run;
        i += run;
        j += run;
    }
    int place = ask(asks, i, j, left, asked, asking);
    barrier(CLK_LOCAL_MEM_FENCE);
    int count = *asking;
    if (lane == 0) counts[1 - turn] = 0;
    while (count > GROUP / 16) { // long repeats on many diagonals: every item by itself
        if (asks) {
            const VALUE run = matching(a, b, i, j, left, REPEAT_TURNS, &asks);
            value += run;
            left -= run;
            i += run;
            j += run;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0) *asking = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        place = ask(asks, i, j, left, asked, asking);
        barrier(CLK_LOCAL_MEM_FENCE);
        count = *asking;
    }
    for (int which = 0; which < count; which++) { // few long matches: all items on one after the other
        const VALUE group_i = asked[which], group_j = asked[GROUP + which], limit = asked[2 * GROUP + which];
        VALUE base = 0;
        int phase = 0;
        if (lane == 0) nearest[0] = GROUP * 32;
        barrier(CLK_LOCAL_MEM_FENCE);
        while (base < limit) {
            const VALUE at = base + 32 * lane;
            if (at < limit) {
                const uint different = mismatches(a, b, group_i + at, group_j + at);
                if (different) atomic_min(&nearest[phase], 32 * lane + lowest_one(different));
            }
            if (lane == 0) nearest[1 - phase] = GROUP * 32;
            barrier(CLK_LOCAL_MEM_FENCE);
            const int first = nearest[phase];
            base += first;
            phase = 1 - phase;
            if (first < GROUP * 32) break;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (place == which) value += min(base, limit);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return value;
}

inline VALUE magnitude(VALUE x) { return x < 0 ? -x : x; }

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void advance(TEXT(a), TEXT(b), const VALUE m, const VALUE n,
             __global const VALUE *restrict before, __global VALUE *restrict after, const VALUE k_base, const VALUE k_first,
             const VALUE radius, const int columns, const int halo, __global int *restrict control) {
    __local VALUE wave[2][GROUP + 2];
    __local VALUE asked[3 * GROUP];
    __local int counts[4];
    __local VALUE group_bound;
    __local uint group_cells;
    __local int found, group_reach;
    const int lane = get_local_id(0);
    const VALUE k = k_first + (VALUE)get_group_id(0) * (GROUP - 2 * halo) - halo + lane;
    const VALUE down = max((VALUE)0, -k), right = max((VALUE)0, k), difference = n - m;
    const bool exists = k >= -m && k <= n;
    const VALUE end = exists ? min(m - down, n - right) : NOWHERE;
    wave[0][lane + 1] = exists && radius >= 0 ? before[k - k_base] : NOWHERE;
    if (lane == 0) {
        wave[0][0] = wave[0][GROUP + 1] = wave[1][0] = wave[1][GROUP + 1] = NOWHERE;
        group_bound = control[1];
        counts[0] = counts[1] = 0;
        group_cells = 0;
        found = group_reach = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint cells = 0;
    int column = 1;
    for (; column <= columns; column++) {
        const VALUE r = radius + column;
        __local const VALUE *old = wave[(column - 1) & 1];
        VALUE value = NOWHERE;
        bool valid = exists && magnitude(k) <= r && magnitude(k - difference) <= group_bound - r
            && (halo == 0 || (lane >= column && lane < GROUP - column));
        if (valid) {
            value = r == 0 ? 0 : max(max(old[lane + 2] + (k >= 0), old[lane + 1] + 1), old[lane] + (k <= 0));
            value = min(value, end);
            valid = value >= 0;
            cells += valid;
        }
        value = extended(TEXT_OF(a), TEXT_OF(b), value, down, right, end, valid, lane, column & 1, asked, counts);
        wave[column & 1][lane + 1] = valid ? value : NOWHERE;
        if (valid && k == difference) {
            if (value >= end) {
                atomic_min(&control[0], (int)r);
                found = 1;
            }
            group_bound = min(group_bound, r + end - value);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found) break;
    }
    const int last = found ? column : columns;
    const VALUE reached = wave[last & 1][lane + 1];
    if (exists && lane >= halo && lane < GROUP - halo) {
        after[k - k_base] = reached;
        if (reached > 0) atomic_max(&group_reach, (int)(reached + magnitude(k) / 2));
    }
    if (k == difference && lane >= halo && lane < GROUP - halo) atomic_min(&control[1], (int)group_bound);
    if (lane >= halo && lane < GROUP - halo) atomic_add(&group_cells, cells);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        const uint total = atomic_add((__global uint *)&control[2], group_cells);
        if (total + group_cells < total) atomic_inc((__global uint *)&control[3]);
        atomic_max(&control[4], group_reach);
    }
}

// The path back, by one work-group: from the last of `stored` waves (first[s], radii[s], entries from offsets[s] on) the columns up to the
// end are computed again on the diagonals that can lead there, kept in history[column * GROUP + item], and walked back; then the same from
// the wave before, and so on. A stretch between two waves is at most GROUP / 2 - 2 columns. Wave 0 stands for the start (radius -1).
// operation[r], matches[r]: edit r (0 none, 1 substitution, 2 symbol of a only, 3 symbol of b only) and the matches that follow it.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void retrace(TEXT(a), TEXT(b), const VALUE m, const VALUE n, __global const VALUE *restrict waves,
             __global const long *restrict offsets, __global const long *restrict firsts, __global const long *restrict sizes,
             __global const long *restrict radii, const int stored, const VALUE distance, __global VALUE *restrict history,
             __global uchar *restrict operation, __global VALUE *restrict matches) {
    __local VALUE wave[2][GROUP + 2];
    __local VALUE asked[3 * GROUP];
    __local int counts[4];
    __local VALUE walked;
    const int lane = get_local_id(0);
    VALUE target = n - m; // the diagonal of the path at the end of the stretch
    VALUE until = distance;
    for (int s = stored - 1; s >= 0; s--) {
        const VALUE radius = (VALUE)radii[s];
        const VALUE k = target - GROUP / 2 + lane;
        const VALUE down = max((VALUE)0, -k), right = max((VALUE)0, k);
        const bool exists = k >= -m && k <= n;
        const VALUE end = exists ? min(m - down, n - right) : NOWHERE;
        const long entry = (long)k - firsts[s];
        const VALUE start = exists && radius >= 0 && entry >= 0 && entry < sizes[s] ? waves[offsets[s] + entry] : NOWHERE;
        barrier(CLK_LOCAL_MEM_FENCE);
        wave[0][lane + 1] = start;
        history[lane] = start;
        if (lane == 0) {
            wave[0][0] = wave[0][GROUP + 1] = wave[1][0] = wave[1][GROUP + 1] = NOWHERE;
            counts[0] = counts[1] = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int columns = (int)(until - radius);
        for (int column = 1; column <= columns; column++) {
            const VALUE r = radius + column;
            __local const VALUE *old = wave[(column - 1) & 1];
            VALUE value = NOWHERE;
            bool valid = exists && magnitude(k) <= r && magnitude(k - target) <= columns - column;
            if (valid) {
                value = r == 0 ? 0 : max(max(old[lane + 2] + (k >= 0), old[lane + 1] + 1), old[lane] + (k <= 0));
                value = min(value, end);
                valid = value >= 0;
            }
            value = extended(TEXT_OF(a), TEXT_OF(b), value, down, right, end, valid, lane, column & 1, asked, counts);
            wave[column & 1][lane + 1] = valid ? value : NOWHERE;
            history[(long)column * GROUP + lane] = valid ? value : NOWHERE;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (lane == 0) {
            VALUE diagonal = target;
            for (int column = columns; column >= 1; column--) {
                const VALUE r = radius + column;
                const int item = (int)(diagonal - target) + GROUP / 2;
                const VALUE value = history[(long)column * GROUP + item];
                if (r == 0) {
                    operation[0] = 0;
                    matches[0] = value;
                    continue;
                }
                __global const VALUE *old = history + (long)(column - 1) * GROUP + item;
                const VALUE above = old[1] + (diagonal >= 0), same = old[0] + 1, under = old[-1] + (diagonal <= 0);
                const VALUE reached = max(max(above, same), under);
                operation[r] = same == reached ? 1 : above == reached ? 2 : 3;
                matches[r] = value - reached;
                diagonal += same == reached ? 0 : above == reached ? 1 : -1;
            }
            walked = diagonal;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        target = walked;
        until = radius;
    }
}
