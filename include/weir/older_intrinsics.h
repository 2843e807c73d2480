/* Device functions that nvcc's headers still declare under their first names: doubles with the
 * rounding as an argument, votes and counting barriers of bool. Programs rarely call them; they
 * must not be able to take the names for something else without noticing, as with nvcc. */
#ifndef WEIR_OLDER_INTRINSICS_H
#define WEIR_OLDER_INTRINSICS_H

#include "device_types.h"

/* A function whose last argument says how to round; `nearest` to `down` are those of one mode. */
#define WEIR_ROUNDED(R, name, parameters, usual, nearest, zero, up, down)                          \
    WEIR_DEVICE R name(parameters, enum cudaRoundMode mode = usual)                                \
    {                                                                                              \
        return mode == cudaRoundNearest  ? nearest                                                 \
               : mode == cudaRoundZero   ? zero                                                    \
               : mode == cudaRoundPosInf ? up                                                      \
                                         : down;                                                   \
    }
#define WEIR_TWO double a, double b
#define WEIR_ARITHMETIC(name, function)                                                            \
    WEIR_ROUNDED(double, name, WEIR_TWO, cudaRoundNearest, function##_rn(a, b),                    \
                 function##_rz(a, b), function##_ru(a, b), function##_rd(a, b))
WEIR_ARITHMETIC(dadd, __dadd)
WEIR_ARITHMETIC(dsub, __dsub)
WEIR_ARITHMETIC(dmul, __dmul)

#define WEIR_CONVERSION(R, name, T, usual, function)                                               \
    WEIR_ROUNDED(R, name, T a, usual, function##_rn(a), function##_rz(a), function##_ru(a),        \
                 function##_rd(a))
WEIR_CONVERSION(int, double2int, double, cudaRoundZero, __double2int)
WEIR_CONVERSION(unsigned, double2uint, double, cudaRoundZero, __double2uint)
WEIR_CONVERSION(long long, double2ll, double, cudaRoundZero, __double2ll)
WEIR_CONVERSION(unsigned long long, double2ull, double, cudaRoundZero, __double2ull)
WEIR_CONVERSION(double, ll2double, long long, cudaRoundNearest, __ll2double)
WEIR_CONVERSION(double, ull2double, unsigned long long, cudaRoundNearest, __ull2double)
#undef WEIR_CONVERSION
#undef WEIR_ARITHMETIC
#undef WEIR_TWO
#undef WEIR_ROUNDED

/* These are exact: the mode changes nothing. */
#define WEIR_EXACT(name, T)                                                                        \
    WEIR_DEVICE double name(T a, enum cudaRoundMode = cudaRoundNearest) { return (double)a; }
WEIR_EXACT(int2double, int)
WEIR_EXACT(uint2double, unsigned)
WEIR_EXACT(float2double, float)
#undef WEIR_EXACT

WEIR_DEVICE bool any(bool condition) { return __any(condition) != 0; }
WEIR_DEVICE unsigned ballot(bool predicate) { return __ballot(predicate); }
WEIR_DEVICE int syncthreads_count(bool predicate) { return __syncthreads_count(predicate); }
WEIR_DEVICE bool syncthreads_and(bool predicate) { return __syncthreads_and(predicate) != 0; }
WEIR_DEVICE bool syncthreads_or(bool predicate) { return __syncthreads_or(predicate) != 0; }

#endif
