/* Batched IDA* in C, on one thread: the search of solver/engine/vector_round_kernels.py, written by hand.
 *
 * compare.py compiles this file for one table file and runs it on an input file, which holds the arrays of the engine.
 * The output is one line per threshold: board, threshold, generated, expanded, found. The last line is the processor
 * time of the search in seconds, without reading the input. Generated and expanded nodes equal those of the engine.
 *
 * The stack is a structure of arrays. A round takes up to 64 nodes from its top and runs these stages:
 *   list     the allowed moves, horizontal and vertical ones in separate lists
 *   look up  per sum, the bit addresses of the units that change, and their prefetches
 *   read     the bits; children that exceed the threshold are dropped
 *   push     the other children, those whose distances rose first
 *
 * A vector has 16 lanes of 32 bits. With AVX-512 it is one register. Elsewhere the same stages use arrays of 16 words.
 * Everything that a round reads or writes is in huge pages if the system grants them.
 *
 * Macros that compare.py defines: ALLOWED_SHIFT, BLANK_SHIFT, N_CELLS, N_SUMS, N_UNITS (of a sum), FAR_H and FAR_V
 * (masks of the sums in whose view a horizontal or a vertical move jumps over tiles). PROFILE: print the processor's
 * ticks of each stage.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#if defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__ && defined __AVX512VPOPCNTDQ__
#define HAS_AVX512 1
#include <immintrin.h>
#else
#define HAS_AVX512 0
#endif

#define INLINE static inline __attribute__((always_inline))

static void fail(const char *problem) {
    fprintf(stderr, "search.c: %s\n", problem);
    exit(1);
}

/* ------------------------------------------------------------------------------------------------ vectors */

enum { LANES = 16 };
typedef uint32_t vec __attribute__((vector_size(64)));
typedef uint32_t loose_vec __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t mask; /* bit i: lane i */

INLINE vec splat(uint32_t x) { return (vec){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x}; }
INLINE vec load(const uint32_t *from) { return *(const loose_vec *)from; }
INLINE void store(uint32_t *to, vec x) { *(loose_vec *)to = x; }
INLINE int count(mask m) { return __builtin_popcount(m); }
/* Return the mask of the first n lanes; n may be 0 or less, or more than 16. */
INLINE mask first_lanes(long n) { return (mask)(n >= LANES ? 0xffff : n <= 0 ? 0 : (1u << n) - 1); }

#if HAS_AVX512

INLINE __m512i raw(vec x) { return (__m512i)x; }
INLINE mask test(vec a, vec b) { return _mm512_test_epi32_mask(raw(a), raw(b)); }
INLINE mask less(vec a, vec b) { return _mm512_cmplt_epu32_mask(raw(a), raw(b)); }
INLINE vec where(mask m, vec a, vec b) { return (vec)_mm512_mask_mov_epi32(raw(b), m, raw(a)); }
INLINE vec popcounts(vec x) { return (vec)_mm512_popcnt_epi32(raw(x)); }
INLINE vec compress(vec x, mask m) { return (vec)_mm512_maskz_compress_epi32(m, raw(x)); }
INLINE vec shift_left(vec x, vec n) { return (vec)_mm512_sllv_epi32(raw(x), raw(n)); }
INLINE vec shift_right(vec x, vec n) { return (vec)_mm512_srlv_epi32(raw(x), raw(n)); }
/* Return table[index & 15]. */
INLINE vec take16(const uint32_t *table, vec index) {
    return (vec)_mm512_permutexvar_epi32(raw(index), raw(load(table)));
}
/* Return table[index & 63]. */
INLINE vec take64(const uint32_t *table, vec index) {
    __m512i low = _mm512_permutex2var_epi32(raw(load(table)), raw(index), raw(load(table + 16)));
    __m512i high = _mm512_permutex2var_epi32(raw(load(table + 32)), raw(index), raw(load(table + 48)));
    return (vec)_mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(raw(index), _mm512_set1_epi32(32)), high);
}
INLINE vec gather_words(const void *base, vec index) { return (vec)_mm512_i32gather_epi32(raw(index), base, 4); }
INLINE vec gather_halves(const void *base, vec index) {
    return (vec)_mm512_and_si512(_mm512_i32gather_epi32(raw(index), base, 2), _mm512_set1_epi32(0xffff));
}

#else

