/* PairHMM with one pair in each SIMD lane: the kernel for CPUs (and, slowly, for any other device).

   Recurrence of a cell, scaled by row (haplowave/pairhmm/model.py), for row i = base of the read, column j = base of the haplotype:

     m[i,j] = f*t[i-1,j-1]                          f = 1 where the bases match, r_i otherwise
     J[i,j] = m[i-1,j] + b_i*J[i-1,j]
     t[i,j] = m[i,j] + u_i*J[i,j] + v_i*K[i,j-1]    t[0,j] = start*C,  t[i,0] = 0
     K[i,j] = m[i,j] + ii_i*K[i,j-1]                K[i,0] = 0

   All rows are swept for a strip of NC columns, whose m, J, t stay in registers; t and K of its last column pass to the next strip
   through a border in memory. One more row, the sum, matches everything with ii = 1, so that K there is the sum of t[R,j] over the
   columns before. A read's symbol is a set of bits; bases match where the sets meet. The sum's set lacks only the bit of PAD columns,
   which follow the one END column behind a haplotype. Rows behind a read's sum are zero.

   Kernel `shared`: a task is V reads and a list of haplotypes, each of which meets all V reads. The haplotype's base is the same in all
   lanes, so f is one load from the row's table of symbols. Haplotypes that begin alike restart at a border that was kept.
   Kernel `mixed`: a task is V pairs of any reads and haplotypes.
   The arithmetic of a pair is the same in both, operation by operation.

   Work-items take tasks from a counter, so scratch memory belongs to a work-item and stays in its core's cache.

   Defines: REAL (float, double), INTEGER (int, long: as wide as REAL), V (lanes), NC (columns a strip). */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT ON
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define REALS JOIN(REAL, V)
#define INTEGERS JOIN(INTEGER, V)
#define UNROLL __attribute__((opencl_unroll_hint))
#define ONE_ITEM __attribute__((reqd_work_group_size(1, 1, 1)))
#define SUM_SYMBOLS ((INTEGER)0x3fffffff)
#define END_SYMBOL ((INTEGER)0x20000000)
#define PAD_SYMBOL ((INTEGER)0x40000000)

/* Probabilities by quality, with the divisions done (lanes.py). */
typedef struct {
    REAL mismatch_ratio, match_inverse, gap, gap_inverse, leave;
} Quality;

/* All reads, flat, and the tables that turn qualities into probabilities. */
typedef struct {
    __global const long* offsets;
    __global const uchar *bases, *base_q, *insertion_q, *deletion_q, *gap_q;
    __global const int* symbols; /* set of bits by byte */
    __global const Quality* quality;
    __global const REAL* mm_inverse;   /* [insertion][deletion] */
    __global const double* log2_match; /* by base quality */
    __global const double* log2_mm;
} Reads;

#define READS_ARGUMENTS                                                                                                       \
    __global const long *offsets, __global const uchar *bases, __global const uchar *base_q, __global const uchar *insertion_q, \
        __global const uchar *deletion_q, __global const uchar *gap_q, __global const int *symbols,                            \
        __global const Quality *quality, __global const REAL *mm_inverse, __global const double *log2_match,                    \
        __global const double *log2_mm
#define READS_VALUE \
    {offsets, bases, base_q, insertion_q, deletion_q, gap_q, symbols, quality, mm_inverse, log2_match, log2_mm}

#define LOAD(array) JOIN(vload, V)(0, array)
#define AS_REALS JOIN(as_, REALS)
#define AS_INTEGERS JOIN(as_, INTEGERS)

/* What the lanes carry from row to row while parameters are made. */
typedef struct {
    long offset[V];
    int length[V];
    int key[V]; /* gap qualities that `enter` to `log2_mm` belong to */
    int shortest;
    REALS a;        /* A_i/s_i of the row before */
    REALS deletion; /* md of the row before */
    REALS start;
    REAL enter[V], ii[V], continued[V], insertion[V], md[V];
    double log2_mm[V], log2_scale[V];
} Lanes;

/* Parameters of one row of all lanes. u and v belong to the row before. */
typedef struct {
    REALS r, b, ii, u, v;
    INTEGERS symbol;
} Row;

