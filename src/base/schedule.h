/* schedule: orders on purpose. CUDA leaves most of the order of a program's work open; a program
 * that is wrong under one of the orders that are left is wrong. WEIR_SCHEDULE chooses one: a number
 * is the seed of an adversary, "fixed" is one order always.
 *
 * This module answers questions of the form "which of n", "early or late". It is asked at the few
 * points of decision: which stream's command runs next and how much of a grid at a time (device),
 * in which order blocks run (exec), in which order a kernel's warps and diverged lanes run (the
 * compiler, by an option), whether a pool takes what it may (pool). An answer depends on the seed
 * and on what is asked about (the number of a stream, of a command in it, of a block …), never on
 * time or on earlier answers, so the same seed gives the same answers.
 *
 * While WEIR_SCHEDULE is not set, schedule_on() is false and nothing of this is asked. */
#ifndef WEIR_BASE_SCHEDULE_H
#define WEIR_BASE_SCHEDULE_H

#include "base/base.h"

enum schedule_mode { SCHEDULE_OFF, SCHEDULE_FIXED, SCHEDULE_SEEDED };

extern struct schedule {
    enum schedule_mode mode;
    uint64_t seed;
} schedule_now WEIR_OWN;

/* Reads ENV_SCHEDULE, before the first question. False and a message when it is neither a number
 * nor "fixed". */
bool schedule_open(struct diag *d);

static inline bool schedule_on(void) { return WEIR_UNLIKELY(schedule_now.mode != SCHEDULE_OFF); }

/* What is asked about: questions about the same thing have answers of their own. */
enum schedule_question {
    SCHEDULE_STYLE,   /* of the seed itself */
    SCHEDULE_STREAM,  /* which command runs next */
    SCHEDULE_AT_ONCE, /* is a command done before the call that enqueues it returns? */
    SCHEDULE_QUERY,   /* does work go on while the host asks whether it is done? */
    SCHEDULE_BLOCKS,  /* the order of a grid's blocks */
    SCHEDULE_PART,    /* how many blocks before other work may come between */
    SCHEDULE_WARPS,   /* the order of a kernel's warps */
    SCHEDULE_LANES,   /* the order of its diverged lanes */
    SCHEDULE_SEGMENT, /* which ready part of a graph runs next */
    SCHEDULE_GRAPH,   /* does other work come between two nodes of a graph? */
    SCHEDULE_REUSE,   /* does a pool reuse what may be reused? */
};

/* A number that stands for two. */
uint64_t schedule_mix(uint64_t a, uint64_t b);
/* One that stands for a text. */
uint64_t schedule_name(const char *text);

/* Which of n; 0 always in the fixed order. */
uint64_t schedule_which(enum schedule_question q, uint64_t of, uint64_t n);

/* How late a command of that number, of a stream and of a kind, runs among those that could run:
 * the least first. All alike in the fixed order. */
uint64_t schedule_lateness(uint64_t stream, uint64_t count, uint32_t kind);

/* Is the command run before the call that enqueues it returns? */
bool schedule_at_once(uint64_t stream, uint64_t count);

/* Which of `total` blocks is the n-th of a grid of that identity: each is one of them once. */
uint64_t schedule_block(uint64_t grid, uint64_t n, uint64_t total);

/* How many blocks of it run, from the n-th on, until other work may come between. */
uint64_t schedule_part(uint64_t grid, uint64_t n, uint64_t total);

#endif
