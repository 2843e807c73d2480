/* lane_math: functions of the run time that emitted arithmetic calls. Part of the loading half;
 * knows nothing of LLVM. */
#ifndef WEIR_LOADER_LANE_MATH_H
#define WEIR_LOADER_LANE_MATH_H

/* Address of the function of that name (weir_alu_<name>), NULL when there is none. All of them are
 * leaf functions without side effects. What else emitted arithmetic may call are SLEEF's functions
 * (Sleef_finz_..., Sleef_cinz_...) and the C library's rint, floor, ceil, trunc, round, fma and
 * sqrt with their f variants, on CPUs without the instruction. */
void *alu_symbol(const char *symbol);

#endif
