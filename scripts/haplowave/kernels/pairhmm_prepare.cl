// From the bytes of reads and haplotypes to what the skewed and row-wise kernels read, from regions to jobs, and from partial sums to
// likelihoods.
//
// Row parameters as in haplowave.pairhmm.model, read by read:
//   step_i = mm_i*match_i   a_i = mi_i/step_i   enter_i = g_i/mm_i
//   r_i = mismatch_i/match_i   b_i = ii_i*a_{i-1}/mi_i   u_i = enter_{i+1}*a_i, u_R = a_R   v_i = enter_{i+1}*md_i, v_R = 0
//   start = enter_1   scale = sum of log10 step_i
//   b_1 = b_2 = u_1 = 0: there is no insertion yet, whatever J held before
//
// Tables by quality, 128 entries each: ratio (r), 1/match, gap, 1 - gap, 1/gap, log10 match; then 128 x 128 by insertion and deletion
// quality: 1/mm, log10 mm. An array of qualities that is one value throughout has one entry and stride 0.
//
// codes: of a letter, by byte; UNKNOWN where the kernels are compiled for fewer letters, NO_LETTER where it is none. doubts: what the host
// must look at again is set: [0] an unknown letter, [1] a byte that is no letter, [2] qualities that may not suit the form of five
// operations (below *_FLOOR).

#include "real.cl"
#ifdef HAS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide;
#endif

#define UNKNOWN 255
#define NO_LETTER 254
#define ROWS 8 // reads are padded to whole blocks of this many rows
#ifdef FP64
#define LARGEST 8.9e307
#else
#define LARGEST 4e37f
#endif
#define ITEMS 64 // work-items a read or a haplotype
#define RATIO(q) tables[q]
#define INVERSE_MATCH(q) tables[128 + (q)]
#define GAP(q) tables[256 + (q)]
#define LEAVE(q) tables[384 + (q)]
#define INVERSE_GAP(q) tables[512 + (q)]
#define LOG_MATCH(q) tables[640 + (q)]
#define INVERSE_MM(i, d) tables[768 + (i) * 128 + (d)]
#define LOG_MM(i, d) tables[768 + 16384 + (i) * 128 + (d)]

// The low four bits of the mantissa carry the letter's code: the nearest number that has them.
inline real with_code(real value, uint code) {
#ifdef FP64
    const ulong bits = as_ulong(value);
    return value == 0 ? as_double((ulong)code) : as_double(((bits - code + 8ul) & ~15ul) | code);
#else
    const uint bits = as_uint(value);
    return value == 0 ? as_float(code) : as_float(((bits - code + 8u) & ~15u) | code);
#endif
}

#ifdef TRIE
// Heads of reads, see pairhmm_trie.cl (FP32 only); each is written by two work-groups.
inline void set_head(__global real4 *rows, uint row, real start, real padded_start) {
    ((__global real *)rows)[4 * (size_t)row + 1] = start;
    ((__global real *)rows)[4 * (size_t)row + 2] = padded_start;
}
inline void set_number(__global real4 *rows, uint row, uint number) {
    ((__global uint *)rows)[4 * (size_t)row] = 1u << 31 | number;
}

