// What pairhmm_trie.cl reads, apart from the rows of the reads (prepare_rows of pairhmm_prepare.cl), and from its sums to likelihoods.

#include "pairhmm_prepare.cl"

// Nodes of lanes that nothing uses.
__kernel void clear_nodes(__global uint8 *restrict nodes, const uint count) {
    if (get_global_id(0) < count) nodes[get_global_id(0)] = (uint8)(0);
}

// Nodes and masks of the lanes that a haplotype of a region has for itself. branches: haplotype, depth of the first of these lanes, this
// lane, its parent within the warp, first read, reads, haplotypes of the region, place of the sum of read 0. A work-item a lane, `warp` a
// branch.
__kernel void make_nodes(__global const uchar *restrict data, __global const uint *restrict offsets,
                         __global const uint8 *restrict branches, const uint count, const uint warp, const uint columns_a_lane,
                         __global const uchar *restrict letters, __global const uchar *restrict codes, __global uint8 *restrict nodes,
                         __global uint *restrict masks, __global int *restrict doubts) {
    const uint which = get_global_id(0) / warp, number = get_global_id(0) % warp;
    if (which >= count) return;
    const uint8 branch = branches[which];
    const uint depth = branch.s1 + number, begin = depth * columns_a_lane, length = offsets[branch.s0 + 1] - offsets[branch.s0];
    if (begin >= length) return;
    const uint columns = min(columns_a_lane, length - begin), lane = branch.s2 + number;
    const uint parent = number ? lane % warp - 1 : branch.s3, is_end = begin + columns == length;
    nodes[lane] = (uint8)(parent | depth << 8 | columns << 16 | is_end << 24, branch.s4, branch.s5, 0u, branch.s6, branch.s7, 0u, 0u);
    make_masks(data + offsets[branch.s0] + begin, columns, letters, codes, masks + (size_t)lane * LETTERS, doubts);
}

// log10 likelihood of each pair from its sum; NaN where that is no number or below `smallest`. first_pairs: of each region, and the end;
// regions: first read, reads, first haplotype, haplotypes. Pairs of reads without rows and of haplotypes without `wanted` are left alone.
__kernel void finish_regions(__global const real *restrict sums, __global const uint *restrict first_pairs,
                             __global const uint4 *restrict regions, const int region_count, const uint count,
                             __global const uint *restrict offsets, __global const uchar *restrict wanted,
                             __global const uint2 *restrict firsts, __global const wide *restrict scales, const wide log10_scale,
                             const wide smallest, __global wide *restrict log10s) {
    const uint pair = get_global_id(0);
    if (pair >= count) return;
    const int of = run_of(pair, first_pairs, region_count);
    const uint4 region = regions[of];
    const uint within = pair - first_pairs[of], read = region.x + within / region.w, haplotype = region.z + within % region.w;
    if (firsts[read].x == firsts[read + 1].x || !wanted[haplotype]) return;
    const wide sum = sums[pair];
    const bool trusted = sum >= smallest && sum < (wide)INFINITY;
    log10s[pair] = trusted ? log10(sum / (offsets[haplotype + 1] - offsets[haplotype])) + scales[read] - log10_scale : (wide)NAN;
}
