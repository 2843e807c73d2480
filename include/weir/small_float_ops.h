/* Conversions, arithmetic and comparisons of one small float type and its pair. Included once for
 * half and once for bfloat16, with
 *   WEIR_H, WEIR_H2  the types           WEIR_N         the type's name inside function names
 *   WEIR_NATIVE      clang's own type    WEIR_MANTISSA, WEIR_EXPONENT  bits of the format
 * defined. On the device the operations are the native type's; on the host they are float's, which
 * for + - * / and the root rounds to the same value (24 bits are more than 2 * 11 + 1). */

#define WEIR_PAIR_OF(T)         WEIR_SF_PAIR(T) /* which expands T first */
#define WEIR_PAIR_TYPE          WEIR_PAIR_OF(WEIR_NATIVE)
#define WEIR_JOIN_(a, b, c, d)  a##b##c##d
#define WEIR_JOIN(a, b, c, d)   WEIR_JOIN_(a, b, c, d)
#define WEIR_F(before, after)   WEIR_JOIN(before, WEIR_N, after, )        /* __ N 2float */
#define WEIR_FF(before, middle) WEIR_JOIN(before, WEIR_N, middle, WEIR_N) /* __ N 2 N */

/* ---- from and to bits, float, double ---- */

WEIR_SF WEIR_H WEIR_F(__ushort_as_, )(unsigned short bits) { return weir::bits_as<WEIR_H>(bits); }
WEIR_SF WEIR_H WEIR_F(__short_as_, )(short bits) { return weir::bits_as<WEIR_H>(bits); }
WEIR_SF unsigned short WEIR_F(__, _as_ushort)(WEIR_H h) { return weir::bits_as<unsigned short>(h); }
WEIR_SF short WEIR_F(__, _as_short)(WEIR_H h) { return weir::bits_as<short>(h); }

namespace weir
{
WEIR_SF float widen(WEIR_H h)
{
#if defined(__CUDA_ARCH__)
    return (float)bits_as<WEIR_NATIVE>(h);
#else
    return widen_small(bits_as<unsigned short>(h), WEIR_MANTISSA, WEIR_EXPONENT);
#endif
}
WEIR_SF WEIR_H WEIR_F(round_, )(double x, rounding mode)
{
    return bits_as<WEIR_H>(round_to_small(x, WEIR_MANTISSA, WEIR_EXPONENT, mode));
}
WEIR_SF WEIR_H WEIR_F(narrow_, )(float x)
{
#if defined(__CUDA_ARCH__)
    return bits_as<WEIR_H>((WEIR_NATIVE)x);
#else
    return WEIR_F(round_, )((double)x, rounding::nearest);
#endif
}
} // namespace weir

WEIR_SF WEIR_H WEIR_F(__float2, )(float x) { return weir::WEIR_F(narrow_, )(x); }
WEIR_SF WEIR_H WEIR_F(__float2, _rn)(float x) { return weir::WEIR_F(narrow_, )(x); }
WEIR_SF WEIR_H WEIR_F(__float2, _rz)(float x)
{
    return weir::WEIR_F(round_, )(x, weir::rounding::zero);
}
WEIR_SF WEIR_H WEIR_F(__float2, _rd)(float x)
{
    return weir::WEIR_F(round_, )(x, weir::rounding::down);
}
WEIR_SF WEIR_H WEIR_F(__float2, _ru)(float x)
{
    return weir::WEIR_F(round_, )(x, weir::rounding::up);
}
WEIR_SF WEIR_H WEIR_F(__double2, )(double x)
{
    return weir::WEIR_F(round_, )(x, weir::rounding::nearest);
}
WEIR_SF float WEIR_F(__, 2float)(WEIR_H h) { return weir::widen(h); }

/* ---- integers ---- */