// The rows in which lanes wait, the heads around the reads, and the rows that lanes run over when they are through.
inline void around_rows(__global real4 *rows, __global real *row_gaps, uint last_head, uint count, uint waiting) {
    for (uint i = get_local_id(0); i < waiting + count - last_head - 1; i += ITEMS) {
        const uint row = i < waiting ? i : i - waiting + last_head + 1;
        rows[row] = (real4)(0);
#ifdef PER_ROW_GAP
        row_gaps[row] = 0;
#endif
    }
    if (get_local_id(0) == 0) {
        set_number(rows, waiting, 0x7fffffffu);
        set_head(rows, waiting, 0, 0);
        set_number(rows, waiting + 1, 0u);
        set_head(rows, last_head, 0, 0);
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void prepare_rows(__global const uchar *restrict bases, __global const uchar *restrict base_quals,
                  __global const uchar *restrict insertion_quals, __global const uchar *restrict deletion_quals,
                  __global const uchar *restrict gap_quals, const uint4 strides, __global const uint *restrict offsets,
                  __global const uchar *restrict codes, __global const wide *restrict tables,
                  __global real4 *restrict rows, __global real *restrict row_gaps, __global uint4 *restrict reads,
                  __global real *restrict starts, __global wide *restrict scales, __global int *restrict doubts
#ifdef TRIE
                  , __global const uint2 *restrict firsts, const uint count, const uint row_count, const uint waiting, const real scale
#endif
) {
    __local wide sums[ITEMS];
    const uint read = get_group_id(0), item = get_local_id(0);
#ifdef TRIE
    if (read == count) {
        around_rows(rows, row_gaps, firsts[count].x, row_count, waiting);
        return;
    }
    if (firsts[read].x == firsts[read + 1].x) return; // left out
#endif
    const uint begin = offsets[read], length = offsets[read + 1] - begin;
#ifdef TRIE
    const uint first_row = firsts[read].x + 1, padding = firsts[read + 1].x - first_row - length;
#else
    const uint block = begin / ROWS + read + 1, blocks = (length + ROWS - 1) / ROWS; // so that no read needs to know of the others
    const uint first_row = block * ROWS, padding = blocks * ROWS - length;
#endif
    wide sum = 0;
    for (uint i = item; i < length; i += ITEMS) {
        const uint at = begin + i, row = first_row + padding + i;
        uint code = codes[bases[at]];
        if (code >= NO_LETTER) { // until the host starts again: any code that the tables have
            doubts[code == NO_LETTER] = 1;
            code = LETTERS;
        }
        const uint q = base_quals[at * strides.x] & 127u, iq = insertion_quals[at * strides.y] & 127u;
        const uint dq = deletion_quals[at * strides.z] & 127u, gq = gap_quals[at * strides.w] & 127u;
        if (q < BASE_FLOOR || iq < INSERTION_FLOOR || dq < DELETION_FLOOR || gq < GAP_FLOOR) doubts[2] = 1;
        const wide a = GAP(iq) * INVERSE_MM(iq, dq) * INVERSE_MATCH(q);
        wide b = 0, u = i ? a : (wide)0, v = 0;
        if (i > 1) {
            const uint iq_1 = insertion_quals[(at - 1) * strides.y] & 127u, dq_1 = deletion_quals[(at - 1) * strides.z] & 127u;
            const uint q_1 = base_quals[(at - 1) * strides.x] & 127u;
            b = GAP(gq) * (GAP(iq_1) * INVERSE_MM(iq_1, dq_1) * INVERSE_MATCH(q_1)) * INVERSE_GAP(iq);
        }
        if (i + 1 < length) {
            const uint iq1 = insertion_quals[(at + 1) * strides.y] & 127u, dq1 = deletion_quals[(at + 1) * strides.z] & 127u;
            const wide enter = LEAVE(gap_quals[(at + 1) * strides.w] & 127u) * INVERSE_MM(iq1, dq1);
            if (i) u = enter * a;
            v = enter * GAP(dq);
        }
        const real ratio = RATIO(q); // no number where the quality is 0: whoever looks for heads must not take it for one
        rows[row] = (real4)(with_code(ratio >= 0 ? ratio : 0, code), (real)b, (real)u, (real)v);
#ifdef PER_ROW_GAP
        row_gaps[row] = (real)GAP(gq);
#endif
#ifdef TRIE
        if (i == 0) {
            const real start = (real)(LEAVE(gq) * INVERSE_MM(iq, dq)) * scale, used = start < LARGEST ? start : 0;
            set_head(rows, first_row - 1, used, padding ? used : 0);
            set_number(rows, first_row + padding + length, read + 1);
        }
#else
        if (i == 0) starts[read] = (real)(LEAVE(gq) * INVERSE_MM(iq, dq));
#endif
        sum += LOG_MATCH(q) + LOG_MM(iq, dq);
    }
    if (item < padding) { // t stays, as it is the same in all columns
        const uint row = first_row + item;
        rows[row] = (real4)(with_code(0, LETTERS), 0, 0, 0);
#ifdef PER_ROW_GAP
        row_gaps[row] = 0;
#endif
    }
#ifndef TRIE
    if (read == 0 && item < ROWS) { // the first block is for idle lanes
        rows[item] = (real4)(0);
        row_gaps[item] = 0;
    }
#endif
    sums[item] = sum;
    for (uint half_way = ITEMS / 2; half_way; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_way) sums[item] += sums[item + half_way];
    }
    if (item == 0) {
        scales[read] = sums[0];
#ifndef TRIE
        reads[read] = (uint4)(block, blocks, padding, 0u);
#endif
    }
}

// The LETTERS words of a lane that holds these columns of a haplotype.
inline void make_masks(__global const uchar *data, uint columns, __global const uchar *letters, __global const uchar *codes,
                       __global uint *masks, __global int *doubts) {
    uint words[LETTERS];
    for (uint c = 0; c < LETTERS; ++c) words[c] = ~0u;
    for (uint column = 0; column < columns; ++column) {
        const uchar letter = data[column];
        for (uint c = 0; c < LETTERS; ++c)
            if (letter == letters[c] || letter == 'N') words[c] &= ~COLUMN_BIT(column);
        if (codes[letter] == NO_LETTER) doubts[1] = 1;
    }
    for (uint c = 0; c < LETTERS; ++c) masks[c] = words[c];
}

// The run that item `index` is of: offsets[run] <= index < offsets[run + 1].
inline int run_of(uint index, __global const uint *offsets, int runs) {
    int low = 0, high = runs;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (offsets[middle] <= index) low = middle;
        else high = middle;
    }
    return low;
}

