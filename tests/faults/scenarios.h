/* scenarios: kinds of work with a device, for injecting failures. */
#ifndef WEIR_TEST_SCENARIOS_H
#define WEIR_TEST_SCENARIOS_H

#include <cuda.h>
#include <stdbool.h>

const char *scenario_name(int n); /* NULL: there is none of that number */
/* Does the work from cuInit on, in a context of its own. The first code that is not success. */
CUresult scenario_run(int n);
/* Something was computed wrongly though all calls had succeeded. */
extern bool scenario_wrong;

#endif