#define WEIR_TO_INTEGER(name, type)                                                                \
    WEIR_SF type WEIR_F(__, 2##name##_rn)(WEIR_H h)                                                \
    {                                                                                              \
        return weir::small_to_integer<type>(weir::widen(h), weir::rounding::nearest);              \
    }                                                                                              \
    WEIR_SF type WEIR_F(__, 2##name##_rz)(WEIR_H h)                                                \
    {                                                                                              \
        return weir::small_to_integer<type>(weir::widen(h), weir::rounding::zero);                 \
    }                                                                                              \
    WEIR_SF type WEIR_F(__, 2##name##_rd)(WEIR_H h)                                                \
    {                                                                                              \
        return weir::small_to_integer<type>(weir::widen(h), weir::rounding::down);                 \
    }                                                                                              \
    WEIR_SF type WEIR_F(__, 2##name##_ru)(WEIR_H h)                                                \
    {                                                                                              \
        return weir::small_to_integer<type>(weir::widen(h), weir::rounding::up);                   \
    }
WEIR_TO_INTEGER(short, short)
WEIR_TO_INTEGER(ushort, unsigned short)
WEIR_TO_INTEGER(int, int)
WEIR_TO_INTEGER(uint, unsigned int)
WEIR_TO_INTEGER(ll, long long)
WEIR_TO_INTEGER(ull, unsigned long long)
#undef WEIR_TO_INTEGER
WEIR_SF signed char WEIR_F(__, 2char_rz)(WEIR_H h)
{
    return weir::small_to_integer<signed char>(weir::widen(h), weir::rounding::zero);
}
WEIR_SF unsigned char WEIR_F(__, 2uchar_rz)(WEIR_H h)
{
    return weir::small_to_integer<unsigned char>(weir::widen(h), weir::rounding::zero);
}

#define WEIR_FROM_INTEGER(name, type, exact)                                                       \
    WEIR_SF WEIR_H WEIR_F(__##name##2, _rn)(type i)                                                \
    {                                                                                              \
        return weir::WEIR_F(round_, )(exact, weir::rounding::nearest);                             \
    }                                                                                              \
    WEIR_SF WEIR_H WEIR_F(__##name##2, _rz)(type i)                                                \
    {                                                                                              \
        return weir::WEIR_F(round_, )(exact, weir::rounding::zero);                                \
    }                                                                                              \
    WEIR_SF WEIR_H WEIR_F(__##name##2, _rd)(type i)                                                \
    {                                                                                              \
        return weir::WEIR_F(round_, )(exact, weir::rounding::down);                                \
    }                                                                                              \
    WEIR_SF WEIR_H WEIR_F(__##name##2, _ru)(type i)                                                \
    {                                                                                              \
        return weir::WEIR_F(round_, )(exact, weir::rounding::up);                                  \
    }
WEIR_FROM_INTEGER(short, short, (double)i)
WEIR_FROM_INTEGER(ushort, unsigned short, (double)i)
WEIR_FROM_INTEGER(int, int, (double)i)
WEIR_FROM_INTEGER(uint, unsigned int, (double)i)
WEIR_FROM_INTEGER(ll, long long, weir::odd_double(i))
WEIR_FROM_INTEGER(ull, unsigned long long, weir::odd_double(i))
#undef WEIR_FROM_INTEGER

/* ---- pairs: building and splitting ---- */

WEIR_SF WEIR_H2 WEIR_F(make_, 2)(WEIR_H x, WEIR_H y) { return WEIR_H2(x, y); }
WEIR_SF WEIR_H2 WEIR_F(__halves2, 2)(WEIR_H x, WEIR_H y) { return WEIR_H2(x, y); }
WEIR_SF WEIR_H2 WEIR_JOIN(WEIR_FF(__, 2), 2, , )(WEIR_H h) { return WEIR_H2(h, h); }
WEIR_SF WEIR_H WEIR_F(__low2, )(WEIR_H2 p) { return p.x; }
WEIR_SF WEIR_H WEIR_F(__high2, )(WEIR_H2 p) { return p.y; }
WEIR_SF WEIR_H2 WEIR_F(__low2, 2)(WEIR_H2 p) { return WEIR_H2(p.x, p.x); }
WEIR_SF WEIR_H2 WEIR_F(__high2, 2)(WEIR_H2 p) { return WEIR_H2(p.y, p.y); }
WEIR_SF WEIR_H2 WEIR_F(__lows2, 2)(WEIR_H2 a, WEIR_H2 b) { return WEIR_H2(a.x, b.x); }
WEIR_SF WEIR_H2 WEIR_F(__highs2, 2)(WEIR_H2 a, WEIR_H2 b) { return WEIR_H2(a.y, b.y); }
WEIR_SF WEIR_H2 __lowhigh2highlow(WEIR_H2 p) { return WEIR_H2(p.y, p.x); }
WEIR_SF float __low2float(WEIR_H2 p) { return weir::widen(p.x); }
WEIR_SF float __high2float(WEIR_H2 p) { return weir::widen(p.y); }
WEIR_SF WEIR_H2 WEIR_F(__float2, 2_rn)(float x)
{
    WEIR_H h = weir::WEIR_F(narrow_, )(x);
    return WEIR_H2(h, h);
}
WEIR_SF WEIR_H2 WEIR_F(__floats2, 2_rn)(float x, float y)
{
    return WEIR_H2(weir::WEIR_F(narrow_, )(x), weir::WEIR_F(narrow_, )(y));
}
WEIR_SF WEIR_H2 WEIR_F(__float22, 2_rn)(float2 v)
{
    return WEIR_H2(weir::WEIR_F(narrow_, )(v.x), weir::WEIR_F(narrow_, )(v.y));
}
WEIR_SF float2 WEIR_F(__, 22float2)(WEIR_H2 p)
{
    float2 v;
    v.x = weir::widen(p.x);
    v.y = weir::widen(p.y);
    return v;
}

/* ---- arithmetic ---- */

#if defined(__CUDA_ARCH__)
#define WEIR_OPERATION(name, op)                                                                   \
    WEIR_SF WEIR_H name(WEIR_H a, WEIR_H b)                                                        \
    {                                                                                              \
        return weir::bits_as<WEIR_H>(                                                              \
            (WEIR_NATIVE)(weir::bits_as<WEIR_NATIVE>(a) op weir::bits_as<WEIR_NATIVE>(b)));        \
    }
#define WEIR_OPERATION2(name, single, op)                                                          \
    WEIR_SF WEIR_H2 name(WEIR_H2 a, WEIR_H2 b)                                                     \
    {                                                                                              \
        WEIR_PAIR_TYPE;                                                                            \
        return weir::bits_as<WEIR_H2>(weir::bits_as<pair>(a) op weir::bits_as<pair>(b));           \
    }
#else
#define WEIR_OPERATION(name, op)                                                                   \
    WEIR_SF WEIR_H name(WEIR_H a, WEIR_H b)                                                        \
    {                                                                                              \
        return weir::WEIR_F(narrow_, )(weir::widen(a) op weir::widen(b));                          \
    }
#define WEIR_OPERATION2(name, single, op)                                                          \
    WEIR_SF WEIR_H2 name(WEIR_H2 a, WEIR_H2 b)                                                     \
    {                                                                                              \
        return WEIR_H2(single(a.x, b.x), single(a.y, b.y));                                        \
    }
#endif
WEIR_OPERATION(__hadd, +)
WEIR_OPERATION(__hsub, -)
WEIR_OPERATION(__hmul, *)
WEIR_OPERATION(__hdiv, /)
WEIR_OPERATION2(__hadd2, __hadd, +)
WEIR_OPERATION2(__hsub2, __hsub, -)
WEIR_OPERATION2(__hmul2, __hmul, *)
WEIR_OPERATION2(__h2div, __hdiv, /)
#undef WEIR_OPERATION
#undef WEIR_OPERATION2

/* Never contracted into a multiply-add: in float, whose _rn functions are not. */
#if defined(__CUDA_ARCH__)
#define WEIR_EXACTLY(function, op) function(weir::widen(a), weir::widen(b))
#else
#define WEIR_EXACTLY(function, op) (weir::widen(a) op weir::widen(b))
#endif
WEIR_SF WEIR_H __hadd_rn(WEIR_H a, WEIR_H b)
{
    return weir::WEIR_F(narrow_, )(WEIR_EXACTLY(__fadd_rn, +));
}
WEIR_SF WEIR_H __hsub_rn(WEIR_H a, WEIR_H b)
{
    return weir::WEIR_F(narrow_, )(WEIR_EXACTLY(__fsub_rn, -));
}
WEIR_SF WEIR_H __hmul_rn(WEIR_H a, WEIR_H b)
{
    return weir::WEIR_F(narrow_, )(WEIR_EXACTLY(__fmul_rn, *));
}
#undef WEIR_EXACTLY

WEIR_SF WEIR_H __hfma(WEIR_H a, WEIR_H b, WEIR_H c)
{
#if defined(__CUDA_ARCH__)
    return weir::bits_as<WEIR_H>(WEIR_SF_FMA(weir::bits_as<WEIR_NATIVE>(a),
                                             weir::bits_as<WEIR_NATIVE>(b),
                                             weir::bits_as<WEIR_NATIVE>(c)));
#else
    return weir::WEIR_F(round_, )(weir::odd_fma(weir::widen(a), weir::widen(b), weir::widen(c)),
                                  weir::rounding::nearest);
#endif
}
WEIR_SF WEIR_H2 __hfma2(WEIR_H2 a, WEIR_H2 b, WEIR_H2 c)
{
#if defined(__CUDA_ARCH__)
    WEIR_PAIR_TYPE;
    return weir::bits_as<WEIR_H2>(
        WEIR_SF_FMA(weir::bits_as<pair>(a), weir::bits_as<pair>(b), weir::bits_as<pair>(c)));
#else
    return WEIR_H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
#endif
}
WEIR_SF WEIR_H __hneg(WEIR_H a)
{
    return weir::bits_as<WEIR_H>((unsigned short)(weir::bits_as<unsigned short>(a) ^ 0x8000));
}
WEIR_SF WEIR_H __habs(WEIR_H a)
{
    return weir::bits_as<WEIR_H>((unsigned short)(weir::bits_as<unsigned short>(a) & 0x7fff));
}

namespace weir
{
/* Which of two values is taken here and below is a matter of values, never of branches: programs
 * compute on what they never wrote and drop the results, and what follows a branch on such a value
 * the compiler may leave out. */
WEIR_SF WEIR_H pick(bool first, WEIR_H a, WEIR_H b)
{
    unsigned short x = bits_as<unsigned short>(a), y = bits_as<unsigned short>(b);
    unsigned short taken = first ? x : y;
    return bits_as<WEIR_H>(taken);
}
WEIR_SF WEIR_H WEIR_F(nan_, )() { return bits_as<WEIR_H>((unsigned short)0x7fff); }
/* Into [0, 1]; NaN gives 0. */
WEIR_SF WEIR_H saturate(WEIR_H h)
{
    float x = widen(h);
    return pick(x > 1.0f, WEIR_F(narrow_, )(1.0f), pick(x >= 0.0f, h, WEIR_F(narrow_, )(0.0f)));
}
/* Negative values to 0; NaN gives the one NaN. */
WEIR_SF WEIR_H rectify(WEIR_H h)
{
    float x = widen(h);
    return pick(x != x, WEIR_F(nan_, )(), pick(x > 0.0f, h, WEIR_F(narrow_, )(0.0f)));
}
} // namespace weir

WEIR_SF WEIR_H __hadd_sat(WEIR_H a, WEIR_H b) { return weir::saturate(__hadd_rn(a, b)); }
WEIR_SF WEIR_H __hsub_sat(WEIR_H a, WEIR_H b) { return weir::saturate(__hsub_rn(a, b)); }
WEIR_SF WEIR_H __hmul_sat(WEIR_H a, WEIR_H b) { return weir::saturate(__hmul_rn(a, b)); }
WEIR_SF WEIR_H __hfma_sat(WEIR_H a, WEIR_H b, WEIR_H c) { return weir::saturate(__hfma(a, b, c)); }
WEIR_SF WEIR_H __hfma_relu(WEIR_H a, WEIR_H b, WEIR_H c) { return weir::rectify(__hfma(a, b, c)); }

/* The functions of pairs that do the same to each half. */
#define WEIR_PAIR1(name, single)                                                                   \
    WEIR_SF WEIR_H2 name(WEIR_H2 a) { return WEIR_H2(single(a.x), single(a.y)); }
#define WEIR_PAIR2(name, single)                                                                   \
    WEIR_SF WEIR_H2 name(WEIR_H2 a, WEIR_H2 b)                                                     \
    {                                                                                              \
        return WEIR_H2(single(a.x, b.x), single(a.y, b.y));                                        \
    }
#define WEIR_PAIR3(name, single)                                                                   \
    WEIR_SF WEIR_H2 name(WEIR_H2 a, WEIR_H2 b, WEIR_H2 c)                                          \
    {                                                                                              \
        return WEIR_H2(single(a.x, b.x, c.x), single(a.y, b.y, c.y));                              \
    }
WEIR_PAIR1(__hneg2, __hneg)
WEIR_PAIR1(__habs2, __habs)
WEIR_PAIR2(__hadd2_rn, __hadd_rn)
WEIR_PAIR2(__hsub2_rn, __hsub_rn)
WEIR_PAIR2(__hmul2_rn, __hmul_rn)
WEIR_PAIR2(__hadd2_sat, __hadd_sat)
WEIR_PAIR2(__hsub2_sat, __hsub_sat)
WEIR_PAIR2(__hmul2_sat, __hmul_sat)
WEIR_PAIR3(__hfma2_sat, __hfma_sat)
WEIR_PAIR3(__hfma2_relu, __hfma_relu)
/* Complex multiply-add: (a.x + i a.y) * (b.x + i b.y) + (c.x + i c.y), in the documented order. */
WEIR_SF WEIR_H2 __hcmadd(WEIR_H2 a, WEIR_H2 b, WEIR_H2 c)
{
    WEIR_H real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);
    return WEIR_H2(__hfma(__hneg(a.y), b.y, real), __hfma(a.y, b.x, imaginary));
}

/* ---- comparison ---- */

WEIR_SF bool __hisnan(WEIR_H a)
{
    return (weir::bits_as<unsigned short>(a) & 0x7fff) > ((1 << WEIR_EXPONENT) - 1)
                                                             << WEIR_MANTISSA;
}
/* 1 or -1 by the infinity's sign. */
WEIR_SF int __hisinf(WEIR_H a)
{
    unsigned bits = weir::bits_as<unsigned short>(a);
    if ((bits & 0x7fff) != ((1u << WEIR_EXPONENT) - 1) << WEIR_MANTISSA)
        return 0;
    return bits >> 15 ? -1 : 1;
}

namespace weir
{
/* 0 or 1, without a branch. */
WEIR_SF int either_nan(WEIR_H a, WEIR_H b) { return (int)__hisnan(a) | (int)__hisnan(b); }
} // namespace weir

/* Ordered (false with a NaN) and unordered (true with a NaN); of pairs: each half as 1.0 or 0.0,
 * as a mask, or both at once. */
#define WEIR_COMPARE(name, op, nan)                                                                \
    WEIR_SF bool __h##name(WEIR_H a, WEIR_H b)                                                     \
    {                                                                                              \
        return (nan & weir::either_nan(a, b)) | (weir::widen(a) op weir::widen(b));                \
    }                                                                                              \
    WEIR_SF WEIR_H2 __h##name##2(WEIR_H2 a, WEIR_H2 b)                                             \
    {                                                                                              \
        return WEIR_H2(weir::WEIR_F(narrow_, )(__h##name(a.x, b.x) ? 1.0f : 0.0f),                 \
                       weir::WEIR_F(narrow_, )(__h##name(a.y, b.y) ? 1.0f : 0.0f));                \
    }                                                                                              \
    WEIR_SF unsigned __h##name##2_mask(WEIR_H2 a, WEIR_H2 b)                                       \
    {                                                                                              \
        return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);    \
    }                                                                                              \
    WEIR_SF bool __hb##name##2(WEIR_H2 a, WEIR_H2 b)                                               \
    {                                                                                              \
        return (int)__h##name(a.x, b.x) & __h##name(a.y, b.y);                                     \
    }
WEIR_COMPARE(eq, ==, false)
WEIR_COMPARE(lt, <, false)
WEIR_COMPARE(le, <=, false)
WEIR_COMPARE(gt, >, false)
WEIR_COMPARE(ge, >=, false)
WEIR_COMPARE(equ, ==, true)
WEIR_COMPARE(ltu, <, true)
WEIR_COMPARE(leu, <=, true)
WEIR_COMPARE(gtu, >, true)
WEIR_COMPARE(geu, >=, true)
WEIR_COMPARE(neu, !=, true)
#undef WEIR_COMPARE
/* "Not equal" is ordered, too. */
WEIR_SF bool __hne(WEIR_H a, WEIR_H b)
{
    return (1 - weir::either_nan(a, b)) & (weir::widen(a) != weir::widen(b));
}
WEIR_SF WEIR_H2 __hne2(WEIR_H2 a, WEIR_H2 b)
{
    return WEIR_H2(weir::WEIR_F(narrow_, )(__hne(a.x, b.x) ? 1.0f : 0.0f),
                   weir::WEIR_F(narrow_, )(__hne(a.y, b.y) ? 1.0f : 0.0f));
}
WEIR_SF unsigned __hne2_mask(WEIR_H2 a, WEIR_H2 b)
{
    return (__hne(a.x, b.x) ? 0xffffu : 0u) | (__hne(a.y, b.y) ? 0xffff0000u : 0u);
}
WEIR_SF bool __hbne2(WEIR_H2 a, WEIR_H2 b) { return (int)__hne(a.x, b.x) & __hne(a.y, b.y); }
WEIR_SF WEIR_H2 __hisnan2(WEIR_H2 a)
{
    return WEIR_H2(weir::WEIR_F(narrow_, )(__hisnan(a.x) ? 1.0f : 0.0f),
                   weir::WEIR_F(narrow_, )(__hisnan(a.y) ? 1.0f : 0.0f));
}

/* A NaN gives the other operand; with _nan it gives NaN. -0 is less than +0. */
#if defined(__CUDA_ARCH__)
#define WEIR_EXTREME(name, builtin, wins, sign)                                                    \
    WEIR_SF WEIR_H name(WEIR_H a, WEIR_H b)                                                        \
    {                                                                                              \
        return weir::WEIR_F(narrow_, )(builtin(weir::widen(a), weir::widen(b)));                   \
    }
#else
#define WEIR_EXTREME(name, builtin, wins, sign)                                                    \
    WEIR_SF WEIR_H name(WEIR_H a, WEIR_H b)                                                        \
    {                                                                                              \
        float x = weir::widen(a), y = weir::widen(b);                                              \
        bool first = x wins y || (x == y && (weir::bits_as<short>(a) sign 0));                     \
        if (__hisnan(a) && __hisnan(b))                                                            \
            return weir::WEIR_F(nan_, )();                                                         \
        return weir::pick(first || __hisnan(b), a, b);                                             \
    }
#endif
WEIR_EXTREME(__hmax, WEIR_SF_FMAX, >, >=)
WEIR_EXTREME(__hmin, WEIR_SF_FMIN, <, <)
#undef WEIR_EXTREME
WEIR_SF WEIR_H __hmax_nan(WEIR_H a, WEIR_H b)
{
    return weir::pick(weir::either_nan(a, b), weir::WEIR_F(nan_, )(), __hmax(a, b));
}
WEIR_SF WEIR_H __hmin_nan(WEIR_H a, WEIR_H b)
{
    return weir::pick(weir::either_nan(a, b), weir::WEIR_F(nan_, )(), __hmin(a, b));
}
WEIR_PAIR2(__hmax2, __hmax)
WEIR_PAIR2(__hmin2, __hmin)
WEIR_PAIR2(__hmax2_nan, __hmax_nan)
WEIR_PAIR2(__hmin2_nan, __hmin_nan)

/* ---- operators ---- */

#if !defined(WEIR_NO_OPERATORS)
#define WEIR_OPERATORS(T, add, sub, mul, div, neg)                                                 \
    WEIR_SF T operator+(const T &a, const T &b) { return add(a, b); }                              \
    WEIR_SF T operator-(const T &a, const T &b) { return sub(a, b); }                              \
    WEIR_SF T operator*(const T &a, const T &b) { return mul(a, b); }                              \
    WEIR_SF T operator/(const T &a, const T &b) { return div(a, b); }                              \
    WEIR_SF T &operator+=(T &a, const T &b) { return a = add(a, b); }                              \
    WEIR_SF T &operator-=(T &a, const T &b) { return a = sub(a, b); }                              \
    WEIR_SF T &operator*=(T &a, const T &b) { return a = mul(a, b); }                              \
    WEIR_SF T &operator/=(T &a, const T &b) { return a = div(a, b); }                              \
    WEIR_SF T operator+(const T &a) { return a; }                                                  \
    WEIR_SF T operator-(const T &a) { return neg(a); }                                             \
    WEIR_SF T &operator++(T &a) { return a = add(a, T(WEIR_ONE(T))); }                             \
    WEIR_SF T &operator--(T &a) { return a = sub(a, T(WEIR_ONE(T))); }                             \
    WEIR_SF T operator++(T &a, int)                                                                \
    {                                                                                              \
        T before = a;                                                                              \
        ++a;                                                                                       \
        return before;                                                                             \
    }                                                                                              \
    WEIR_SF T operator--(T &a, int)                                                                \
    {                                                                                              \
        T before = a;                                                                              \
        --a;                                                                                       \
        return before;                                                                             \
    }
#define WEIR_ONE(T) weir::WEIR_F(narrow_, )(1.0f)
WEIR_OPERATORS(WEIR_H, __hadd, __hsub, __hmul, __hdiv, __hneg)
#undef WEIR_ONE
#define WEIR_ONE(T) weir::WEIR_F(narrow_, )(1.0f), weir::WEIR_F(narrow_, )(1.0f)
WEIR_OPERATORS(WEIR_H2, __hadd2, __hsub2, __hmul2, __h2div, __hneg2)
#undef WEIR_ONE
#undef WEIR_OPERATORS

WEIR_SF bool operator==(const WEIR_H &a, const WEIR_H &b) { return __heq(a, b); }
WEIR_SF bool operator!=(const WEIR_H &a, const WEIR_H &b) { return __hneu(a, b); }
WEIR_SF bool operator<(const WEIR_H &a, const WEIR_H &b) { return __hlt(a, b); }
WEIR_SF bool operator<=(const WEIR_H &a, const WEIR_H &b) { return __hle(a, b); }
WEIR_SF bool operator>(const WEIR_H &a, const WEIR_H &b) { return __hgt(a, b); }
WEIR_SF bool operator>=(const WEIR_H &a, const WEIR_H &b) { return __hge(a, b); }
WEIR_SF bool operator==(const WEIR_H2 &a, const WEIR_H2 &b) { return __hbeq2(a, b); }
WEIR_SF bool operator!=(const WEIR_H2 &a, const WEIR_H2 &b) { return __hbneu2(a, b); }
WEIR_SF bool operator<(const WEIR_H2 &a, const WEIR_H2 &b) { return __hblt2(a, b); }
WEIR_SF bool operator<=(const WEIR_H2 &a, const WEIR_H2 &b) { return __hble2(a, b); }
WEIR_SF bool operator>(const WEIR_H2 &a, const WEIR_H2 &b) { return __hbgt2(a, b); }
WEIR_SF bool operator>=(const WEIR_H2 &a, const WEIR_H2 &b) { return __hbge2(a, b); }
#endif
