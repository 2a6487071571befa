/* The search of solver/ida_star/ida_star_kernels.py in C: what numba is measured by. It is part of no package.

   compare.py compiles this for one database (-DN_CELLS -DN_SUMS -DN_UNITS), writes the input that `read_input`
   describes, and checks that every threshold has the nodes that numba has. Names are those of the kernel.

   search INPUT dfs | lanes     prints a line for each threshold: board, threshold, generated, expanded, goal found;
                                and one for each board: its number, "seconds", the seconds of processor time.

   dfs      the textbook's recursion: a node's children are asked and judged at once.
   lanes    the kernel's turns: values are asked for in one turn, and are there in the next. */

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { N_MOVES = 4, VALUE_SHIFT = 56, LOW_BITS = (N_CELLS + 1) / 2, HIGH_BITS = N_CELLS - LOW_BITS };
#define STATE_MASK ((UINT64_C(1) << VALUE_SHIFT) - 1)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

struct unit {
    uint64_t table, row_bits, entry_shift, low, high, is_bits, blocks, regions, prefix, suffix, label_bits, prefix_bits,
        n_suffixes;
};

struct edge {
    uint64_t both_cells, cells_between, cells_below, is_upward, left_cell;
};

/* What never changes during a search: `SearchTables`. There is but one, so that no pointer to it is passed around. */
static struct {
    const uint8_t *memory;
    const int32_t *set_ranks;
    const uint16_t *order_ranks;
    const int32_t *first_block;
    const uint8_t *region_numbers;
    const int16_t (*successors)[N_MOVES];
    const uint8_t *allowed;
    struct unit units[N_UNITS];
    struct edge edges[N_SUMS][N_CELLS][N_MOVES];
    uint8_t edge_cells[N_CELLS][N_MOVES];
    uint8_t cell_moves[N_CELLS];
    uint8_t unit_of_tile[N_SUMS][N_CELLS];
    bool sum_is_bits[N_SUMS];
    int n_lanes;
    bool orders_children;
} tables;

struct node {
    uint64_t words[N_UNITS];
    int32_t sums[N_SUMS];
    int32_t blank, machine_state, untried, first_sum;
    uint8_t board[N_CELLS];
};

/* A child in one sum. The bit address becomes h once the value has been read. */
struct child {
    uint64_t word;
    union {
        uint64_t address;
        int64_t h;
    };
};

struct children {
    struct child of[N_SUMS][N_MOVES];
};

struct counts {
    int64_t generated, expanded;
};

static void fail(const char *what)
{
    fprintf(stderr, "search: %s\n", what);
    exit(1);
}

/* ---- One node ---------------------------------------------------------------------------------------------------- */

static inline uint64_t move_unit(uint64_t word, const struct unit *unit, const struct edge *edge)
{
    uint64_t label_bits = unit->label_bits;
    uint64_t shift = label_bits * __builtin_popcountll(word & edge->cells_below) + N_CELLS;
    uint64_t length = label_bits * (__builtin_popcountll(word & edge->cells_between) + 1);
    uint64_t segment_mask = (UINT64_C(1) << length) - 1;
    uint64_t segment = (word >> shift) & segment_mask;
    uint64_t right = edge->is_upward ? label_bits : length - label_bits;
    uint64_t rotated = ((segment >> right) | (segment << (length - right))) & segment_mask;
    return word ^ ((segment ^ rotated) << shift) ^ edge->both_cells;
}

static inline uint64_t unit_address(uint64_t word, const struct unit *unit, uint64_t blank)
{
    word &= STATE_MASK;
    uint64_t lower = word & ((UINT64_C(1) << LOW_BITS) - 1);
    uint64_t upper = (word >> LOW_BITS) & ((UINT64_C(1) << HIGH_BITS) - 1);
    uint64_t labels = word >> N_CELLS;
    uint64_t place = (uint64_t)tables.set_ranks[unit->low + lower] +
                     (uint64_t)tables.set_ranks[unit->high + ((__builtin_popcountll(lower) << HIGH_BITS) | upper)];
    if (unit->is_bits)
        place = (uint64_t)tables.first_block[unit->blocks + place] +
                tables.region_numbers[unit->regions + place * N_CELLS + blank];
    uint64_t before = tables.order_ranks[unit->prefix + (labels & ((UINT64_C(1) << unit->prefix_bits) - 1))];
    uint64_t after = tables.order_ranks[unit->suffix + (labels >> unit->prefix_bits)];
    uint64_t order = before * unit->n_suffixes + after;
    return unit->table + place * unit->row_bits + (order << unit->entry_shift);
}

