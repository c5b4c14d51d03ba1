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

   A task is V pairs, one a lane, or one pair whose rows are spread over the lanes: lane l has rows l*B .. l*B+B-1 of a band of V*B rows
   and runs l strips behind lane 0; the state below its last row moves to lane l+1 between strips, and from the last lane, through
   memory, to lane 0 of the next band. B is small enough for the rows' parameters to stay in a core's cache. The bits are the same
   either way.

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

REALS larger(REALS a, REALS b) { return a > b ? a : b; } /* fmax is a call that spills every register */

/* floor(log2(x)) of positive normal x, NOTHING for zero. */
INTEGERS exponent_of(REALS x)
{
    INTEGERS e = (AS_INTEGERS(x) >> 52) & 0x7ff;
    return e == 0 ? (INTEGERS)NOTHING : e - 1023;
}

REALS power_of_two(INTEGERS n) { return AS_REALS((n + 1023) << 52); }

/* Factors whose product is 2^shift; shifts beyond the range of double become its ends (the number is zero there anyway). */
void factors(INTEGERS shift, REALS* first, REALS* second)
{
    shift = clamp(shift, (INTEGERS)-2044, (INTEGERS)2044);
    INTEGERS half_shift = shift / 2;
    *first = power_of_two(half_shift);
    *second = power_of_two(shift - half_shift);
}

#define ONE_LANE(x, l) (((double*)&(x))[l])
#define KEPT (3 * NC + 1) /* numbers kept of a strip below a band: M, I, S of each column, exponent */

/* Lane l gets what lane l-1 had, lane 0 gets `first`. */
REALS moved(REALS x, double first)
{
    double lanes[V + 1];
    lanes[0] = first;
    JOIN(vstore, V)(x, 0, lanes + 1);
    return LOAD(lanes);
}

INTEGERS moved_exponents(INTEGERS x, long first)
{
    long lanes[V + 1];
    lanes[0] = first;
    JOIN(vstore, V)(x, 0, lanes + 1);
    return LOAD(lanes);
}

/* One lane's share of a task. */
typedef struct {
    int read, hap;
    int length, columns; /* of read and haplotype */
    int first_row;       /* row of the read that the lane begins with */
    int lag;             /* strips that the lane runs behind */
} Lane;

/* Tables by quality: [0] 1-e, [1] mismatch, [2] 10^(-q/10), [3] 1 - that; mm by [insertion][deletion].
   Parameters of a row: match, mismatch, mi, ii, mm', g', g'*md, set. */
void make_rows(int rows, const Lane* lane, __global const long* offsets, __global const uchar* bases,
                      __global const uchar* base_q, __global const uchar* insertion_q, __global const uchar* deletion_q,
                      __global const uchar* gap_q, __global const int* symbols, __global const double* quality,
                      __global const double* mm, __global double* p)
{
    const long offset = lane->read < 0 ? 0 : offsets[lane->read];
    for (int row = 0; row < rows; row++, p += 8 * V) {
        const int i = lane->first_row + row;
        long set = 0;
        double value[7] = {0, 0, 0, 0, 0, 0, 0};
        if (i < lane->length) {
            const long at = offset + i;
            const int q = base_q[at] & 127, gap = gap_q[at] & 127;
            set = symbols[bases[at]];
            value[0] = quality[q];
            value[1] = quality[128 + q];
            value[2] = quality[2 * 128 + (insertion_q[at] & 127)];
            value[3] = quality[2 * 128 + gap];
            if (i + 1 < lane->length) {
                value[4] = mm[(insertion_q[at + 1] & 127) * 128 + (deletion_q[at + 1] & 127)];
                value[5] = quality[3 * 128 + (gap_q[at + 1] & 127)];
                value[6] = value[5] * quality[2 * 128 + (deletion_q[at] & 127)];
            } else {
                value[4] = value[5] = 1;
            }
        } else if (lane->length && i == lane->length) {
            set = SUM_SYMBOLS;
            value[0] = value[3] = 1;
        }
        for (int k = 0; k < 7; k++) p[k * V] = value[k];
        p[7 * V] = as_double(set);
    }
}

