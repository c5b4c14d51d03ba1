/* Gap-affine wavefronts of many pairs (Marco-Sola et al. 2021, equations 3; two-piece gaps as in minimap2): a work-group a pair.
 *
 * M, I, D [s,k]: furthest row i of a that penalty s reaches on diagonal k = j - i with a match or mismatch, an insertion (symbol of b
 * alone) or a deletion (symbol of a alone) last; c = 1, 2 the pieces of the gap penalty, open o_c and extension e_c:
 *     I_c[s,k] = max( M[s-o_c-e_c, k-1],  I_c[s-e_c, k-1] )
 *     D_c[s,k] = max( M[s-o_c-e_c, k+1],  D_c[s-e_c, k+1] ) + 1
 *     M[s,k]   = extend( max( M[s-x,k] + 1,  I_1, D_1, I_2, D_2 [s,k] ) )
 * A cell beyond either string is -infinity. The pair is done when M[s, n-m] = m.
 *
 * Buffers, for pair p with width = m + n + 3 and diagonal k at index k + m + 1
 *   ring   int  from ring_begin[p]: [levels][COMPONENTS][width], level s in slot s % levels; -infinity outside low[s]..high[s], as far
 *          as the next `levels` levels can look: that many diagonals beyond the extremes so far
 *   range  int  [pairs][levels + 1][2]  lowest and highest diagonal of a level (low > high: none); in the end the extremes of all levels
 *   trace  uchar from trace_begin[p]: [levels of this segment][width]: bits 0-2 source of M (0 begin, 1 x, 2 I_1, 3 D_1, 4 I_2, 5 D_2),
 *          bits 3-6 whether I_1, D_1, I_2, D_2 extend a gap
 *   score  int  [pairs], -1 while the pair is not done
 */

#define NONE (-(1 << 30))
#define MIN(x, y) ((x) < (y) ? (x) : (y)) /* the built-ins are calls in PoCL's x86 builds */
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define COMPONENTS (TWO_PIECE ? 5 : 3)
/* Levels never overlap, which a compiler cannot see. */
#if LANES == 1 && defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT
#endif
#if LANES > 1
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define SYNC
#endif

inline int extend(__global const uchar* restrict a, __global const uchar* restrict b, int i, const int k, const int end) {
    while (i < end && a[i] == b[i + k]) i++;
    return i;
}

/* Longest common start in 8 steps at most; the buffers have 8 bytes to spare. */
#if LANES == 1
typedef ulong __attribute__((aligned(1))) ulong_at;
inline int extend_fast(__global const uchar* restrict a, __global const uchar* restrict b, int i, const int k, const int end) {
    while (i < end) {
        const ulong differ = *(const __global ulong_at*)(a + i) ^ *(const __global ulong_at*)(b + i + k);
        if (differ) {
#if defined(__clang__)
            i += __builtin_ctzl(differ) >> 3;
#else
            i += (int)(ctz(differ) >> 3);
#endif
            break;
        }
        i += 8;
    }
    return MIN(i, end);
}
#else
#define extend_fast extend
#endif