#define EACH for (int i = 0; i < LANES; i++)
INLINE mask test(vec a, vec b) { mask m = 0; EACH m |= (mask)(((a[i] & b[i]) != 0) << i); return m; }
INLINE mask less(vec a, vec b) { mask m = 0; EACH m |= (mask)((a[i] < b[i]) << i); return m; }
INLINE vec where(mask m, vec a, vec b) { vec x; EACH x[i] = m >> i & 1 ? a[i] : b[i]; return x; }
INLINE vec popcounts(vec x) { EACH x[i] = (uint32_t)__builtin_popcount(x[i]); return x; }
INLINE vec compress(vec x, mask m) {
    uint32_t kept[LANES] = {0};
    int n = 0;
    EACH { kept[n & 15] = x[i]; n += m >> i & 1; }
    return load(kept);
}
INLINE vec shift_left(vec x, vec n) { EACH x[i] = n[i] < 32 ? x[i] << n[i] : 0; return x; }
INLINE vec shift_right(vec x, vec n) { EACH x[i] = n[i] < 32 ? x[i] >> n[i] : 0; return x; }
INLINE vec take16(const uint32_t *table, vec index) { EACH index[i] = table[index[i] & 15]; return index; }
INLINE vec take64(const uint32_t *table, vec index) { EACH index[i] = table[index[i] & 63]; return index; }
INLINE vec gather_words(const void *base, vec index) {
    EACH index[i] = ((const uint32_t *)base)[index[i]];
    return index;
}
INLINE vec gather_halves(const void *base, vec index) {
    EACH index[i] = ((const uint16_t *)base)[index[i]];
    return index;
}

#endif

