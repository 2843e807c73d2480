/* gather_speed: whether this CPU's gathers are worth their name. Since the microcode that mends
 * "gather data sampling", those of many CPUs take longer than a load for each lane, which neither
 * the CPU's name nor its features tell. */
#ifndef WEIR_COMPILER_GATHER_SPEED_H
#define WEIR_COMPILER_GATHER_SPEED_H

#include <stdbool.h>

/* Measures, in some tens of microseconds: does a gather of 8 words take longer than 8 loads and what
 * puts them into a vector? False where the CPU has no gathers. Any thread. */
bool gathers_are_slow(void);

#endif
