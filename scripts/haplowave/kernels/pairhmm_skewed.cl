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
// A lane that is through with its rows takes the next job while the lanes to its right still finish the last one: the pipeline never
// drains. Jobs are taken from a counter, in order; every lane leaves the sum of its columns, which `finish` of pairhmm_prepare.cl adds up.
//
// Haplotypes of more columns than a warp holds, and long reads, take pairhmm_long.cl.
//
// rows: r, b, u, v of each row, reads padded at the front to whole READ_BLOCKs, the first READ_BLOCK is one of zeros. The low 4 bits of r
// are the letter's code (LETTERS letters, then N, which is the padding's, too). masks: LETTERS words a lane of a haplotype, bit k set
// where column k is another letter and no N.
// groups: S, first job, last job + 1, first partial sum. reads: first block, blocks, rows of padding, 0.
// haplotypes: first lane's masks, length. t[0,j] = starts[read] * scale / length.

#include "pairhmm_step.cl"

typedef int2 job_type; // read, haplotype

__kernel GROUP_OF_WARPS
void skewed(__global const real4 *restrict rows, __global const real *restrict row_gaps, const real gap, const real scale,
            __global const uint *restrict masks, __global const job_type *restrict jobs, __global const uint4 *restrict reads,
            __global const uint2 *restrict haplotypes, __global const real *restrict starts, __global const int4 *restrict groups,
            const int group_count, volatile __global int *next_job, __global real *partials) {
    __local uint table[(LETTERS + 1) * LANES];
    EXCHANGE_STORAGE
    const int lane = get_local_id(0) % W;
    __local uint *const own = table + get_local_id(0);
    own[LETTERS * LANES] = 0u;

    for (int g = 0; g < group_count; ++g) {
        const int4 group = groups[g];
        const int S = group.x, end = group.z;
        const int sub = lane % S;
        real t[N], J[N], m[N], t_out[ROWS], K_out[ROWS];
        real t_left = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) t[k] = J[k] = m[k] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) t_out[r] = K_out[r] = 0;
        int job = lane < (W / S) * S ? NONE : end; // lanes that fill no sub-warp stay idle
        int left = job == NONE ? sub : FOREVER;
        uint block = 0, stride = 0, valid = 0;
        real4 next = rows[0]; // parameters of the row to come, fetched a row ahead

        int busy = 1;
        while (busy) {
            BEGIN_EXCHANGE
#pragma unroll
            for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
            GIVE_INT(0, job)
            END_EXCHANGE
            const int job_left = INT_FROM_LEFT(0, job);
            real t_in[ROWS], K[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real t_got = FROM_LEFT(r, t_out[r]), K_got = FROM_LEFT(ROWS + r, K_out[r]);
                t_in[r] = sub ? t_got : 0;
                K[r] = sub ? K_got : 0;
            }

            if (left == 0) { // through with a job, or about to take the first
                if (job >= 0) partials[group.w + (job - group.y) * S + sub] = sum_of(t, valid);
                job = sub ? job_left : group.y + atomic_inc(next_job + g);
                block = stride = 0;
                left = FOREVER;
                next = rows[0];
                if (job >= 0 && job < end) {
                    const job_type what = jobs[job];
                    const uint4 read = reads[what.x];
                    const uint2 haplotype = haplotypes[what.y];
                    valid = valid_columns(haplotype.y, sub);
                    copy_masks(own, masks + (size_t)(haplotype.x + sub) * LETTERS);
                    const real begin = start_value(starts[what.x], scale, haplotype.y);
                    begin_state(t, J, m, begin);
                    const uint padding = read.z % ROWS;
                    t_left = begin;
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) if (!sub && r < padding) t_in[r] = begin; // row 0 for the first row
                    block = (read.x * READ_BLOCK + read.z) / ROWS;
                    left = (read.y * READ_BLOCK - read.z + padding) / ROWS;
                    stride = 1;
                    next = rows[(size_t)block * ROWS];
                }
            }

#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real4 p = next;
                const size_t row = (size_t)block * ROWS + r;
                next = rows[r + 1 < ROWS ? row + 1 : row + 1 + (stride ? 0 : -ROWS)];
#ifdef PER_ROW_GAP
                const real ii = row_gaps[row];
#else
                const real ii = gap;
#endif
                K_out[r] = compute_row(t, J, m, &t_left, t_in[r], K[r], p, ii, own[CODE(p.x) * LANES]);
                t_out[r] = t[N - 1];
            }
            block += stride;
            --left;
            busy = ANY_LANE(job < end);
        }
    }
}
