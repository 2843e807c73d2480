/* The DPX functions ("CUDA Math API", SIMD Intrinsics): minima and maxima of three, with an
 * addition before or a clamp at zero after, which answer the inner loops of dynamic programming. On
 * host and device. */
#ifndef WEIR_DPX_H
#define WEIR_DPX_H

#define WEIR_DPX static __inline__ __attribute__((always_inline, host, device))

namespace weir
{
template <typename T> WEIR_DPX T larger(T a, T b) { return a > b ? a : b; }
template <typename T> WEIR_DPX T smaller(T a, T b) { return a < b ? a : b; }

/* f on both 16-bit halves of its arguments. */
template <typename Half, typename F>
WEIR_DPX unsigned halves(unsigned a, unsigned b, unsigned c, F f)
{
    Half low = (Half)f((Half)a, (Half)b, (Half)c);
    Half high = (Half)f((Half)(a >> 16), (Half)(b >> 16), (Half)(c >> 16));
    return (unsigned)(unsigned short)low | (unsigned)(unsigned short)high << 16;
}
} // namespace weir

/* One function on 32-bit integers and its 16-bit pair; x, y and z are the arguments. */
#define WEIR_DPX3(name, expression)                                                                \
    WEIR_DPX int name##_s32(int x, int y, int z)                                                   \
    {                                                                                              \
        typedef int T;                                                                             \
        return expression;                                                                         \
    }                                                                                              \
    WEIR_DPX unsigned name##_u32(unsigned x, unsigned y, unsigned z)                               \
    {                                                                                              \
        typedef unsigned T;                                                                        \
        return expression;                                                                         \
    }                                                                                              \
    WEIR_DPX unsigned name##_s16x2(unsigned a, unsigned b, unsigned c)                             \
    {                                                                                              \
        typedef short T;                                                                           \
        return weir::halves<T>(a, b, c, [](T x, T y, T z) { return expression; });                 \
    }                                                                                              \
    WEIR_DPX unsigned name##_u16x2(unsigned a, unsigned b, unsigned c)                             \
    {                                                                                              \
        typedef unsigned short T;                                                                  \
        return weir::halves<T>(a, b, c, [](T x, T y, T z) { return expression; });                 \
    }
/* Clamped at zero: signed only. */
#define WEIR_DPX3_RELU(name, expression)                                                           \
    WEIR_DPX int name##_s32_relu(int x, int y, int z)                                              \
    {                                                                                              \
        typedef int T;                                                                             \
        return weir::larger<T>(expression, 0);                                                     \
    }                                                                                              \
    WEIR_DPX unsigned name##_s16x2_relu(unsigned a, unsigned b, unsigned c)                        \
    {                                                                                              \
        typedef short T;                                                                           \
        return weir::halves<T>(a, b, c,                                                            \
                               [](T x, T y, T z) { return weir::larger<T>(expression, 0); });      \
    }
/* Sums wrap. */
#define WEIR_DPX_SUM T((unsigned)x + (unsigned)y)
WEIR_DPX3(__vimax3, weir::larger<T>(weir::larger<T>(x, y), z))
WEIR_DPX3(__vimin3, weir::smaller<T>(weir::smaller<T>(x, y), z))
WEIR_DPX3_RELU(__vimax3, weir::larger<T>(weir::larger<T>(x, y), z))
WEIR_DPX3_RELU(__vimin3, weir::smaller<T>(weir::smaller<T>(x, y), z))
WEIR_DPX3(__viaddmax, weir::larger<T>(WEIR_DPX_SUM, z))
WEIR_DPX3(__viaddmin, weir::smaller<T>(WEIR_DPX_SUM, z))
WEIR_DPX3_RELU(__viaddmax, weir::larger<T>(WEIR_DPX_SUM, z))
WEIR_DPX3_RELU(__viaddmin, weir::smaller<T>(WEIR_DPX_SUM, z))
#undef WEIR_DPX3
#undef WEIR_DPX3_RELU
#undef WEIR_DPX_SUM

WEIR_DPX int __vimax_s32_relu(int a, int b) { return weir::larger(weir::larger(a, b), 0); }
WEIR_DPX int __vimin_s32_relu(int a, int b) { return weir::larger(weir::smaller(a, b), 0); }
WEIR_DPX unsigned __vimax_s16x2_relu(unsigned a, unsigned b)
{
    return weir::halves<short>(a, b, 0u, [](short x, short y, short) {
        return weir::larger<short>(weir::larger(x, y), 0);
    });
}
WEIR_DPX unsigned __vimin_s16x2_relu(unsigned a, unsigned b)
{
    return weir::halves<short>(a, b, 0u, [](short x, short y, short) {
        return weir::larger<short>(weir::smaller(x, y), 0);
    });
}

/* And whether the first argument was the one (it is when both are equal). */
WEIR_DPX int __vibmax_s32(int a, int b, bool *first) { return (*first = a >= b) ? a : b; }
WEIR_DPX unsigned __vibmax_u32(unsigned a, unsigned b, bool *first)
{
    return (*first = a >= b) ? a : b;
}
WEIR_DPX int __vibmin_s32(int a, int b, bool *first) { return (*first = a <= b) ? a : b; }
WEIR_DPX unsigned __vibmin_u32(unsigned a, unsigned b, bool *first)
{
    return (*first = a <= b) ? a : b;
}
#define WEIR_DPX_WHICH(name, Half, op)                                                             \
    WEIR_DPX unsigned name(unsigned a, unsigned b, bool *high_first, bool *low_first)              \
    {                                                                                              \
        *high_first = (Half)(a >> 16) op(Half)(b >> 16);                                           \
        *low_first = (Half)a op(Half) b;                                                           \
        return ((*high_first ? a : b) & 0xffff0000u) | ((*low_first ? a : b) & 0xffffu);           \
    }
WEIR_DPX_WHICH(__vibmax_s16x2, short, >=)
WEIR_DPX_WHICH(__vibmax_u16x2, unsigned short, >=)
WEIR_DPX_WHICH(__vibmin_s16x2, short, <=)
WEIR_DPX_WHICH(__vibmin_u16x2, unsigned short, <=)
#undef WEIR_DPX_WHICH
#undef WEIR_DPX

#endif