__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void advance(
    __global const uchar* restrict a_all, __global const uchar* restrict b_all, __global const long* a_begin, __global const long* b_begin,
    __global const int* rows, __global const int* columns, __global int* ring_all, __global const long* ring_begin, __global int* range_all,
    __global uchar* trace_all, __global const long* trace_begin, __global int* score, const int levels, const int from, const int to,
    const int mismatch, const int open1, const int extend1, const int open2, const int extend2, const int tracing) {
    const int p = get_group_id(0), lane = get_local_id(0);
    if (score[p] >= 0) return;
    const int m = rows[p], n = columns[p], width = m + n + 3, goal = n - m;
    __global const uchar* restrict a = a_all + a_begin[p];
    __global const uchar* restrict b = b_all + b_begin[p];
    __global int* restrict ring = ring_all + ring_begin[p] + m + 1;
    __global int* restrict range = range_all + (long)p * (levels + 1) * 2;
    __global int* extremes = range + 2 * levels;
    const long level_size = (long)COMPONENTS * width;
    int lowest = extremes[0], highest = extremes[1];

    if (from == 0) /* levels below 0 */
        for (int slot = 0; slot < levels; slot++) {
            for (int c = 0; c < COMPONENTS; c++)
                for (int k = MAX(-levels, -m - 1) + lane; k <= MIN(levels, n + 1); k += LANES) ring[slot * level_size + c * width + k] = NONE;
            if (lane == 0) {
                range[2 * slot] = 1;
                range[2 * slot + 1] = 0;
            }
        }
    SYNC;

    for (int s = from; s < to; s++) {
        const int slot = s % levels;
        __global int* M = ring + slot * level_size;
#define BACK(lag) ((s - (lag) % levels + levels) % levels)
        const int from_x = BACK(mismatch), from_o1 = BACK(open1 + extend1), from_e1 = BACK(extend1);
        int low = 1 << 30, high = NONE;
#define REACH(source, by)                                                              \
    if (range[2 * (source)] <= range[2 * (source) + 1]) {                              \
        low = MIN(low, range[2 * (source)] - (by));                                    \
        high = MAX(high, range[2 * (source) + 1] + (by));                              \
    }
        if (s == 0) low = high = 0;
        else {
            if (mismatch) REACH(from_x, 0)
            REACH(from_o1, 1)
            REACH(from_e1, 1)
#if TWO_PIECE
            REACH(BACK(open2 + extend2), 1)
            REACH(BACK(extend2), 1)
#endif
            low = MAX(low, -m);
            high = MIN(high, n);
        }
        if (low <= high) {
            lowest = MIN(lowest, low);
            highest = MAX(highest, high);
        }
        SYNC;
        const int left = MAX(lowest - levels, -m - 1), right = MIN(highest + levels, n + 1);
        const int gap = low > high ? right + 1 : low, resume = low > high ? right + 1 : high + 1;
        for (int c = 0; c < COMPONENTS; c++) {
            for (int k = left + lane; k < gap; k += LANES) M[c * width + k] = NONE;
            for (int k = resume + lane; k <= right; k += LANES) M[c * width + k] = NONE;
        }
        if (lane == 0) {
            range[2 * slot] = low;
            range[2 * slot + 1] = high;
            extremes[0] = lowest;
            extremes[1] = highest;
        }
        if (low > high) {
            SYNC;
            continue;
        }
        __global uchar* trace = trace_all + trace_begin[p] + (tracing ? (long)(s - from) * width + m + 1 : 0);
        if (s == 0) {
            if (lane == 0) {
                for (int c = 1; c < COMPONENTS; c++) M[c * width] = NONE;
                M[0] = extend_fast(a, b, 0, 0, MIN(m, n));
                if (tracing) trace[0] = 0;
            }
        } else {
            __global const int* Mx = ring + from_x * level_size;
            __global const int* Mo = ring + from_o1 * level_size;
            __global const int* I = ring + from_e1 * level_size + width;
            __global const int* D = I + width;
            __global int* I_out = M + width;
            __global int* D_out = M + 2 * width;
#if TWO_PIECE
            __global const int* Mo2 = ring + BACK(open2 + extend2) * level_size;
            __global const int* I2 = ring + BACK(extend2) * level_size + 3 * width;
            __global const int* D2 = I2 + width;
            __global int* I2_out = M + 3 * width;
            __global int* D2_out = M + 4 * width;
#endif
            INDEPENDENT
            for (int k = low + lane; k <= high; k += LANES) {
                const int end = MIN(m, n - k);
                int insertion = MAX(Mo[k - 1], I[k - 1]);
                int deletion = MAX(Mo[k + 1], D[k + 1]) + 1;
                int best = mismatch ? Mx[k] + 1 : NONE;
                int why = (I[k - 1] > Mo[k - 1] ? 8 : 0) | (D[k + 1] > Mo[k + 1] ? 16 : 0);
                insertion = insertion > end ? NONE : insertion;
                deletion = deletion > end ? NONE : deletion;
                best = best > end ? NONE : best;
                int source = 1;
                source = insertion > best ? 2 : source;
                best = MAX(best, insertion);
                source = deletion > best ? 3 : source;
                best = MAX(best, deletion);
                I_out[k] = insertion;
                D_out[k] = deletion;
#if TWO_PIECE
                int insertion2 = MAX(Mo2[k - 1], I2[k - 1]);
                int deletion2 = MAX(Mo2[k + 1], D2[k + 1]) + 1;
                why |= (I2[k - 1] > Mo2[k - 1] ? 32 : 0) | (D2[k + 1] > Mo2[k + 1] ? 64 : 0);
                insertion2 = insertion2 > end ? NONE : insertion2;
                deletion2 = deletion2 > end ? NONE : deletion2;
                source = insertion2 > best ? 4 : source;
                best = MAX(best, insertion2);
                source = deletion2 > best ? 5 : source;
                best = MAX(best, deletion2);
                I2_out[k] = insertion2;
                D2_out[k] = deletion2;
#endif
                M[k] = best < 0 ? NONE : best;
                if (tracing) trace[k] = (uchar)(source | why);
            }
            for (int k = low + lane; k <= high; k += LANES)
                if (M[k] >= 0) M[k] = extend_fast(a, b, M[k], k, MIN(m, n - k));
        }
        SYNC;
        if (goal >= low && goal <= high && M[goal] >= m) {
            if (lane == 0) score[p] = s;
            return;
        }
    }
}

