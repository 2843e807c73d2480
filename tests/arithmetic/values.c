/* values: operands for tests (see values.h). */
#include "values.h"

#include "ptx/ptx.h"

#include <string.h>

static uint64_t state = 88172645463325252ull;

uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}

static const float f32_edges[] = {0.0f,
                                  -0.0f,
                                  0x1p-149f,
                                  -0x1p-149f,
                                  0x1.fffffcp-127f,
                                  -0x1.fffffcp-127f,
                                  0x1p-126f,
                                  -0x1p-126f,
                                  1,
                                  -1,
                                  0.5f,
                                  -0.5f,
                                  1.5f,
                                  2.5f,
                                  -2.5f,
                                  2,
                                  3,
                                  -3,
                                  0x1.fffffep-1f,
                                  0x1.000002p0f,
                                  0x1.fffffep127f,
                                  -0x1.fffffep127f,
                                  0x1p127f,
                                  0x1p126f,
                                  0x1p125f,
                                  0x1p31f,
                                  -0x1p31f,
                                  0x1.fffffep30f,
                                  0x1p32f,
                                  0x1p63f,
                                  -0x1p63f,
                                  0x1p64f,
                                  0x1.fffffep63f,
                                  127.5f,
                                  128,
                                  -128.5f,
                                  255.5f,
                                  256,
                                  32767.5f,
                                  65504,
                                  65520,
                                  65519.99f,
                                  65535.5f,
                                  448,
                                  464,
                                  57344,
                                  61440,
                                  0x1p-14f,
                                  0x1p-24f,
                                  0x1p-25f,
                                  0x1.8p-25f,
                                  0x1p-9f,
                                  0x1p-10f,
                                  0.1f,
                                  3.14159274f,
                                  1.57079637f,
                                  100,
                                  1e10f,
                                  1e-10f,
                                  1e30f,
                                  1e-30f,
                                  0x1.000002p-126f,
                                  16777215,
                                  16777218,
                                  8388607.5f};

static const uint64_t int_edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     5,
                                     7,
                                     8,
                                     15,
                                     16,
                                     17,
                                     24,
                                     31,
                                     32,
                                     33,
                                     63,
                                     64,
                                     65,
                                     127,
                                     128,
                                     200,
                                     255,
                                     256,
                                     257,
                                     32767,
                                     32768,
                                     65535,
                                     65536,
                                     0x7fffff,
                                     0x800000,
                                     0xffffff,
                                     0x7fffffff,
                                     0x80000000,
                                     0x80000001,
                                     0xfffffffe,
                                     0xffffffff,
                                     0x100000000,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0x8000000000000001,
                                     0xfffffffffffffffe,
                                     0xffffffffffffffff,
                                     0xffffff80,
                                     0xffff8000,
                                     0xfffffffffffffff9,
                                     0x123456789abcdef0,
                                     0x20000000000001,
                                     0x1000001,
                                     0xffffff7fffffffff,
                                     0x8000008000000001};

static uint64_t from_float(unsigned type, double v)
{
    uint64_t r = 0;
    float f = (float)v;
    switch (type) {
    case PTX_F64: memcpy(&r, &v, 8); break;
    default: memcpy(&r, &f, 4); break;
    }
    return r;
}

static uint64_t f64_extra(unsigned k)
{
    static const double v[] = {0x1p-1074,
                               -0x1p-1074,
                               0x1.fffffffffffffp-1023,
                               0x1p-1022,
                               -0x1p-1022,
                               0x1.fffffffffffffp1023,
                               -0x1.fffffffffffffp1023,
                               0x1p1000,
                               0x1p-1000,
                               0x1.000001p0,
                               0x1.00000100000001p0,
                               0x1.000000fffffffp0,
                               0x1.ffffffp127,
                               0x1.fffffefffffffp127,
                               0x1p-150,
                               0x1.0000000000001p-150,
                               0x1.8p-149,
                               9223372036854775807.0,
                               18446744073709549568.0,
                               4503599627370495.5,
                               9007199254740993.0,
                               0x1.ffdfffp15,
                               0x1.ffe0000000001p15};
    return k < WEIR_COUNT(v) ? from_float(PTX_F64, v[k]) : ~0ull;
}

