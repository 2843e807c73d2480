/* K2.16, headers: half and bfloat16 on the host, by value: every bit pattern there and back, every
 * rounding of conversions, arithmetic against the compiler's own types. */
#include <math.h>
#include <stdint.h>

#include <type_traits>

#include "check.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

static unsigned long long seed = 1;
static uint32_t random32(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 32);
}
template <typename To, typename From> static To as(From from)
{
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static bool is_nan(uint16_t bits, uint16_t infinity) { return (bits & 0x7fff) > infinity; }

/* bfloat16 by its definition: the upper half of a float, rounded to even. */
struct upper_half {
    uint16_t bits;
    upper_half() = default;
    explicit upper_half(float f)
    {
        uint32_t b = as<uint32_t>(f);
        bits = f != f ? 0x7fff : (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
    }
    operator float() const { return as<float>((uint32_t)bits << 16); }
};

/* Same bits, or both NaN. */
static bool same(uint16_t a, uint16_t b, uint16_t infinity)
{
    return a == b || (is_nan(a, infinity) && is_nan(b, infinity));
}

template <typename H, typename Native> static void values(uint16_t infinity, H (*narrow)(float))
{
    for (unsigned i = 0; i < 65536; i++) {
        H h = as<H>((uint16_t)i);
        float f = h;
        CHECK(is_nan(i, infinity) ? isnan(f) : f == (float)as<Native>((uint16_t)i));
        CHECK(same(as<uint16_t>(narrow(f)), (uint16_t)i, infinity));
    }
    for (int i = 0; i < 1000000; i++) {
        float f = as<float>(random32());
        uint16_t mine = as<uint16_t>(narrow(f)), theirs = as<uint16_t>((Native)f);
        CHECK(same(mine, theirs, infinity));
        uint16_t x = (uint16_t)random32(), y = (uint16_t)random32(), z = (uint16_t)random32();
        if (i % 2)
            y = (uint16_t)((x & infinity) + (y & ~infinity)); /* of about the same size */
        H a = as<H>(x), b = as<H>(y), c = as<H>(z);
        Native na = as<Native>(x), nb = as<Native>(y);
        CHECK(same(as<uint16_t>(a + b), as<uint16_t>((Native)(na + nb)), infinity));
        CHECK(same(as<uint16_t>(a - b), as<uint16_t>((Native)(na - nb)), infinity));
        CHECK(same(as<uint16_t>(a * b), as<uint16_t>((Native)(na * nb)), infinity));
        CHECK(same(as<uint16_t>(a / b), as<uint16_t>((Native)(na / nb)), infinity));
        long double exact = (long double)(float)a * (float)b + (long double)(float)c;
        float bounds[2] = {(float)(exact * (1 - 0x1p-20L)), (float)(exact * (1 + 0x1p-20L))};
        uint16_t r = as<uint16_t>(__hfma(a, b, c));
        CHECK(isnan(exact) ? is_nan(r, infinity)
                           : same(r, as<uint16_t>(narrow(bounds[0])), infinity) ||
                                 same(r, as<uint16_t>(narrow(bounds[1])), infinity));
        CHECK((a < b) == ((float)na < (float)nb) && (a == b) == ((float)na == (float)nb));
    }
}

/* From one type to the other and by a cast alone: there is no silent conversion. */
template <typename To, typename From> static void across(uint16_t infinity)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        From from = as<From>((uint16_t)bits);
        CHECK(same(as<uint16_t>(static_cast<To>(from)), as<uint16_t>(To((float)from)), infinity));
    }
    static_assert(!std::is_convertible<From, To>::value, "");
}

int main(void)
{
    values<__half, _Float16>(0x7c00, __float2half);
    values<__nv_bfloat16, upper_half>(0x7f80, __float2bfloat16);
    across<__half, __nv_bfloat16>(0x7c00);
    across<__nv_bfloat16, __half>(0x7f80);

    /* Directed roundings around a value that has no exact half. */
    float third = 1.0f / 3;
    CHECK((float)__float2half_rd(third) < third && third < (float)__float2half_ru(third));
    CHECK((float)__float2half_rz(-third) == -(float)__float2half_rd(third));
    CHECK(__half_as_ushort(__float2half_rz(1e6f)) == 0x7bff);
    CHECK(__half_as_ushort(__float2half_rn(1e6f)) == 0x7c00);
    CHECK(__half_as_ushort(__float2half_ru(1e-30f)) == 1);
    CHECK(__half_as_ushort(__float2half(65519.996f)) == 0x7bff);
    CHECK(__half_as_ushort(__float2half(65520.0f)) == 0x7c00);
    /* One rounding, not two: a double just above the middle of two halves. */
    CHECK(__half_as_ushort(__double2half(1 + 0x1p-11 + 0x1p-40)) == 0x3c01);
    CHECK(__half_as_ushort(__double2half(1 + 0x1p-11)) == 0x3c00);
    CHECK(__bfloat16_as_ushort(__ll2bfloat16_rn((1ll << 62) + (1ll << 54) + 1)) ==
          __bfloat16_as_ushort(__float2bfloat16_ru(0x1.01p62f)));

    CHECK_EQ_INT(__half2int_rn(half(2.5f)), 2);
    CHECK_EQ_INT(__half2int_rd(half(-2.5f)), -3);
    CHECK_EQ_INT(__half2int_ru(half(-2.5f)), -2);
    CHECK_EQ_INT(__half2int_rz(half(-2.5f)), -2);
    CHECK_EQ_INT(__half2short_rn(half(60000.0f)), 32767);
    CHECK_EQ_INT(__half2ushort_rn(half(-5.0f)), 0);
    CHECK_EQ_INT(__half2int_rn(CUDART_NAN_FP16), 0);
    CHECK_EQ_INT(__half2int_rn(CUDART_INF_FP16), 2147483647);
    CHECK_EQ_INT(__bfloat162uint_rn(nv_bfloat16(-INFINITY)), 0);

    CHECK_EQ_INT(__half_as_ushort(__hmax(CUDART_NAN_FP16, half(1.0f))), 0x3c00);
    CHECK_EQ_INT(__half_as_ushort(__hmax_nan(CUDART_NAN_FP16, half(1.0f))), 0x7fff);
    CHECK_EQ_INT(__half_as_ushort(__hmin(CUDART_ZERO_FP16, CUDART_NEG_ZERO_FP16)), 0x8000);
    CHECK_EQ_INT(__half_as_ushort(__hadd_sat(half(0.75f), half(0.75f))), 0x3c00);
    CHECK_EQ_INT(__half_as_ushort(__hadd_sat(CUDART_NAN_FP16, half(0.75f))), 0);
    half2 p = __floats2half2_rn(1, 2), q = __floats2half2_rn(1, 3);
    CHECK_EQ_INT(__heq2_mask(p, q), 0xffff);
    CHECK(!__hbeq2(p, q) && __hble2(p, q));
    CHECK((float)__low2half(__hcmadd(p, q, p)) == 1 * 1 - 2 * 3 + 1);
    CHECK((float)__high2half(__hcmadd(p, q, p)) == 1 * 3 + 2 * 1 + 2);
    CHECK(sizeof(half) == 2 && sizeof(half2) == 4 && alignof(half2) == 4);
    return check_done();
}