INLINE vec iota(void) { return (vec){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; }

/* ------------------------------------------------------------------------------------------------ layout */

/* The columns of a node and the fields of its words are those of solver/engine/layout.py. */
enum { STATE, LINK, LEFT };
enum { UP, LEFT_MOVE, RIGHT, DOWN };
enum { BATCH = 64, SUM_COLUMNS = N_UNITS / 2 + N_UNITS };
enum { FIRST_SUM_COLUMN = LEFT + 1 + (N_SUMS > 2 ? (N_SUMS - 2 + 3) / 4 : 0) };
enum { N_COLUMNS = FIRST_SUM_COLUMN + N_SUMS * SUM_COLUMNS };
enum { FSM_MASK = (1 << ALLOWED_SHIFT) - 1, ONE_MOVE = 1 << 16 };
enum { MOVE_SHIFT = 6, ROSE_SHIFT = 8, EXPECTED_SHIFT = 31 };
enum { VALUE_SHIFT = 24, ONE_VALUE = 1 << VALUE_SHIFT, DIGITS_AND_VALUE = (1 << (VALUE_SHIFT + 2)) - 1 };
enum { BLOCK_BITS = 16, JUMPS_UPWARD = 1 << 13, MAX_SLACK = 255 };
enum { ROSE_MASK = ((1 << N_SUMS) - 1) << ROSE_SHIFT };
/* Nodes that the stack has room for: thresholds of 320 moves. An odd number of vectors, for the caches' sake. */
enum { CAPACITY = (3 * BATCH * 320 / LANES | 1) * LANES, ROUND_ROOM = 5 * BATCH };
enum { MAX_CHILDREN = 4 * BATCH + 2 * LANES, N_LINKS = 1 << 17 };

/* Whether sum s is far for list f: 0 for horizontal, 1 for vertical moves. */
#define IS_FAR(f, s) ((((f) ? FAR_V : FAR_H) >> (s)) & 1)
#define CELL_SETS(s) (FIRST_SUM_COLUMN + (s)*SUM_COLUMNS)
#define UNIT_DIGITS(s) (CELL_SETS(s) + N_UNITS / 2)
#define SLACK_COLUMN(s) ((s) < 2 ? LEFT : LEFT + 1 + ((s)-2) / 4)
#define SLACK_SHIFT(s) (8 * ((s) < 2 ? (s) : ((s)-2) % 4))

struct list {
    uint32_t child[MAX_CHILDREN], address[MAX_CHILDREN], digits[N_SUMS][MAX_CHILDREN];
};

/* Repeat the first child behind the n children of a list: stages compute whole vectors, and an address must not lie
 * outside the table.
 */
INLINE void pad(struct list *list, long n) { store(list->child + n, splat(list->child[0])); }

/* What a round reads and writes, apart from the table, in one piece of memory: huge pages hold it. */
struct memory {
    uint64_t sets[1 << N_CELLS];
    uint16_t jumps[2 * JUMPS_UPWARD + 64];
    uint32_t stack[N_COLUMNS][CAPACITY];
    uint32_t batch[N_COLUMNS][BATCH];
    struct list lists[2], rose, fell;
    uint32_t legal[64], steps[16], frame[N_SUMS][16], frame_steps[N_SUMS][16];
    uint32_t table_bit[N_UNITS], row_bits[N_UNITS], first_digit[N_UNITS];
    uint32_t all_cells, between;
    uint32_t links[N_LINKS + 2 * BATCH], new_index[N_LINKS + 2 * BATCH], kept[N_LINKS + 2 * BATCH];
    uint32_t chain[1024];
};
static struct memory *at;
static const uint32_t *successors;
static uint8_t *table;

#ifdef PROFILE
#include <x86intrin.h>
static uint64_t ticks[8], last_tick, n_profiled;
INLINE void end_stage(int i) {
    uint64_t now = __rdtsc();
    ticks[i] += now - last_tick;
    last_tick = now;
}
#define STAGE(i) end_stage(i)
#else
#define STAGE(i) (void)0
#endif

/* ------------------------------------------------------------------------------------------------ stages */

/* Append the children of the batch by one move to a list. Return its new length. */
INLINE long list_move(const vec moves[BATCH / LANES], long n, uint32_t move, struct list *list, long n_children) {
    for (long i = 0; i < n; i += LANES) {
        mask is_there = test(moves[i / LANES], splat(1u << move));
        store(list->child + n_children, compress((iota() + (uint32_t)i) | (move << MOVE_SHIFT), is_there));
        n_children += count(is_there);
    }
    return n_children;
}

/* Copy n nodes into the batch and list their children, move by move. Return the lengths of both lists. */
INLINE void list_children(long n, long top, long *n_children) {
    vec moves[BATCH / LANES];
    for (long i = 0; i < n; i += LANES) {
        for (int column = 0; column < N_COLUMNS; column++)
            store(at->batch[column] + i, load(at->stack[column] + top + i));
        vec state = load(at->batch[STATE] + i);
        vec allowed = (state >> ALLOWED_SHIFT) & take16(at->legal, state >> BLANK_SHIFT);
        moves[i / LANES] = where(first_lanes(n - i), allowed, splat(0));
    }
    n_children[0] = list_move(moves, n, RIGHT, at->lists, list_move(moves, n, LEFT_MOVE, at->lists, 0));
    n_children[1] = list_move(moves, n, DOWN, at->lists + 1, list_move(moves, n, UP, at->lists + 1, 0));
    pad(at->lists, n_children[0]);
    pad(at->lists + 1, n_children[1]);
}

/* Return the block of each cell set in its table, with the blank on a cell. */
INLINE vec blocks(vec cells, vec cell) {
    vec shift = cell * 3 + BLOCK_BITS;
#if HAS_AVX512
    __m512i low = _mm512_i32gather_epi64(_mm512_castsi512_si256(raw(cells)), at->sets, 8);
    __m512i high = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(raw(cells), 1), at->sets, 8);
    __m512i low_shift = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(raw(shift)));
    __m512i high_shift = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(raw(shift), 1));
    /* One permutation joins the lower halves of both vectors. */
    __m512i even = raw((vec){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
    vec first = (vec)_mm512_permutex2var_epi32(low, even, high);
    low = _mm512_srlv_epi64(low, low_shift);
    high = _mm512_srlv_epi64(high, high_shift);
    vec region = (vec)_mm512_permutex2var_epi32(low, even, high);
#else
    vec first, region;
    EACH {
        uint64_t entry = at->sets[cells[i]];
        first[i] = (uint32_t)entry;
        region[i] = (uint32_t)(entry >> shift[i]);
    }
#endif
    return (first & ((1 << BLOCK_BITS) - 1)) + (region & 7);
}

/* Return the rank of eight Lehmer digits of three bits, the first at bit 0. */
INLINE vec rank(vec digits) {
#if HAS_AVX512 && defined __AVX512VBMI__ && defined __AVX512VNNI__
    /* Digits 0 to 3 and 4 to 7 of each word become bytes; their products with the weights are added. */
    __m512i low_fields = _mm512_set1_epi64(0x2926232009060300), high_fields = _mm512_set1_epi64(0x35322f2c15120f0c);
    __m512i seven = _mm512_set1_epi8(7);
    __m512i low = _mm512_and_si512(_mm512_multishift_epi64_epi8(low_fields, raw(digits)), seven);
    __m512i high = _mm512_and_si512(_mm512_multishift_epi64_epi8(high_fields, raw(digits)), seven);
    vec first = (vec)_mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(0x01051ed2), low);
    return (vec)_mm512_dpbusd_epi32(raw(first * 24), _mm512_set1_epi32(0x00010206), high);
#else
    vec pairs = ((digits & 7) | ((digits << 13) & 0x70000)) * (5040u << 16 | 720);
    pairs += (((digits >> 6) & 7) | ((digits << 7) & 0x70000)) * (120 << 16 | 24);
    pairs += (((digits >> 12) & 7) | ((digits << 1) & 0x70000)) * (6 << 16 | 2);
    return (pairs >> 16) + ((digits >> 18) & 7);
#endif
}