static inline int64_t read_change(bool is_bits, uint64_t address, int64_t value_before)
{
    uint64_t byte = tables.memory[address >> 3];
    if (!is_bits)
        return (int64_t)byte - value_before;
    /* It is one more or one less, and bit 1 tells which. */
    uint64_t bit = byte >> (address & 7);
    return 1 - 2 * (int64_t)(((((uint64_t)value_before + 1) >> 1) ^ bit) & 1);
}

static inline void ask_for_children(const struct node *node, struct children *children, unsigned moves, int s)
{
    for (; moves; moves &= moves - 1) {
        int move = __builtin_ctz(moves);
        int tile = node->board[tables.edge_cells[node->blank][move]];
        int u = tables.unit_of_tile[s][tile];
        const struct unit *unit = &tables.units[u];
        const struct edge *edge = &tables.edges[s][node->blank][move];
        struct child *child = &children->of[s][move];
        child->word = move_unit(node->words[u], unit, edge);
        child->address = unit_address(child->word, unit, edge->left_cell);
        __builtin_prefetch(&tables.memory[child->address >> 3]);
    }
}

/* The untried children that are left: those whose h in sum `s` does not exceed `h_limit`; or -1 - (the move to the
   goal). A sum of 0 is the goal. */
static inline int judge_children(const struct node *node, struct children *children, unsigned moves, int s, int h_limit)
{
    int left = 0, goal = -1;
    bool is_bits = tables.sum_is_bits[s];
    for (; moves; moves &= moves - 1) {
        int move = __builtin_ctz(moves);
        struct child *child = &children->of[s][move];
        int64_t change = read_change(is_bits, child->address, child->word >> VALUE_SHIFT);
        int64_t h = node->sums[s] + change;
        child->word += (uint64_t)change << VALUE_SHIFT;
        child->h = h;
        left |= (h <= h_limit) << move;
        if (h == 0)
            goal = move;
    }
    return goal < 0 ? left : -1 - goal;
}

static inline int best_child(const struct children *children, unsigned moves)
{
    int best = 0;
    int64_t best_h = INT64_MAX;
    for (; moves; moves &= moves - 1) {
        int move = __builtin_ctz(moves);
        int64_t h = 0;
        for (int s = 0; s < N_SUMS; s++)
            h += children->of[s][move].h;
        if (h <= best_h)
            best = move, best_h = h;
    }
    return best;
}

static inline void enter_child(
    struct node *restrict new, const struct node *restrict node, const struct children *restrict children, int move)
{
    int cell = tables.edge_cells[node->blank][move];
    int tile = node->board[cell];
    memcpy(new->words, node->words, sizeof new->words);
    memcpy(new->board, node->board, sizeof new->board);
    new->board[cell] = 0;
    new->board[node->blank] = (uint8_t)tile;
    int64_t largest = -1;
    for (int s = 0; s < N_SUMS; s++) {
        int64_t h = children->of[s][move].h;
        new->words[tables.unit_of_tile[s][tile]] = children->of[s][move].word;
        new->sums[s] = (int32_t)h;
        if (h > largest)
            new->first_sum = s, largest = h;
    }
    new->blank = cell;
    new->machine_state = tables.successors[node->machine_state][move];
    new->untried = tables.allowed[new->machine_state] & tables.cell_moves[cell];
}

/* The sum that is asked `phase`-th: the largest first, then the others. */
static inline int sum_of_phase(const struct node *node, int phase)
{
    return phase == 0 ? node->first_sum : phase <= node->first_sum ? phase - 1 : phase;
}

/* ---- The textbook's depth-first search --------------------------------------------------------------------------- */

/* Whether the goal is below `node`, which is `depth` moves from the root. */
static bool search_node(const struct node *node, int depth, int threshold, struct counts *counts)
{
    struct children children;
    int untried = node->untried;
    counts->expanded++;
    counts->generated += __builtin_popcount((unsigned)untried);
    for (int phase = 0; phase < N_SUMS && untried != 0; phase++) {
        int s = sum_of_phase(node, phase);
        ask_for_children(node, &children, (unsigned)untried, s);
        untried = judge_children(node, &children, (unsigned)untried, s, threshold - depth - 1);
        if (untried < 0)
            return true;
    }
    int move = -1;
    if ((untried & (untried - 1)) && tables.orders_children)
        move = best_child(&children, (unsigned)untried);
    while (untried) {
        if (move < 0)
            move = __builtin_ctz((unsigned)untried);
        struct node child;
        enter_child(&child, node, &children, move);
        if (search_node(&child, depth + 1, threshold, counts))
            return true;
        untried ^= 1 << move;
        move = -1;
    }
    return false;
}

static bool search_depth_first(const struct node *root, int threshold, struct counts *counts)
{
    return search_node(root, 0, threshold, counts);
}

/* ---- The kernel's lanes ------------------------------------------------------------------------------------------ */

