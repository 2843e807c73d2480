/* Searching: places of a word in a text, edit distances of pairs of strings, queens on a board. */
#include "row.h"

#include <string.h>

enum { LENGTH = 8, PAIR = 128 };

static void make_find(struct bench_problem *p)
{
    bench_add_bytes(p, (size_t)p->n, 'a', 'e');
    memcpy(bench_add(p, BENCH_BYTE, LENGTH, BENCH_INPUT), "abacadab", LENGTH);
    bench_add(p, BENCH_INT, 1, BENCH_OUTPUT);
}
static void device_find(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 2);
    BENCH_LAUNCH(q, "find_word", q->spelling == 2 ? 256 : bench_blocks(p->n, 256), 1, 256, 1,
                 ARRAY(0), ARRAY(1), ARRAY(2), INT(p->n), INT(LENGTH));
}
static void native_find(const struct bench_problem *p)
{
    const unsigned char *text = DATA(p, 0);
    uint64_t word;
    memcpy(&word, DATA(p, 1), LENGTH);
    int count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (int i = 0; i <= p->n - LENGTH; i++) {
        uint64_t here;
        memcpy(&here, text + i, LENGTH);
        count += here == word;
    }
    *(int *)DATA(p, 2) = count;
}

static void make_edit(struct bench_problem *p)
{
    bench_add_bytes(p, (size_t)p->n * PAIR, 'a', 'e');
    bench_add_bytes(p, (size_t)p->n * PAIR, 'a', 'e');
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}
static void device_edit(struct bench_queue *q, const struct bench_problem *p)
{
    BENCH_LAUNCH(q, "edit", p->n, 1, PAIR, 1, ARRAY(0), ARRAY(1), ARRAY(2));
}
static int least(int a, int b) { return a < b ? a : b; }
/* By diagonals, which vectors can do. */
static void native_edit(const struct bench_problem *p)
{
#pragma omp parallel for schedule(static)
    for (int k = 0; k < p->n; k++) {
        const unsigned char *a = (const unsigned char *)DATA(p, 0) + k * PAIR;
        const unsigned char *b = (const unsigned char *)DATA(p, 1) + k * PAIR;
        int line[3][PAIR + 1], turned[PAIR], left[PAIR];
        for (int i = 0; i < PAIR; i++) {
            left[i] = a[i];
            turned[i] = b[PAIR - 1 - i];
        }
        line[0][0] = 0;
        for (int d = 1; d <= 2 * PAIR; d++) {
            int *restrict now = line[d % 3];
            const int *restrict last = line[(d + 2) % 3], *restrict before = line[(d + 1) % 3];
            int low = d > PAIR ? d - PAIR : 1, high = least(d - 1, PAIR);
            for (int i = low; i <= high; i++) {
                int step = least(last[i - 1], last[i]) + 1;
                int same = before[i - 1] + (left[i - 1] != turned[PAIR - d + i]);
                now[i] = least(step, same);
            }
            if (d <= PAIR)
                now[0] = now[d] = d;
        }
        ((int *)DATA(p, 2))[k] = line[2 * PAIR % 3][PAIR];
    }
}

static void make_queens(struct bench_problem *p)
{
    bench_add(p, BENCH_INT, (size_t)(p->n * p->n * p->n), BENCH_OUTPUT);
}
static void device_queens(struct bench_queue *q, const struct bench_problem *p)
{
    unsigned block = q->spelling == 2 ? 32 : 64;
    BENCH_LAUNCH(q, "queens", bench_blocks(p->n * p->n * p->n, (int)block), 1, block, 1, ARRAY(0),
                 INT(p->n));
}
static int queens_below(unsigned columns, unsigned left, unsigned right, unsigned all)
{
    if (columns == all)
        return 1;
    int ways = 0;
    for (unsigned open = all & ~(columns | left | right); open; open &= open - 1) {
        unsigned bit = open & -open;
        ways += queens_below(columns | bit, (left | bit) << 1, (right | bit) >> 1, all);
    }
    return ways;
}
static void native_queens(const struct bench_problem *p)
{
    int n = p->n, *ways = DATA(p, 0);
    unsigned all = (1u << n) - 1;
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < n * n * n; i++) {
        unsigned columns = 0, left = 0, right = 0;
        int possible = 1;
        for (int row = 0, rest = i; row < 3; row++, rest /= n) {
            unsigned bit = 1u << rest % n;
            possible &= !((columns | left | right) & bit);
            columns |= bit, left = (left | bit) << 1, right = (right | bit) >> 1;
        }
        ways[i] = possible ? queens_below(columns, left, right, all) : 0;
    }
}

#define ROW(row, text, size, quick, file, other, ...)                                              \
    BENCH_ROW(row, text, size, quick, 0, file, other, other, __VA_ARGS__)
ROW(find_word, "a word of 8 in a text of 2^24 bytes", 1 << 24, 5001, "search/text", find,
    "length as parameter", "length constant", "grid-stride loop");
ROW(edit, "edit distance by wavefronts, 4096 pairs of 128", 4096, 5, "search/text", edit, "int",
    "short", "float");
ROW(queens, "queens by recursion, board of 11", 11, 6, NULL, queens, "recursion", "own stack",
    "blocks of a warp");