void open_lanes(const Reads* reads, __global const int* members, Lanes* lanes)
{
    lanes->shortest = 1 << 30;
    for (int lane = 0; lane < V; lane++) {
        int read = members[lane];
        lanes->offset[lane] = read < 0 ? 0 : reads->offsets[read];
        lanes->length[lane] = read < 0 ? -1 : (int)(reads->offsets[read + 1] - reads->offsets[read]);
        lanes->shortest = min(lanes->shortest, lanes->length[lane]);
        lanes->log2_scale[lane] = 0;
        lanes->key[lane] = -1;
        lanes->enter[lane] = lanes->ii[lane] = lanes->continued[lane] = lanes->insertion[lane] = lanes->md[lane] = 0;
    }
    lanes->a = lanes->deletion = lanes->start = 0;
}

void gap_qualities(const Reads* reads, Lanes* lanes, int lane, int key)
{
    const int both = key >> 7;
    __global const Quality* gap = reads->quality + (key & 127);
    const REAL over_mm = reads->mm_inverse[both];
    lanes->key[lane] = key;
    lanes->enter[lane] = gap->leave * over_mm;
    lanes->ii[lane] = gap->gap;
    lanes->continued[lane] = gap->gap * reads->quality[both >> 7].gap_inverse;
    lanes->insertion[lane] = reads->quality[both >> 7].gap * over_mm;
    lanes->md[lane] = reads->quality[both & 127].gap;
    lanes->log2_mm[lane] = reads->log2_mm[both];
}

Row make_row(const Reads* reads, Lanes* lanes, int i)
{
    REAL ratio[V], match_inverse[V];
    INTEGER symbol[V];
    for (int lane = 0; lane < V; lane++) {
        if (i >= lanes->length[lane]) {
            ratio[lane] = match_inverse[lane] = 0;
            symbol[lane] = i == lanes->length[lane] ? SUM_SYMBOLS : 0;
            continue;
        }
        const long at = lanes->offset[lane] + i;
        const int base = reads->base_q[at] & 127;
        const int key = (reads->insertion_q[at] & 127) << 14 | (reads->deletion_q[at] & 127) << 7 | (reads->gap_q[at] & 127);
        if (key != lanes->key[lane]) gap_qualities(reads, lanes, lane, key);
        symbol[lane] = reads->symbols[reads->bases[at]];
        ratio[lane] = reads->quality[base].mismatch_ratio;
        match_inverse[lane] = reads->quality[base].match_inverse;
        lanes->log2_scale[lane] += reads->log2_match[base] + lanes->log2_mm[lane];
    }
    Row row;
    const REALS enter = LOAD(lanes->enter), a = lanes->a;
    row.symbol = LOAD(symbol);
    row.r = LOAD(ratio);
    row.ii = LOAD(lanes->ii);
    row.b = LOAD(lanes->continued) * a;
    row.u = enter * a;
    row.v = enter * lanes->deletion;
    if (i == 0) lanes->start = enter;
    lanes->a = LOAD(lanes->insertion) * LOAD(match_inverse);
    lanes->deletion = LOAD(lanes->md);
    if (i >= lanes->shortest) { /* some lanes are at their sum, or behind it */
        INTEGER live[V], sum[V];
        for (int lane = 0; lane < V; lane++) {
            live[lane] = i < lanes->length[lane] ? -1 : 0;
            sum[lane] = i == lanes->length[lane] ? -1 : 0;
        }
        const INTEGERS is_live = LOAD(live), is_sum = LOAD(sum);
        const REALS zero = 0;
        row.b = is_live ? row.b : zero;
        row.v = is_live ? row.v : zero;
        row.u = is_live ? row.u : is_sum ? a : zero; /* A_R/s_R */
        row.ii = is_live ? row.ii : is_sum ? (REALS)1 : zero;
        if (i == 0) lanes->start = is_live ? lanes->start : zero;
    }
    return row;
}

