// PairHMM of regions, in the five-operation form (haplowave.pairhmm.model derives it): haplotypes that begin alike share what is alike.
//
//   m[i,j] = match ? t[i-1,j-1] : r_i*t[i-1,j-1]      t[0,j] = start*C,  t[i,0] = 0
//   J[i,j] = m[i-1,j] + b_i*J[i-1,j]                  K[i,j] = m[i,j] + ii_i*K[i,j-1]
//   t[i,j] = m[i,j] + u_i*J[i,j] + v_i*K[i,j-1]       L = s_R / |H| * sum over j of t[R,j]
//
// The lanes of a warp are the nodes of one or more trees. A node is N columns of a haplotype, in registers; its children continue it, and
// where haplotypes of a region begin with the same N columns these are one node. A node at depth d is d blocks of ROWS rows behind its
// root and gets t and K at its parent's last column by an exchange. The mismatches of a node's columns are bits of a word a letter.
//
// A tree computes a run of the region's reads, whose rows follow one another. In front of each read is a head: a lane that comes to it
// adds up t[R,.] of the read before, to what its parent has found, leaves the sum if a haplotype ends there, and begins the next read. So
// the sum is taken column by column, whatever N is and whoever shares a node, and a result's bits depend on its pair alone.
//
// A task is a share of the reads of all trees of a warp, a bundle some tasks; bundles are taken from a counter.
//
// rows: r, b, u, v; the low 4 bits of r are the letter's code (LETTERS letters, then N, which is the padding's, too). Heads: sign bit and
// the number of the read before it, from 1 on; start*C; the same if a row of padding follows, else 0. Rows begin with 2*W rows of zeros,
// in which lanes wait until their parents have begun, and a head with the number JUMP.
// nodes: W a warp, uint8: parent | depth << 8 | columns << 16 | end << 24; first read, reads, 0; haplotypes of the region; place of the
// sum of read 0 with this node's haplotype, modulo 2^32. masks: LETTERS words a node, COLUMN_BIT(k) set where column k is another letter
// and no N.
// firsts: of each read and the end, row of its head, blocks before it. tasks: warp, begin and end of the share in parts of
// 2^16, 0. bundles: first task of each, and the end. sums: read by read, haplotype by haplotype.

// FP32 only.

#define ROWS 2
#include "pairhmm_lane.cl"

#define IS_HEAD(value) (as_int(value) < 0)
#define NUMBER_OF(head) (as_uint(head) & JUMP)
#define LARGEST 3e38f
#define JUMP 0x7fffffffu
#ifdef PER_ROW_GAP
#define GAP_OF(row) row_gaps[row]
#else
#define GAP_OF(row) gap
#endif

enum { TASK = LETTERS + 1, LAST_TASK, FIRST_READ, READS, HAPLOTYPES, PLACE, COLUMNS, WORDS };
#define SHARE(reads, part) ((uint)((ulong)(reads) * (part) >> 16))