enum { IDLE = -1 };

struct row {
    struct node node;
    struct children children;
};

struct lane {
    struct row *rows;
    int phase, depth, base, shallowest;
};

/* The lane with the untried child nearest to the root, or NULL. */
static struct lane *find_work(struct lane *lanes)
{
    struct lane *best = NULL;
    for (struct lane *lane = lanes; lane < lanes + tables.n_lanes; lane++) {
        if (lane->phase == IDLE)
            continue;
        while (lane->shallowest < lane->depth && lane->rows[lane->shallowest].node.untried == 0)
            lane->shallowest++;
        if (lane->shallowest < lane->depth && (best == NULL || lane->shallowest < best->shallowest))
            best = lane;
    }
    return best;
}

/* Give an idle lane an untried child of the shallowest node of a busy one. */
static void take_over(struct lane *idle, struct lane *busy)
{
    int depth = busy->shallowest;
    struct node *node = &busy->rows[depth].node;
    idle->rows[depth] = busy->rows[depth];
    idle->rows[depth].node.untried = node->untried & -node->untried;
    node->untried &= node->untried - 1;
    idle->base = idle->shallowest = idle->depth = depth;
}

static struct lane *begin_lanes(const struct node *root, int max_depth)
{
    struct lane *lanes = calloc((size_t)tables.n_lanes, sizeof *lanes);
    if (lanes == NULL)
        fail("out of memory");
    for (int l = 0; l < tables.n_lanes; l++) {
        lanes[l].rows = calloc((size_t)max_depth + 2, sizeof *lanes[l].rows);
        if (lanes[l].rows == NULL)
            fail("out of memory");
        lanes[l].phase = IDLE;
    }
    lanes[0].phase = 0;
    lanes[0].rows[0].node = *root;
    return lanes;
}

static void end_lanes(struct lane *lanes)
{
    for (int l = 0; l < tables.n_lanes; l++)
        free(lanes[l].rows);
    free(lanes);
}

static bool search_in_turns(struct lane *lanes, int threshold, struct counts *counts)
{
    /* Locals, which no store to a row can change. */
    int64_t generated = 0, expanded = 0;
    bool is_found = false;
    struct row *root = &lanes[0].rows[0];
    ask_for_children(&root->node, &root->children, (unsigned)root->node.untried, root->node.first_sum);
    generated += __builtin_popcount((unsigned)root->node.untried);
    expanded++;
    for (int n_idle = 0; n_idle < tables.n_lanes && !is_found;) {
        n_idle = 0;
        for (struct lane *lane = lanes; lane < lanes + tables.n_lanes; lane++) {
            int depth = lane->depth;
            struct row *row = &lane->rows[depth];
            int move = -1, untried = 0;

            /* Step 1. The values asked for at the last turn are here: judge the children of the current node. */
            if (lane->phase != IDLE) {
                int s = sum_of_phase(&row->node, lane->phase);
                untried =
                    judge_children(&row->node, &row->children, (unsigned)row->node.untried, s, threshold - depth - 1);
                if (untried < 0) {
                    is_found = true;
                    break;
                }
                row->node.untried = untried;

                /* Step 2. Ask the next sum about those that are left, and let the other lanes work meanwhile. */
                lane->phase++;
                if (untried != 0 && lane->phase < N_SUMS) {
                    s = sum_of_phase(&row->node, lane->phase);
                    ask_for_children(&row->node, &row->children, (unsigned)untried, s);
                    continue;
                }
                if ((untried & (untried - 1)) && tables.orders_children)
                    move = best_child(&row->children, (unsigned)untried);

                /* Step 3. Go back to the deepest node of this subtree that has an untried child. */
                while (untried == 0 && depth > lane->base) {
                    depth--;
                    row--;
                    untried = row->node.untried;
                }
            }

            /* Step 4. Nothing left in this subtree: take over a part of another one. */
            if (untried == 0) {
                lane->phase = IDLE;
                struct lane *busy = find_work(lanes);
                if (busy == NULL) {
                    n_idle++;
                    continue;
                }
                take_over(lane, busy);
                depth = lane->depth;
                row = &lane->rows[depth];
                untried = row->node.untried;
            }

            /* Step 5. Enter an untried child, and ask for its children's distances in its largest sum. */
            if (move < 0)
                move = __builtin_ctz((unsigned)untried);
            row->node.untried = untried ^ (1 << move);
            enter_child(&row[1].node, &row->node, &row->children, move);
            row++;
            ask_for_children(&row->node, &row->children, (unsigned)row->node.untried, row->node.first_sum);
            generated += __builtin_popcount((unsigned)row->node.untried);
            expanded++;
            lane->depth = depth + 1;
            lane->phase = 0;
        }
    }
    *counts = (struct counts){generated, expanded};
    return is_found;
}