/* The sum of t[R,j] of one lane from the last border: K behind the sum's row, and t of the last column where no column came after it. */
REAL sum_of(__global const REAL* border, int lane, int length, bool full)
{
    if (length <= 0) return 0;
    REAL sum = border[(2 * length + 1) * V + lane];
    return full ? sum + border[(2 * length - 2) * V + lane] : sum;
}

/* The sets of V haplotypes, column by column: bases, one END, then PAD. */
void columns_of(__global const uchar* haplotypes, __global const long* offsets, __global const int* symbols,
                       __global const int* members, int columns, __global INTEGERS* sets, int* lengths)
{
    __global INTEGER* set = (__global INTEGER*)sets;
    for (int lane = 0; lane < V; lane++) {
        int hap = members[lane];
        int length = hap < 0 ? 0 : (int)(offsets[hap + 1] - offsets[hap]);
        __global const uchar* codes = haplotypes + (hap < 0 ? 0 : offsets[hap]);
        lengths[lane] = length;
        for (int column = 0; column < columns; column++)
            set[column * V + lane] = column < length ? symbols[codes[column]] : column == length ? END_SYMBOL : PAD_SYMBOL;
    }
}

/* Layout of one task of `shared`, ints: rows, first haplotype of the list, haplotypes, first result (results: [haplotype][lane]).
   List of haplotypes, ints: offset, length, strip to start from, border to start from, first save, saves. A save is (strip, border):
   the border behind that strip is kept under that number; border 0 is the working one. */
ONE_ITEM __kernel void shared(READS_ARGUMENTS, __global const uchar* haplotypes, __global const int* hap_symbols, const int symbol_count,
                              __global const int4* tasks, const int task_count, __global const int* members,
                              __global const int* list, __global const int2* saves, __global int* counter,
                              __global REALS* scratch, const long scratch_size, const long border_size, const REAL scale,
                              __global REAL* results, __global double* log2_scales)
{
    const Reads reads = READS_VALUE;
    __global REALS* parameters = scratch + get_global_id(0) * scratch_size;
    const int stride = 4 + symbol_count;
    for (;;) {
        const int index = atomic_inc(counter);
        if (index >= task_count) break;
        const int4 task = tasks[index];
        const int rows = task.x + 1;
        __global REALS* borders = parameters + (long)rows * stride;
        Lanes lanes;
        open_lanes(&reads, members + index * V, &lanes);
        for (int i = 0; i < rows; i++) {
            const Row row = make_row(&reads, &lanes, i);
            __global REALS* p = parameters + (long)i * stride;
            if (i) { p[1 - stride] = row.u; p[2 - stride] = row.v; }
            p[0] = row.b;
            p[1] = p[2] = 0;
            p[3] = row.ii;
            for (int s = 0; s < symbol_count; s++) p[4 + s] = (row.symbol & (INTEGERS)hap_symbols[s]) != 0 ? (REALS)1 : row.r;
        }
        const REALS top = lanes.start * scale;
        for (int lane = 0; lane < V; lane++) log2_scales[index * V + lane] = lanes.log2_scale[lane];

        for (int h = 0; h < task.z; h++) {
            __global const int* entry = list + (task.y + h) * 6;
            __global const uchar* hap = haplotypes + entry[0];
            const int length = entry[1];
            const int strips = (length + NC - 1) / NC;
            __global const int2* save = saves + entry[4];
            __global const int2* save_end = save + entry[5];
            __global REALS* in = borders + entry[3] * border_size;
            if (entry[2] == 0) {
                in = borders;
                for (int i = 0; i < 2 * rows; i++) in[i] = 0;
            }
            for (int strip = entry[2]; strip < strips; strip++) {
                __global REALS* out = borders;
                if (save < save_end && (*save).x == strip) { out = borders + (*save).y * border_size; save++; }
                REALS m[NC], J[NC], t[NC];
                int factor[NC];
                UNROLL for (int k = 0; k < NC; k++)
                {
                    int column = strip * NC + k;
                    factor[k] = 4 + (column < length ? hap[column] : column == length ? 0 : 1);
                    m[k] = 0;
                    J[k] = 0;
                    t[k] = top;
                }
                REALS corner = top;
                __global const REALS* p = parameters;
                for (int i = 0; i < rows; i++, p += stride) {
                    const REALS b = p[0], u = p[1], v = p[2], ii = p[3];
                    REALS left = corner;
                    corner = in[2 * i];
                    REALS K = in[2 * i + 1];
                    UNROLL for (int k = 0; k < NC; k++)
                    {
                        REALS next = left * p[factor[k]];
                        J[k] = b * J[k] + m[k];
                        left = t[k];
                        m[k] = next;
                        t[k] = v * K + (u * J[k] + next);
                        K = ii * K + next;
                    }
                    out[2 * i] = t[NC - 1];
                    out[2 * i + 1] = K;
                }
                in = out;
            }
            for (int lane = 0; lane < V; lane++)
                results[task.w + h * V + lane] = sum_of((__global const REAL*)in, lane, lanes.length[lane], length == strips * NC);
        }
    }
}

