// PairHMM of pairhmm_skewed.cl for haplotypes of more columns than a warp holds, and for reads of any length.
//
// Strips of one haplotype are separate jobs; t and K at a strip's right border go through memory with a progress counter a job, and
// every lane keeps its own exponent (value * 2^exponent), so that nothing underflows. A strip is only waited for when the warp holds no
// rows of an earlier job: whoever is waited for can go on.
//
// The warp goes through up to STEPS blocks at a time with nothing but arithmetic: exponents stay as they are, so that what comes from
// the left takes one factor. Before that it looks at jobs, borders and exponents, all lanes together. Only the first lane of a sub-warp
// must have that much of its job left; the others change jobs in between, to the one that the first lane left in `ring`.
//
// A lane's exponent allows for what may come in until the next look. The path may run along a row into the lane, so that the border's
// numbers grow by `growth` binades in that time, but not beyond what the left neighbour holds.
//
// jobs: read, haplotype, strip, job of the strip to the left or -1. borders: 2*ROWS numbers a block of rows of a pair (t of each row,
// then K of each row), one exponent a block. One buffer serves all strips of a pair: a strip overwrites a block long after it has read
// it. progress[job]: blocks whose border can be read. exponents: one a partial sum. S is fixed: the host starts the kernel for
// each group, with the number of its counter. The rest as in pairhmm_skewed.cl.

#include "pairhmm_step.cl"

#define IDLE (-2)               // a job of a few blocks of nothing
#define NOTHING (~0u)           // rows of no job
#define EMPTY (-(1 << 30))      // exponent of zero
#ifdef FP64
#define STEPS (32 / ROWS) // most blocks between two looks; the host may ask for fewer
#else
#define STEPS (18 / ROWS) // a number may fall and a border grow by 3.3 binades a row, and a lane's columns lie 118 apart: 22 is too many
#endif
#define WAIT_FOR (W + 2 * STEPS) // blocks that a predecessor must be ahead to be followed without emptying the pipeline
#define BORDER (2 * ROWS)       // numbers of a block's border
#define FETCHED ((STEPS * BORDER + W - 1) / W)
#define SUB_WARPS (W / S)
#define SLOTS (S + STEPS <= 32 ? 32 : S + STEPS <= 64 ? 64 : 128) // blocks of rows between the first and the last lane of a sub-warp
#define KEPT (SLOTS + STEPS) // the first STEPS of them again at the end, so that no lane must wrap on its way
#define ROW_FETCHES ((STEPS * ROWS + S - 1) / S)
// Numbers of a lane that are not needed between two looks wait in local memory.
#define JOB 0
#define VALID 1      // columns of the lane that the haplotype has
#define EXPONENT 2
#define TAKEN 3      // where the next job is in `ring`
#define BORDER_OUT 4 // last lane: first block of the job's border, NONE where no strip follows
#define SENT 5       // last lane: blocks of it that are written
#define SENT_FROM 6  // last lane: first step whose border is not written
#define FIELDS 7
#include "pairhmm_exponents.cl"

#ifdef VARIANT_NVIDIA
inline int load_acquire(volatile __global int *address) {
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}
inline void store_release(volatile __global int *address, int value) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}
#else
inline int load_acquire(volatile __global int *address) {
    const int value = atomic_add(address, 0);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return value;
}
inline void store_release(volatile __global int *address, int value) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_xchg(address, value);
}
#endif

