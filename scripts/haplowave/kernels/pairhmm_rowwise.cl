// PairHMM, row by row, as Endeavor computes it (Graca & Ilic 2026, Eq. 5-7 and Algorithm 1): all lanes of a sub-warp are in the same row,
// and D, which runs along the row, comes from a prefix scan whose terms are scaled by powers of ii.
//
//   M[i,j] = p(i,j) * x[i-1,j-1],   x[i-1,j] = mm_i*M[i-1,j] + g_i*(I[i-1,j] + D[i-1,j])
//   I[i,j] = mi_i*M[i-1,j] + ii_i*I[i-1,j]
//   D[i,j] = md_i * sum over k < j of ii_i^(j-1-k) * M[i,k]
//   M[0,j] = I[0,j] = 0,  D[0,j] = scale/|H|,  L = sum over j of M[R,j] + I[R,j]
//
// A lane holds N columns. It sums its own M scaled by ii, a scan over the lanes adds what is to its left (factor ii^(N*offset) over
// `offset` lanes), and a second pass spreads that over its columns. Haplotypes of more than W*N columns are swept strip by strip by the
// same lanes; the x and D of a strip's last column wait in `borders`, two numbers a row, overwritten in place by the next strip.
// No number ever grows, so what is lost below the smallest float is never more than that.
//
// groups: S, first job, last job + 1, first partial sum. reads: first base, bases. haplotypes: first lane's masks, columns.
// tables: match[128], mismatch[128], gap[128], 1 - gap [128] by quality, then mm[128][128] by insertion and deletion quality.

#include "real.cl"
#define ROWS 1
#include "pairhmm_exchange.cl"
#define MATCH(q) tables[q]
#define MISMATCH(q) tables[128 + (q)]
#define GAP(q) tables[256 + (q)]
#define LEAVE(q) tables[384 + (q)]
#define MM(i, d) tables[512 + 128 * (i) + (d)]

// What the lane `offset` to the left has in `value`.
#if defined(VARIANT_NVIDIA) || defined(VARIANT_KHR) || defined(VARIANT_INTEL)
#define SHIFT(result, value, offset) result = FROM_LEFT_BY(value, offset);
#else
#define SHIFT(result, value, offset)                                              \
    BEGIN_EXCHANGE                                                                \
    exchange_reals[0][lane] = value;                                              \
    END_EXCHANGE                                                                  \
    result = exchange_reals[0][lane >= (offset) ? lane - (offset) : lane];
#endif

// x^N
inline real power(real x) {
    real result = 1;
#pragma unroll
    for (int n = N; n; n >>= 1) {
        if (n & 1) result *= x;
        x *= x;
    }
    return result;
}

