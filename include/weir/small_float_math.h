/* Elementary functions of one small float type and its pair, and on the device its shuffles, loads,
 * stores and atomics. Included after small_float_ops.h, with the same macros defined, and
 * WEIR_PTX_TYPE, the type's name in PTX. */

/* Through float, whose error is far below the small type's last place. */
#define WEIR_MATH(name, expression)                                                                \
    WEIR_SF WEIR_H h##name(WEIR_H a)                                                               \
    {                                                                                              \
        float x = weir::widen(a);                                                                  \
        return weir::WEIR_F(narrow_, )(expression);                                                \
    }                                                                                              \
    WEIR_SF WEIR_H2 h2##name(WEIR_H2 a) { return WEIR_H2(h##name(a.x), h##name(a.y)); }
WEIR_MATH(sqrt, sqrtf(x))
WEIR_MATH(rsqrt, 1.0f / sqrtf(x))
WEIR_MATH(rcp, 1.0f / x)
WEIR_MATH(exp, expf(x))
WEIR_MATH(exp2, exp2f(x))
#if defined(__CUDA_ARCH__)
WEIR_MATH(exp10, exp10f(x))
#else
WEIR_MATH(exp10, (float)pow(10.0, (double)x))
#endif
WEIR_MATH(log, logf(x))
WEIR_MATH(log2, log2f(x))
WEIR_MATH(log10, log10f(x))
WEIR_MATH(sin, sinf(x))
WEIR_MATH(cos, cosf(x))
WEIR_MATH(tanh, tanhf(x))
WEIR_MATH(tanh_approx, tanhf(x))
WEIR_MATH(ceil, ceilf(x))
WEIR_MATH(floor, floorf(x))
WEIR_MATH(trunc, truncf(x))
WEIR_MATH(rint, rintf(x))
#undef WEIR_MATH

#if defined(__CUDA__) || defined(__CUDACC_RTC__)

/* ---- shuffles: the bits travel ---- */

#define WEIR_SHUFFLE(name, offset, T, carrier)                                                     \
    WEIR_SF_DEVICE T name(unsigned mask, T value, offset by, int width = 32)                       \
    {                                                                                              \
        unsigned word = weir::bits_as<carrier>(value);                                             \
        return weir::bits_as<T>((carrier)name(mask, word, by, width));                             \
    }
WEIR_SHUFFLE(__shfl_sync, int, WEIR_H, unsigned short)
WEIR_SHUFFLE(__shfl_up_sync, unsigned, WEIR_H, unsigned short)
WEIR_SHUFFLE(__shfl_down_sync, unsigned, WEIR_H, unsigned short)
WEIR_SHUFFLE(__shfl_xor_sync, int, WEIR_H, unsigned short)
WEIR_SHUFFLE(__shfl_sync, int, WEIR_H2, unsigned)
WEIR_SHUFFLE(__shfl_up_sync, unsigned, WEIR_H2, unsigned)
WEIR_SHUFFLE(__shfl_down_sync, unsigned, WEIR_H2, unsigned)
WEIR_SHUFFLE(__shfl_xor_sync, int, WEIR_H2, unsigned)
#undef WEIR_SHUFFLE

/* ---- loads and stores with a cache hint ---- */

#define WEIR_LOAD(name)                                                                            \
    WEIR_SF_DEVICE WEIR_H name(const WEIR_H *p)                                                    \
    {                                                                                              \
        return weir::bits_as<WEIR_H>(name((const unsigned short *)p));                             \
    }                                                                                              \
    WEIR_SF_DEVICE WEIR_H2 name(const WEIR_H2 *p)                                                  \
    {                                                                                              \
        return weir::bits_as<WEIR_H2>(name((const unsigned *)p));                                  \
    }
#define WEIR_STORE(name)                                                                           \
    WEIR_SF_DEVICE void name(WEIR_H *p, WEIR_H v)                                                  \
    {                                                                                              \
        name((unsigned short *)p, weir::bits_as<unsigned short>(v));                               \
    }                                                                                              \
    WEIR_SF_DEVICE void name(WEIR_H2 *p, WEIR_H2 v)                                                \
    {                                                                                              \
        name((unsigned *)p, weir::bits_as<unsigned>(v));                                           \
    }
WEIR_LOAD(__ldg)
WEIR_LOAD(__ldcg)
WEIR_LOAD(__ldca)
WEIR_LOAD(__ldcs)
WEIR_LOAD(__ldlu)
WEIR_LOAD(__ldcv)
WEIR_STORE(__stwb)
WEIR_STORE(__stcg)
WEIR_STORE(__stcs)
WEIR_STORE(__stwt)
#undef WEIR_LOAD
#undef WEIR_STORE

/* ---- atomic addition ---- */

/* Where the architecture has no such instruction, the word is exchanged until nobody else has
 * changed it meanwhile, as nvcc's headers do it. */
WEIR_SF_DEVICE WEIR_H atomicAdd(WEIR_H *p, WEIR_H v)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= WEIR_ATOMIC_ARCH
    unsigned short old;
    asm volatile("atom.add.noftz." WEIR_PTX_TYPE " %0, [%1], %2;"
                 : "=h"(old)
                 : "l"(p), "h"(weir::bits_as<unsigned short>(v))
                 : "memory");
    return weir::bits_as<WEIR_H>(old);
#else
    unsigned shift = ((unsigned long long)p & 2) * 8;
    unsigned *word = (unsigned *)((unsigned long long)p & ~3ull);
    unsigned seen = *(volatile unsigned *)word, old;
    do {
        old = seen;
        WEIR_H sum = __hadd(weir::bits_as<WEIR_H>((unsigned short)(old >> shift)), v);
        unsigned bits = (unsigned)weir::bits_as<unsigned short>(sum) << shift;
        seen = atomicCAS(word, old, (old & ~(0xffffu << shift)) | bits);
    } while (seen != old);
    return weir::bits_as<WEIR_H>((unsigned short)(old >> shift));
#endif
}
/* Each half is added atomically; the pair need not be. */
WEIR_SF_DEVICE WEIR_H2 atomicAdd(WEIR_H2 *p, WEIR_H2 v)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= WEIR_ATOMIC2_ARCH
    unsigned old;
    asm volatile("atom.add.noftz." WEIR_PTX_TYPE "x2 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(p), "r"(weir::bits_as<unsigned>(v))
                 : "memory");
    return weir::bits_as<WEIR_H2>(old);
#else
    unsigned seen = *(volatile unsigned *)p, old;
    do {
        old = seen;
        WEIR_H2 sum = __hadd2(weir::bits_as<WEIR_H2>(old), v);
        seen = atomicCAS((unsigned *)p, old, weir::bits_as<unsigned>(sum));
    } while (seen != old);
    return weir::bits_as<WEIR_H2>(old);
#endif
}

#endif /* __CUDA__ */

#undef WEIR_PAIR1
#undef WEIR_PAIR2
#undef WEIR_PAIR3
#undef WEIR_F
#undef WEIR_FF
#undef WEIR_PAIR_OF
#undef WEIR_PAIR_TYPE
#undef WEIR_JOIN
#undef WEIR_JOIN_