__kernel GROUP_OF_WARPS
void skewed(__global const real4 *restrict rows, __global const real *restrict row_gaps, const real gap, const real scale,
            __global const uint *restrict masks, __global const int4 *restrict jobs, __global const uint4 *restrict reads,
            __global const uint2 *restrict haplotypes, __global const real *restrict starts, const int4 group,
            volatile __global int *next_job, const int which, __global real *partials, __global int *exponents,
            __global real *borders, volatile __global int *border_exponents, __global const uint *restrict border_offsets,
            volatile __global int *progress, const int most_steps, const int growth) {
    __local uint table[(LETTERS + 1) * LANES];
    __local real4 streams[WARPS][SUB_WARPS][ROWS * KEPT]; // parameters of the rows that are on their way through the lanes
#ifdef PER_ROW_GAP
    __local real gap_streams[WARPS][SUB_WARPS][ROWS * KEPT];
#endif
    __local real staged_of[WARPS][STEPS * BORDER];   // what comes in at the first lane, in its exponent
    __local real outgoing_of[WARPS][STEPS * BORDER]; // what goes out at the last
    __local int rings[WARPS][2 * W];
    __local uint heads_of[WARPS][W];
    __local int fields[FIELDS * LANES];
    EXCHANGE_STORAGE
    const int item = get_local_id(0), lane = item % W, warp = item / W;
    __local uint *const own = table + item;
    __local int *const mine = fields + item, *const last = fields + (item | (W - 1));
    __local real *const staged = staged_of[warp], *const outgoing = outgoing_of[warp];
    __local uint *const heads = heads_of[warp];
    own[LETTERS * LANES] = 0u;

    const int end = group.z, sub = lane % S;
    __local int *const ring = rings[warp] + 2 * (lane - sub);
    __local real4 *const stream = streams[warp][lane / S];
#ifdef PER_ROW_GAP
    __local real *const gap_stream = gap_streams[warp][lane / S];
#endif
    real t[N], J[N], m[N], t_out[ROWS], K_out[ROWS];
    real t_left = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) t[k] = J[k] = m[k] = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) t_out[r] = K_out[r] = 0;
    WARP_BARRIER
    for (int i = sub; i < ROWS * KEPT; i += S) stream[i] = (real4)(0);
    mine[JOB * LANES] = mine[BORDER_OUT * LANES] = NONE;
    mine[EXPONENT * LANES] = EMPTY;
    mine[TAKEN * LANES] = 0;
    int left = sub;
    uint at = -sub; // block in the stream
    // the first lane's
    int taken = 0, pending = NONE, predecessor = NONE, known = 0, done = 0;
    uint row = NOTHING, border_in = 0;
#ifdef PER_ROW_GAP
    real peak = 0; // of what went out since the last look
