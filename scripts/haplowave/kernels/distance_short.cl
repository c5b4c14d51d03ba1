/* Bit-parallel edit distance of many query-target pairs at once (Myers 1999 in the block form of Hyyroe 2003).
 *
 * Vertical differences D[i,j]-D[i-1,j] of 64 rows are two words, pv (+1) and mv (-1); for one column, with eq the rows whose
 * query symbol equals t_j and hp/hm the horizontal difference of the row above the word:
 *     xv = eq | mv;             eq |= hm;
 *     xh = (((eq & pv) + pv) ^ pv) | eq;
 *     ph = mv | ~(xh | pv);     mh = pv & xh;           (horizontal differences of these rows; the top bits go to the next word)
 *     ph = ph << 1 | hp;        mh = mh << 1 | hm;
 *     pv = mh | ~(xv | ph);     mv = ph & xv;
 * The code keeps eq, xv and xh negated, so that each line is one three-operand instruction of AVX-512.
 * eq comes from bit planes: symbols are numbered 0.. in PLANES bits, plane p of 64 query symbols is one word, and eq is the AND over
 * p of ~(plane ^ bit p of t_j). So any alphabet works and lanes may have different targets.
 *
 * LANES pairs share a vector (CPU: 8 or 4 words of 64 bits; 1 elsewhere: one pair a work-item). GROUP pairs are scheduled together;
 * GROUP = LANES on a CPU. A query ends at the last bit of its last word; rows before its first symbol are padding: they match
 * everything (INFIX, so D stays 0) or nothing (global, so D[row,j] = j). Queries longer than STRIP words are swept in strips of
 * STRIP words; the horizontal differences between strips are kept as bits, 64 columns a word, first column in the top bit.
 *
 * Buffers
 *   planes   ulong  [word of all queries][PLANES + 1]   the last plane marks padding rows
 *   word_begin int  [queries + 1]      first word of each query
 *   target   uchar  [all targets, then slack]  symbol numbers
 *   target_begin long [targets + 1]
 *   pair_query, pair_target int [groups * GROUP]
 *   strips   int  [groups]             strips of each group
 *   scratch_begin long [groups]        where the group's horizontal differences start (words), [column block][hp, hm][GROUP]
 *   distance int  [groups * GROUP]
 */

#define TOP 63

/* Unaligned loads go through types of low alignment: vload and vstore are calls in PoCL's x86 builds and spill every register.
   Devices that want aligned addresses get the bytes one by one. */
#if BYTE_LOADS
inline ulong text_word(__global const uchar* at) { return as_ulong(vload8(0, at)); }
#else
typedef ulong __attribute__((aligned(1))) ulong_at;
inline ulong text_word(__global const uchar* at) { return *(const __global ulong_at*)at; }
#endif

__kernel void pack(__global const uchar* query, __global const long* query_begin, __global const int* word_begin,
                   __global ulong* planes) {
    const int q = get_global_id(0);
    const int words = word_begin[q + 1] - word_begin[q];
    const long begin = query_begin[q];
    const int lead = words * 64 - (int)(query_begin[q + 1] - begin);
    __global ulong* out = planes + (long)word_begin[q] * (PLANES + 1);
    for (int w = 0; w < words; w++, out += PLANES + 1) {
        ulong plane[PLANES];
        #pragma unroll
        for (int p = 0; p < PLANES; p++) plane[p] = 0;
        for (int b = 0; b < 64; b += 8) {
            const int s = w * 64 + b - lead; /* query position of the byte that goes to bit b */
            if (s <= -8) continue;
            ulong x = text_word(query + begin + max(s, 0));
            if (s < 0) x <<= -8 * s;
            #pragma unroll
            for (int p = 0; p < PLANES; p++) /* the multiplication collects bit p of 8 bytes in the top byte */
                plane[p] |= ((((x >> p) & 0x0101010101010101UL) * 0x0102040810204080UL) >> 56) << b;
        }
        #pragma unroll
        for (int p = 0; p < PLANES; p++) out[p] = plane[p];
        out[PLANES] = w == 0 && lead > 0 ? ((1UL << lead) - 1) : 0;
    }
}

#ifdef STRIP

#if LANES == 8
typedef ulong8 word_t;
typedef int8 __attribute__((aligned(4))) int8_at;
typedef long8 count_t;
#define EACH(type, f) (type)(f(s0), f(s1), f(s2), f(s3), f(s4), f(s5), f(s6), f(s7))
typedef ulong8 __attribute__((aligned(8))) word_at;
#define LANE(x, l) x.l
#define LARGEST_4(x) max(max((x).s0, (x).s1), max((x).s2, (x).s3))
#define LARGEST(x) LARGEST_4(max((x).lo, (x).hi))
#define SAVE(x, p) *(__global int8_at*)(p) = convert_int8(x)
#elif LANES == 4
typedef ulong4 word_t;
typedef int4 __attribute__((aligned(4))) int4_at;
typedef long4 count_t;
#define EACH(type, f) (type)(f(s0), f(s1), f(s2), f(s3))
typedef ulong4 __attribute__((aligned(8))) word_at;
#define LANE(x, l) x.l
#define LARGEST(x) max(max((x).s0, (x).s1), max((x).s2, (x).s3))
#define SAVE(x, p) *(__global int4_at*)(p) = convert_int4(x)
#else
typedef ulong word_t;
typedef long count_t;
#define EACH(type, f) (type)(f(s0))
typedef ulong word_at;
#define LANE(x, l) x
#define LARGEST(x) (x)
#define SAVE(x, p) *(p) = (int)(x)
#endif

#define LANE_s0 0
#define LANE_s1 1
#define LANE_s2 2
#define LANE_s3 3
#define LANE_s4 4
#define LANE_s5 5
#define LANE_s6 6
#define LANE_s7 7