/* Compute the bit addresses of a list's children in a sum, and prefetch them. */
INLINE void look_up(int f, int s, struct list *list, long n) {
    for (long i = 0; i < n; i += LANES) {
        vec child = load(list->child + i), state = take64(at->batch[STATE], child);
        vec blank = take16(at->frame[s], state >> BLANK_SHIFT);
        vec cell = blank + take16(at->frame_steps[s], child >> MOVE_SHIFT);
        vec blank_bit = shift_left(splat(1), blank), cell_bit = shift_left(splat(1), cell);
        /* The unit that the tile belongs to: the first if it is none of the others. */
        vec digits = take64(at->batch[UNIT_DIGITS(s)], child);
        vec table_bit = splat(at->table_bit[0]), row_bits = splat(at->row_bits[0]);
        vec first_digit = splat(at->first_digit[0]), rest = blank_bit ^ at->all_cells, cells = rest, pair = rest;
        mask is_of_others = 0;
        for (int unit = 1; unit < N_UNITS; unit++) {
            if (unit & 1) pair = take64(at->batch[CELL_SETS(s) + (unit >> 1)], child);
            vec set = pair & 0xffff;
            pair >>= 16;
            rest ^= set;
            mask is_of_unit = test(set, cell_bit);
            is_of_others |= is_of_unit;
            cells = where(is_of_unit, set, cells);
            digits = where(is_of_unit, take64(at->batch[UNIT_DIGITS(s) + unit], child), digits);
            table_bit = where(is_of_unit, splat(at->table_bit[unit]), table_bit);
            row_bits = where(is_of_unit, splat(at->row_bits[unit]), row_bits);
            first_digit = where(is_of_unit, splat(at->first_digit[unit]), first_digit);
        }
        cells = where(is_of_others, cells, rest);
        if (IS_FAR(f, s)) { /* The tile jumps over the tiles of its unit between the two cells. */
            mask is_upward = less(cell, blank);
            vec low = where(is_upward, cell, blank), below = where(is_upward, cell_bit, blank_bit) - 1;
            vec place = popcounts(cells & below) * 3 + first_digit;
            vec jumped = popcounts(shift_right(cells, low + 1) & at->between) * 3;
            vec marker = shift_left(splat(8), jumped);
            vec index = (shift_right(digits, place) & (marker - 1)) | marker;
            index = where(is_upward, index | JUMPS_UPWARD, index);
            digits ^= shift_left(gather_halves(at->jumps, index), place);
            store(list->digits[s] + i, digits);
        }
        vec block = blocks(cells ^ cell_bit ^ blank_bit, cell);
        store(list->address + i, table_bit + block * row_bits + rank(digits));
        /* The bit that says that the distance rose is that of distance + 1. */
        vec expected = (digits >> (VALUE_SHIFT + 1)) << EXPECTED_SHIFT;
        store(list->child + i, (child & ((1u << EXPECTED_SHIFT) - 1)) | expected);
    }
    /* A loop of its own is faster than prefetches between the vectors. The last four may exceed n; see `pad`. */
    for (long i = 0; i < n; i += 4)
        for (int k = 0; k < 4; k++) __builtin_prefetch(table + (list->address[i + k] >> 3));
}

