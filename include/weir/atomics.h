/* Atomic functions: atomicAdd and its kin, in device scope and with _block and _system. For long
 * there are none, as in CUDA: programs define those themselves.
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
WEIR_ATOMIC2(, Min, unsigned, __uAtomicMin)
WEIR_ATOMIC2(, Min, weir_ull, __ullAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Min, long long, __illAtomicMin)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Max, int, __iAtomicMax)
WEIR_ATOMIC2(, Max, unsigned, __uAtomicMax)
WEIR_ATOMIC2(, Max, weir_ull, __ullAtomicMax)
WEIR_ATOMIC_SCOPES(WEIR_ATOMIC2, Max, long long, __illAtomicMax)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
/* clang 19 makes minima and maxima of signed numbers of those of unsigned ones with a scope. */
#define WEIR_ATOMIC_UNSIGNED(suffix, name, type, operation, letter)                                \
    WEIR_DEVICE type atomic##name##suffix(type *p, type v)                                         \
    {                                                                                              \
        type old;                                                                                  \
        asm volatile("atom" operation " %0, [%1], %2;"                                             \
                     : "=" letter(old)                                                             \
                     : "l"(p), letter(v)                                                           \
                     : "memory");                                                                  \
        return old;                                                                                \
    }
WEIR_ATOMIC_UNSIGNED(_block, Min, unsigned, ".cta.min.u32", "r")
WEIR_ATOMIC_UNSIGNED(_block, Max, unsigned, ".cta.max.u32", "r")
WEIR_ATOMIC_UNSIGNED(_block, Min, weir_ull, ".cta.min.u64", "l")
WEIR_ATOMIC_UNSIGNED(_block, Max, weir_ull, ".cta.max.u64", "l")
WEIR_ATOMIC_UNSIGNED(_system, Min, unsigned, ".sys.min.u32", "r")
WEIR_ATOMIC_UNSIGNED(_system, Max, unsigned, ".sys.max.u32", "r")
WEIR_ATOMIC_UNSIGNED(_system, Min, weir_ull, ".sys.min.u64", "l")
WEIR_ATOMIC_UNSIGNED(_system, Max, weir_ull, ".sys.max.u64", "l")
#undef WEIR_ATOMIC_UNSIGNED
#endif

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
/* Any trivially copyable type of 16 bytes. The templates are not there for other sizes, so that
 * programs may have templates by these names. */
template <unsigned long size> struct weir_atom128 {
};
template <> struct weir_atom128<16> {
    typedef int here;
};
#define WEIR_ATOM128(suffix, scope)                                                                \
    template <typename T, typename weir_atom128<sizeof(T)>::here = 0>                              \
    WEIR_DEVICE T atomicCAS##suffix(T *p, T compare, T v)                                          \
    {                                                                                              \
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
    template <typename T, typename weir_atom128<sizeof(T)>::here = 0>                              \
    WEIR_DEVICE T atomicExch##suffix(T *p, T v)                                                    \
    {                                                                                              \
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
#undef WEIR_ATOMIC_SUB
#undef WEIR_ATOMIC_CAS
#undef WEIR_ATOMIC_BITS

#endif