enum { N_F32 = WEIR_COUNT(f32_edges), N_INT = WEIR_COUNT(int_edges) };

/* The square of 0x3f88 as bf16 lies half-way between two. */
static const uint16_t half_edges[] = {
    0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x83ff, 0x8400, 0x3c00, 0xbc00,
    0x3800, 0x3e00, 0x4000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01,
    0x7ff7, 0xfff7, 0x7ff6, 0x3bff, 0x3c01, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0,
    0x7f7f, 0xff7f, 0x80,   0x7f,   0x5a00, 0x5800, 0x7000, 0x1400, 0x0200, 0x3f88};

static uint64_t edge(unsigned type, unsigned n)
{
    static const uint32_t nans[] = {0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001};
    static const uint64_t wide_nans[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                         0xfff8000000000001, 0x7ff0000000000001};
    switch (type) {
    case PTX_F32: return n < N_F32 ? from_float(type, f32_edges[n]) : nans[(n - N_F32) % 5];
    case PTX_F64:
        if (n < N_F32)
            return from_float(type, f32_edges[n]);
        n -= N_F32;
        return n < 5 ? wide_nans[n] : f64_extra(n - 5);
    case PTX_F16:
    case PTX_BF16: return half_edges[n % WEIR_COUNT(half_edges)];
    case PTX_F16X2:
    case PTX_BF16X2: {
        unsigned k = WEIR_COUNT(half_edges);
        return (uint64_t)half_edges[random_bits() % k] << 16 | half_edges[n % k];
    }
    case PTX_F32X2:
        return edge(PTX_F32, (unsigned)(random_bits() % (N_F32 + 5))) << 32 | edge(PTX_F32, n);
    default: return int_edges[n % N_INT];
    }
}

unsigned edge_count(unsigned type)
{
    switch (type) {
    case PTX_PRED: return 2;
    case PTX_F32:
    case PTX_F32X2: return N_F32 + 5;
    case PTX_F64: return N_F32 + 28;
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: return WEIR_COUNT(half_edges);
    default: return N_INT;
    }
}

/* Floats near 1, of any magnitude, and integers' worth. */
static uint64_t random_float(unsigned type, uint64_t r)
{
    double m = 1 + (double)(r >> 12) * 0x1p-52;
    int spread = (r & 7) < 3 ? 4 : (r & 7) < 5 ? 30 : 0;
    if (!spread)
        return (r & 7) == 7 ? from_float(type, (double)(int32_t)r * 0.25) : r >> 8;
    int e = (int)(r >> 4 & 255) % (2 * spread) - spread;
    return from_float(type, __builtin_ldexp(r & 8 ? -m : m, e));
}

uint64_t value_of(unsigned type, unsigned n)
{
    unsigned bits = ptx_type_bits(type);
    uint64_t mask = bits >= 64 ? ~0ull : (1ull << bits) - 1, r = random_bits();
    if (n < edge_count(type))
        return type == PTX_PRED ? n & 1 : edge(type, n) & mask;
    if (r >> 60 < 5)
        return edge(type, (unsigned)(random_bits() % edge_count(type))) & mask;
    if (type == PTX_F32 || type == PTX_F64)
        return random_float(type, random_bits()) & mask;
    if (type != PTX_PRED && !ptx_type_is_float(type) && r >> 60 < 9)
        return (r >> 20 & 127) & mask; /* shift counts and the like */
    if (!ptx_type_is_float(type) && r >> 60 == 9)
        return (0 - (r >> 20 & 127)) & mask;
    return random_bits() >> (r & 1 ? r >> 8 & 31 : 0) & mask;
}
