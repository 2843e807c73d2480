/* Atomic functions: atomicAdd and its kin, in device scope and with _block and _system.
 *
 * All are relaxed, as CUDA's are; the scopes begin with sm_60. clang supplies the operations under
 * internal names by type
 * (__iAtomicAdd: int, u: unsigned, ull: unsigned long long, ill: long long min and max, f, d);
 * here they get their public names. */
#ifndef WEIR_ATOMICS_H
#define WEIR_ATOMICS_H

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#define WEIR_ATOMIC_SCOPES(make, ...)                                                              \
    make(, __VA_ARGS__) make(_block, __VA_ARGS__) make(_system, __VA_ARGS__)
#else
#define WEIR_ATOMIC_SCOPES(make, ...) make(, __VA_ARGS__)
#endif

#define WEIR_ATOMIC2(scope, name, type, op)                                                        \
    WEIR_DEVICE type atomic##name##scope(type *p, type v) { return op##scope(p, v); }
/* The same, through an internal operation on another type of the same size. */
#define WEIR_ATOMIC2_AS(scope, name, type, other, op)                                              \
    WEIR_DEVICE type atomic##name##scope(type *p, type v)                                          \
    {                                                                                              \
        return (type)op##scope((other *)p, (other)v);                                              \
    }
#define WEIR_ATOMIC_SUB(scope, type, other, op)                                                    \
    WEIR_DEVICE type atomicSub##scope(type *p, type v)                                             \
    {                                                                                              \
        return (type)op##scope((other *)p, (other)(0 - (other)v));                                 \
    }
#define WEIR_ATOMIC_CAS(scope, type, other, op)                                                    \
    WEIR_DEVICE type atomicCAS##scope(type *p, type compare, type v)                               \
    {                                                                                              \
        return (type)op##scope((other *)p, (other)compare, (other)v);                              \
    }

typedef unsigned long long weir_ull;

WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Add, int, __iAtomicAdd)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Add, unsigned, __uAtomicAdd)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Add, weir_ull, __ullAtomicAdd)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Add, float, __fAtomicAdd)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
/* Below sm_60 programs define this one themselves. */
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Add, double, __dAtomicAdd)
#endif
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC_SUB, int, int, __iAtomicAdd)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC_SUB, unsigned, unsigned, __uAtomicAdd)

WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Exch, int, __iAtomicExch)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Exch, unsigned, __uAtomicExch)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Exch, weir_ull, __ullAtomicExch)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Exch, float, __fAtomicExch)

WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Min, int, __iAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Min, unsigned, __uAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Min, weir_ull, __ullAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Min, long long, __illAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Max, int, __iAtomicMax)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Max, unsigned, __uAtomicMax)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Max, weir_ull, __ullAtomicMax)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Max, long long, __illAtomicMax)

WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Inc, unsigned, __uAtomicInc)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Dec, unsigned, __uAtomicDec)

#define WEIR_ATOMIC_BITS(name)                                                                     \
    WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, name, int, __iAtomic##name)                                   \
    WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, name, unsigned, __uAtomic##name)                              \
    WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, name, weir_ull, __ullAtomic##name)                            \
    WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, name, long long, __llAtomic##name)
WEIR_ATOMIC_BITS(And)
WEIR_ATOMIC_BITS(Or)
WEIR_ATOMIC_BITS(Xor)

WEIR_ATOMIC_SCOPES(WEIR_ATOMIC_CAS, int, int, __iAtomicCAS)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC_CAS, unsigned, unsigned, __uAtomicCAS)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC_CAS, weir_ull, weir_ull, __ullAtomicCAS)

/* long has the size of long long: the same operations, for programs that count in size_t. */
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Add, unsigned long, weir_ull, __ullAtomicAdd)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Exch, unsigned long, weir_ull, __ullAtomicExch)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Min, unsigned long, weir_ull, __ullAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Max, unsigned long, weir_ull, __ullAtomicMax)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Min, long, long long, __illAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Max, long, long long, __illAtomicMax)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, And, unsigned long, weir_ull, __ullAtomicAnd)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Or, unsigned long, weir_ull, __ullAtomicOr)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2_AS, Xor, unsigned long, weir_ull, __ullAtomicXor)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC_CAS, unsigned long, weir_ull, __ullAtomicCAS)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define WEIR_CAS16(suffix, scope)                                                                  \
    WEIR_DEVICE unsigned short atomicCAS##suffix(unsigned short *p, unsigned short compare,        \
                                                 unsigned short v)                                 \
    {                                                                                              \
        unsigned short old;                                                                        \
        asm volatile("atom" scope ".cas.b16 %0, [%1], %2, %3;"                                     \
                     : "=h"(old)                                                                   \
                     : "l"(p), "h"(compare), "h"(v)                                                \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
WEIR_CAS16(, "")
WEIR_CAS16(_block, ".cta")
WEIR_CAS16(_system, ".sys")
#undef WEIR_CAS16
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
/* Any trivially copyable type of 16 bytes. */
#define WEIR_ATOM128(suffix, scope)                                                                \
    template <typename T> WEIR_DEVICE T atomicCAS##suffix(T *p, T compare, T v)                    \
    {                                                                                              \
        static_assert(sizeof(T) == 16, "atomicCAS is for types of 2, 4, 8 or 16 bytes");           \
        weir_ull a[2], b[2], r[2];                                                                 \
        __builtin_memcpy(a, &compare, 16);                                                         \
        __builtin_memcpy(b, &v, 16);                                                               \
        asm volatile("{ .reg .b128 c, n, o;\n\tmov.b128 c, {%2, %3};\n\tmov.b128 n, {%4, %5};\n\t" \
                     "atom" scope ".cas.b128 o, [%6], c, n;\n\tmov.b128 {%0, %1}, o; }"            \
                     : "=l"(r[0]), "=l"(r[1])                                                      \
                     : "l"(a[0]), "l"(a[1]), "l"(b[0]), "l"(b[1]), "l"(p)                          \
                     : "memory");                                                                  \
        T old;                                                                                     \
        __builtin_memcpy(&old, r, 16);                                                             \
        return old;                                                                                \
    }                                                                                              \
    template <typename T> WEIR_DEVICE T atomicExch##suffix(T *p, T v)                              \
    {                                                                                              \
        static_assert(sizeof(T) == 16, "atomicExch is for types of 4, 8 or 16 bytes");             \
        weir_ull b[2], r[2];                                                                       \
        __builtin_memcpy(b, &v, 16);                                                               \
        asm volatile("{ .reg .b128 n, o;\n\tmov.b128 n, {%2, %3};\n\t"                             \
                     "atom" scope ".exch.b128 o, [%4], n;\n\tmov.b128 {%0, %1}, o; }"              \
                     : "=l"(r[0]), "=l"(r[1])                                                      \
                     : "l"(b[0]), "l"(b[1]), "l"(p)                                                \
                     : "memory");                                                                  \
        T old;                                                                                     \
        __builtin_memcpy(&old, r, 16);                                                             \
        return old;                                                                                \
    }
WEIR_ATOM128(, "")
WEIR_ATOM128(_block, ".cta")
WEIR_ATOM128(_system, ".sys")
#undef WEIR_ATOM128
#endif

#undef WEIR_ATOMIC_SCOPES
#undef WEIR_ATOMIC2
#undef WEIR_ATOMIC2_AS
#undef WEIR_ATOMIC_SUB
#undef WEIR_ATOMIC_CAS
#undef WEIR_ATOMIC_BITS

#endif
