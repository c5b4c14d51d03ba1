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
// LONG: haplotypes of more columns than a warp holds, and reads of any length. Strips of one haplotype are separate jobs; the t and K at
// a strip's right border go through memory with a progress counter a job, and every lane keeps its own exponent (value * 2^exponent),
// so that nothing underflows. A strip is only waited for when the warp holds no rows of an earlier job: whoever is waited for can go on.
//
// rows: r, b, u, v of each row, reads padded at the front to whole READ_BLOCKs, the first READ_BLOCK is one of zeros. The low 4 bits of r
// are the letter's code (LETTERS letters, then N, then the padding, which mismatches everywhere). masks: LETTERS words a lane of a
// haplotype, bit k set where column k is another letter and no N.
// groups: S, first job, last job + 1, first partial sum. reads: first block, blocks, rows of padding, 0.
// haplotypes: first lane's masks, length. t[0,j] = starts[read] * scale / length.

#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double4 real4;
#define CODE(value) (as_uint2(value).x & 15u)
#else
typedef float real;
typedef float4 real4;
#define CODE(value) (as_uint(value) & 15u)
#endif
#ifndef ROWS
#define ROWS 2
#endif
#if defined(VARIANT_LOCAL)
#pragma OPENCL FP_CONTRACT ON
#define FMA(a, b, c) ((a) * (b) + (c)) // fma() is a slow library call on CPUs
#else
#define FMA(a, b, c) fma(a, b, c)
#endif

#include "pairhmm_exchange.cl"

#define READ_BLOCK 8 // rows that reads are padded to by pairhmm_prepare.cl
#define LANES (W * WARPS)
#define NONE (-1)
#define IDLE (-2)
#define FOREVER 0x7fffffff

#ifdef LONG
typedef int4 job_type; // read, haplotype, strip, job of the strip to the left or -1
#else
typedef int2 job_type; // read, haplotype
#endif
#ifdef FP64
#define LARGEST 8.9e307
#define LIMIT 1000
#define TOP 900 // LONG: the largest number of a lane is kept near 2^TOP
#else
#define LARGEST 4e37f
#define LIMIT 120
#define TOP 90 // J may be 2^29 above t where insertion qualities vary
#endif
#define SLACK 24                // exponents that the largest number may be off before a lane is scaled
#ifndef CHECK_STEPS
#define CHECK_STEPS (16 / ROWS) // steps between two looks at it
#endif
#ifndef PUBLISH
#define PUBLISH 16              // blocks between two signs of progress
#endif
#define WAIT_FOR (W + 2 * PUBLISH) // blocks that a predecessor must be ahead to be followed without emptying the pipeline
#define EMPTY (-(1 << 30))

#ifdef LONG
#include "pairhmm_long.cl"
#endif