__kernel GROUP_OF_WARPS
void trie(__global const real4 *restrict rows, __global const real *restrict row_gaps, const real gap,
          __global const uint *restrict masks, __global const uint8 *restrict nodes, __global const uint2 *restrict firsts,
          __global const uint4 *restrict tasks, __global const uint *restrict bundles, const int bundle_count,
          volatile __global int *next_bundle, __global real *sums) {
    __local uint table[WORDS * LANES]; // a column a lane: masks by letter, and what is rarely needed and would take registers
    EXCHANGE_STORAGE
    const int lane = get_local_id(0) % W;
    __local uint *const own = table + get_local_id(0);
    own[LETTERS * LANES] = 0u;

    own[TASK * LANES] = own[LAST_TASK * LANES] = 0u;
    while (true) {
        if (own[TASK * LANES] == own[LAST_TASK * LANES]) {
            int drawn = 0;
            if (lane == 0) drawn = atomic_inc(next_bundle);
            drawn = FIRST_LANES(drawn);
            if (drawn >= bundle_count) break;
            own[TASK * LANES] = bundles[drawn];
            own[LAST_TASK * LANES] = bundles[drawn + 1];
        }
        const uint4 task = tasks[own[TASK * LANES]++];
        const uint8 node = nodes[task.x * W + lane];
        const int parent = node.s0 & 255u, depth = node.s0 >> 8 & 255u, root = depth == 0;
        const uint first = node.s1 + SHARE(node.s2, task.y), end = node.s1 + SHARE(node.s2, task.z);
        own[FIRST_READ * LANES] = first;
        own[READS * LANES] = node.s0 >> 24 ? end - first : 0; // whose sums are to be left
        own[HAPLOTYPES * LANES] = node.s4;
        own[PLACE * LANES] = node.s5;
        own[COLUMNS * LANES] = node.s0 >> 16 & 255u;
        const int steps = LARGEST_OF(end > first ? (int)(firsts[end].y - firsts[first].y) + depth + 1 : 0);
        copy_masks(own, masks + (size_t)(task.x * W + lane) * LETTERS);

        real t[N], J[N], m[N], t_out[ROWS], K_out[ROWS];
        real t_left = 0, sum = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) t[k] = J[k] = m[k] = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) t_out[r] = K_out[r] = 0;
        uint row = (W - depth) * ROWS;
        real4 next[ROWS]; // parameters of the block to come, since the first lane to come to a row waits for the second-level cache
#pragma unroll
        for (int r = 0; r < ROWS; ++r) next[r] = rows[row + r];

        for (int step = 0; step < steps; ++step) {
            BEGIN_EXCHANGE
#pragma unroll
            for (int r = 0; r < ROWS; ++r) { GIVE(r, t_out[r]) GIVE(ROWS + r, K_out[r]) }
            GIVE(2 * ROWS, sum)
            END_EXCHANGE
            real t_in[ROWS], K[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real t_got = FROM_LANE(r, t_out[r], parent), K_got = FROM_LANE(ROWS + r, K_out[r], parent);
                t_in[r] = root ? 0 : t_got;
                K[r] = root ? 0 : K_got;
            }
            const real sum_in = FROM_LANE(2 * ROWS, sum, parent);

            if (IS_HEAD(next[0].x)) {
                real4 head = next[0];
                if (NUMBER_OF(head.x) == JUMP) {
                    row = firsts[own[FIRST_READ * LANES]].x;
                    head = rows[row];
                }
                const uint before = NUMBER_OF(head.x) - 1u;
                const real begin = head.y;
                if (root) t_in[0] = head.z;
                ++row;
#pragma unroll
                for (int r = 0; r < ROWS; ++r) next[r] = rows[row + r];
                sum = root ? 0 : sum_in;
                const uint columns = own[COLUMNS * LANES], valid = (1u << columns) - 1u;
                if (columns == N) {
#pragma unroll
                    for (int k = 0; k < N; ++k) sum += t[k];
                } else {
#pragma unroll
                    for (int k = 0; k < N; ++k) if (valid & (1u << k)) sum += t[k];
                }
                if (before - own[FIRST_READ * LANES] < own[READS * LANES]) sums[own[PLACE * LANES] + before * own[HAPLOTYPES * LANES]] = sum;
                if (!(sum < LARGEST)) { // a read that leaves the range must not touch the next one
#pragma unroll
                    for (int k = 0; k < N; ++k) J[k] = m[k] = 0;
                }
#pragma unroll
                for (int k = 0; k < N; ++k) t[k] = begin; // a first row ignores J
                t_left = begin;
            }

#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const real4 p = next[r]; // r, b, u, v
                next[r] = rows[row + r + ROWS];
                K_out[r] = compute_row(t, J, m, &t_left, t_in[r], K[r], p, GAP_OF(row + r), own[CODE(p.x) * LANES]);
                t_out[r] = t[N - 1];
            }
            row += ROWS;
        }
    }
}
