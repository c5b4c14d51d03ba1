// The project's wavefront (WFA) kernel: many columns of the pyramid a launch, long matches extended by the whole work-group.
//
// Radius coordinates of Castells-Rufas 2023, equations 3-8: w[k] = how far diagonal k = j - i is reached with r edits, counted from the
// diagonal's start, so i = w + max(0, -k), j = w + max(0, k):
//     c[k] = max(w[k+1] + [k >= 0], w[k] + 1, w[k-1] + [k <= 0])      w'[k] = c[k] + (matching symbols from there on)
// Dynamic diamond (section 3.1): with x = w[n - m] and e its end, the distance is at most r + e - x =: bound, and only diagonals with
// |k - (n - m)| <= bound - r can lie on such a path.
//
// A group of GROUP items holds one diagonal an item in local memory and advances COLUMNS columns; HALO items at either end start right and
// become useless one a column, so neighbouring groups overlap by 2 HALO. A front that fits one group needs no halo.
//
// before, after: wave at radius `radius` and at radius + columns, entry k - k_base. control: 0 the distance once found, 1 bound, 2, 3
// cells computed (low, high word).

#include "distance_planes.cl"

#define NOWHERE (-(1 << 29))
#define SOLO_TURNS 2   // turns of 128 symbols that an item extends alone before it asks the group
#define REPEAT_TURNS 8 // turns that it does when too many ask

// matching symbols of a from i, b from j, at most `limit`; looks at 32 symbols, then at 128 at a time, at most 32 + 128 * more.
// `more` reports whether all of those matched, so that there may be more.
inline VALUE matching(__global const uint *restrict a, __global const uint *restrict b, VALUE i, VALUE j, VALUE limit, int turns, bool *more) {
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

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void advance(__global const uint *restrict a, __global const uint *restrict b, const VALUE m, const VALUE n,
             __global const VALUE *restrict before, __global VALUE *restrict after, const VALUE k_base, const VALUE k_first,
             const VALUE radius, const int columns, const int halo, __global int *restrict control) {
    __local VALUE wave[2][GROUP + 2];
    __local VALUE group_bound;
    __local VALUE asked_i[GROUP], asked_j[GROUP], asked_left[GROUP], gain[GROUP];
    __local int asked[2], nearest[2];
    __local uint group_cells;
    __local int found;
    const int lane = get_local_id(0);
    const VALUE k = k_first + (VALUE)get_group_id(0) * (GROUP - 2 * halo) - halo + lane;
    const VALUE down = max((VALUE)0, -k), right = max((VALUE)0, k), difference = n - m;
    const bool exists = k >= -m && k <= n;
    const VALUE end = exists ? min(m - down, n - right) : NOWHERE;
    wave[0][lane + 1] = exists && radius >= 0 ? before[k - k_base] : NOWHERE;
    if (lane == 0) {
        wave[0][0] = wave[0][GROUP + 1] = wave[1][0] = wave[1][GROUP + 1] = NOWHERE;
        group_bound = control[1];
        asked[0] = asked[1] = 0;
        group_cells = 0;
        found = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint cells = 0;
    int column = 1;
    for (; column <= columns; column++) {
        const VALUE r = radius + column;
        __local const VALUE *old = wave[(column - 1) & 1];
        __local VALUE *next = wave[column & 1];
        const bool valid = exists && (k < 0 ? -k : k) <= r && (k - difference < 0 ? difference - k : k - difference) <= group_bound - r
            && (halo == 0 || (lane >= column && lane < GROUP - column));
        VALUE value = NOWHERE, i = 0, j = 0, left = 0;
        bool asks = false;
        if (valid) {
            value = max(max(old[lane + 2] + (k >= 0), old[lane + 1] + 1), old[lane] + (k <= 0));
            if (r == 0) value = 0;
            value = min(value, end);
            if (value >= 0) {
                cells++;
                i = value + down;
                j = value + right;
                left = end - value;
                const VALUE run = matching(a, b, i, j, left, SOLO_TURNS, &asks);
                value += run;
                left -= run;
                i += run;
                j += run;
            } else
                value = NOWHERE;
        }
        __local int *asking = &asked[column & 1];
        int place = -1;
        if (asks) {
            place = atomic_inc(asking);
            asked_i[place] = i;
            asked_j[place] = j;
            asked_left[place] = left;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int count = *asking;
        if (lane == 0) asked[(column + 1) & 1] = 0;
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
            place = -1;
            if (asks) {
                place = atomic_inc(asking);
                asked_i[place] = i;
                asked_j[place] = j;
                asked_left[place] = left;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            count = *asking;
        }
        for (int which = 0; which < count; which++) { // few long matches: all items on one after the other
            const VALUE group_i = asked_i[which], group_j = asked_j[which], limit = asked_left[which];
            VALUE base = 0;
            int turn = 0;
            if (lane == 0) nearest[0] = GROUP * 32;
            barrier(CLK_LOCAL_MEM_FENCE);
            while (base < limit) {
                const VALUE at = base + 32 * lane;
                if (at < limit) {
                    const uint different = mismatches(a, b, group_i + at, group_j + at);
                    if (different) atomic_min(&nearest[turn], 32 * lane + lowest_one(different));
                }
                if (lane == 0) nearest[1 - turn] = GROUP * 32;
                barrier(CLK_LOCAL_MEM_FENCE);
                const int first = nearest[turn];
                base += first;
                turn = 1 - turn;
                if (first < GROUP * 32) break;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (place == which) value += min(base, limit);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        next[lane + 1] = value;
        if (valid && k == difference) {
            if (value >= end) {
                atomic_min(&control[0], (int)r);
                found = 1;
            }
            if (value >= 0) group_bound = min(group_bound, r + end - value);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (found) break;
    }
    const int last = found ? column : columns;
    if (exists && lane >= halo && lane < GROUP - halo) after[k - k_base] = wave[last & 1][lane + 1];
    if (k == difference && lane >= halo && lane < GROUP - halo) atomic_min(&control[1], (int)group_bound);
    if (lane >= halo && lane < GROUP - halo) atomic_add(&group_cells, cells);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        const uint total = atomic_add((__global uint *)&control[2], group_cells);
        if (total + group_cells < total) atomic_inc((__global uint *)&control[3]);
    }
}
