/* PairHMM that cannot underflow, overflow or divide by zero: for pairs that the scaled form in FP64 does not answer.

   One pair in each lane, as in pairhmm_lanes.cl (kernel `mixed`), with the recurrence not scaled by row:

     M[i,j] = p * S[i-1,j-1]                   p = 1-e where the bases match, e/3 (or e) otherwise
     I[i,j] = mi_i*M[i-1,j] + ii_i*I[i-1,j]
     S[i,j] = mm_{i+1}*M[i,j] + g_{i+1}*I[i,j] + g_{i+1}*md_i*K[i,j-1]      S[0,j] = g_1*C, S[i,0] = 0
     K[i,j] = M[i,j] + ii_i*K[i,j-1]           (D[i,j] = md_i*K[i,j-1])

   mm = g = 1 and no K behind the last row make S[R,j] the summand of L; the row after it adds up (see pairhmm_lanes.cl).

   Every BLOCK rows of a strip have an exponent a lane: true value = stored value * 2^exponent. It is set where the block begins so that the
   larger of the state and the incoming border is near 2^TOP. A path loses at most 13.2 decades a row (quality 127), so a block loses
   less than 2^(BLOCK*44) and nothing that counts falls below 2^-1022. Neighbouring columns differ by less than that too, because
   an insertion or a deletion leads from one to the other.

   Defines: V (lanes), NC (columns a strip), TOP, BLOCK. Result: log2 of L*|H|. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT ON
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define REALS JOIN(double, V)
#define INTEGERS JOIN(long, V)
#define UNROLL __attribute__((opencl_unroll_hint))
#define SUM_SYMBOLS 0x3fffffffL
#define END_SYMBOL 0x20000000L
#define PAD_SYMBOL 0x40000000L
#define LOAD(array) JOIN(vload, V)(0, array)
#define AS_REALS JOIN(as_, REALS)
#define AS_INTEGERS JOIN(as_, INTEGERS)
#define NOTHING (-(1L << 40)) /* the exponent of zero */

/* floor(log2(x)) of positive normal x, NOTHING for zero. */
inline INTEGERS exponent_of(REALS x)
{
    INTEGERS e = (AS_INTEGERS(x) >> 52) & 0x7ff;
    return e == 0 ? (INTEGERS)NOTHING : e - 1023;
}

inline REALS power_of_two(INTEGERS n) { return AS_REALS((n + 1023) << 52); }

/* Factors whose product is 2^shift; shifts beyond the range of double become its ends (the number is zero there anyway). */
inline void factors(INTEGERS shift, REALS* first, REALS* second)
{
    shift = clamp(shift, (INTEGERS)-2044, (INTEGERS)2044);
    INTEGERS half_shift = shift / 2;
    *first = power_of_two(half_shift);
    *second = power_of_two(shift - half_shift);
}

/* Tables by quality: [0] 1-e, [1] mismatch, [2] 10^(-q/10), [3] 1 - that; mm by [insertion][deletion].
   Parameters of a row: match, mismatch, mi, ii, mm', g', g'*md, set. */
inline REALS make_rows(int rows, __global const int* members, __global const long* offsets, __global const uchar* bases,
                       __global const uchar* base_q, __global const uchar* insertion_q, __global const uchar* deletion_q,
                       __global const uchar* gap_q, __global const int* symbols, __global const double* quality,
                       __global const double* mm, __global REALS* parameters, int* lengths)
{
    __global double* rows_out = (__global double*)parameters;
    double start[V];
    for (int lane = 0; lane < V; lane++) {
        int read = members[lane];
        int length = read < 0 ? 0 : (int)(offsets[read + 1] - offsets[read]);
        long offset = read < 0 ? 0 : offsets[read];
        lengths[lane] = length;
        start[lane] = length ? quality[3 * 128 + (gap_q[offset] & 127)] : 0;
        for (int i = 0; i < rows; i++) {
            __global double* p = rows_out + (long)i * 8 * V + lane;
            long set = 0;
            double row[7] = {0, 0, 0, 0, 0, 0, 0};
            if (i < length) {
                long at = offset + i;
                int q = base_q[at] & 127, gap = gap_q[at] & 127;
                set = symbols[bases[at]];
                row[0] = quality[q];
                row[1] = quality[128 + q];
                row[2] = quality[2 * 128 + (insertion_q[at] & 127)];
                row[3] = quality[2 * 128 + gap];
                if (i + 1 < length) {
                    row[4] = mm[(insertion_q[at + 1] & 127) * 128 + (deletion_q[at + 1] & 127)];
                    row[5] = quality[3 * 128 + (gap_q[at + 1] & 127)];
                    row[6] = row[5] * quality[2 * 128 + (deletion_q[at] & 127)];
                } else {
                    row[4] = row[5] = 1;
                }
            } else if (length && i == length) {
                set = SUM_SYMBOLS;
                row[0] = row[3] = 1;
            }
            for (int k = 0; k < 7; k++) p[k * V] = row[k];
            p[7 * V] = as_double(set);
        }
    }
    return LOAD(start);
}

