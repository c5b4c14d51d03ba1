// PairHMM, sub-warps with skewed lanes, in the five-operation form (haplowave.pairhmm.model derives it):
//
//   m[i,j] = match ? t[i-1,j-1] : r_i*t[i-1,j-1]      t[0,j] = start*C/|H|,  t[i,0] = 0
//   J[i,j] = m[i-1,j] + b_i*J[i-1,j]                  K[i,j] = m[i,j] + ii_i*K[i,j-1]
//   t[i,j] = m[i,j] + u_i*J[i,j] + v_i*K[i,j-1]       L = s_R * sum over j of t[R,j]
//
// A job is a read against the columns of one strip of a haplotype. A sub-warp of S lanes holds S*N columns, N a lane, in registers;
// every lane is one block of ROWS rows behind its left neighbour, which hands over t and K at its last column. The mismatches of a
// lane's columns are bits of a word a letter, so that the match is a predicate. A block has an even number of rows: then t and m, which
// take each other's place every row, are back in their own registers and nothing has to be moved.
// The W/S sub-warps of a warp are in phase: the warp draws as many jobs at a time from a counter, and they take the steps of the longest.
// All lanes look up their jobs at once and leave in local memory what they will need; lane s of every sub-warp turns to its new job s
// steps later, while the lanes to its right still finish the last one, so that the pipeline never drains. Then it leaves the sum of its
// columns, too, which `finish` of pairhmm_prepare.cl adds up. A sub-warp with fewer rows than another waits before it begins.
// Draws are at least S steps apart, so that a lane has two jobs to remember at most.
//
// Haplotypes of more columns than a warp holds, and long reads, take pairhmm_long.cl.
//
// rows: r, b, u, v of each row, reads padded at the front to whole READ_BLOCKs, the first READ_BLOCK is one of zeros. The low 4 bits of r
// are the letter's code (LETTERS letters, then N, which is the padding's, too). masks: LETTERS words a lane of a haplotype,
// COLUMN_BIT(k) set where column k is another letter and no N.
// groups: S, first job, last job + 1, first partial sum. reads: first block, blocks, rows of padding, 0.
// haplotypes: first lane's masks, length. t[0,j] = starts[read] * scale / length.

#include "pairhmm_step.cl"

#define WAITING ROWS // the row, of zeros, of lanes that wait to begin

typedef int2 job_type; // read, haplotype

// What a lane keeps of a job, as long as it may need it: masks by letter, those of N, and this.
enum { FIRST_ROW = LETTERS + 1, WAIT, STEPS, VALID, SUM, BEGIN, OF_JOB = BEGIN + sizeof(real) / sizeof(uint) };
// What it keeps of a group, beside each job: what is drawn is relative to these. TO_OTHER: distance to the other job's words.
enum { A_DRAW = OF_JOB, JOB, END, SUMS, BEGUN, TO_OTHER, WORDS };

inline void keep(__local uint *word, real value) {
#ifdef FP64
    const uint2 halves = as_uint2(value);
    word[0] = halves.x;
    word[LANES] = halves.y;
#else
    *word = as_uint(value);
#endif
}
inline real kept(__local const uint *word) {
#ifdef FP64
    return as_double((uint2)(word[0], word[LANES]));
#else
    return as_float(*word);
#endif
}