__kernel
#ifndef FREE_SIZE
__attribute__((reqd_work_group_size(LANES, 1, 1)))
#endif
#if defined(VARIANT_INTEL) || defined(VARIANT_KHR) && defined(cl_intel_required_subgroup_size)
__attribute__((intel_reqd_sub_group_size(W)))
#endif
void skewed(__global const real4 *restrict rows, __global const real *restrict row_gaps, const real gap, const real scale,
            __global const uint *restrict masks, __global const job_type *restrict jobs, __global const uint4 *restrict reads,
            __global const uint2 *restrict haplotypes, __global const real *restrict starts, __global const int4 *restrict groups,
            const int group_count, volatile __global int *next_job, __global real *partials
#ifdef LONG
            , __global int *exponents, __global real *borders, __global int *border_exponents,
            __global const uint *restrict border_offsets, volatile __global int *progress
#endif
) {
    __local uint table[(LETTERS + 2) * LANES];
    EXCHANGE_STORAGE
    const int lane = get_local_id(0) % W;
    __local uint *const own = table + get_local_id(0);
    own[LETTERS * LANES] = 0u;
    own[(LETTERS + 1) * LANES] = ~0u;
#ifdef LONG
    __local real border_numbers[WARPS][PUBLISH * 2 * ROWS];
    __local int border_powers[WARPS][PUBLISH];
    __local uint border_at[WARPS];
    const int warp = get_local_id(0) / W;
#endif

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
#ifdef LONG
        job_type what = (job_type)(0);
        int exponent = EMPTY, step = 0, pending = NONE, done = 0, last_strip = 1;
        uint border = 0;
#endif

        int busy = 1;
        while (busy) {
            BEGIN_EXCHANGE
#pragma unroll
            for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
            GIVE_INT(0, job)
#ifdef LONG
            GIVE_INT(1, exponent)
#endif
            END_EXCHANGE
            const int job_left = INT_FROM_LEFT(0, job);
            real t_in[ROWS], K[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real t_got = FROM_LEFT(r, t_out[r]), K_got = FROM_LEFT(ROWS + r, K_out[r]);
                t_in[r] = sub ? t_got : 0;
                K[r] = sub ? K_got : 0;
            }
#ifdef LONG
            int exponent_in = INT_FROM_LEFT(1, exponent);
#endif

            if (left == 0) { // through with a job, or about to take the first
                if (job >= 0) {
                    real sum = 0;
#pragma unroll
                    for (int k = 0; k < N; ++k) if (valid & (1u << k)) sum += t[k];
                    const uint at = group.w + (job - group.y) * S + sub;
                    partials[at] = sum;
#ifdef LONG
                    exponents[at] = exponent;
#endif
                }
#ifdef LONG
                job = take_job(job, sub, job_left, &pending, end, group.y, next_job + g, jobs, progress);
#else
                job = sub ? job_left : group.y + atomic_inc(next_job + g);
#endif
                block = stride = 0;
                left = FOREVER;
                next = rows[0];
                if (job >= 0 && job < end) {
#ifndef LONG
                    const job_type what = jobs[job];
                    const int first_lane = sub;
#else
                    what = jobs[job];
                    const int first_lane = what.z * S + sub;
#endif
                    const uint4 read = reads[what.x];
                    const uint2 haplotype = haplotypes[what.y];
                    const int columns = clamp((int)haplotype.y - first_lane * N, 0, N);
                    valid = columns == 32 ? ~0u : (1u << columns) - 1u;
                    __global const uint *const mask = masks + (size_t)(haplotype.x + first_lane) * LETTERS;
#if LETTERS == 4
                    const uint4 words = *(__global const uint4 *)mask;
                    own[0] = words.x;
                    own[LANES] = words.y;
                    own[2 * LANES] = words.z;
                    own[3 * LANES] = words.w;
#else
                    for (int c = 0; c < LETTERS; ++c) own[c * LANES] = mask[c];
#endif
                    real begin = starts[what.x] * scale;
                    if (!(begin < LARGEST)) begin = 0; // sums could overflow; a result of zero says so
                    begin /= (real)haplotype.y;
#pragma unroll
                    for (int k = 0; k < N; ++k) { t[k] = J[k] = begin; m[k] = 0; } // padding takes t from J, a first row ignores J
                    const uint padding = read.z % ROWS;
                    t_left = begin;
#pragma unroll
                    for (int r = 0; r < ROWS; ++r) if (!sub && r + 1 == padding) t_in[r] = begin; // row 0 for the first row
                    block = (read.x * READ_BLOCK + read.z) / ROWS;
                    left = (read.y * READ_BLOCK - read.z + padding) / ROWS;
                    stride = 1;
                    next = rows[(size_t)block * ROWS];
#ifdef LONG
                    exponent = 0;
                    done = 0;
                    border = border_offsets[job] * (READ_BLOCK / ROWS);
                    last_strip = (int)haplotype.y <= (what.z + 1) * S * N;
#endif
                }
#ifdef LONG
                if (job == IDLE) left = S;
#endif
            }
#ifdef LONG
            const int from_memory = !sub && stride && what.w >= 0;
            if (!sub) exponent_in = exponent;
            if (ANY_LANE(from_memory && done % PUBLISH == 0)) {
                if (from_memory) { // then the sub-warp is the warp, and this its first lane
                    while (load_acquire(progress + what.w) < done + PUBLISH) {}
                    border_at[warp] = border + done;
                }
                WARP_BARRIER
                read_borders(border_numbers[warp], border_powers[warp], borders, border_exponents, border_at[warp], lane);
                WARP_BARRIER
            }
            if (from_memory) {
                const int at = done % PUBLISH;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    t_in[r] = border_numbers[warp][at * 2 * ROWS + r];
                    K[r] = border_numbers[warp][at * 2 * ROWS + ROWS + r];
                }
                exponent_in = border_powers[warp][at];
            }
            align(t, J, m, &t_left, &exponent, t_in, K, exponent_in);
#endif

#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real4 p = next; // r, b, u, v
                const size_t row = (size_t)block * ROWS + r;
                next = rows[r + 1 < ROWS ? row + 1 : row + 1 + (stride ? 0 : -ROWS)];
#ifdef PER_ROW_GAP
                const real ii = row_gaps[row];
#else
                const real ii = gap;
#endif
                const uint mismatch = own[CODE(p.x) * LANES];
#pragma unroll
                for (int k = 0; k < N; ++k) J[k] = FMA(p.y, J[k], m[k]);
                real diagonal = t_left, across = K[r];
                t_left = t_in[r];
#pragma unroll
                for (int k = 0; k < N; ++k) {
                    real now = diagonal;
                    if (mismatch & (1u << k)) now *= p.x;
                    diagonal = t[k];
                    t[k] = FMA(p.z, J[k], FMA(p.w, across, now));
                    across = FMA(ii, across, now);
                    m[k] = now;
                }
                t_out[r] = t[N - 1];
                K_out[r] = across;
            }
            block += stride;
            --left;
#ifdef LONG
            done += stride;
            if (sub == S - 1 && stride && !last_strip)
                write_border(t_out, K_out, exponent, borders, border_exponents, border + done - 1, done, left, progress + job);
            if (++step % CHECK_STEPS == 0) rescale(t, J, m, &t_left, t_out, K_out, &exponent);
#endif
            busy = ANY_LANE(job < end);
        }
    }
}
