/* gather_speed: whether this CPU's gathers are worth their name. Since the microcode that mends
 * "gather data sampling", those of many CPUs take longer than a load for each lane, which neither
 * the CPU's name nor its features tell. */
#ifndef WEIR_COMPILER_GATHER_SPEED_H
#define WEIR_COMPILER_GATHER_SPEED_H

#include <stdbool.h>

/* What is slower than a load for each lane and what puts them into a vector. */
struct slow_gathers {
    bool full;   /* of all lanes */
    bool masked; /* under a mask, where loads need addresses for inactive lanes, too */
};

/* Measures both, in some tens of microseconds, by gathers of 8 words. False where the CPU has no
 * gathers. Any thread. */
struct slow_gathers find_slow_gathers(void);

#endif