// masks: LETTERS words a lane of N columns; COLUMN_BIT(k) is set where column k of the lane is another letter than that, and no N. More than
// `warp` lanes are whole warps. slack: lanes between haplotypes, 1, or `warp` where there may be such.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void prepare_masks(__global const uchar *restrict data, __global const uint *restrict offsets, __global const uchar *restrict letters,
                   __global const uchar *restrict codes, const uint columns_a_lane, const uint warp, const uint slack,
                   __global uint *restrict masks, __global uint2 *restrict haplotypes, __global int *restrict doubts) {
    const uint haplotype = get_group_id(0), item = get_local_id(0);
    const uint begin = offsets[haplotype], length = offsets[haplotype + 1] - begin;
    const uint first = begin / columns_a_lane + haplotype * slack;
    uint lanes = (length + columns_a_lane - 1) / columns_a_lane;
    if (lanes > warp) lanes = (lanes + warp - 1) / warp * warp;
    for (uint lane = item; lane < lanes; lane += ITEMS) {
        const uint at = min(lane * columns_a_lane, length), columns = min(columns_a_lane, length - at);
        make_masks(data + begin + at, columns, letters, codes, masks + (size_t)(first + lane) * LETTERS, doubts);
    }
    if (item == 0) haplotypes[haplotype] = (uint2)(first, length);
}

// The jobs of short pairs: job i of a unit is read i / haplotypes, haplotype i % haplotypes of it. units: first read, first haplotype (in
// the lists where LISTED_READS, LISTED_HAPLOTYPES), haplotypes, target of the region's first pair, the region's first read, first
// haplotype, number of haplotypes, 0. first_jobs: unit_count + 1. targets: where the likelihood of each job belongs, region by region,
// read by read.
__kernel void make_jobs(__global const uint8 *restrict units, __global const uint *restrict first_jobs, __global const uint *restrict reads,
                        __global const uint *restrict haplotypes, const int unit_count, const uint count, __global uint2 *restrict jobs,
                        __global uint *restrict targets) {
    const uint job = get_global_id(0);
    if (job >= count) return;
    const int of = run_of(job, first_jobs, unit_count);
    const uint8 unit = units[of];
    const uint within = job - first_jobs[of];
    uint read = unit.s0 + within / unit.s2, haplotype = unit.s1 + within % unit.s2;
#ifdef LISTED_READS
    read = reads[read];
#endif
#ifdef LISTED_HAPLOTYPES
    haplotype = haplotypes[haplotype];
#endif
    jobs[job] = (uint2)(read, haplotype);
    targets[job] = unit.s3 + (read - unit.s4) * unit.s6 + haplotype - unit.s5;
}

// Likelihoods of reads that are equal to others. copies: to, from, how many, 0.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void copy_rows(__global const uint4 *restrict copies, __global wide *log10s) {
    const uint4 copy = copies[get_group_id(0)];
    for (uint i = get_local_id(0); i < copy.z; i += ITEMS) log10s[copy.x + i] = log10s[copy.y + i];
}

// log10 likelihood of each pair from the sums that its lanes left, at its target; NaN where the sum is no number or below `smallest`.
// LONG: results[i] is the job of pair i's last strip, its other strips follow by their links; every sum has an exponent.
__kernel void finish(__global const real *restrict partials, __global const int *restrict exponents, __global const int *restrict jobs,
                     __global const int *restrict results, __global const uint *restrict targets, const int count,
                     __global const int4 *restrict groups, const int group_count, __global const wide *restrict scales,
                     const wide log10_scale, const wide smallest, __global wide *restrict log10s) {
    const int pair = get_global_id(0);
    if (pair >= count) return;
    wide sum = 0;
    int read = 0;
#ifdef LONG
    int job = results[pair], exponent = -(1 << 30);
    while (job >= 0) {
        const int link = jobs[4 * job + 3];
        read = jobs[4 * job];
#else
    int job = pair;
    {
        read = jobs[2 * job];
#endif
        int g = 0;
        while (job >= groups[g].z) ++g;
        const int lanes = groups[g].x, at = groups[g].w + (job - groups[g].y) * lanes;
        for (int lane = 0; lane < lanes; ++lane) {
            const wide part = (wide)partials[at + lane];
#ifdef LONG
            const int e = exponents[at + lane];
            if (part > 0 && e > exponent) {
                sum = ldexp(sum, max(exponent - e, -10000));
                exponent = e;
            }
            sum += part > 0 ? ldexp(part, max(e - exponent, -10000)) : (part == 0 ? (wide)0 : part);
#else
            sum += part;
#endif
        }
#ifdef LONG
        job = link;
#endif
    }
#ifdef LONG
    int binary = 0; // when a lane changed its exponent depends on the schedule; the bits of the result must not
    if (sum > 0 && sum < (wide)INFINITY) sum = frexp(sum, &binary);
    exponent += sum > 0 ? binary : 0;
    const wide shift = sum > 0 ? exponent * (wide)0.30102999566398119521 : (wide)0;
#else
    const wide shift = 0;
#endif
    const bool trusted = sum >= smallest && sum < (wide)INFINITY;
    log10s[targets[pair]] = trusted ? log10(sum) + shift + scales[read] - log10_scale : (wide)NAN;
}
