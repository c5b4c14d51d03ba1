/* Edit distance of two long strings on a CPU: bit-parallel tiles (Myers 1999, Hyyroe 2003) inside a band that follows the scores.
 *
 * Rows are symbols of a (pattern), columns of b (text). A strip is ROWS = 64 * LANES * VECTORS rows, a chunk `width` columns, and a
 * tile their crossing. Tiles of one anti-diagonal are independent.
 * Inside a tile the LANES * VECTORS words of 64 rows are lanes of VECTORS vectors; word w works on column t - w at step t, so that
 * all words advance at once and hand their horizontal difference to the next word through one lane shift a step:
 *     eq = AND_p ~(plane_p ^ bit p of symbol);   xv = eq | mv;   eq |= hm;   xh = (((eq & pv) + pv) ^ pv) | eq;
 *     ph = mv | ~(xh | pv);   mh = pv & xh;   p1 = ph << 1 | hp;   m1 = mh << 1 | hm;   pv = m1 | ~(xv | p1);   mv = p1 & xv
 * written with eq, xv and xh negated, so that each line is one three-operand instruction: 17 of them for 512 cells with AVX-512.
 *
 * A border cell (i,j) is alive when D[i,j] + |(n-j) - (m-i)| <= limit can hold (Ukkonen 1985: no path of cost <= limit leaves the
 * alive cells). A tile is computed when its left or its upper border has an alive cell; borders that are not computed are
 * replaced by steps of +1, which is an upper bound, so every number is one, and exact on every path of cost <= limit.
 *
 * Buffers (w: word of 64 rows, s: strip, c: chunk)
 *   planes ulong [PLANES][words]     text uchar [n + slack]  symbol numbers
 *   pv, mv ulong [words]             vertical differences at the right border of the strip's last tile
 *   hp, hm ulong [n / 64]            horizontal differences at the lower border of the chunk's last tile, first column in the top bit
 *   right long [s], below long [c]   score at the upper end of the strip's border, at the left end of the chunk's border
 *   right_alive, below_alive uchar   whether a path may cross
 *   low, high int [c]                strips that the chunk may use
 *   done int [s]                     tiles computed
 *   reached int [s]                  chunks up to the last tile that is done
 *   kept ulong [slot][KEPT_WORDS]    where a path is wanted: left (pv, mv) and upper (hp, hm) border of every tile that was computed
 *   slots int [slot_begin[c] + s - low[c]]  its slot, -1 where it was not
 */

#define WORDS (LANES * VECTORS)
#define ROWS (64 * WORDS)

/* Loads through types of low alignment: vload8 and vstore8 are calls in PoCL's x86 builds and spill every register. */
typedef uchar8 __attribute__((aligned(1))) bytes_at;
typedef ulong8 __attribute__((aligned(8))) words8_at;
typedef ulong __attribute__((aligned(1))) ulong_at;

#if LANES == 8
typedef ulong8 word_t;
typedef words8_at word_at;
#define SHIFT_IN(a, b) (ulong8)((b).s7, (a).s0123, (a).s45, (a).s6)
#define LAST(x) (x).s7
#define COLUMNS_BEFORE (ulong8)(0, 1, 2, 3, 4, 5, 6, 7)
#else
typedef ulong4 word_t;
typedef ulong4 __attribute__((aligned(8))) word_at;
#define SHIFT_IN(a, b) (ulong4)((b).s3, (a).s01, (a).s2)
#define LAST(x) (x).s3
#define COLUMNS_BEFORE (ulong4)(0, 1, 2, 3)
#endif

/* Lower the start of a border by `excess`: afterwards its value is min(itself, start + position). */
void lower_border(__global ulong* plus, __global ulong* minus, const int words, long excess, const int top_first) {
    for (int w = 0; w < words && excess > 0; w++) {
        for (int b = 0; b < 64 && excess > 0; b++) {
            const ulong bit = 1UL << (top_first ? 63 - b : b);
            const int step = plus[w] & bit ? 1 : minus[w] & bit ? -1 : 0;
            excess -= 1 - step;
            plus[w] |= bit;
            minus[w] &= ~bit;
            if (excess < 0) plus[w] &= ~bit; /* met half-way: from one above to one below */
        }
    }
}

/* Whether D + gap <= limit can hold for one of 64 steps from `from` to `to` (scores), whose diagonal distance to the end goes from
   `gap` to `gap + direction * 64`. */
inline int may_pass(const long from, const long to, const long gap, const long other_gap, const long limit) {
    const long least = (gap < 0) != (other_gap < 0) ? 0 : min(abs_diff(gap, 0L), abs_diff(other_gap, 0L));
    return (from + to - 64) / 2 + least <= limit;
}

