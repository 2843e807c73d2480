/* schedule: answers about the order of work: see schedule.h. */
#include "base/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

struct schedule schedule_now;

bool schedule_open(struct diag *d)
{
    const char *text = env_get(ENV_SCHEDULE);
    if (text == NULL || *text == '\0')
        return true;
    if (strcmp(text, "fixed") == 0) {
        schedule_now.mode = SCHEDULE_FIXED;
        return true;
    }
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9')
        return diag_set(d, 0, 0, "%s=%s: must be a whole number, the seed, or \"fixed\"",
                        env_entry(ENV_SCHEDULE)->name, text);
    schedule_now = (struct schedule){SCHEDULE_SEEDED, seed};
    return true;
}

/* All bits of the result depend on all of the argument (the finalizer of splitmix64). */
static uint64_t scatter(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t schedule_mix(uint64_t a, uint64_t b)
{
    return scatter(scatter(a + 0x9e3779b97f4a7c15u) + b);
}

uint64_t schedule_name(const char *text)
{
    uint64_t h = 0;
    for (; *text != '\0'; text++)
        h = schedule_mix(h, (unsigned char)*text);
    return h;
}

static uint64_t answer(enum schedule_question q, uint64_t of)
{
    return schedule_mix(schedule_mix(schedule_now.seed, q), of);
}

uint64_t schedule_which(enum schedule_question q, uint64_t of, uint64_t n)
{
    return schedule_now.mode != SCHEDULE_SEEDED || n == 0 ? 0 : answer(q, of) % n;
}

/* What an adversary keeps to: a program may be wrong only if a stream comes late for long, or only
 * if each command comes at its own time. Seeds in a row have different habits. */
enum { BY_STREAM, BY_COMMAND, BY_KIND, BY_BURST, HABITS };
enum { BURST = 4 }; /* commands */

uint64_t schedule_lateness(uint64_t stream, uint64_t count, uint32_t kind)
{
    if (schedule_now.mode != SCHEDULE_SEEDED)
        return 0;
    switch (schedule_now.seed % HABITS) {
    case BY_STREAM: return answer(SCHEDULE_STREAM, stream);
    case BY_KIND:
        return answer(SCHEDULE_STREAM, schedule_mix(kind, stream) % 4 + 4 * (uint64_t)kind);
    case BY_BURST: return answer(SCHEDULE_STREAM, schedule_mix(stream, count / BURST));
    default: return answer(SCHEDULE_STREAM, schedule_mix(stream, count));
    }
}

bool schedule_at_once(uint64_t stream, uint64_t count)
{
    switch (schedule_which(SCHEDULE_STYLE, SCHEDULE_AT_ONCE, 4)) {
    case 2: return schedule_which(SCHEDULE_AT_ONCE, stream, 2) != 0;
    case 3: return schedule_which(SCHEDULE_AT_ONCE, schedule_mix(stream, count), 2) != 0;
    default: return false; /* nothing before it must be */
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t schedule_block(uint64_t grid, uint64_t n, uint64_t total)
{
    enum { FORWARDS, BACKWARDS, BY_STEPS, ORDERS };
    uint64_t order = schedule_which(SCHEDULE_BLOCKS, grid, ORDERS);
    if (order == FORWARDS || total < 2)
        return n;
    if (order == BACKWARDS)
        return total - 1 - n;
    /* Steps that have no divisor in common with the number meet each block once. */
    uint64_t random = answer(SCHEDULE_BLOCKS, schedule_mix(grid, total)), step = random % total;
    while (common_divisor(step, total) != 1)
        step = step + 1 < total ? step + 1 : 1;
    return (uint64_t)(((unsigned __int128)n * step + random / 3) % total);
}

uint64_t schedule_part(uint64_t grid, uint64_t n, uint64_t total)
{
    uint64_t of = schedule_mix(grid, n);
    if (schedule_which(SCHEDULE_PART, of, 2) == 0)
        return UINT64_MAX;
    return 1 + schedule_which(SCHEDULE_PART, schedule_mix(of, 1), total / 2 + 1);
}
