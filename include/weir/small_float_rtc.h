/* Under NVRTC, which has none of clang's types: half and bfloat16, and pairs of them, as classes
 * whose operators are PTX. Their results are those of clang's types. */
#ifndef WEIR_SMALL_FLOAT_RTC_H
#define WEIR_SMALL_FLOAT_RTC_H

namespace weir
{
struct rtc_half {
    unsigned short bits;
    rtc_half() = default;
    WEIR_SF_MEMBER explicit rtc_half(float x)
    {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    }
    WEIR_SF_MEMBER explicit operator float() const
    {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};

struct rtc_half_pair {
    unsigned bits;
};

#define WEIR_RTC_OPERATOR(op, name)                                                                \
    WEIR_SF rtc_half operator op(rtc_half a, rtc_half b)                                           \
    {                                                                                              \
        rtc_half r;                                                                                \
        asm(name ".rn.f16 %0, %1, %2;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits));                 \
        return r;                                                                                  \
    }                                                                                              \
    WEIR_SF rtc_half_pair operator op(rtc_half_pair a, rtc_half_pair b)                            \
    {                                                                                              \
        rtc_half_pair r;                                                                           \
        asm(name ".rn.f16x2 %0, %1, %2;" : "=r"(r.bits) : "r"(a.bits), "r"(b.bits));               \
        return r;                                                                                  \
    }
WEIR_RTC_OPERATOR(+, "add")
WEIR_RTC_OPERATOR(-, "sub")
WEIR_RTC_OPERATOR(*, "mul")
#undef WEIR_RTC_OPERATOR

/* A float's quotient rounds to the same. */
WEIR_SF rtc_half operator/(rtc_half a, rtc_half b)
{
    return rtc_half(__fdiv_rn((float)a, (float)b));
}

WEIR_SF rtc_half rtc_fma(rtc_half a, rtc_half b, rtc_half c)
{
    rtc_half r;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
    return r;
}
WEIR_SF rtc_half_pair rtc_fma(rtc_half_pair a, rtc_half_pair b, rtc_half_pair c)
{
    rtc_half_pair r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r.bits) : "r"(a.bits), "r"(b.bits), "r"(c.bits));
    return r;
}

/* Sums, differences, products and quotients round to the same in float. */
struct rtc_bfloat {
    unsigned short bits;
    rtc_bfloat() = default;
    WEIR_SF_MEMBER explicit rtc_bfloat(float x)
    {
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
#else
        bits = round_to_small(x, 7, 8, rounding::nearest);
#endif
    }
    WEIR_SF_MEMBER explicit operator float() const { return bits_as<float>((unsigned)bits << 16); }
};

#define WEIR_RTC_OPERATOR(op, function)                                                            \
    WEIR_SF rtc_bfloat operator op(rtc_bfloat a, rtc_bfloat b)                                     \
    {                                                                                              \
        return rtc_bfloat(function((float)a, (float)b));                                           \
    }
WEIR_RTC_OPERATOR(+, __fadd_rn)
WEIR_RTC_OPERATOR(-, __fsub_rn)
WEIR_RTC_OPERATOR(*, __fmul_rn)
WEIR_RTC_OPERATOR(/, __fdiv_rn)
#undef WEIR_RTC_OPERATOR

WEIR_SF rtc_bfloat rtc_fma(rtc_bfloat a, rtc_bfloat b, rtc_bfloat c)
{
    rtc_bfloat r;
#if __CUDA_ARCH__ >= 800
    asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(r.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
#else
    r.bits = round_to_small(odd_fma((float)a, (float)b, (float)c), 7, 8, rounding::nearest);
#endif
    return r;
}

struct rtc_bfloat_pair {
    rtc_bfloat x, y;
};

#define WEIR_RTC_OPERATOR(op)                                                                      \
    WEIR_SF rtc_bfloat_pair operator op(rtc_bfloat_pair a, rtc_bfloat_pair b)                      \
    {                                                                                              \
        rtc_bfloat_pair r;                                                                         \
        r.x = a.x op b.x;                                                                          \
        r.y = a.y op b.y;                                                                          \
        return r;                                                                                  \
    }
WEIR_RTC_OPERATOR(+)
WEIR_RTC_OPERATOR(-)
WEIR_RTC_OPERATOR(*)
WEIR_RTC_OPERATOR(/)
#undef WEIR_RTC_OPERATOR

WEIR_SF rtc_bfloat_pair rtc_fma(rtc_bfloat_pair a, rtc_bfloat_pair b, rtc_bfloat_pair c)
{
    rtc_bfloat_pair r;
    r.x = rtc_fma(a.x, b.x, c.x);
    r.y = rtc_fma(a.y, b.y, c.y);
    return r;
}

WEIR_SF rtc_half_pair operator/(rtc_half_pair a, rtc_half_pair b)
{
    rtc_half x, y, u, v;
    x.bits = (unsigned short)a.bits, y.bits = (unsigned short)(a.bits >> 16);
    u.bits = (unsigned short)b.bits, v.bits = (unsigned short)(b.bits >> 16);
    rtc_half_pair r;
    r.bits = (x / u).bits | (unsigned)(y / v).bits << 16;
    return r;
}

} // namespace weir

#endif