#endif

    int busy = 1;
    while (busy) {
        // The first lane: its next job, and how far it goes.
        int job = mine[JOB * LANES], exponent = mine[EXPONENT * LANES];
        int steps = most_steps;
        if (!sub) {
            int coming = left;
            if (left == 0) {
                int drawn = pending;
                pending = predecessor = NONE;
                row = NOTHING;
                done = 0;
                if (drawn == NONE) {
                    drawn = group.y + atomic_inc(next_job + which);
                    if (drawn < end && job >= 0) {
                        const int before = jobs[drawn].w;
                        if (before >= 0 && load_acquire(progress + before) < WAIT_FOR) {
                            pending = drawn;
                            drawn = IDLE;
                        }
                    }
                }
                ring[taken] = drawn;
                taken = taken + 1 == 2 * S ? 0 : taken + 1;
                coming = drawn == IDLE ? S : FOREVER;
                if (drawn >= 0 && drawn < end) {
                    const int4 what = jobs[drawn];
                    const uint4 read = reads[what.x];
                    const uint padding = read.z % ROWS;
                    predecessor = what.w;
                    known = 0;
                    border_in = border_offsets[drawn] * (READ_BLOCK / ROWS);
                    row = read.x * READ_BLOCK + read.z - padding;
                    coming = (read.y * READ_BLOCK - read.z + padding) / ROWS;
                }
            }
            steps = min(steps, coming);
            heads[lane] = row;
        }
        steps = S == W ? FIRST_LANES(steps) : -LARGEST_OF(-steps);
        WARP_BARRIER
        const uint first_row = heads[lane - sub];

        // The rows that the first lane comes to, and its borders, where another strip is to the left: then the sub-warp is the warp.
        real4 coming_rows[ROW_FETCHES];
#pragma unroll
        for (int f = 0; f < ROW_FETCHES; ++f) {
            coming_rows[f] = (real4)(0);
            if (first_row != NOTHING && sub + f * S < steps * ROWS) coming_rows[f] = rows[first_row + sub + f * S];
        }
        int from = NONE, coming_in = EMPTY;
        if (!sub && predecessor >= 0) {
            while (known < done + steps) known = load_acquire(progress + predecessor);
            from = border_in + done;
        }
        from = FIRST_LANES(from);
        real fetched[FETCHED];
        int powers[FETCHED];
#pragma unroll
        for (int f = 0; f < FETCHED; ++f) fetched[f] = powers[f] = 0;
        if (from >= 0) {
#pragma unroll
            for (int f = 0; f < FETCHED; ++f) {
                const int i = lane + f * W;
                if (i < steps * BORDER) {
                    fetched[f] = ((volatile __global real *)borders)[(size_t)from * BORDER + i]; // past caches that are not coherent
                    powers[f] = border_exponents[from + i / BORDER];
                }
            }
        }

        // Exponents.
        const int active = job >= 0 && job < end && left; // a lane that is through keeps its sum as it is
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
        if (job >= 0 && job < end && at_border > 0) going_out = exponent + exponent_of(at_border) + growth;
#if N >= STEPS * ROWS // what the left neighbour's left neighbour has cannot come through
        if (going_out > EMPTY) going_out = min(going_out, exponent + exponent_of(sum) + OWN_GROWTH);
#endif
        BEGIN_EXCHANGE
        GIVE_INT(0, going_out)
        END_EXCHANGE
        const int from_left = INT_FROM_LEFT(0, going_out);
        if (from >= 0) {
#pragma unroll
            for (int f = 0; f < FETCHED; ++f) if (fetched[f] > 0) coming_in = max(coming_in, powers[f] + exponent_of(fetched[f]));
            coming_in = LARGEST_OF(coming_in);
        }
        const int target = max(sub ? from_left - (CEILING - TOP) : coming_in, sum > 0 ? exponent + exponent_of(sum) : EMPTY);
        int shift = 0, difference;
        if (active && target > EMPTY / 2) {
            shift = TOP - (target - exponent);
            if (abs(shift) <= SLACK) shift = 0;
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
            const int exponent_left = INT_FROM_LEFT(0, exponent);
            difference = exponent_left - (left ? exponent : 0);
            shift = active && sub && difference > MOST ? MOST - difference : 0; // the factor must be a number
            uneven = ANY_LANE(shift);
        }
#ifdef PER_ROW_GAP
        peak = largest_border(t_out, K_out);
#endif
        mine[EXPONENT * LANES] = exponent;
        real factor = !sub ? (real)1 : active || left == 0 ? power_of_two(difference) : (real)0; // of what comes from the left
        const int exponent_of_first = FIRST_LANES(left ? exponent : 0);
#pragma unroll
        for (int f = 0; f < FETCHED; ++f)
            if (lane + f * W < steps * BORDER)
                staged[(STEPS - steps) * BORDER + lane + f * W] = scaled(fetched[f], powers[f] - exponent_of_first);
#pragma unroll
        for (int f = 0; f < ROW_FETCHES; ++f) {
            const int i = sub + f * S;
            const uint slot = (at + sub + i / ROWS) & (SLOTS - 1);
            if (i < STEPS * ROWS) {
                stream[i % ROWS * KEPT + slot] = coming_rows[f];
                if (slot < STEPS) stream[i % ROWS * KEPT + slot + SLOTS] = coming_rows[f];
#ifdef PER_ROW_GAP
                const real coming_gap = first_row == NOTHING || i >= steps * ROWS ? (real)0 : row_gaps[first_row + i];
                gap_stream[i % ROWS * KEPT + slot] = coming_gap;
                if (slot < STEPS) gap_stream[i % ROWS * KEPT + slot + SLOTS] = coming_gap;
#endif
            }
        }
        if (!sub) {
            done += steps;
            if (row != NOTHING) row += steps * ROWS;
        }
        if (lane == W - 1) mine[SENT_FROM * LANES] = STEPS - steps;
        WARP_BARRIER

        // Steps are counted up to STEPS, so that the end is a constant: registers are scarce.
        __local const real4 *row_at = stream + (at & (SLOTS - 1));
#ifdef PER_ROW_GAP
        __local const real *gap_at = gap_stream + (at & (SLOTS - 1));
#endif
        for (int s = STEPS - steps; s < STEPS; ++s) {
            BEGIN_EXCHANGE
#pragma unroll
            for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
            END_EXCHANGE
            real t_in[ROWS], K[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                t_in[r] = FROM_LEFT(r, t_out[r]);
                K[r] = FROM_LEFT(ROWS + r, K_out[r]);
            }
            if (!sub) {
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    t_in[r] = staged[s * BORDER + r];
                    K[r] = staged[s * BORDER + ROWS + r];
                }
            }
            if (left == 0) { // through with a job, or about to take the first
                job = mine[JOB * LANES];
                exponent = mine[EXPONENT * LANES];
                if (job >= 0) {
                    const int border_out = mine[BORDER_OUT * LANES];
                    if (border_out != NONE) { // this lane is the last
                        const int from_step = mine[SENT_FROM * LANES], sent = mine[SENT * LANES];
                        for (int i = from_step; i < s; ++i) {
                            for (int n = 0; n < BORDER; ++n)
                                borders[(size_t)(border_out + sent + i - from_step) * BORDER + n] = outgoing[i * BORDER + n];
                            border_exponents[border_out + sent + i - from_step] = exponent;
                        }
                    }
                    const uint place = group.w + (job - group.y) * S + sub;
                    partials[place] = sum_of(t, mine[VALID * LANES]);
                    exponents[place] = exponent;
                    if (border_out != NONE) store_release(progress + job, FOREVER);
                }
                job = ring[mine[TAKEN * LANES]];
                mine[TAKEN * LANES] = mine[TAKEN * LANES] + 1 == 2 * S ? 0 : mine[TAKEN * LANES] + 1;
                mine[JOB * LANES] = job;
                mine[EXPONENT * LANES] = EMPTY;
                mine[BORDER_OUT * LANES] = NONE;
                left = job == IDLE ? S : FOREVER;
                real start = 0;
                if (s > STEPS - steps) factor = 1; // then the left neighbour, too, has begun since the exponents were looked at
                if (job >= 0 && job < end) {
                    const int4 what = jobs[job];
                    const uint4 read = reads[what.x];
                    const uint2 haplotype = haplotypes[what.y];
                    const int first_lane = what.z * S + sub;
                    mine[VALID * LANES] = valid_columns(haplotype.y, first_lane);
                    copy_masks(own, masks + (size_t)(haplotype.x + first_lane) * LETTERS);
                    start = start_value(starts[what.x], scale, haplotype.y);
                    const uint padding = read.z % ROWS;
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) if (!sub && r < padding) t_in[r] = start; // row 0 for the first row
                    left = (read.y * READ_BLOCK - read.z + padding) / ROWS;
                    mine[EXPONENT * LANES] = 0;
                    mine[SENT * LANES] = 0;
                    mine[SENT_FROM * LANES] = s;
                    if (sub == S - 1 && (int)haplotype.y > (what.z + 1) * S * N)
                        mine[BORDER_OUT * LANES] = border_offsets[job] * (READ_BLOCK / ROWS);
                }
                begin_state(t, J, m, start);
                t_left = start;
#ifdef PER_ROW_GAP
                peak = 0;
#endif
            }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real4 p = row_at[r * KEPT];