/* Task, ints: rows a lane, strips to run, bands of one pair whose rows are spread (its read and haplotype then stand in every lane) or 0
   for V pairs. Scratch: rows * 8 parameters, rows * 2 border, its largest and exponent a block; then what is kept below a band. */
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void renormalised(
    __global const long* offsets, __global const uchar* bases, __global const uchar* base_q, __global const uchar* insertion_q,
    __global const uchar* deletion_q, __global const uchar* gap_q, __global const int* symbols, __global const double* quality,
    __global const double* mm, __global const uchar* haplotypes, __global const long* hap_offsets, __global const int* hap_symbols,
    __global const int4* tasks, const int task_count, __global const int* lane_reads, __global const int* lane_haps,
    __global int* counter, __global REALS* scratch, const long scratch_size, __global double* results)
{
    __global REALS* parameters = scratch + get_global_id(0) * scratch_size;
    for (;;) {
        const int index = atomic_inc(counter);
        if (index >= task_count) break;
        const int rows = tasks[index].x, strips = tasks[index].y, bands = tasks[index].z;
        const bool spread = bands > 0;
        const int blocks = (rows + BLOCK - 1) / BLOCK;
        __global REALS* border = parameters + (long)rows * 8;
        __global REALS* largest = border + (long)rows * 2; /* of each block of the border */
        __global INTEGERS* exponents = (__global INTEGERS*)(largest + blocks);
        __global double* kept = (__global double*)(exponents + blocks);
        Lane lanes[V];
        for (int l = 0; l < V; l++) {
            Lane* lane = lanes + l;
            lane->read = lane_reads[index * V + l];
            lane->hap = lane_haps[index * V + l];
            lane->length = lane->read < 0 ? 0 : (int)(offsets[lane->read + 1] - offsets[lane->read]);
            lane->columns = lane->hap < 0 ? 0 : (int)(hap_offsets[lane->hap + 1] - hap_offsets[lane->hap]);
            lane->first_row = spread ? l * rows : 0;
            lane->lag = spread ? l : 0;
            results[index * V + l] = 0;
        }
        for (int band = 0; band < max(bands, 1); band++) {
            double starts[V];
            for (int l = 0; l < V; l++) {
                Lane* lane = lanes + l;
                if (band) lane->first_row += V * rows;
                starts[l] = lane->length && lane->first_row == 0 ? quality[3 * 128 + (gap_q[offsets[lane->read]] & 127)] : 0;
                make_rows(rows, lane, offsets, bases, base_q, insertion_q, deletion_q, gap_q, symbols, quality, mm,
                          (__global double*)parameters + l);
            }
            const REALS top = LOAD(starts) * power_of_two((INTEGERS)TOP);
            for (int i = 0; i < 2 * rows; i++) border[i] = 0;
            for (int i = 0; i < blocks; i++) { largest[i] = 0; exponents[i] = 0; }

            REALS M[NC], I[NC], S[NC], below = 0; /* below: S left of the strip, under the last row of the lane before */
            INTEGERS exponent = 0, below_exponent = 0;
            double left_above = 0; /* the same for lane 0, from the band before */
            long left_above_exponent = 0;
            UNROLL for (int k = 0; k < NC; k++) M[k] = I[k] = S[k] = 0;
            for (int strip = 0; strip < strips; strip++) {
                INTEGERS set[NC];
                UNROLL for (int k = 0; k < NC; k++)
                {
                    long bits[V];
                    for (int l = 0; l < V; l++) {
                        const int column = (strip - lanes[l].lag) * NC + k, columns = lanes[l].columns;
                        bits[l] = column < 0 ? PAD_SYMBOL
                                  : column < columns ? (long)hap_symbols[haplotypes[hap_offsets[lanes[l].hap] + column]]
                                  : column == columns ? END_SYMBOL : PAD_SYMBOL;
                    }
                    set[k] = LOAD(bits);
                }
                REALS corner;
                INTEGERS corner_exponent;
                if (spread) {
                    const bool above = band && strip <= lanes[0].columns / NC;
                    __global const double* from = kept + (long)strip * KEPT;
                    corner = moved(below, band ? left_above : top.s0);
                    corner_exponent = moved_exponents(below_exponent, left_above_exponent);
                    below = S[NC - 1];
                    below_exponent = exponent;
                    left_above = above ? from[3 * NC - 1] : 0;
                    left_above_exponent = above ? as_long(from[3 * NC]) : 0;
                    exponent = moved_exponents(exponent, left_above_exponent);
                    UNROLL for (int k = 0; k < NC; k++)
                    {
                        M[k] = moved(M[k], above ? from[k] : 0);
                        I[k] = moved(I[k], above ? from[NC + k] : 0);
                        S[k] = moved(S[k], above ? from[2 * NC + k] : top.s0);
                    }
                } else {
                    corner = top;
                    corner_exponent = exponent = 0;
                    UNROLL for (int k = 0; k < NC; k++)
                    {
                        M[k] = I[k] = 0;
                        S[k] = top;
                    }
                }
                for (int block = 0; block < blocks; block++) {
                    REALS state = M[0];
                    UNROLL for (int k = 0; k < NC; k++) state = larger(state, larger(M[k], larger(I[k], S[k])));
                    const INTEGERS wanted = max(max(exponent_of(state) + exponent, exponent_of(corner) + corner_exponent),
                                                exponent_of(largest[block]) + exponents[block]) - TOP;
                    const INTEGERS now = wanted > NOTHING / 2 ? wanted : exponent;
                    REALS first, second, in_first, in_second;
                    factors(corner_exponent - now, &first, &second);
                    corner = corner * first * second;
                    factors(exponent - now, &first, &second);
                    factors(exponents[block] - now, &in_first, &in_second);
                    exponent = corner_exponent = now;
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
                        out_largest = larger(out_largest, larger(S[NC - 1], K));
                    }
                    largest[block] = out_largest;
                    exponents[block] = exponent;
                }
                const int finished = strip - (V - 1);
                if (band + 1 < bands && finished >= 0) {
                    __global double* to = kept + (long)finished * KEPT;
                    UNROLL for (int k = 0; k < NC; k++)
                    {
                        to[k] = ONE_LANE(M[k], V - 1);
                        to[NC + k] = ONE_LANE(I[k], V - 1);
                        to[2 * NC + k] = ONE_LANE(S[k], V - 1);
                    }
                    to[3 * NC] = as_double(((long*)&exponent)[V - 1]);
                }
                /* The sum is taken right behind END: further columns would share its exponent. */
                for (int l = 0; l < V; l++) {
                    const int row = lanes[l].length - lanes[l].first_row;
                    if (lanes[l].length && row >= 0 && row < rows && strip - lanes[l].lag == lanes[l].columns / NC) {
                        const double sum = ((__global const double*)border)[(2L * row + 1) * V + l];
                        const long scale = ((__global const long*)exponents)[(long)(row / BLOCK) * V + l];
                        results[index * V + (spread ? 0 : l)] = log2(sum) + (double)(scale - TOP);
                    }
                }
            }
        }
    }
}