#define KEPT_WORDS (2 * WORDS + 2 * (WIDTH / 64)) /* of the borders of a tile */

/* One tile: `left_p`, `left_m` the vertical differences of its left border, afterwards of its right one; `hp`, `hm` the horizontal ones
   of its upper border, afterwards of its lower one. recording: the differences of word w after column j go to
   record[2 * (j + w)][w] (pv) and record[2 * (j + w) + 1][w] (mv), WORDS words a row. */
inline void sweep_tile(__global const ulong* restrict planes, const long words, const long word, __global const uchar* restrict text,
                       const int width, __global ulong* restrict left_p, __global ulong* restrict left_m, __global ulong* restrict hp,
                       __global ulong* restrict hm, __local ulong* mask, const int recording, __global ulong* restrict record) {
    const int blocks = (width + 63) / 64;
    /* symbol masks, last column first: lane l of a load at (BASE - t) sees column t - l */
#define BASE (WIDTH + WORDS)
#define SPAN (WIDTH + 3 * WORDS)
    for (int j = 0; j < blocks * 64; j += 8) {
        const ulong8 code = convert_ulong8((*(const __global bytes_at*)(text + j)).s76543210);
        #pragma unroll
        for (int p = 0; p < PLANES; p++) *(__local words8_at*)(mask + p * SPAN + BASE - j - 7) = (ulong8)(0UL) - ((code >> p) & (ulong8)(1UL));
    }

    word_t plane[VECTORS][PLANES], pv[VECTORS], mv[VECTORS], ph[VECTORS], mh[VECTORS];
    #pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        #pragma unroll
        for (int p = 0; p < PLANES; p++) plane[v][p] = *(const __global word_at*)(planes + p * words + word + v * LANES);
        pv[v] = *(const __global word_at*)(left_p + v * LANES);
        mv[v] = *(const __global word_at*)(left_m + v * LANES);
        ph[v] = mh[v] = (word_t)(0UL);
    }
    word_t hp_out = (word_t)(0UL), hm_out = (word_t)(0UL), hp_in = hp_out, hm_in = hp_out;
    __local const ulong* at = mask + BASE;

#define STEP(KEEP_PV, KEEP_MV)                                                                  \
    {                                                                                           \
        word_t above_p[VECTORS], above_m[VECTORS];                                              \
        hp_out = (hp_out << 1) | (ph[VECTORS - 1] >> 63);                                       \
        hm_out = (hm_out << 1) | (mh[VECTORS - 1] >> 63);                                       \
        above_p[0] = SHIFT_IN(ph[0], hp_in);                                                    \
        above_m[0] = SHIFT_IN(mh[0], hm_in);                                                    \
        hp_in <<= 1;                                                                            \
        hm_in <<= 1;                                                                            \
        _Pragma("unroll") for (int v = 1; v < VECTORS; v++) {                                   \
            above_p[v] = SHIFT_IN(ph[v], ph[v - 1]);                                            \
            above_m[v] = SHIFT_IN(mh[v], mh[v - 1]);                                            \
        }                                                                                       \
        _Pragma("unroll") for (int v = 0; v < VECTORS; v++) {                                   \
            word_t differ = plane[v][0] ^ *(const __local word_at*)(at - t + v * LANES);                             \
            _Pragma("unroll") for (int p = 1; p < PLANES; p++)                                  \
                differ |= plane[v][p] ^ *(const __local word_at*)(at - t + v * LANES + p * SPAN);                    \
            const word_t not_xv = differ & ~mv[v];                                              \
            const word_t not_eq = differ & ~(above_m[v] >> 63);                                 \
            const word_t not_xh = not_eq & ~(((pv[v] & ~not_eq) + pv[v]) ^ pv[v]);              \
            ph[v] = mv[v] | (not_xh & ~pv[v]);                                                  \
            mh[v] = pv[v] & ~not_xh;                                                            \
            const word_t p1 = (ph[v] << 1) | (above_p[v] >> 63);                                \
            const word_t m1 = (mh[v] << 1) | (above_m[v] >> 63);                                \
            pv[v] = KEEP_PV;                                                                    \
            mv[v] = KEEP_MV;                                                                    \
            if (recording) {                                                                    \
                *(__global word_at*)(record + (2 * t) * WORDS + v * LANES) = pv[v];             \
                *(__global word_at*)(record + (2 * t + 1) * WORDS + v * LANES) = mv[v];         \
            }                                                                                   \
        }                                                                                       \
    }