/* Return 16 children with a bit for those whose distance rose in sum s; `stays`: those within the threshold. */
INLINE vec judge(int s, const struct list *list, long i, long n, mask *stays) {
    vec child = load(list->child + i), address = load(list->address + i);
    vec bit = shift_right(gather_words(table, address >> 5), address & 31);
    mask fell = test(bit ^ (child >> EXPECTED_SHIFT), splat(1));
    vec left = take64(at->batch[SLACK_COLUMN(s)], child);
    *stays = first_lanes(n - i) & (fell | test(left, splat((uint32_t)MAX_SLACK << SLACK_SHIFT(s))));
    return where(fell, child, child | (1u << (ROSE_SHIFT + s)));
}

/* Drop the children that exceed the threshold in sum s. Return how many are left. `known`: mask of the sums whose
 * digits the list holds.
 */
INLINE long read_and_drop(int s, struct list *list, long n, int known) {
    long n_left = 0;
    for (long i = 0; i < n; i += LANES) {
        mask stays;
        vec child = judge(s, list, i, n, &stays);
        store(list->child + n_left, compress(child, stays));
        for (int k = 0; k < N_SUMS; k++)
            if (known >> k & 1) store(list->digits[k] + n_left, compress(load(list->digits[k] + i), stays));
        n_left += count(stays);
    }
    pad(list, n_left);
    return n_left;
}

/* Read the last sum, and append the children that stay to the lists `rose` and `fell`. */
INLINE void read_and_sort(int s, struct list *list, long n, int known, long *n_rose, long *n_fell) {
    for (long i = 0; i < n; i += LANES) {
        mask stays;
        vec child = judge(s, list, i, n, &stays);
        mask fell = stays & less(popcounts(child & ROSE_MASK) * 2, splat(N_SUMS)), rose = stays & (mask)~fell;
        store(at->rose.child + *n_rose, compress(child, rose));
        store(at->fell.child + *n_fell, compress(child, fell));
        for (int k = 0; k < N_SUMS; k++)
            if (known >> k & 1) {
                vec digits = load(list->digits[k] + i);
                store(at->rose.digits[k] + *n_rose, compress(digits, rose));
                store(at->fell.digits[k] + *n_fell, compress(digits, fell));
            }
        *n_rose += count(rose);
        *n_fell += count(fell);
    }
}

/* Write a list of children to the stack. Return whether one of them has no moves left. */
INLINE int push(const struct list *list, long n, long top, uint32_t first_link) {
    int has_ended = 0;
    for (long i = 0; i < n; i += LANES) {
        vec child = load(list->child + i), move = (child >> MOVE_SHIFT) & 3;
        long to = top + i;
        mask is_horizontal = test(move ^ (move >> 1), splat(1));
        vec state = take64(at->batch[STATE], child);
        vec index = ((state & FSM_MASK) << 2) | move;
        vec cell_now = (state >> BLANK_SHIFT) + take16(at->steps, move);
        store(at->stack[STATE] + to, gather_words(successors, index) | (cell_now << BLANK_SHIFT));
        store(at->stack[LINK] + to, (((child & (BATCH - 1)) + first_link) << 2) | move);
        vec left = take64(at->batch[LEFT], child) - ONE_MOVE;
        left -= (child >> ROSE_SHIFT) & 1;
        if (N_SUMS > 1) left -= ((child >> (ROSE_SHIFT + 1)) & 1) << 8;
        store(at->stack[LEFT] + to, left);
        has_ended |= first_lanes(n - i) & less(left, splat(ONE_MOVE));
        for (int column = LEFT + 1; column < FIRST_SUM_COLUMN; column++) {
            vec slacks = take64(at->batch[column], child);
            for (int k = 0; k < 4; k++)
                slacks -= ((child >> (ROSE_SHIFT + 2 + 4 * (column - LEFT - 1) + k)) & 1) << (8 * k);
            store(at->stack[column] + to, slacks);
        }
        for (int s = 0; s < N_SUMS; s++) {
            vec blank = take16(at->frame[s], state >> BLANK_SHIFT);
            vec cell = blank + take16(at->frame_steps[s], move);
            vec cell_bit = shift_left(splat(1), cell), both = cell_bit | shift_left(splat(1), blank);
            vec change = where(test(child, splat(1u << (ROSE_SHIFT + s))), splat(ONE_VALUE), splat(-ONE_VALUE));
            mask is_of_first = 0xffff;
            vec pair = both, far = both;
            if (IS_FAR(0, s) || IS_FAR(1, s)) far = load(list->digits[s] + i);
            for (int unit = 1; unit <= N_UNITS; unit++) {
                int column = UNIT_DIGITS(s) + unit % N_UNITS; /* the first unit is the last here */
                mask is_of_unit = is_of_first;
                if (unit < N_UNITS) {
                    if (unit & 1) pair = take64(at->batch[CELL_SETS(s) + ((unit - 1) >> 1)], child);
                    int shift = unit & 1 ? 0 : 16;
                    is_of_unit = test(pair >> shift, cell_bit);
                    is_of_first &= (mask)~is_of_unit;
                    pair = where(is_of_unit, pair ^ (both << shift), pair);
                    if (!(unit & 1) || unit == N_UNITS - 1)
                        store(at->stack[CELL_SETS(s) + ((unit - 1) >> 1)] + to, pair);
                }
                vec digits = take64(at->batch[column], child), after = digits;
                if (IS_FAR(0, s)) after = where(is_horizontal, far, after);
                if (IS_FAR(1, s)) after = where(is_horizontal, after, far);
                after = (after + change) & DIGITS_AND_VALUE;
                store(at->stack[column] + to, where(is_of_unit, after, digits));
            }
        }
    }
    return has_ended;
}