static bool search_in_lanes(const struct node *root, int threshold, struct counts *counts)
{
    struct lane *lanes = begin_lanes(root, threshold);
    bool is_found = search_in_turns(lanes, threshold, counts);
    end_lanes(lanes);
    return is_found;
}

/* ---- Input, and the thresholds of all boards ---------------------------------------------------------------------- */

/* The next array of the input: its size in bytes as int64, then its bytes. In huge pages, as numpy's are. */
static void *read_array(FILE *file, size_t *n_bytes)
{
    int64_t size;
    if (fread(&size, sizeof size, 1, file) != 1)
        fail("the input is too short");
    size_t room = ((size_t)size + HUGE_PAGE_BYTES) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    void *memory;
    if (posix_memalign(&memory, HUGE_PAGE_BYTES, room) != 0)
        fail("out of memory");
    /* Only a wish: where the system does not grant it, neither does it to numba. */
    madvise(memory, room, MADV_HUGEPAGE);
    if (fread(memory, 1, (size_t)size, file) != (size_t)size)
        fail("the input is too short");
    if (n_bytes != NULL)
        *n_bytes = (size_t)size;
    return memory;
}

/* The next array of the input, whose size is known, into `place`. */
static void read_into(FILE *file, void *place, size_t expected)
{
    size_t n_bytes;
    void *memory = read_array(file, &n_bytes);
    if (n_bytes != expected)
        fail("an array of the input has another size than this was compiled for");
    memcpy(place, memory, n_bytes);
    free(memory);
}

/* The arrays of `tables`, in this order; then the roots: boards, words and sums. Returns the number of boards. */
static size_t read_input(
    const char *path, uint8_t (**boards)[N_CELLS], uint64_t (**words)[N_UNITS], int64_t (**sums)[N_SUMS])
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail("cannot open the input");
    int64_t settings[2];
    size_t boards_bytes;
    read_into(file, settings, sizeof settings);
    tables.n_lanes = (int)settings[0];
    tables.orders_children = settings[1] != 0;
    tables.memory = read_array(file, NULL);
    tables.set_ranks = read_array(file, NULL);
    tables.order_ranks = read_array(file, NULL);
    tables.first_block = read_array(file, NULL);
    tables.region_numbers = read_array(file, NULL);
    tables.successors = read_array(file, NULL);
    tables.allowed = read_array(file, NULL);
    read_into(file, tables.units, sizeof tables.units);
    read_into(file, tables.edges, sizeof tables.edges);
    read_into(file, tables.edge_cells, sizeof tables.edge_cells);
    read_into(file, tables.cell_moves, sizeof tables.cell_moves);
    read_into(file, tables.unit_of_tile, sizeof tables.unit_of_tile);
    read_into(file, tables.sum_is_bits, sizeof tables.sum_is_bits);
    *boards = read_array(file, &boards_bytes);
    *words = read_array(file, NULL);
    *sums = read_array(file, NULL);
    fclose(file);
    return boards_bytes / N_CELLS;
}

static struct node root_node(const uint8_t *board, const uint64_t *words, const int64_t *sums)
{
    struct node root = {.machine_state = 0, .first_sum = 0};
    memcpy(root.board, board, sizeof root.board);
    memcpy(root.words, words, sizeof root.words);
    for (int s = 0; s < N_SUMS; s++)
        root.sums[s] = (int32_t)sums[s];
    while (root.board[root.blank] != 0)
        root.blank++;
    root.untried = tables.allowed[0] & tables.cell_moves[root.blank];
    return root;
}

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments != 3)
        fail("search INPUT dfs | lanes");
    bool has_lanes = strcmp(arguments[2], "lanes") == 0;
    uint8_t(*boards)[N_CELLS];
    uint64_t(*words)[N_UNITS];
    int64_t(*sums)[N_SUMS];
    size_t n_boards = read_input(arguments[1], &boards, &words, &sums);
    for (size_t i = 0; i < n_boards; i++) {
        struct node root = root_node(boards[i], words[i], sums[i]);
        double start = processor_seconds(), seconds = 0;
        int threshold = 0;
        for (int s = 0; s < N_SUMS; s++)
            threshold = root.sums[s] > threshold ? root.sums[s] : threshold;
        for (bool is_found = false; !is_found; threshold += 2) {
            struct counts counts = {0, 0};
            is_found = (has_lanes ? search_in_lanes : search_depth_first)(&root, threshold, &counts);
            seconds = processor_seconds() - start;
            printf("%zu %d %lld %lld %d\n", i, threshold, (long long)counts.generated, (long long)counts.expanded,
                   is_found);
        }
        printf("%zu seconds %.9f\n", i, seconds);
    }
    return 0;
}