#define ACTIVE ((ulong)t - (ulong)(v * LANES) - COLUMNS_BEFORE < (word_t)((ulong)width))

    for (int t0 = 0; t0 < blocks * 64 + WORDS; t0 += WORDS) {
        if (t0 % 64 == 0 && t0 < blocks * 64) {
            hp_in = (word_t)(hp[t0 / 64]);
            hm_in = (word_t)(hm[t0 / 64]);
        }
        if (t0 >= WORDS && t0 + WORDS <= width) {
            for (int t = t0; t < t0 + WORDS; t++) STEP(m1 | (not_xv & ~p1), p1 & ~not_xv)
        } else {
            for (int t = t0; t < t0 + WORDS; t++) STEP(ACTIVE ? (m1 | (not_xv & ~p1)) : pv[v], ACTIVE ? (p1 & ~not_xv) : mv[v])
        }
        if (t0 % 64 == 0 && t0 > 0) {
            hp[t0 / 64 - 1] = LAST(hp_out);
            hm[t0 / 64 - 1] = LAST(hm_out);
        }
    }
    #pragma unroll
    for (int v = 0; v < VECTORS; v++) {
        *(__global word_at*)(left_p + v * LANES) = pv[v];
        *(__global word_at*)(left_m + v * LANES) = mv[v];
    }
}

/* What other work-items wrote before they said so is seen after this. */
#if defined(__clang__)
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

/* Tile of strip s and chunk c. */
inline void tile(__global const ulong* restrict planes, const long words, __global const uchar* restrict text, __global ulong* pv_all,
                 __global ulong* mv_all, __global ulong* hp_all, __global ulong* hm_all, __global long* right, __global long* below,
                 __global uchar* right_alive, __global uchar* below_alive, __global const int* low, __global int* done, const long m, const long n,
                 const long limit, const int s, const int c, __local ulong* mask, const int keeping, __global ulong* kept_all,
                 __global int* slots, __global const int* slot_begin, __global int* kept_count) {
    const int left_ok = right_alive[s], up_ok = below_alive[c];
    if (!left_ok && !up_ok) return;
    done[s]++;
    const long x = (long)c * WIDTH;
    const int width = (int)min((long)WIDTH, n - x), blocks = (width + 63) / 64;
    const long word = (long)s * WORDS;
    const long top = (long)s * ROWS;
    __global ulong* hp = hp_all + x / 64;
    __global ulong* hm = hm_all + x / 64;

    /* borders */
    if (!left_ok)
        for (int w = 0; w < WORDS; w++) {
            pv_all[word + w] = ~0UL;
            mv_all[word + w] = 0;
        }
    if (!up_ok)
        for (int w = 0; w < blocks; w++) {
            hp[w] = ~0UL;
            hm[w] = 0;
        }
    const long from_left = left_ok ? right[s] : below[c], from_above = up_ok ? below[c] : right[s];
    long corner = min(from_left, from_above);
    if (from_above > corner) lower_border(hp, hm, blocks, from_above - corner, 1);
    if (from_left > corner) lower_border(pv_all + word, mv_all + word, WORDS, from_left - corner, 0);
    long lower_left = corner;
    for (int w = 0; w < WORDS; w++) lower_left += (long)popcount(pv_all[word + w]) - (long)popcount(mv_all[word + w]);
    long upper_right = corner;
    for (int w = 0; w < blocks; w++) {
        const ulong valid = w == blocks - 1 && width % 64 ? ~0UL << (64 - width % 64) : ~0UL;
        upper_right += (long)popcount(hp[w] & valid) - (long)popcount(hm[w] & valid);
    }

    if (keeping) {
        const int slot = atomic_inc(kept_count);
        slots[slot_begin[c] + s - low[c]] = slot;
        __global ulong* kept = kept_all + (long)slot * KEPT_WORDS;
        for (int w = 0; w < WORDS; w++) {
            kept[w] = pv_all[word + w];
            kept[WORDS + w] = mv_all[word + w];
        }
        for (int w = 0; w < blocks; w++) {
            kept[2 * WORDS + w] = hp[w];
            kept[2 * WORDS + WIDTH / 64 + w] = hm[w];
        }
    }
    sweep_tile(planes, words, word, text + x, width, pv_all + word, mv_all + word, hp, hm, mask, 0, 0);

    /* which borders a path of cost <= limit may cross */
    const long away = (n - x - width) - (m - top); /* of the upper right corner from the diagonal that ends at (m, n) */
    int alive = 0;
    long score = upper_right;
    for (int w = 0; w < WORDS && top + 64 * w < m; w++) {
        const long next = score + (long)popcount(pv_all[word + w]) - (long)popcount(mv_all[word + w]);
        const long rows = min(64L, m - top - 64 * w);
        alive |= may_pass(score, next, away + 64 * w, away + 64 * w + rows, limit);
        score = next;
    }
    right_alive[s] = alive;
    right[s] = upper_right;
    alive = 0;
    score = lower_left;
    const long start = (n - x) - (m - top - ROWS);
    for (int w = 0; w < blocks; w++) {
        const long columns = min(64, width - 64 * w);
        const ulong valid = ~0UL << (64 - columns);
        const long next = score + (long)popcount(hp[w] & valid) - (long)popcount(hm[w] & valid);
        alive |= may_pass(score, next, start - 64 * w, start - 64 * w - columns, limit);
        score = next;
    }
    below_alive[c] = alive;
    below[c] = lower_left;
}