__kernel GROUP_OF_WARPS
void rowwise(__global const uchar *restrict bases, __global const uchar *restrict base_quals,
             __global const uchar *restrict insertion_quals, __global const uchar *restrict deletion_quals,
             __global const uchar *restrict gap_quals, const uint4 strides, __global const uint2 *restrict reads,
             __global const uchar *restrict codes, __global const real *restrict tables, __global const uint *restrict masks,
             __global const uint2 *restrict haplotypes, __global const int2 *restrict jobs, __global const int4 *restrict groups,
             const int group_count, const real scale, __global real *borders, __global const uint *restrict border_offsets,
             __global real *restrict partials, __global int *restrict strange) {
    __local uint table[(LETTERS + 1) * LANES];
    EXCHANGE_STORAGE
    const int lane = get_local_id(0) % W;
    const int warp = get_global_id(0) / W, warps = get_global_size(0) / W;
    __local uint *const own = table + get_local_id(0);
    own[LETTERS * LANES] = 0u;

    for (int g = 0; g < group_count; ++g) {
        const int S = groups[g].x, first = groups[g].y, end = groups[g].z;
        const int sub = lane % S, a_warp = W / S, rounds = (end - first + a_warp - 1) / a_warp;
        for (int round = warp; round < rounds; round += warps) {
            const int job = first + round * a_warp + lane / S;
            const int working = lane < a_warp * S && job < end;
            const int2 what = working ? jobs[job] : (int2)(0, 0);
            const uint begin = reads[what.x].x, rows = working ? reads[what.x].y : 0u;
            const uint2 haplotype = haplotypes[what.y];
            const uint border = border_offsets[working ? job : 0];
            const int strips = S == W ? ((int)haplotype.y + S * N - 1) / (S * N) : 1; // one sub-warp a warp, so all lanes agree
            const real start = scale / (real)haplotype.y;
            real sum = 0;
            for (int strip = 0; strip < strips; ++strip) {
                const int first_lane = strip * S + sub;
                const int columns = working ? clamp((int)haplotype.y - first_lane * N, 0, N) : 0;
                __global const uint *const mask = masks + (size_t)(haplotype.x + first_lane) * LETTERS;
                for (int c = 0; c < LETTERS; ++c) own[c * LANES] = columns ? mask[c] : 0u;
                real M[N], I[N], D[N];
#pragma unroll
                for (int k = 0; k < N; ++k) {
                    M[k] = I[k] = 0;
                    D[k] = start;
                }
                int busy = 1;
                for (uint i = 0; busy; ++i) {
                    const uint row = min(i, rows ? rows - 1 : 0u), at = begin + row;
                    const uint code = codes[bases[at]];
                    if (code == 255) *strange = 1;
                    const uint q = base_quals[at * strides.x] & 127u, iq = insertion_quals[at * strides.y] & 127u;
                    const uint dq = deletion_quals[at * strides.z] & 127u, gq = gap_quals[at * strides.w] & 127u;
                    const real mm = MM(iq, dq), mi = GAP(iq), md = GAP(dq), ii = GAP(gq), leave = LEAVE(gq);
                    const real match = MATCH(q), mismatch = MISMATCH(q);
                    const uint differs = own[min(code, (uint)LETTERS) * LANES];

                    const real x_last = mm * M[N - 1] + leave * (I[N - 1] + D[N - 1]);
                    real x_left, D_in = 0;
                    SHIFT(x_left, x_last, 1)
                    if (sub == 0) {
                        x_left = i ? 0 : leave * start;
                        if (strip) {
                            x_left = borders[2 * (size_t)(border + row)];
                            D_in = borders[2 * (size_t)(border + row) + 1];
                        }
                    }
                    real total = 0; // what the lane's own M leave to D right of the lane
#pragma unroll
                    for (int k = 0; k < N; ++k) {
                        const real x = mm * M[k] + leave * (I[k] + D[k]);
                        I[k] = mi * M[k] + ii * I[k];
                        M[k] = (differs & COLUMN_BIT(k) ? mismatch : match) * x_left;
                        x_left = x;
                        D[k] = total;
                        total = ii * total + md * M[k];
                    }
                    real factor = power(ii);
                    if (sub == 0) total += factor * D_in;
                    for (int offset = 1; offset < S; offset *= 2) {
                        real before;
                        SHIFT(before, total, offset)
                        if (sub >= offset) total += factor * before;
                        factor *= factor;
                    }
                    real D_left;
                    SHIFT(D_left, total, 1)
                    if (sub == 0) D_left = D_in;
#pragma unroll
                    for (int k = 0; k < N; ++k) {
                        D[k] += D_left;
                        D_left *= ii;
                    }
                    if (sub == S - 1 && strip + 1 < strips && i < rows) {
                        borders[2 * (size_t)(border + i)] = x_last;
                        borders[2 * (size_t)(border + i) + 1] = total;
                    }
                    if (i + 1 == rows) {
#pragma unroll
                        for (int k = 0; k < N; ++k) sum += k < columns ? M[k] + I[k] : 0;
                    }
                    busy = ANY_LANE(i + 1 < rows);
                }
            }
            if (working) partials[groups[g].w + (job - first) * S + sub] = sum;
        }
    }
}