inline ulong query_word(__global const ulong* planes, long begin, int word, int plane) {
    return word < 0 ? (plane == PLANES ? ~0UL : 0UL) : planes[(begin + word) * (PLANES + 1) + plane];
}

__kernel void distances(__global const ulong* planes, __global const long* query_begin, __global const int* word_begin,
                        __global const uchar* target, __global const long* target_begin, __global const int* pair_query,
                        __global const int* pair_target, __global const int* strips, __global const long* scratch_begin,
                        __global ulong* scratch, __global int* distance) {
    const int item = get_global_id(0);
    const int group = item / (GROUP / LANES), lane = item % (GROUP / LANES) * LANES;
    const int count = strips[group];
    pair_query += (long)group * GROUP + lane;
    pair_target += (long)group * GROUP + lane;
#define QUERY(l) pair_query[LANE_##l]
#define TARGET(l) pair_target[LANE_##l]
#define BEGIN(l) target_begin[TARGET(l)]
#define LENGTH(l) (target_begin[TARGET(l) + 1] - target_begin[TARGET(l)])
#define ROWS(l) (query_begin[QUERY(l) + 1] - query_begin[QUERY(l)])
#define FIRST_WORD(l) ((long)word_begin[QUERY(l)])
#define LEAD_WORDS(l) ((long)(count * STRIP - (word_begin[QUERY(l) + 1] - word_begin[QUERY(l)])))
    const count_t begin = EACH(count_t, BEGIN), length = EACH(count_t, LENGTH);
    const count_t first_word = EACH(count_t, FIRST_WORD), lead = EACH(count_t, LEAD_WORDS);
    count_t score = EACH(count_t, ROWS), best = score;
    const long columns = LARGEST(length);
    __global ulong* border = scratch + scratch_begin[group] + lane;

    for (int strip = 0; strip < count; strip++) {
        word_t plane[STRIP][PLANES], pad[STRIP], pv[STRIP], mv[STRIP];
        #pragma unroll
        for (int k = 0; k < STRIP; k++) {
            const int w = strip * STRIP + k;
            #pragma unroll
            for (int p = 0; p < PLANES; p++) {
#define PLANE_WORD(l) query_word(planes, LANE(first_word, l), w - (int)LANE(lead, l), p)
                plane[k][p] = EACH(word_t, PLANE_WORD);
            }
#define PAD_WORD(l) query_word(planes, LANE(first_word, l), w - (int)LANE(lead, l), PLANES)
            pad[k] = EACH(word_t, PAD_WORD);
            pv[k] = ~pad[k];
            mv[k] = (word_t)(0);
        }
        const int last = strip == count - 1;
        __global ulong* at = border;
        for (long j0 = 0; j0 < columns; j0 += 64, at += 2 * GROUP) {
            word_t hp = (word_t)(INFIX ? 0UL : ~0UL), hm = (word_t)(0), hp_out = hm, hm_out = hm;
            if (strip) {
                hp = *(const __global word_at*)at;
                hm = *(const __global word_at*)(at + GROUP);
            }
            const int width = (int)min(columns - j0, 64L);
            word_t text = hm;
            for (int q = 0; q < width; q++) {
                if ((q & 7) == 0) {
#define TEXT(l) text_word(target + LANE(begin, l) + j0 + q)
                    text = EACH(word_t, TEXT);
                }
                word_t symbol[PLANES];
                #pragma unroll
                for (int p = 0; p < PLANES; p++) symbol[p] = (word_t)(0UL) - ((text >> p) & (word_t)(1UL));
                text >>= 8;
                word_t above_p = hp, above_m = hm; /* only the top bits count */
                hp <<= 1;
                hm <<= 1;
                #pragma unroll
                for (int k = 0; k < STRIP; k++) {
                    word_t differ = plane[k][0] ^ symbol[0];
                    #pragma unroll
                    for (int p = 1; p < PLANES; p++) differ |= plane[k][p] ^ symbol[p];
#if INFIX
                    differ &= ~pad[k];
#else
                    differ |= pad[k];
#endif
                    const word_t not_xv = differ & ~mv[k];
                    const word_t not_eq = differ & ~(above_m >> TOP);
                    const word_t not_xh = not_eq & ~(((pv[k] & ~not_eq) + pv[k]) ^ pv[k]);
                    const word_t ph = mv[k] | (not_xh & ~pv[k]);
                    const word_t mh = pv[k] & ~not_xh;
                    const word_t p1 = (ph << 1) | (above_p >> TOP);
                    const word_t m1 = (mh << 1) | (above_m >> TOP);
                    pv[k] = m1 | (not_xv & ~p1);
                    mv[k] = p1 & ~not_xv;
                    above_p = ph;
                    above_m = mh;
                }
                if (last) {
#if LANES == 1
                    score += (long)(above_p >> TOP) - (long)(above_m >> TOP);
#elif LANES == 4
                    score += as_long4(above_p >> TOP) - as_long4(above_m >> TOP);
#else
                    score += as_long8(above_p >> TOP) - as_long8(above_m >> TOP);
#endif
#if INFIX
                    best = (count_t)(j0 + q) < length && score < best ? score : best;
#else
                    best = (count_t)(j0 + q + 1) == length ? score : best;
#endif
                } else {
                    hp_out = (hp_out << 1) | (above_p >> TOP);
                    hm_out = (hm_out << 1) | (above_m >> TOP);
                }
            }
            if (!last) {
                *(__global word_at*)at = hp_out << (ulong)(64 - width & 63);
                *(__global word_at*)(at + GROUP) = hm_out << (ulong)(64 - width & 63);
            }
        }
    }
    SAVE(best, distance + (long)group * GROUP + lane);
}
#endif