/* Walk back from the end through the levels of one segment (from <= s); one work-item a pair. The walk stands in `at`:
 * [pairs][4] penalty, diagonal, component (0 M, 1 I_1, 2 D_1, 3 I_2, 4 D_2), number of steps so far. Steps, last first:
 * 0 matches as far as they go, 1 mismatch, 2 insertion, 3 deletion. */
__kernel void walk_back(__global const uchar* trace_all, __global const long* trace_begin, __global const int* rows, __global const int* columns,
                        __global int* at_all, __global uchar* steps_all, __global const long* steps_begin, const int from,
                        const int mismatch, const int open1, const int extend1, const int open2, const int extend2) {
    const int p = get_global_id(0);
    const int width = rows[p] + columns[p] + 3;
    __global int* at = at_all + 4 * p;
    __global const uchar* trace = trace_all + trace_begin[p] + rows[p] + 1;
    __global uchar* steps = steps_all + steps_begin[p];
    int s = at[0], k = at[1], component = at[2], count = at[3];
    while (s >= from) {
        const uchar code = trace[(long)(s - from) * width + k];
        if (component == 0) {
            steps[count++] = 0;
            const int source = code & 7;
            if (source == 0) {
                s = -1; /* the beginning */
                break;
            }
            if (source == 1) {
                steps[count++] = 1;
                s -= mismatch;
            } else
                component = source - 1;
        } else {
            const int insertion = component & 1, goes_on = (code >> (component + 2)) & 1;
            const int open = component < 3 ? open1 : open2, by = component < 3 ? extend1 : extend2;
            steps[count++] = insertion ? 2 : 3;
            k += insertion ? -1 : 1;
            s -= by;
            if (!goes_on) {
                s -= open;
                component = 0;
            }
        }
    }
    at[0] = s;
    at[1] = k;
    at[2] = component;
    at[3] = count;
}

inline int write_run(__global uchar* text, int at, const int run, const uchar letter) {
    int power = 1;
    while (run / power >= 10) power *= 10;
    for (; power > 0; power /= 10) text[at++] = (uchar)('0' + run / power % 10);
    text[at++] = letter;
    return at;
}

/* Steps into the text of a CIGAR, at most two letters a step; length[p] of them. */
__kernel void spell(__global const uchar* restrict a_all, __global const uchar* restrict b_all, __global const long* a_begin,
                    __global const long* b_begin, __global const int* rows, __global const int* columns, __global const int* at_all,
                    __global const uchar* steps_all, __global const long* steps_begin, __global uchar* text_all, __global int* length) {
    const int p = get_global_id(0);
    __global const uchar* a = a_all + a_begin[p];
    __global const uchar* b = b_all + b_begin[p];
    __global const uchar* steps = steps_all + steps_begin[p];
    __global uchar* text = text_all + steps_begin[p];
    int i = 0, j = 0, at = 0, run = 0;
    uchar letter = 0;
    for (int q = at_all[4 * p + 3] - 1; q >= 0; q--) {
        uchar next;
        int more = 1;
        if (steps[q] == 0) {
            const int end = extend_fast(a, b, i, j - i, MIN(rows[p], i + columns[p] - j));
            next = '=';
            more = end - i;
            j += more;
            i = end;
        } else {
            next = steps[q] == 1 ? 'X' : steps[q] == 2 ? 'I' : 'D';
            i += steps[q] != 2;
            j += steps[q] != 3;
        }
        if (more == 0) continue;
        if (next != letter && run > 0) at = write_run(text, at, run, letter);
        run = next == letter ? run + more : more;
        letter = next;
    }
    if (run > 0) at = write_run(text, at, run, letter);
    length[p] = at;
}