/* Order of the tiles of a launch: [0] tickets given out, [1] work-items at work, [2 + item] a ticket that the item gave back, or -1. */
#ifndef PATIENCE
#define PATIENCE 100000 /* looks at a tile that is not done, about 0.1 ms: longer, and the thread that has it does not run */
#endif

/* The next ticket: the lowest that was given back, else a new one; -1 after the end. */
inline int take(__global int* order, const int items, const int count) {
    for (;;) {
        int lowest = -1, slot = 0;
        for (int i = 0; i < items; i++) {
            const int returned = *(volatile __global int*)(order + 2 + i);
            if (returned >= 0 && (lowest < 0 || returned < lowest)) {
                lowest = returned;
                slot = i;
            }
        }
        if (lowest < 0) break;
        if (atomic_cmpxchg(order + 2 + slot, lowest, -1) == lowest) return lowest;
    }
    const int mine = atomic_inc(order);
    return mine < count ? mine : -1;
}

inline int comes(__global int* reached, const int wanted) {
    for (int look = 0; look < PATIENCE; look++)
        if (*(volatile __global int*)reached >= wanted) return 1;
    return 0;
}

/* All tiles of the diagonals from .. to - 1, in one launch of any number of work-items. Each takes the next tile of the order of diagonals
 * (tiles begin[d] .. begin[d + 1] - 1 are strips from first[d] on; tickets are tiles counted from begin[from]) and waits until those left
 * of it and above it are done: it never waits for one that nobody has begun, so that it does not matter how many work-items run at a time.
 * One that waits for long gives its ticket back and ends, if others are at work: the thread that it waits for may want the core. */
__kernel void tiles(__global const ulong* restrict planes, const long words, __global const uchar* restrict text, __global ulong* pv_all,
                    __global ulong* mv_all, __global ulong* hp_all, __global ulong* hm_all, __global long* right, __global long* below,
                    __global uchar* right_alive, __global uchar* below_alive, __global const int* low, __global const int* high,
                    __global int* done, __global int* reached, const long m, const long n, const long limit, __local ulong* mask,
                    const int keeping, __global ulong* kept_all, __global int* slots, __global const int* slot_begin,
                    __global int* kept_count, __global const int* first, __global const long* begin, const int from, const int to,
                    __global int* order) {
    const int item = get_global_id(0), items = get_global_size(0);
    const int count = (int)(begin[to] - begin[from]);
    int diagonal = from;
    for (;;) {
        const int mine = take(order, items, count);
        if (mine < 0) {
            if (atomic_dec(order + 1) > 1) return;
            FENCE(); /* the last one: has another given back its ticket since? */
            int left = 0;
            for (int i = 0; i < items; i++) left |= *(volatile __global int*)(order + 2 + i) >= 0;
            if (!left) return;
            atomic_inc(order + 1);
            continue;
        }
        const long number = begin[from] + mine;
        while (number < begin[diagonal]) diagonal--;
        while (number >= begin[diagonal + 1]) diagonal++;
        const int s = first[diagonal] + (int)(number - begin[diagonal]), c = diagonal - s;
        if (s >= low[c] && s <= high[c]) {
            const int left = c > 0 && s >= low[c - 1] && s <= high[c - 1], above = s > low[c];
            if ((left && !comes(reached + s, c)) || (above && !comes(reached + s - 1, c + 1))) {
                *(volatile __global int*)(order + 2 + item) = mine;
                FENCE();
                if (atomic_dec(order + 1) > 1) return;
                atomic_inc(order + 1); /* nobody else is left */
                continue;
            }
            FENCE();
            tile(planes, words, text, pv_all, mv_all, hp_all, hm_all, right, below, right_alive, below_alive, low, done, m, n, limit, s, c, mask,
                 keeping, kept_all, slots, slot_begin, kept_count);
            FENCE();
        }
        *(volatile __global int*)(reached + s) = c + 1;
    }
}