#ifdef PER_ROW_GAP
                const real ii = gap_at[r * KEPT];
#else
                const real ii = gap;
#endif
                K_out[r] = compute_row(t, J, m, &t_left, t_in[r] * factor, K[r] * factor, p, ii, own[CODE(p.x) * LANES]);
                t_out[r] = t[N - 1];
            }
#ifdef PER_ROW_GAP
            peak = fmax(peak, largest_border(t_out, K_out));
#endif
            if (lane == W - 1) {
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    outgoing[s * BORDER + r] = t_out[r];
                    outgoing[s * BORDER + ROWS + r] = K_out[r];
                }
            }
            --left;
            ++row_at;
#ifdef PER_ROW_GAP
            ++gap_at;
#endif
        }
        at += steps;

        // The border of the warp's last lane.
        WARP_BARRIER
        const int border_out = last[BORDER_OUT * LANES];
        if (S == W && border_out != NONE) {
            const int from_step = last[SENT_FROM * LANES], sent = last[SENT * LANES], power = last[EXPONENT * LANES];
#pragma unroll
            for (int f = 0; f < FETCHED; ++f) {
                const int i = lane + f * W;
                if (i < (STEPS - from_step) * BORDER) {
                    borders[(size_t)(border_out + sent) * BORDER + i] = outgoing[from_step * BORDER + i];
                    if (i % BORDER == 0) border_exponents[border_out + sent + i / BORDER] = power;
                }
            }
            WARP_BARRIER
            if (lane == W - 1) {
                mine[SENT * LANES] = sent + STEPS - from_step;
                store_release(progress + mine[JOB * LANES], sent + STEPS - from_step);
            }
        }
        job = mine[JOB * LANES];
        busy = ANY_LANE(job < end);
    }
}