/* Layout of one task of `mixed`, ints: rows, columns (a multiple of NC). Pairs: (read, haplotype) of V lanes, -1 where a lane is empty.
   hap_sets: set of bits by symbol, as in `shared`. */
ONE_ITEM __kernel void mixed(READS_ARGUMENTS, __global const uchar* haplotypes, __global const long* hap_offsets,
                             __global const int* hap_symbols, __global const int2* tasks, const int task_count,
                             __global const int* lane_reads, __global const int* lane_haps, __global int* counter,
                             __global REALS* scratch, const long scratch_size, const REAL scale, __global REAL* results,
                             __global double* log2_scales)
{
    const Reads reads = READS_VALUE;
    __global REALS* parameters = scratch + get_global_id(0) * scratch_size;
    for (;;) {
        const int index = atomic_inc(counter);
        if (index >= task_count) break;
        const int rows = tasks[index].x + 1, columns = tasks[index].y;
        __global REALS* border = parameters + (long)rows * 6;
        __global INTEGERS* sets = (__global INTEGERS*)(border + (long)rows * 2);
        int lengths[V];
        columns_of(haplotypes, hap_offsets, hap_symbols, lane_haps + index * V, columns, sets, lengths);
        Lanes lanes;
        open_lanes(&reads, lane_reads + index * V, &lanes);
        for (int i = 0; i < rows; i++) {
            const Row row = make_row(&reads, &lanes, i);
            __global REALS* p = parameters + (long)i * 6;
            if (i) { p[1 - 6] = row.u; p[2 - 6] = row.v; }
            p[0] = row.b;
            p[1] = p[2] = 0;
            p[3] = row.ii;
            p[4] = row.r;
            p[5] = AS_REALS(row.symbol);
            border[2 * i] = border[2 * i + 1] = 0;
        }
        const REALS top = lanes.start * scale;
        for (int strip = 0; strip < columns; strip += NC) {
            REALS m[NC], J[NC], t[NC];
            INTEGERS set[NC];
            UNROLL for (int k = 0; k < NC; k++)
            {
                set[k] = sets[strip + k];
                m[k] = 0;
                J[k] = 0;
                t[k] = top;
            }
            REALS corner = top;
            __global const REALS* p = parameters;
            for (int i = 0; i < rows; i++, p += 6) {
                const REALS b = p[0], u = p[1], v = p[2], ii = p[3], r = p[4];
                const INTEGERS symbol = AS_INTEGERS(p[5]);
                REALS left = corner;
                corner = border[2 * i];
                REALS K = border[2 * i + 1];
                UNROLL for (int k = 0; k < NC; k++)
                {
                    REALS next = (symbol & set[k]) != 0 ? left : left * r;
                    J[k] = b * J[k] + m[k];
                    left = t[k];
                    m[k] = next;
                    t[k] = v * K + (u * J[k] + next);
                    K = ii * K + next;
                }
                border[2 * i] = t[NC - 1];
                border[2 * i + 1] = K;
            }
        }
        for (int lane = 0; lane < V; lane++) {
            log2_scales[index * V + lane] = lanes.log2_scale[lane];
            results[index * V + lane] = sum_of((__global const REAL*)border, lane, lanes.length[lane], lengths[lane] == columns);
        }
    }
}
