// PairHMM of pairhmm_skewed.cl for haplotypes of more columns than a warp holds, and for reads of any length.
//
// Strips of one haplotype are separate jobs; t and K at a strip's right border go through memory (pairhmm_borders.cl), and every lane
// keeps its own exponent (value * 2^exponent), so that nothing underflows. A strip is only waited for when the warp holds no rows of an
// earlier job: whoever is waited for can go on.
//
// The warp goes through up to STEPS blocks at a time with nothing but arithmetic: exponents stay as they are, so that what comes from
// the left takes one factor. Before that it looks at jobs, borders and exponents, all lanes together. Only the first lane of a sub-warp
// must have that much of its job left; the others change jobs in between, to the one that the first lane left in `ring`.
//
// A lane's exponent allows for what may come in until the next look. The path may run along a row into the lane, so that the border's
// numbers grow by `growth` binades in that time, but not beyond what the left neighbour holds.
//
// Registers are scarce: whatever is not needed in every block waits in local memory, and what comes in at the first lane and goes out at
// the last stands in `stream` beside the parameters of the rows, where a lane has its place anyway.
//
// jobs: read, haplotype, strip, job of the strip to the left or -1. One buffer serves all strips of a pair: a strip overwrites a block
// long after it has read it. progress[job]: where the part of its border ends that is written. exponents: one a partial sum. S is fixed:
// the host starts the kernel for each group, with the number of its counter. The rest as in pairhmm_skewed.cl.

#ifndef FP64
#define K_FIRST
#endif
#include "pairhmm_step.cl"

#define IDLE (-2)               // a job of a few blocks of nothing
#define EMPTY (-(1 << 30))      // exponent of zero
#define NEVER (1 << 30)         // blocks
#define NOWHERE (-(1 << 30))    // no row or block, and none either that many further on
#ifdef FP64
#define STEPS (32 / ROWS) // most blocks between two looks; the host may ask for fewer
#else
#define STEPS (18 / ROWS) // a number may fall and a border grow by 3.3 binades a row, and a lane's columns lie 118 apart: 22 is too many
#endif
#define WAIT_FOR (W + 2 * STEPS) // blocks that a predecessor must be ahead to be followed without emptying the pipeline
#define SUB_WARPS (W / S)
#define SLOTS (S + STEPS <= 32 ? 32 : S + STEPS <= 64 ? 64 : 128) // blocks of rows between the first and the last lane of a sub-warp
#define KEPT (SLOTS + STEPS) // the first STEPS of them again at the end, so that no lane must wrap on its way
#define FETCHES ((STEPS + S - 1) / S) // blocks whose rows a lane fetches in a look
#include "pairhmm_exponents.cl"
#include "pairhmm_borders.cl"
#define STRIPS (S == W) // there may be several in a pair
#define PLANES (ROWS + STRIPS * RECORDS) // of `stream`: rows of a block, then its border

inline void copy_block(__local real4 *to, __global const real4 *rows_of_block) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) copy_row(to + r * KEPT, rows_of_block + r);
}

__kernel GROUP_OF_WARPS
void skewed(__global const real4 *restrict rows, __global const real *restrict row_gaps, const real gap, const real scale,
            __global const uint *restrict masks, __global const int4 *restrict jobs, __global const uint4 *restrict reads,
            __global const uint2 *restrict haplotypes, __global const real *restrict starts, const int4 group,
            volatile __global int *next_job, const int which, __global real *partials, __global int *exponents,
            __global real4 *borders, volatile __global int *border_exponents, __global const uint *restrict border_offsets,
            volatile __global int *progress, const int most_steps, const int growth) {
    __local uint table[(LETTERS + 1) * LANES];
    __local real4 streams[WARPS][SUB_WARPS][PLANES * KEPT]; // rows on their way through the lanes, and borders
#ifdef PER_ROW_GAP
    __local real gap_streams[WARPS][SUB_WARPS][ROWS * KEPT];
#endif
    __local int rings[WARPS][2 * W];
    __local int4 heads[WARPS][SUB_WARPS]; // the first lane's: blocks until the next look, first row, block of the border, its bit
    __local int pending_of[WARPS][SUB_WARPS]; // a job that is drawn but not begun
    // the last lane's: next block of its border or NONE, first step that is not written, exponent, and twice the place in `stream` that the
    // record of step 0 would have plus the lowest bit of the strip's number
    __local int4 tails[WARPS];
    __local int4 held_of[LANES]; // a lane's: job, exponent, columns that the haplotype has, where the next job is in `ring`
    EXCHANGE_STORAGE
#if WARPS == 1 && S == W && !defined(VARIANT_LOCAL) // PoCL 3.0 does not compile this
    const int item = get_local_id(0), lane = item, warp = 0, sub_warp = 0;
#else
    const int item = get_local_id(0), lane = item % W, warp = item / W, sub_warp = lane / S;
#endif
    __local uint *const own = table + item;
    __local int4 *const held = held_of + item;
    const int end = group.z, sub = STRIPS ? lane : lane % S;
    __local int *const ring = rings[warp] + 2 * S * sub_warp;
    __local real4 *const stream = streams[warp][sub_warp];
    __local int4 *const head = &heads[warp][sub_warp], *const tail = &tails[warp];
    __local int *const pending = &pending_of[warp][sub_warp];
#ifdef PER_ROW_GAP
    __local real *const gap_stream = gap_streams[warp][sub_warp];
#endif
    real t[N], J[N], m[N], t_out[ROWS], K_out[ROWS];
    real t_left = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) t[k] = J[k] = m[k] = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) t_out[r] = K_out[r] = 0;
    own[LETTERS * LANES] = 0u;
    *held = (int4)(NONE, EMPTY, 0, 0);
    *head = (int4)(0, NOWHERE, NOWHERE, 0);
    *pending = NONE;
    *tail = (int4)(NONE, 0, 0, 0);
    for (int i = sub; i < PLANES * KEPT; i += S) stream[i] = (real4)(0);
    WARP_BARRIER
    int left = sub;
    uint at = (uint)-sub & (SLOTS - 1); // block in the stream