/* Task, ints: rows, columns (a multiple of NC with room for END). */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void renormalised(
    __global const long* offsets, __global const uchar* bases, __global const uchar* base_q, __global const uchar* insertion_q,
    __global const uchar* deletion_q, __global const uchar* gap_q, __global const int* symbols, __global const double* quality,
    __global const double* mm, __global const uchar* haplotypes, __global const long* hap_offsets, __global const int* hap_symbols,
    __global const int2* tasks, const int task_count, __global const int* lane_reads, __global const int* lane_haps,
    __global int* counter, __global REALS* scratch, const long scratch_size, __global double* results)
{
    __global REALS* parameters = scratch + get_global_id(0) * scratch_size;
    for (;;) {
        const int index = atomic_inc(counter);
        if (index >= task_count) break;
        const int rows = tasks[index].x + 1, columns = tasks[index].y;
        const int blocks = (rows + BLOCK - 1) / BLOCK;
        __global REALS* border = parameters + (long)rows * 8;
        __global REALS* largest = border + (long)rows * 2; /* of each block of the border */
        __global INTEGERS* exponents = (__global INTEGERS*)(largest + blocks);
        int lengths[V];
        const REALS top = make_rows(rows, lane_reads + index * V, offsets, bases, base_q, insertion_q, deletion_q, gap_q, symbols,
                                    quality, mm, parameters, lengths) * power_of_two((INTEGERS)TOP);
        for (int i = 0; i < 2 * rows; i++) border[i] = 0;
        for (int i = 0; i < blocks; i++) { largest[i] = 0; exponents[i] = 0; }

        for (int strip = 0; strip < columns; strip += NC) {
            REALS M[NC], I[NC], S[NC];
            INTEGERS set[NC];
            UNROLL for (int k = 0; k < NC; k++)
            {
                long bits[V];
                for (int lane = 0; lane < V; lane++) {
                    int hap = lane_haps[index * V + lane], column = strip + k;
                    int length = hap < 0 ? 0 : (int)(hap_offsets[hap + 1] - hap_offsets[hap]);
                    bits[lane] = column < length ? (long)hap_symbols[haplotypes[hap_offsets[hap] + column]]
                                                 : column == length ? END_SYMBOL : PAD_SYMBOL;
                }
                set[k] = LOAD(bits);
                M[k] = 0;
                I[k] = 0;
                S[k] = top;
            }
            REALS corner = top;
            INTEGERS exponent = 0;
            for (int block = 0; block < blocks; block++) {
                REALS state = corner;
                UNROLL for (int k = 0; k < NC; k++) state = fmax(state, fmax(M[k], fmax(I[k], S[k])));
                const INTEGERS before = exponent;
                const INTEGERS wanted = max(exponent_of(state) + before, exponent_of(largest[block]) + exponents[block]) - TOP;
                exponent = wanted > NOTHING / 2 ? wanted : before;
                REALS first, second, in_first, in_second;
                factors(before - exponent, &first, &second);
                factors(exponents[block] - exponent, &in_first, &in_second);
                corner = corner * first * second;
                UNROLL for (int k = 0; k < NC; k++)
                {
                    M[k] = M[k] * first * second;
                    I[k] = I[k] * first * second;
                    S[k] = S[k] * first * second;
                }
                REALS out_largest = 0;
                const int end = min(rows, (block + 1) * BLOCK);
                for (int i = block * BLOCK; i < end; i++) {
                    __global const REALS* p = parameters + (long)i * 8;
                    const REALS match = p[0], mismatch = p[1], mi = p[2], ii = p[3], w = p[4], u = p[5], v = p[6];
                    const INTEGERS symbol = AS_INTEGERS(p[7]);
                    REALS left = corner;
                    corner = border[2 * i] * in_first * in_second;
                    REALS K = border[2 * i + 1] * in_first * in_second;
                    UNROLL for (int k = 0; k < NC; k++)
                    {
                        REALS next = left * ((symbol & set[k]) != 0 ? match : mismatch);
                        I[k] = ii * I[k] + mi * M[k];
                        left = S[k];
                        M[k] = next;
                        S[k] = v * K + (u * I[k] + w * next);
                        K = ii * K + next;
                    }
                    border[2 * i] = S[NC - 1];
                    border[2 * i + 1] = K;
                    out_largest = fmax(out_largest, fmax(S[NC - 1], K));
                }
                largest[block] = out_largest;
                exponents[block] = exponent;
            }
        }
        for (int lane = 0; lane < V; lane++) {
            const int length = lengths[lane];
            const double sum = ((__global const double*)border)[(2L * length + 1) * V + lane];
            const long exponent = ((__global const long*)exponents)[(length / BLOCK) * V + lane];
            results[index * V + lane] = length ? log2(sum) + (double)(exponent - TOP) : 0;
        }
    }
}