/* ------------------------------------------------------------------------------------------------ search */

/* Keep only the links that lead to nodes of the stack. Return their number. */
static uint32_t keep_links(long top, uint32_t n_links) {
    uint32_t n_kept = 1;
    memset(at->new_index, 0, n_links * sizeof at->new_index[0]);
    for (long node = 0; node < top; node++) {
        uint32_t word = at->stack[LINK][node], n_chain = 0;
        for (uint32_t index = word >> 2; index && !at->new_index[index]; index = at->links[index] >> 2)
            at->chain[n_chain++] = index;
        while (n_chain) {
            uint32_t index = at->chain[--n_chain], link = at->links[index];
            at->kept[n_kept] = at->new_index[link >> 2] << 2 | (link & 3);
            at->new_index[index] = n_kept++;
        }
        at->stack[LINK][node] = at->new_index[word >> 2] << 2 | (word & 3);
    }
    memcpy(at->links + 1, at->kept + 1, (n_kept - 1) * sizeof at->links[0]);
    return n_kept;
}

/* Append a list of children to another one. */
INLINE void append(struct list *list, long n, const struct list *other, long n_other) {
    for (long i = 0; i < n_other; i += LANES) {
        store(list->child + n + i, load(other->child + i));
        for (int s = 0; s < N_SUMS; s++)
            if ((FAR_H | FAR_V) >> s & 1) store(list->digits[s] + n + i, load(other->digits[s] + i));
    }
}

/* Return the k-th sum that a list is looked up in: near sums are the first. */
INLINE int nth_sum(int f, int k) {
    for (int is_far = 0; is_far < 2; is_far++)
        for (int s = 0; s < N_SUMS; s++)
            if (IS_FAR(f, s) == is_far && k-- == 0) return s;
    return 0;
}

struct counters {
    uint64_t generated, expanded;
    uint32_t found_link;
};

