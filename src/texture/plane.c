/* plane: which of the vectors of plane_lanes.h this CPU has. */
#include "texture/plane.h"

static unsigned widest = 512;

void texture_use_vectors(unsigned bits) { widest = bits; }

plane_function *plane_fetch_here(void)
{
#ifdef __x86_64__
    if (widest >= 512 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2"))
        return plane_fetch_avx512;
    if (widest >= 256 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return plane_fetch_avx2;
#endif
    return NULL;
}