/* An optimal path from (m, n) back to (0, 0) through the tiles whose borders were kept; one work-item. At cell (i,j), a match goes back
 * along the diagonal; else a vertical difference of +1 goes up; else a vertical difference of -1 in the column before goes left; else
 * it was a substitution. `steps`: 0 match, 1 substitution, 2 symbol of a only, 3 of b only, last first; `count`: how many.
 */
__kernel void trace(__global const ulong* restrict planes, const long words, __global const uchar* restrict a, __global const uchar* restrict text,
                    __global const int* low, __global const int* high, const long m, const long n, __local ulong* mask,
                    __global const ulong* restrict kept_all, __global const int* slots, __global const int* slot_begin,
                    __global ulong* restrict border, __global ulong* restrict record, __global uchar* restrict steps, __global long* count) {
    long row = m, column = n, at = 0;
    int s = (m - 1) / ROWS, c = (n - 1) / WIDTH;
    while (row > 0 && column > 0) {
        const int slot = s < low[c] || s > high[c] ? -1 : slots[slot_begin[c] + s - low[c]];
        if (slot < 0) break; /* cannot be; the host sees that the path is not whole */
        const long top = (long)s * ROWS, x = (long)c * WIDTH;
        const int width = (int)(n - x < WIDTH ? n - x : WIDTH), blocks = (width + 63) / 64;
        __global const ulong* kept = kept_all + (long)slot * KEPT_WORDS;
        for (int w = 0; w < KEPT_WORDS; w++) border[w] = kept[w];
        sweep_tile(planes, words, (long)s * WORDS, text + x, width, border, border + WORDS, border + 2 * WORDS,
                   border + 2 * WORDS + WIDTH / 64, mask, 1, record);
        int i = (int)(row - top), j = (int)(column - x);
        while (i > 0 && j > 0) {
            if (a[top + i - 1] == text[x + j - 1]) {
                steps[at++] = 0;
                i--;
                j--;
                continue;
            }
            const int w = (i - 1) >> 6, b = (i - 1) & 63;
            if (record[(long)(2 * (j - 1 + w)) * WORDS + w] >> b & 1) {
                steps[at++] = 2;
                i--;
                continue;
            }
            const ulong before = j > 1 ? record[(long)(2 * (j - 2 + w) + 1) * WORDS + w] : kept[WORDS + w];
            j--;
            if (before >> b & 1)
                steps[at++] = 3;
            else {
                steps[at++] = 1;
                i--;
            }
        }
        /* on a border: to the tile beyond it, or along it where that one was not computed */
        const int left = c > 0 && s >= low[c - 1] && s <= high[c - 1] && slots[slot_begin[c - 1] + s - low[c - 1]] >= 0;
        const int above = s > 0 && s - 1 >= low[c] && slots[slot_begin[c] + s - 1 - low[c]] >= 0;
        if (j == 0 && i > 0) {
            if (left) c--;
            else
                for (; i > 0; i--) steps[at++] = 2;
        } else if (i == 0 && j > 0) {
            if (above) s--;
            else
                for (; j > 0; j--) steps[at++] = 3;
        }
        if (i == 0 && j == 0) {
            const int both = s > 0 && c > 0 && s - 1 >= low[c - 1] && s - 1 <= high[c - 1] && slots[slot_begin[c - 1] + s - 1 - low[c - 1]] >= 0;
            if (both || !above) c--;
            if (both || above) s--;
        }
        row = top + i;
        column = x + j;
        if (s < 0 || c < 0) break;
    }
    for (; row > 0; row--) steps[at++] = 2;
    for (; column > 0; column--) steps[at++] = 3;
    *count = at;
}

/* Bit planes of 64 symbols; symbols after the end are anything, because no row depends on a later one. */
__kernel void pack(__global const uchar* restrict symbols, const long words, __global ulong* restrict planes) {
    const long word = get_global_id(0);
    for (int p = 0; p < PLANES; p++) planes[p * words + word] = 0;
    for (int b = 0; b < 64; b += 8) {
        const ulong x = *(const __global ulong_at*)(symbols + word * 64 + b);
        for (int p = 0; p < PLANES; p++) /* the multiplication collects bit p of 8 bytes in the top byte */
            planes[p * words + word] |= ((((x >> p) & 0x0101010101010101UL) * 0x0102040810204080UL) >> 56) << b;
    }
}
