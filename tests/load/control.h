/* What the processes of the load share: a page that the parent makes and all others inherit. */
#ifndef WEIR_TEST_LOAD_CONTROL_H
#define WEIR_TEST_LOAD_CONTROL_H

enum { WORKERS = 3, USERS = 2, PLACES = WORKERS + USERS + 1, SHARED = 4, SHARED_WORDS = 1 << 16 };

/* Places: workers first, then users of the server's memory, the server last. The first worker and
 * the server are never killed. */
enum { SERVER = PLACES - 1 };

/* What a process says of itself; fields are written by it alone, and read by the parent. */
struct place {
    long iterations;            /* rounds of work that were checked */
    long operations;            /* calls that enqueue, allocate or free */
    long refused;               /* allocations that found no memory */
    long resident, resident_at; /* KiB: once warm, latest */
    long failures;              /* what was not as it must be */
    char failure[200];          /* the first of them */
};

struct control {
    int stop;
    int generation;          /* of the server's memory; odd while it changes */
    char memory[SHARED][64]; /* handles */
    char event[64];
    struct place place[PLACES];
};

#endif