#ifdef PER_ROW_GAP
    real peak = 0; // of what went out since the last look
#endif

    int busy = 1;
    while (busy) {
        // The first lane: its next job, and how far it goes.
        int steps = most_steps;
        int4 now;
        if (!sub) {
            now = *head;
            now.y += now.x * ROWS;
            now.z += now.x;
            int coming = left;
            if (left == 0) {
                int drawn = *pending;
                *pending = NONE;
                now.y = now.z = NOWHERE;
                if (drawn == NONE) {
                    drawn = group.y + atomic_inc(next_job + which);
                    if (drawn < end && held->x >= 0) {
                        const int before = jobs[drawn].w;
                        if (before >= 0 && peek(progress + before) < (int)(border_offsets[drawn] * (READ_BLOCK / ROWS)) + WAIT_FOR) {
                            *pending = drawn;
                            drawn = IDLE;
                        }
                    }
                }
                ring[held->w] = drawn;
                coming = drawn == IDLE ? S : FOREVER;
                if (drawn >= 0 && drawn < end) {
                    const int4 what = jobs[drawn];
                    const uint4 read = reads[what.x];
                    const uint padding = read.z % ROWS;
                    now.y = read.x * READ_BLOCK + read.z - padding;
                    coming = (read.y * READ_BLOCK - read.z + padding) / ROWS;
                    if (what.w >= 0) {
                        now.z = border_offsets[drawn] * (READ_BLOCK / ROWS);
                        now.w = (what.z - 1) & 1;
                        while (peek(progress + what.w) <= now.z) {}
                    }
                }
            }
            steps = min(steps, coming);
        }
        if (!STRIPS) steps = -LARGEST_OF(-steps);
        if (!sub) {
            now.x = steps;
            *head = now;
        }
        WARP_BARRIER
        now = *head;
        steps = now.x;

        // The rows that the first lane comes to, and its border, where another strip is to the left: a lane fetches a block.
#pragma unroll
        for (int f = 0; f < FETCHES; ++f) {
            const int i = sub + f * S;
            const uint slot = (at + sub + i) & (SLOTS - 1);
            if (i < steps) {
                const uint row = now.y >= 0 ? now.y + i * ROWS : i * ROWS % READ_BLOCK;
                copy_block(stream + slot, rows + row);
                if (slot < STEPS) copy_block(stream + slot + SLOTS, rows + row);
#ifdef PER_ROW_GAP
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    gap_stream[r * KEPT + slot] = row_gaps[row + r];
                    if (slot < STEPS) gap_stream[r * KEPT + slot + SLOTS] = row_gaps[row + r];
                }
#endif
            }
        }
        real4 fetched[RECORDS];
        int word = 0;
#pragma unroll
        for (int r = 0; r < RECORDS; ++r) fetched[r] = (real4)(0);
        const int fetches = STRIPS && now.z >= 0 && lane < steps;
        if (fetches) fetch_border(fetched, &word, borders, border_exponents, now.z + lane);

        // Exponents.
        const int job = held->x;
        int exponent = held->y;
        const int valid = (uint)job < (uint)end, active = valid && left; // a lane that is through keeps its sum as it is
