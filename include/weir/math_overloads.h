/* The overloads that CUDA adds to the C and C++ math functions: min and max of mixed types on both
 * sides, and float forms of CUDA's own functions. */
#ifndef WEIR_MATH_OVERLOADS_H
#define WEIR_MATH_OVERLOADS_H

#define WEIR_BOTH static __inline__ __attribute__((always_inline, host, device))
#define WEIR_HOST static __inline__ __attribute__((always_inline, host))

/* clang's headers define max(int, int) for the device only. */
WEIR_HOST int max(int a, int b) { return a > b ? a : b; }
WEIR_HOST int min(int a, int b) { return a < b ? a : b; }

#define WEIR_MIN_MAX(result, left, right)                                                          \
    WEIR_BOTH result max(left a, right b)                                                          \
    {                                                                                              \
        result x = (result)a, y = (result)b;                                                       \
        return x > y ? x : y;                                                                      \
    }                                                                                              \
    WEIR_BOTH result min(left a, right b)                                                          \
    {                                                                                              \
        result x = (result)a, y = (result)b;                                                       \
        return x < y ? x : y;                                                                      \
    }
WEIR_MIN_MAX(unsigned, unsigned, unsigned)
WEIR_MIN_MAX(unsigned, int, unsigned)
WEIR_MIN_MAX(unsigned, unsigned, int)
WEIR_MIN_MAX(long, long, long)
WEIR_MIN_MAX(unsigned long, unsigned long, unsigned long)
WEIR_MIN_MAX(unsigned long, long, unsigned long)
WEIR_MIN_MAX(unsigned long, unsigned long, long)
WEIR_MIN_MAX(long long, long long, long long)
WEIR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WEIR_MIN_MAX(unsigned long long, long long, unsigned long long)
WEIR_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef WEIR_MIN_MAX

/* A NaN argument gives the other argument, as fmin and fmax do. */
WEIR_BOTH float max(float a, float b) { return ::fmaxf(a, b); }
WEIR_BOTH float min(float a, float b) { return ::fminf(a, b); }
WEIR_BOTH double max(double a, double b) { return ::fmax(a, b); }
WEIR_BOTH double min(double a, double b) { return ::fmin(a, b); }
WEIR_BOTH double max(float a, double b) { return ::fmax((double)a, b); }
WEIR_BOTH double min(float a, double b) { return ::fmin((double)a, b); }
WEIR_BOTH double max(double a, float b) { return ::fmax(a, (double)b); }
WEIR_BOTH double min(double a, float b) { return ::fmin(a, (double)b); }

#undef WEIR_BOTH
#undef WEIR_HOST

#endif