/* Search below the node on the stack. Return whether a goal was found. */
static int search(uint32_t batch, struct counters *counters) {
    long top = 1;
    uint32_t n_links = 1;
    while (top > 0) {
        STAGE(7);
        if (top + ROUND_ROOM > CAPACITY) fail("the stack is full");
        if (n_links + BATCH + LANES > N_LINKS) n_links = keep_links(top, n_links);
        long n = top < batch ? top : batch, n_children[2], n_rose = 0, n_fell = 0;
        top -= n;
        for (long i = 0; i < n; i += LANES) store(at->links + n_links + i, load(at->stack[LINK] + top + i));
        list_children(n, top, n_children);
        counters->generated += (uint64_t)(n_children[0] + n_children[1]);
        counters->expanded += (uint64_t)n;
#ifdef PROFILE
        n_profiled += (uint64_t)(n_children[0] + n_children[1]);
#endif
        STAGE(0);
        /* While the bits of one list are on their way, the children of the other are looked up. */
        int known[2] = {0, 0}, last = N_SUMS - 1;
        for (int f = 0; f < 2; f++) look_up(f, nth_sum(f, 0), at->lists + f, n_children[f]);
        STAGE(1);
#pragma GCC unroll 8
        for (int k = 0; k < last; k++)
#pragma GCC unroll 2
            for (int f = 0; f < 2; f++) {
                known[f] |= IS_FAR(f, nth_sum(f, k)) << nth_sum(f, k);
                n_children[f] = read_and_drop(nth_sum(f, k), at->lists + f, n_children[f], known[f]);
                STAGE(2);
                look_up(f, nth_sum(f, k + 1), at->lists + f, n_children[f]);
                STAGE(3);
            }
#pragma GCC unroll 2
        for (int f = 0; f < 2; f++) {
            known[f] |= IS_FAR(f, nth_sum(f, last)) << nth_sum(f, last);
            read_and_sort(nth_sum(f, last), at->lists + f, n_children[f], known[f], &n_rose, &n_fell);
        }
        append(&at->rose, n_rose, &at->fell, n_fell);
        STAGE(4);
        int has_ended = push(&at->rose, n_rose + n_fell, top, n_links);
        STAGE(5);
        long first = top;
        top += n_rose + n_fell;
        n_links += (uint32_t)n;
        if (has_ended)
            for (long node = first; node < top; node++)
                if (at->stack[LEFT][node] < ONE_MOVE) {
                    counters->found_link = at->stack[LINK][node];
                    return 1;
                }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------ input and output */

/* Return cleared memory that starts at a huge page, in huge pages if the system grants them. */
static void *private_memory(size_t n_bytes) {
    const size_t page = (size_t)1 << 21;
    n_bytes = (n_bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, n_bytes);
    if (memory == NULL) fail("there is not enough memory");
#ifdef MADV_HUGEPAGE
    madvise(memory, n_bytes, MADV_HUGEPAGE);
#endif
    return memset(memory, 0, n_bytes);
}

/* Return the next array of the input: its size in bytes, then its content. */
static void *read_array(FILE *file, int64_t *n_bytes) {
    int64_t size;
    if (fread(&size, sizeof size, 1, file) != 1) fail("the input is truncated");
    char *array = malloc((size_t)size + 1);
    if (array == NULL || fread(array, 1, (size_t)size, file) != (size_t)size) fail("the input is truncated");
    array[size] = 0;
    if (n_bytes != NULL) *n_bytes = size;
    return array;
}

/* Copy the next array of the input, which must have the given size. */
static void read_into(FILE *file, void *to, size_t size) {
    int64_t n_bytes;
    void *array = read_array(file, &n_bytes);
    if ((size_t)n_bytes != size) fail("an array of the input has another size");
    memcpy(to, array, size);
    free(array);
}

/* Read the whole table file into memory; kernels may read some blocks beyond its end. */
static uint8_t *read_table(const char *path) {
    const size_t room = 1 << 20;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail("the table file cannot be read");
    size_t n_bytes = (size_t)ftell(file);
    uint8_t *memory = private_memory(n_bytes + room);
    rewind(file);
    if (fread(memory, 1, n_bytes, file) != n_bytes) fail("the table file cannot be read");
    fclose(file);
    return memory;
}

/* Return whether the moves of a path lead from a board to the goal. */
static int leads_to_goal(const uint8_t *board, const uint8_t *goal, uint32_t link, long length) {
    uint8_t cells[N_CELLS];
    long blank = 0, n = 0;
    for (; link >> 2; link = at->links[link >> 2]) at->chain[n++] = link & 3;
    memcpy(cells, board, N_CELLS);
    while (cells[blank] != 0) blank++;
    if (n != length) return 0;
    while (n) {
        long cell = blank + (int32_t)at->steps[at->chain[--n]];
        if (cell < 0 || cell >= N_CELLS) return 0;
        cells[blank] = cells[cell];
        cells[cell] = 0;
        blank = cell;
    }
    return memcmp(cells, goal, N_CELLS) == 0;
}

/* Search one threshold of a board. Return whether a goal was found. */
static int search_root(
    uint32_t batch, const uint32_t *root, const int64_t *sums, long threshold, struct counters *counters
) {
    if (threshold == 0) { /* All children of a board that is not the goal exceed it. */
        uint32_t moves = root[STATE] >> ALLOWED_SHIFT & at->legal[root[STATE] >> BLANK_SHIFT & 63];
        counters->generated = (uint64_t)__builtin_popcount(moves & 15);
        counters->expanded = 1;
        return 0;
    }
    for (int column = 0; column < N_COLUMNS; column++) at->stack[column][0] = root[column];
    at->stack[LINK][0] = 0;
    at->stack[LEFT][0] = (uint32_t)threshold * ONE_MOVE;
    for (int s = 0; s < N_SUMS; s++) {
        long slack = (threshold - (long)sums[s]) / 2;
        if (slack > MAX_SLACK) fail("a threshold is too far above a sum");
        at->stack[SLACK_COLUMN(s)][0] |= (uint32_t)slack << SLACK_SHIFT(s);
    }
    return search(batch, counters);
}

struct result {
    long board, threshold;
    uint64_t generated, expanded;
    int is_found;
};

int main(int n_arguments, char **arguments) {
    if (n_arguments != 2) fail("usage: search INPUT");
    FILE *file = fopen(arguments[1], "rb");
    if (file == NULL) fail("the input cannot be read");
    at = private_memory(sizeof *at);
    int64_t n_bytes, scalars[5];
    read_into(file, scalars, sizeof scalars);
    uint32_t batch = (uint32_t)scalars[0];
    at->all_cells = (uint32_t)scalars[2];
    at->between = (uint32_t)scalars[3];
    long n_boards = (long)scalars[4];
    if (scalars[1] != N_COLUMNS || batch > BATCH) fail("the input is for other sizes");
    read_into(file, at->table_bit, sizeof at->table_bit);
    read_into(file, at->row_bits, sizeof at->row_bits);
    read_into(file, at->first_digit, sizeof at->first_digit);
    read_into(file, at->frame, sizeof at->frame);
    read_into(file, at->frame_steps, sizeof at->frame_steps);
    read_into(file, at->legal, sizeof at->legal);
    read_into(file, at->steps, sizeof at->steps);
    read_into(file, at->sets, sizeof at->sets);
    read_into(file, at->jumps, 4 * JUMPS_UPWARD);
    void *fsm = read_array(file, &n_bytes);
    successors = memcpy(private_memory((size_t)n_bytes), fsm, (size_t)n_bytes);
    uint8_t goal[N_CELLS];
    read_into(file, goal, sizeof goal);
    const uint8_t *boards = read_array(file, NULL);
    const uint32_t *roots = read_array(file, NULL);
    const int64_t *sums = read_array(file, NULL);
    table = read_table(read_array(file, NULL));
    fclose(file);
    /* `take16` looks at four bits of a move and of what is above it. */
    for (int i = 4; i < 16; i++) {
        at->steps[i] = at->steps[i & 3];
        for (int s = 0; s < N_SUMS; s++) at->frame_steps[s][i] = at->frame_steps[s][i & 3];
    }

    struct result *results = NULL;
    size_t n_results = 0, room = 0;
    clock_t start = clock();
    for (long board = 0; board < n_boards; board++) {
        const int64_t *root_sums = sums + board * N_SUMS;
        long threshold = 0;
        for (int s = 0; s < N_SUMS; s++) threshold = root_sums[s] > threshold ? (long)root_sums[s] : threshold;
        for (int is_found = 0; !is_found; threshold += 2) {
            struct counters counters = {0, 0, 0};
            is_found = search_root(batch, roots + board * N_COLUMNS, root_sums, threshold, &counters);
            if (is_found && !leads_to_goal(boards + board * N_CELLS, goal, counters.found_link, threshold))
                fail("a solution does not lead to the goal");
            if (n_results == room) results = realloc(results, (room = 2 * room + 1024) * sizeof *results);
            if (results == NULL) fail("there is not enough memory");
            results[n_results++] = (struct result){board, threshold, counters.generated, counters.expanded, is_found};
        }
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    for (struct result *at_end = results + n_results, *r = results; r < at_end; r++)
        printf("%ld %ld %" PRIu64 " %" PRIu64 " %d\n", r->board, r->threshold, r->generated, r->expanded, r->is_found);
    printf("seconds %.6f\n", seconds);
#ifdef PROFILE
    static const char *const names[] = {
        "list", "look up first sum", "read others", "look up others", "read last sum", "push",
    };
    for (int i = 0; i < 6; i++)
        fprintf(stderr, "%-18s %6.2f ticks per generated node\n", names[i], (double)ticks[i] / (double)n_profiled);
#endif
    return 0;
}
