/* K2.1, headers: integer, SIMD-in-a-word, conversion and rounding intrinsics by value, against
 * their definitions in C; and what atomic functions leave in memory. Run on the software device. */
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "check.h"

enum { SAMPLES = 4096 };
typedef unsigned long long u64;

static u64 seed = 1;
static uint32_t random32(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 32);
}

/* Every function takes up to three values of one type and gives one. */
template <typename T, typename R, typename F> __global__ void apply(F f, const T *in, R *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = f(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

template <typename T> static T sample(int i);
template <> uint32_t sample<uint32_t>(int i)
{
    static const uint32_t edges[] = {0,          1,          0x7fffffff, 0x80000000,
                                     0xffffffff, 0x80808080, 0x7f7f7f7f, 0x80008000,
                                     0x7fff7fff, 31,         32,         33};
    uint32_t r = random32();
    return i % 4 == 0 ? edges[r % 12] : i % 4 == 1 ? r >> (r & 31) : r;
}
template <> u64 sample<u64>(int i)
{
    u64 high = sample<uint32_t>(i);
    return high << 32 | sample<uint32_t>(i + 1);
}
template <> float sample<float>(int i)
{
    static const float edges[] = {0,       -0.0f,        1,
                                  -1,      0.5f,         -1.5f,
                                  2.5f,    INFINITY,     -INFINITY,
                                  NAN,     2147483648.f, 4294967296.f,
                                  9.3e18f, 1.9e19f,      -2147483648.f,
                                  1e-40f};
    uint32_t r = random32();
    if (i % 3 == 0)
        return edges[r % 16];
    if (i % 3 == 1)
        return ldexpf((float)(int)r, (int)(random32() % 64) - 40);
    float f;
    memcpy(&f, &r, 4);
    return f;
}
template <> double sample<double>(int i)
{
    uint32_t r = random32();
    if (i % 3 == 0)
        return sample<float>(0);
    return ldexp((double)(int)r + (double)random32() * 0x1p-32, (int)(random32() % 120) - 60);
}

template <typename R> static bool same(R a, R b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

template <typename T, typename R, typename F, typename G>
static void compare(const char *name, F device, G host)
{
    T *in;
    R *out;
    cudaMallocManaged(&in, 3 * SAMPLES * sizeof(T));
    cudaMallocManaged(&out, SAMPLES * sizeof(R));
    for (int i = 0; i < 3 * SAMPLES; i++)
        in[i] = sample<T>(i / 3 + i % 3);
    apply<T, R><<<SAMPLES / 128, 128>>>(device, in, out, SAMPLES);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0, at = 0;
    for (int i = SAMPLES - 1; i >= 0; i--)
        if (!same(out[i], (R)host(in[3 * i], in[3 * i + 1], in[3 * i + 2]))) {
            wrong++;
            at = 3 * i;
        }
    if (wrong)
        printf("%s: %d of %d wrong, first (%.17g, %.17g, %.17g) = %.17g, should be %.17g\n", name,
               wrong, SAMPLES, (double)in[at], (double)in[at + 1], (double)in[at + 2],
               (double)out[at / 3], (double)(R)host(in[at], in[at + 1], in[at + 2]));
    CHECK(wrong == 0);
    cudaFree(in);
    cudaFree(out);
}

/* T(a, b, c): expressions of the arguments. */
#define EQUAL(T, R, device, host)                                                                  \
    compare<T, R>(                                                                                 \
        #device, [] __device__(T a, T b, T c) -> R { return (R)(device); },                        \
        [](T a, T b, T c) -> R { return (R)(host); });
#define U(device, host) EQUAL(uint32_t, uint32_t, device, host)
#define L(device, host) EQUAL(u64, u64, device, host)

static uint32_t reverse(uint32_t a)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (a >> i & 1) << (31 - i);
    return r;
}
static uint32_t permute(uint32_t a, uint32_t b, uint32_t s)
{
    u64 bytes = (u64)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++)
        r |= (uint32_t)(bytes >> (s >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return r;
}
static int sign24(uint32_t a) { return (int)(a << 8) >> 8; }

static void integers(void)
{
    U(__clz((int)a), a ? __builtin_clz(a) : 32)
    U(__ffs((int)a), __builtin_ffs((int)a))
    U(__popc(a), __builtin_popcount(a))
    U(__brev(a), reverse(a))
    U(__byte_perm(a, b, c), permute(a, b, c))
    U(__mul24((int)a, (int)b), (uint32_t)((int64_t)sign24(a) * sign24(b)))
    U(__umul24(a, b), (uint32_t)((u64)(a & 0xffffff) * (b & 0xffffff)))
    U(__mulhi((int)a, (int)b), (uint32_t)((int64_t)(int)a * (int)b >> 32))
    U(__umulhi(a, b), (uint32_t)((u64)a * b >> 32))
    U(__hadd((int)a, (int)b), (uint32_t)(((int64_t)(int)a + (int)b) >> 1))
    U(__rhadd((int)a, (int)b), (uint32_t)(((int64_t)(int)a + (int)b + 1) >> 1))
    U(__uhadd(a, b), (uint32_t)(((u64)a + b) >> 1))
    U(__urhadd(a, b), (uint32_t)(((u64)a + b + 1) >> 1))
    U(__sad((int)a, (int)b, c), c + (uint32_t)llabs((int64_t)(int)a - (int)b))
    U(__usad(a, b, c), c + (a > b ? a - b : b - a))
    U(__funnelshift_l(a, b, c), (uint32_t)(((u64)b << 32 | a) << (c & 31) >> 32))
    U(__funnelshift_r(a, b, c), (uint32_t)(((u64)b << 32 | a) >> (c & 31)))
    U(__funnelshift_lc(a, b, c), c >= 32 ? a : (uint32_t)(((u64)b << 32 | a) << c >> 32))
    U(__funnelshift_rc(a, b, c), c >= 32 ? b : (uint32_t)(((u64)b << 32 | a) >> c))
    U(abs((int)a), (int)a < 0 ? 0 - a : a)
    U(__dp4a((int)a, (int)b, (int)c),
      c + (uint32_t)((int8_t)a * (int8_t)b + (int8_t)(a >> 8) * (int8_t)(b >> 8) +
                     (int8_t)(a >> 16) * (int8_t)(b >> 16) + (int8_t)(a >> 24) * (int8_t)(b >> 24)))
    U(__dp4a(a, b, c), c + (a & 255) * (b & 255) + (a >> 8 & 255) * (b >> 8 & 255) +
                           (a >> 16 & 255) * (b >> 16 & 255) + (a >> 24) * (b >> 24))
    U(__dp2a_lo((int)a, (int)b, (int)c),
      c + (uint32_t)((int16_t)a * (int8_t)b + (int16_t)(a >> 16) * (int8_t)(b >> 8)))
    U(__dp2a_hi(a, b, c), c + (a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24))
    L(__clzll((long long)a), a ? __builtin_clzll(a) : 64)
    L(__ffsll((long long)a), __builtin_ffsll((long long)a))
    L(__popcll(a), __builtin_popcountll(a))
    L(__brevll(a), (u64)reverse((uint32_t)a) << 32 | reverse((uint32_t)(a >> 32)))
    L(__umul64hi(a, b), (u64)((unsigned __int128)a * b >> 64))
    L(__mul64hi((long long)a, (long long)b), (u64)((__int128)(long long)a * (long long)b >> 64))
    L(a / (b | 1), a / (b | 1))
    L((long long)a % (long long)((b & 0xffff) + 1), (long long)a % (long long)((b & 0xffff) + 1))
}

/* ---- four bytes and two halves in a word ---- */

template <typename E, typename F> static uint32_t each(uint32_t a, uint32_t b, F f)
{
    uint32_t r = 0;
    const int bits = 8 * (int)sizeof(E);
    for (int at = 0; at < 32; at += bits)
        r |= (f((E)(a >> at), (E)(b >> at)) & (0xffffffffu >> (32 - bits))) << at;
    return r;
}
static int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
template <typename E, typename F> static uint32_t total(uint32_t a, uint32_t b, F f)
{
    uint32_t r = 0;
    const int bits = 8 * (int)sizeof(E);
    for (int at = 0; at < 32; at += bits)
        r += (uint32_t)f((E)(a >> at), (E)(b >> at));
    return r;
}

#define WORDS(name, signedness, expression)                                                        \
    U(name##2(a, b), (each<signedness##16_t>(a, b, [](int x, int y) -> uint32_t {                  \
          return (uint32_t)(expression(16));                                                       \
      })))                                                                                         \
    U(name##4(a, b), (each<signedness##8_t>(a, b, [](int x, int y) -> uint32_t {                   \
          return (uint32_t)(expression(8));                                                        \
      })))