#ifdef PER_ROW_GAP
        const real at_border = peak; // far from the path a row of cheaper gaps reaches much further than the next
#else
        const real at_border = largest_border(t_out, K_out);
#endif
        real sums[4] = {t_left, at_border, 0, 0}; // as good as the largest number, and faster
#pragma unroll
        for (int k = 0; k < N; ++k) sums[k % 4] += t[k];
        const real sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        int going_out = EMPTY;
        if (valid && at_border > 0) going_out = exponent + exponent_of(at_border) + growth;
#if N >= STEPS * ROWS // what the left neighbour's left neighbour has cannot come through
        if (going_out > EMPTY) going_out = min(going_out, exponent + exponent_of(sum) + OWN_GROWTH);
#endif
        BEGIN_EXCHANGE
        GIVE_INT(0, going_out)
        END_EXCHANGE
        const int from_left = INT_FROM_LEFT(0, going_out);
        int coming_in = EMPTY;
#if STRIPS
        int waiting = 1;
        while (waiting) {
            waiting = ANY_NEGATIVE(fetches ? is_old(fetched, word, now.w) : 0);
            if (waiting && fetches) fetch_border(fetched, &word, borders, border_exponents, now.z + lane);
        }
        real largest = 0;
#pragma unroll
        for (int r = 0; r < RECORDS; ++r) {
            fetched[r] = fabs(fetched[r]);
            largest = fmax(largest, fmax(fmax(fetched[r].x, fetched[r].y), fmax(fetched[r].z, fetched[r].w)));
        }
        if (largest > 0) coming_in = POWER_OF(word) + exponent_of(largest);
        coming_in = LARGEST_OF(coming_in);
#endif
        const int target = max(sub ? from_left - (CEILING - TOP) : coming_in, sum > 0 ? exponent + exponent_of(sum) : EMPTY);
        int shift = 0, difference;
        if (active && target > EMPTY / 2) {
            shift = TOP - (target - exponent);
            if ((uint)(shift + SLACK) <= 2 * SLACK) shift = 0;
        }
        int uneven = 1;
        while (uneven) {
            if (shift) {
                shift = min(shift, MOST);
                scale_lane(t, J, m, &t_left, t_out, K_out, power_of_two(shift));
                exponent -= shift;
            }
            BEGIN_EXCHANGE
            GIVE_INT(0, exponent)
            END_EXCHANGE
            int exponent_left = INT_FROM_LEFT(0, exponent);
            const int here = left ? exponent : 0;
            if (!sub) exponent_left = now.z >= 0 ? coming_in - TOP : here;
            difference = exponent_left - here;
            shift = active && sub && difference > MOST ? MOST - difference : 0; // the factor must be a number
            uneven = ANY_LANE(shift);
        }
#ifdef PER_ROW_GAP
        peak = largest_border(t_out, K_out);
#endif
        held->y = exponent;
        real factor = active || left == 0 ? power_of_two(difference) : (real)0; // of what comes from the left
#if STRIPS
        if (lane < steps) {
            __local real4 *place = stream + ROWS * KEPT + ((at + lane) & (SLOTS - 1)) + lane; // where the first lane comes to
#pragma unroll
            for (int r = 0; r < RECORDS; ++r) place[r * KEPT] = scaled(fetched[r], POWER_OF(word) - (coming_in - TOP));
        }
        if (lane == W - 1) {
            int4 last = *tail;
            if (last.x >= 0) last.x += STEPS - last.y;
            *tail = (int4)(last.x, STEPS - steps, exponent, ((int)at - (STEPS - steps)) << 1 | (last.w & 1));
        }
#endif
        COPIES_LANDED
        WARP_BARRIER

        // Steps are counted up to STEPS, so that the end is a constant: registers are scarce.
        __local real4 *row_at = stream + at;
#ifdef PER_ROW_GAP
        __local const real *gap_at = gap_stream + at;
#endif
        int change = left + STEPS - steps; // the step before which the lane changes jobs
        real4 next = row_at[0]; // parameters of the row to come, read a row ahead
        real t_in[ROWS], K[ROWS]; // what the lane to the left gave in the step before
        BEGIN_EXCHANGE
