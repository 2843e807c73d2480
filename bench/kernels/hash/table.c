/* A hash table of 2^21 places in which keys are claimed and looked up, by the same hash. */
#include "row.h"

#include <string.h>

enum { BLOCK = 256, SLOTS = 1 << 21, STRIDE_GRID = 512 };

static unsigned mixed(unsigned k)
{
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    return k ^ k >> 16;
}

static void make_insert(struct bench_problem *p)
{
    bench_add_ints(p, (size_t)p->n, 1, 1 << 24);
    bench_add(p, BENCH_INT, SLOTS, BENCH_UNORDERED);
    bench_add(p, BENCH_INT, 1, BENCH_OUTPUT);
}

static void device_insert(struct bench_queue *q, const struct bench_problem *p)
{
    q->zero(q, 1);
    q->zero(q, 2);
    BENCH_LAUNCH(q, "hash_insert", bench_blocks(p->n, BLOCK), 1, BLOCK, 1, ARRAY(0), ARRAY(1),
                 ARRAY(2), INT(p->n), INT(SLOTS));
}

static void native_insert(const struct bench_problem *p)
{
    const int *keys = DATA(p, 0);
    int *table = DATA(p, 1), count = 0;
#pragma omp parallel reduction(+ : count)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < SLOTS; i += 1 << 16)
            memset(table + i, 0, sizeof *table << 16);
#pragma omp for schedule(static)
        for (int i = 0; i < p->n; i++)
            for (unsigned at = mixed((unsigned)keys[i]) & (SLOTS - 1);;
                 at = (at + 1) & (SLOTS - 1)) {
                int there = __atomic_load_n(&table[at], __ATOMIC_RELAXED);
                if (there == 0 && __atomic_compare_exchange_n(&table[at], &there, keys[i], 0,
                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
                    count++;
                    break;
                }
                if (there == keys[i])
                    break;
            }
    }
    *(int *)DATA(p, 2) = count;
}

static void make_lookup(struct bench_problem *p)
{
    int *keys = bench_add_ints(p, (size_t)p->n, 1, 1 << 21);
    int *table = bench_add(p, BENCH_INT, SLOTS, BENCH_INPUT);
    int *values = bench_add(p, BENCH_INT, SLOTS, BENCH_INPUT);
    for (int i = 0; i < SLOTS / 2; i++) {
        int key = i & 1 && i < p->n ? keys[i] : 2 * i + 1;
        unsigned at = mixed((unsigned)key) & (SLOTS - 1);
        while (table[at] != 0 && table[at] != key)
            at = (at + 1) & (SLOTS - 1);
        table[at] = key;
        values[at] = 3 * key;
    }
    bench_add(p, BENCH_INT, (size_t)p->n, BENCH_OUTPUT);
}

static void device_lookup(struct bench_queue *q, const struct bench_problem *p)
{
    int grid = q->spelling == 2 ? STRIDE_GRID : bench_blocks(p->n, BLOCK);
    BENCH_LAUNCH(q, "hash_lookup", grid, 1, BLOCK, 1, ARRAY(0), ARRAY(1), ARRAY(2), ARRAY(3),
                 INT(p->n), INT(SLOTS));
}

static void native_lookup(const struct bench_problem *p)
{
    const int *keys = DATA(p, 0), *table = DATA(p, 1), *values = DATA(p, 2);
    int *out = DATA(p, 3);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < p->n; i++) {
        unsigned at = mixed((unsigned)keys[i]) & (SLOTS - 1);
        while (table[at] != 0 && table[at] != keys[i])
            at = (at + 1) & (SLOTS - 1);
        out[i] = table[at] == keys[i] ? values[at] : -1;
    }
}

const struct bench bench_hash_insert = {
    .name = "hash_insert",
    .title = "hash table, 2^20 keys inserted in 2^21 places",
    .cl = "hash/table",
    .n = 1 << 20,
    .quick_n = 3001,
    .make = make_insert,
    .device = device_insert,
    .native = native_insert,
    .spelling = {"places as parameter", "places constant", "looks first"},
};
const struct bench bench_hash_lookup = {
    .name = "hash_lookup",
    .title = "hash table, 2^20 keys looked up",
    .cl = "hash/table",
    .n = 1 << 20,
    .quick_n = 3001,
    .make = make_lookup,
    .device = device_lookup,
    .native = native_lookup,
    .spelling = {"int index", "64-bit index", "grid-stride loop"},
};