__kernel GROUP_OF_WARPS
void skewed(__global const real4 *restrict rows, __global const real *restrict row_gaps, const real gap, const real scale,
            __global const uint *restrict masks, __global const job_type *restrict jobs, __global const uint4 *restrict reads,
            __global const uint2 *restrict haplotypes, __global const real *restrict starts, __global const int4 *restrict groups,
            const int group_count, volatile __global int *next_job, __global real *partials) {
    __local uint table[2 * WORDS * LANES]; // a column a lane
    EXCHANGE_STORAGE
    const int lane = get_local_id(0) % W;
    __local uint *own = table + get_local_id(0);
    own[LETTERS * LANES] = own[(WORDS + LETTERS) * LANES] = 0u;
    own[TO_OTHER * LANES] = WORDS * LANES;
    own[(WORDS + TO_OTHER) * LANES] = -WORDS * LANES;

    for (int g = 0; g < group_count; ++g) {
        const int S = groups[g].x, sub = lane % S;
        for (int slot = 0; slot < 2; ++slot) {
            own[A_DRAW * LANES] = W / S;
            own[JOB * LANES] = lane < W / S * S ? groups[g].y + lane / S : groups[g].z; // lanes that fill no sub-warp stay idle
            own[END * LANES] = groups[g].z - groups[g].y;
            own[SUMS * LANES] = groups[g].w + lane;
            own[SUM * LANES] = NONE;
            own[BEGUN * LANES] = slot;
            own += (int)own[TO_OTHER * LANES];
        }
        real t[N], J[N], m[N], t_out[ROWS], K_out[ROWS];
        real t_left = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) t[k] = J[k] = m[k] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) t_out[r] = K_out[r] = 0;
        int row = 0, stride = 0;
        real4 next = rows[0]; // parameters of the row to come, fetched a row ahead
        int turn = -sub; // how many steps are left when the lane turns to another job

        for (bool more = true; more;) {
            int drawn = 0;
            if (lane == 0) drawn = atomic_add(next_job + g, (int)own[A_DRAW * LANES]);
            drawn = FIRST_LANES(drawn);
            more = drawn < (int)own[END * LANES];
            if (!UNIFORM(more || own[BEGUN * LANES])) break;
            own[BEGUN * LANES] = 1u;
            const int job = (int)own[JOB * LANES] + drawn;
            __local uint *const found = own + (int)own[TO_OTHER * LANES];
            int needed = 0;
            found[FIRST_ROW * LANES] = 0u;
            found[SUM * LANES] = NONE;
            keep(found + BEGIN * LANES, 0);
            if (job < groups[g].z) {
                const job_type what = jobs[job];
                const uint4 read = reads[what.x];
                const uint2 haplotype = haplotypes[what.y];
                copy_masks(found, masks + (size_t)(haplotype.x + sub) * LETTERS);
                found[FIRST_ROW * LANES] = read.x * READ_BLOCK + read.z;
                keep(found + BEGIN * LANES, start_value(starts[what.x], scale, haplotype.y));
                found[VALID * LANES] = valid_columns(haplotype.y, sub);
                found[SUM * LANES] = own[SUMS * LANES] + drawn * S;
                FETCH_AHEAD(rows + (size_t)(read.x + min((uint)sub, read.y - 1)) * READ_BLOCK)
                needed = (read.y * READ_BLOCK - read.z + ROWS - 1) / ROWS;
            }
            int left = max(LARGEST_OF(needed), S);
            found[WAIT * LANES] = needed ? left - needed : 0;
            found[STEPS * LANES] = needed ? needed : left;
            turn += left;

            do {
                BEGIN_EXCHANGE
#pragma unroll
                for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
                END_EXCHANGE
                real t_in[ROWS], K[ROWS];
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const real t_got = FROM_LEFT(r, t_out[r]), K_got = FROM_LEFT(ROWS + r, K_out[r]);
                    t_in[r] = sub ? t_got : 0;
                    K[r] = sub ? K_got : 0;
                }

                if (left == turn) {
                    __local uint *const last = own;
                    const bool through = row != WAITING; // with a job, or with having none
                    if (through) {
                        own += (int)own[TO_OTHER * LANES];
                        turn -= own[WAIT * LANES];
                    }
                    const bool begins = left == turn;
                    const uint first = begins ? own[FIRST_ROW * LANES] : WAITING;
                    turn -= begins ? own[STEPS * LANES] : 0;
                    row = first / ROWS * ROWS;
                    stride = first > WAITING ? ROWS : 0;
                    next = rows[row];
                    if (through && (int)last[SUM * LANES] >= 0) {
                        const uint valid = last[VALID * LANES];
                        const real sum = sum_of(t, valid);
                        partials[last[SUM * LANES]] = sum;
                        // J and m may stay, for b and u of a read's first rows are 0, unless they are no numbers: then the sum is none,
                        // too, if it is of all columns. The store keeps the compiler from making selections, in every start, of this.
                        if (valid != ALL_COLUMNS || !(sum < LARGEST)) {
                            last[SUM * LANES] = NONE;
#pragma unroll
                            for (int k = 0; k < N; ++k) J[k] = m[k] = 0;
                        }
                    }
                    const real begin = kept(own + BEGIN * LANES);
#pragma unroll
                    for (int k = 0; k < N; ++k) t[k] = begin;
                    t_left = begin;
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) if (!sub && r < first % ROWS) t_in[r] = begin; // row 0 for the first row
                }

#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    const real4 p = next;
#ifdef PER_ROW_GAP
                    const real ii = row_gaps[row + r];
#else
                    const real ii = gap;
#endif
                    if (r + 1 == ROWS) row += stride;
                    next = rows[row + (r + 1) % ROWS];
                    K_out[r] = compute_row(t, J, m, &t_left, t_in[r], K[r], p, ii, own[CODE(p.x) * LANES]);
                    t_out[r] = t[N - 1];
                }
            } while (UNIFORM(--left > 0));
        }
    }
}