#pragma unroll
        for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
        END_EXCHANGE
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            t_in[r] = FROM_LEFT(r, t_out[r]);
            K[r] = FROM_LEFT(ROWS + r, K_out[r]);
        }
        for (int s = STEPS - steps; s < STEPS; ++s) {
            if (!sub) {
#pragma unroll
                for (int r = 0; r < ROWS; r += 2) {
#if STRIPS
                    const real4 record = row_at[(ROWS + r / 2) * KEPT];
#else
                    const real4 record = (real4)(0);
#endif
                    t_in[r] = record.x;
                    t_in[r + 1] = record.y;
                    K[r] = record.z;
                    K[r + 1] = record.w;
                }
            }
            if (s == change) { // through with a job, or about to take the first
                int4 mine = *held;
                if (mine.x >= 0) {
#if STRIPS
                    const int4 last = *tail;
                    const int sends = lane == W - 1 && last.x != NONE;
                    for (int i = sends ? last.y : s; i < s; ++i)
                        leave_border(borders, border_exponents, last.x + i - last.y, row_at + ROWS * KEPT + i - s, last.z, last.w & 1);
#endif
                    const uint place = group.w + (mine.x - group.y) * S + sub;
                    partials[place] = sum_of(t, mine.z);
                    exponents[place] = mine.y;
#if STRIPS
                    if (sends) leave(progress + mine.x, FOREVER);
#endif
                }
                mine = (int4)(ring[mine.w], EMPTY, 0, mine.w + 1 == 2 * S ? 0 : mine.w + 1);
                int blocks = mine.x == IDLE ? S : NEVER;
                real start = 0;
                if (sub && s > STEPS - head->x) factor = 1; // then the left neighbour, too, has begun since the exponents were looked at
                int border_out = NONE, bit = 0;
                if (mine.x >= 0 && mine.x < end) {
                    const int4 what = jobs[mine.x];
                    const uint4 read = reads[what.x];
                    const uint2 haplotype = haplotypes[what.y];
                    const int first_lane = what.z * S + sub;
                    mine.z = valid_columns(haplotype.y, first_lane);
                    copy_masks(own, masks + (size_t)(haplotype.x + first_lane) * LETTERS);
                    start = start_value(starts[what.x], scale, haplotype.y);
                    const uint padding = read.z % ROWS;
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) if (!first_lane && r < padding) t_in[r] = start; // row 0 for the first row
                    blocks = (read.y * READ_BLOCK - read.z + padding) / ROWS;
                    mine.y = 0;
                    bit = what.z & 1;
                    if ((int)haplotype.y > (what.z + 1) * S * N) border_out = border_offsets[mine.x] * (READ_BLOCK / ROWS);
                }
                change = s + blocks;
                *held = mine;
#if STRIPS
                if (lane == W - 1) *tail = (int4)(border_out, s, mine.y, (tail->w & ~1) | bit);
#endif
                start = JOINED(start);
                begin_state(t, J, m, start);
                t_left = start;
#ifdef PER_ROW_GAP
                peak = 0;
#endif
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real4 p = next;
                next = row_at[r + 1 < ROWS ? (r + 1) * KEPT : 1];
#ifdef PER_ROW_GAP
                const real ii = gap_at[r * KEPT];
#else
                const real ii = gap;
#endif
                K_out[r] = compute_row(t, J, m, &t_left, t_in[r] * factor, K[r] * factor, p, ii, mask_of(own, p.x));
                t_out[r] = t[N - 1];
            }
            BEGIN_EXCHANGE
#pragma unroll
            for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
            END_EXCHANGE
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                t_in[r] = FROM_LEFT(r, t_out[r]);
                K[r] = FROM_LEFT(ROWS + r, K_out[r]);
            }
#ifdef PER_ROW_GAP
            peak = fmax(peak, largest_border(t_out, K_out));
#endif
#if STRIPS
            if (lane == W - 1) {
#pragma unroll
                for (int r = 0; r < ROWS; r += 2)
                    row_at[(ROWS + r / 2) * KEPT] = (real4)(t_out[r], t_out[r + 1], K_out[r], K_out[r + 1]);
            }
#endif
            ++row_at;
#ifdef PER_ROW_GAP
            ++gap_at;
#endif
        }
        left = change - STEPS;
        at = (uint)(row_at - stream) & (SLOTS - 1);

        // The border of the warp's last lane.
        WARP_BARRIER
#if STRIPS
        const int4 last = *tail;
        const int last_job = held_of[item | (W - 1)].x;
        if (last.x != NONE) {
            const int count = STEPS - last.y;
            __local const real4 *record = stream + ROWS * KEPT + (last.w >> 1) + last.y + lane;
            if (lane < count) leave_border(borders, border_exponents, last.x + lane, record, last.z, last.w & 1);
            if (lane == W - 1) leave(progress + last_job, last.x + count);
        }
        busy = last_job < end;
#else
        busy = ANY_LANE(held->x < end);
#endif
    }
}