#define WORDS1(name, signedness, expression)                                                       \
    U(name##2(a), (each<signedness##16_t>(                                                         \
                      a, b, [](int x, int) -> uint32_t { return (uint32_t)(expression(16)); })))   \
    U(name##4(a), (each<signedness##8_t>(                                                          \
                      a, b, [](int x, int) -> uint32_t { return (uint32_t)(expression(8)); })))
#define COMPARISON(which, op)                                                                      \
    WORDS(__vcmp##which##s, int, RESULT_MASK_##op)                                                 \
    WORDS(__vcmp##which##u, uint, RESULT_MASK_##op)                                                \
    WORDS(__vset##which##s, int, RESULT_BIT_##op)                                                  \
    WORDS(__vset##which##u, uint, RESULT_BIT_##op)
#define RESULT_MASK_GE(n) (x >= y ? ~0u : 0u)
#define RESULT_MASK_GT(n) (x > y ? ~0u : 0u)
#define RESULT_MASK_LE(n) (x <= y ? ~0u : 0u)
#define RESULT_MASK_LT(n) (x < y ? ~0u : 0u)
#define RESULT_MASK_EQ(n) (x == y ? ~0u : 0u)
#define RESULT_MASK_NE(n) (x != y ? ~0u : 0u)
#define RESULT_BIT_GE(n)  (x >= y)
#define RESULT_BIT_GT(n)  (x > y)
#define RESULT_BIT_LE(n)  (x <= y)
#define RESULT_BIT_LT(n)  (x < y)
#define RESULT_BIT_EQ(n)  (x == y)
#define RESULT_BIT_NE(n)  (x != y)
#define SUM(n)            (x + y)
#define SUM_S(n)          clamp(x + y, -(1 << (n - 1)), (1 << (n - 1)) - 1)
#define SUM_U(n)          clamp(x + y, 0, (1 << n) - 1)
#define DIFFERENCE(n)     (x - y)
#define DIFFERENCE_S(n)   clamp(x - y, -(1 << (n - 1)), (1 << (n - 1)) - 1)
#define DIFFERENCE_U(n)   clamp(x - y, 0, (1 << n) - 1)
#define AVERAGE_UP(n)     ((x + y + 1) >> 1)
#define AVERAGE_AWAY(n)   ((x + y + (x + y >= 0)) >> 1)
#define AVERAGE_DOWN(n)   ((x + y) >> 1)
#define DISTANCE(n)       abs(x - y)
#define LARGER(n)         (x > y ? x : y)
#define SMALLER(n)        (x < y ? x : y)
#define MAGNITUDE(n)      abs(x)
#define MAGNITUDE_S(n)    clamp(abs(x), 0, (1 << (n - 1)) - 1)
#define NEGATIVE(n)       (-x)
#define NEGATIVE_S(n)     clamp(-x, -(1 << (n - 1)), (1 << (n - 1)) - 1)

static void words(void)
{
    WORDS(__vadd, uint, SUM)
    WORDS(__vaddss, int, SUM_S)
    WORDS(__vaddus, uint, SUM_U)
    WORDS(__vsub, uint, DIFFERENCE)
    WORDS(__vsubss, int, DIFFERENCE_S)
    WORDS(__vsubus, uint, DIFFERENCE_U)
    WORDS(__vavgs, int, AVERAGE_AWAY)
    WORDS(__vavgu, uint, AVERAGE_UP)
    WORDS(__vhaddu, uint, AVERAGE_DOWN)
    WORDS(__vabsdiffs, int, DISTANCE)
    WORDS(__vabsdiffu, uint, DISTANCE)
    WORDS(__vmaxs, int, LARGER)
    WORDS(__vmaxu, uint, LARGER)
    WORDS(__vmins, int, SMALLER)
    WORDS(__vminu, uint, SMALLER)
    WORDS1(__vabs, int, MAGNITUDE)
    WORDS1(__vabsss, int, MAGNITUDE_S)
    WORDS1(__vneg, int, NEGATIVE)
    WORDS1(__vnegss, int, NEGATIVE_S)
    WORDS(__vcmpeq, uint, RESULT_MASK_EQ)
    WORDS(__vcmpne, uint, RESULT_MASK_NE)
    WORDS(__vseteq, uint, RESULT_BIT_EQ)
    WORDS(__vsetne, uint, RESULT_BIT_NE)
    COMPARISON(ge, GE)
    COMPARISON(gt, GT)
    COMPARISON(le, LE)
    COMPARISON(lt, LT)
    U(__vsads2(a, b), (total<int16_t>(a, b, [](int x, int y) { return abs(x - y); })))
    U(__vsads4(a, b), (total<int8_t>(a, b, [](int x, int y) { return abs(x - y); })))
    U(__vsadu2(a, b), (total<uint16_t>(a, b, [](int x, int y) { return abs(x - y); })))
    U(__vsadu4(a, b), (total<uint8_t>(a, b, [](int x, int y) { return abs(x - y); })))
}

/* ---- conversions and roundings ---- */

template <typename F> static auto rounded(int mode, F f) -> decltype(f())
{
    fesetround(mode);
    auto r = f();
    fesetround(FE_TONEAREST);
    return r;
}
/* a op b in float or double in the current rounding; the compiler must not know the operands. */
template <typename T> static T hide(T x)
{
    volatile T v = x;
    return v;
}
#define ROUNDED(T, name, ...)                                                                      \
    EQUAL(T, T, name##_rn(ARGUMENTS), (rounded(FE_TONEAREST, [=] { return __VA_ARGS__; })))        \
    EQUAL(T, T, name##_rz(ARGUMENTS), (rounded(FE_TOWARDZERO, [=] { return __VA_ARGS__; })))       \
    EQUAL(T, T, name##_rd(ARGUMENTS), (rounded(FE_DOWNWARD, [=] { return __VA_ARGS__; })))         \
    EQUAL(T, T, name##_ru(ARGUMENTS), (rounded(FE_UPWARD, [=] { return __VA_ARGS__; })))

template <typename R, typename T> static R saturated(T x)
{
    const bool is_signed = (R)-1 < (R)0;
    const int bits = 8 * (int)sizeof(R);
    if (x != x) /* as PTX has it: by both types */
        return bits == 64 || sizeof(T) == 8 ? (R)(1ull << (bits - 1)) : 0;
    long double high = ldexpl(1, is_signed ? bits - 1 : bits), low = is_signed ? -high : 0;
    if ((long double)x >= high)
        return is_signed ? (R)((1ull << (bits - 1)) - 1) : (R)-1;
    if ((long double)x <= low)
        return is_signed ? (R)(1ull << (bits - 1)) : 0;
    return (R)x;
}
#define TO_INTEGER(T, R, name)                                                                     \
    EQUAL(T, R, name##_rn(a), (saturated<R>(rint(a))))                                             \
    EQUAL(T, R, name##_rz(a), (saturated<R>(trunc(a))))                                            \
    EQUAL(T, R, name##_rd(a), (saturated<R>(floor(a))))                                            \
    EQUAL(T, R, name##_ru(a), (saturated<R>(ceil(a))))
#define FROM_INTEGER(T, S, R, name)                                                                \
    EQUAL(T, R, name##_rn((S)a),                                                                   \
          (rounded(FE_TONEAREST, [=] { return a ? (R)hide((S)a) : (R)0; })))                       \
    EQUAL(T, R, name##_rz((S)a),                                                                   \
          (rounded(FE_TOWARDZERO, [=] { return a ? (R)hide((S)a) : (R)0; })))                      \
    EQUAL(T, R, name##_rd((S)a), (rounded(FE_DOWNWARD, [=] { return a ? (R)hide((S)a) : (R)0; }))) \
    EQUAL(T, R, name##_ru((S)a), (rounded(FE_UPWARD, [=] { return a ? (R)hide((S)a) : (R)0; })))

static void conversions(void)
{
#define ARGUMENTS a, b
    ROUNDED(float, __fadd, hide(a) + hide(b))
    ROUNDED(float, __fsub, hide(a) - hide(b))
    ROUNDED(float, __fmul, hide(a) * hide(b))
    ROUNDED(float, __fdiv, hide(a) / hide(b))
    ROUNDED(double, __dadd, hide(a) + hide(b))
    ROUNDED(double, __dsub, hide(a) - hide(b))
    ROUNDED(double, __dmul, hide(a) * hide(b))
    ROUNDED(double, __ddiv, hide(a) / hide(b))
#undef ARGUMENTS
#define ARGUMENTS a
    ROUNDED(float, __frcp, 1.0f / hide(a))
    ROUNDED(float, __fsqrt, sqrtf(hide(a)))
    ROUNDED(double, __drcp, 1.0 / hide(a))
    ROUNDED(double, __dsqrt, sqrt(hide(a)))
#undef ARGUMENTS
#define ARGUMENTS a, b, c
    ROUNDED(float, __fmaf, fmaf(hide(a), hide(b), hide(c)))
    ROUNDED(double, __fma, fma(hide(a), hide(b), hide(c)))
#undef ARGUMENTS
    TO_INTEGER(float, int, __float2int)
    TO_INTEGER(float, unsigned, __float2uint)
    TO_INTEGER(float, long long, __float2ll)
    TO_INTEGER(float, u64, __float2ull)
    TO_INTEGER(double, int, __double2int)
    TO_INTEGER(double, unsigned, __double2uint)
    TO_INTEGER(double, long long, __double2ll)
    TO_INTEGER(double, u64, __double2ull)
    FROM_INTEGER(uint32_t, int, float, __int2float)
    FROM_INTEGER(uint32_t, unsigned, float, __uint2float)
    FROM_INTEGER(u64, long long, float, __ll2float)
    FROM_INTEGER(u64, u64, float, __ull2float)
    FROM_INTEGER(u64, long long, double, __ll2double)
    FROM_INTEGER(u64, u64, double, __ull2double)
    EQUAL(double, float, __double2float_rn(a), (float)a)
    EQUAL(double, float, __double2float_rz(a),
          (rounded(FE_TOWARDZERO, [=] { return (float)hide(a); })))
    EQUAL(double, float, __double2float_rd(a),
          (rounded(FE_DOWNWARD, [=] { return (float)hide(a); })))
    EQUAL(double, float, __double2float_ru(a), (rounded(FE_UPWARD, [=] { return (float)hide(a); })))
    EQUAL(double, uint32_t, __double2hiint(a), (uint32_t)(__builtin_bit_cast(u64, a) >> 32))
    EQUAL(double, uint32_t, __double2loint(a), (uint32_t)__builtin_bit_cast(u64, a))
    EQUAL(float, uint32_t, isnan(a) * 8 + isinf(a) * 4 + isfinite(a) * 2 + signbit(a),
          (a != a) * 8 + (a - a != 0 && a == a) * 4 + (a - a == 0) * 2 +
              (__builtin_bit_cast(uint32_t, a) >> 31))
    EQUAL(float, float, __saturatef(a), (a > 0 ? a < 1 ? a : 1.0f : 0.0f))
}

/* The first names, with the rounding as an argument. */
static void first_names(void)
{
#define MODES(T, R, result, name, ...)                                                             \
    EQUAL(T, R, name(__VA_ARGS__, cudaRoundNearest), (result(FE_TONEAREST)))                       \
    EQUAL(T, R, name(__VA_ARGS__, cudaRoundZero), (result(FE_TOWARDZERO)))                         \
    EQUAL(T, R, name(__VA_ARGS__, cudaRoundMinInf), (result(FE_DOWNWARD)))                         \
    EQUAL(T, R, name(__VA_ARGS__, cudaRoundPosInf), (result(FE_UPWARD)))
#define ADDED(mode)      rounded(mode, [=] { return hide(a) + hide(b); })
#define TAKEN(m)         rounded(m, [=] { return hide(a) - hide(b); })
#define MULTIPLIED(mode) rounded(mode, [=] { return hide(a) * hide(b); })
#define CONVERTED(mode)  rounded(mode, [=] { return a ? (double)hide(a) : 0; })
    MODES(double, double, ADDED, dadd, a, b)
    MODES(double, double, TAKEN, dsub, a, b)
    MODES(double, double, MULTIPLIED, dmul, a, b)
    MODES(u64, double, CONVERTED, ull2double, a)
    EQUAL(double, int, double2int(a), (saturated<int>(trunc(a))))
    EQUAL(double, unsigned, double2uint(a, cudaRoundPosInf), (saturated<unsigned>(ceil(a))))
    EQUAL(double, long long, double2ll(a, cudaRoundMinInf), (saturated<long long>(floor(a))))
    EQUAL(double, u64, double2ull(a, cudaRoundNearest), (saturated<u64>(rint(a))))
    EQUAL(float, double, float2double(a), (double)a)
    EQUAL(uint32_t, double, int2double((int)a), (double)(int)a)
    EQUAL(uint32_t, double, uint2double(a, cudaRoundZero), (double)a)
}

int main()
{
    integers();
    words();
    conversions();
    first_names();
    return check_done();
}
