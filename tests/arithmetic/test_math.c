/* test_math: device math functions as a warp and as a scalar: errors against long double, the same
 * bits either way, and every name that clang's CUDA headers declare.
 *
 *   test_math [host | avx2 | sse2 [TEXT [N]]]
 *
 * checks the functions whose name contains TEXT, every N-th of them. */
#include "jit.h"
#include "ref.h"
#include "values.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

#define NAN_ANY __builtin_nanl("77") /* not compared */

static long double sin_pi(long double x)
{
    long double r = fmodl(x, 2);
    r = r > 1 ? r - 2 : r < -1 ? r + 2 : r;
    r = r > 0.5L ? 1 - r : r < -0.5L ? -1 - r : r;
    return isinf(x) ? NAN : sinl(r * 3.14159265358979323846264338327950288L);
}

static long double cos_pi(long double x)
{
    long double r = fabsl(fmodl(x, 2));
    r = r > 1 ? 2 - r : r;
    return isinf(x) ? NAN : r == 0.5L ? 0 : sin_pi(0.5L - r);
}

/* erfinv or erfcinv by bisection. */
static long double inverse_of(long double x, bool complement)
{
    if (complement ? !(x > 0 && x < 2) : !(fabsl(x) < 1))
        return complement      ? (x == 0   ? INFINITY
                                  : x == 2 ? -INFINITY
                                           : NAN)
               : fabsl(x) == 1 ? x * INFINITY
                               : NAN;
    bool tail = complement ? x < 0.5L || x > 1.5L : fabsl(x) > 0.5L;
    long double p = complement ? (x > 1 ? 2 - x : x) : 1 - fabsl(x),
                sign = complement ? (x > 1 ? -1 : 1) : copysignl(1, x);
    long double lo = 0, hi = 28, want = complement ? 1 - x : x;
    if (!tail)
        lo = -1, hi = 1, sign = 1;
    if (!tail && fabsl(want) < 1e-9L)
        return want * 0.886226925452758013649083741670572591L;
    for (int k = 0; k < 90; k++) {
        long double mid = (lo + hi) / 2;
        if (tail ? erfcl(mid) > p : erfl(mid) < want)
            lo = mid;
        else
            hi = mid;
    }
    return sign * (lo + hi) / 2;
}

static long double scaled_erfc(long double x)
{
    if (x < 20)
        return expl(x * x) * erfcl(x);
    long double f = x; /* continued fraction */
    for (int k = 60; k > 0; k--)
        f = x + k / 2.0L / f;
    return 0.56418958354775628694807945156077L / f;
}

static long double bessel_i0(long double x)
{
    long double term = 1, sum = 1;
    for (int k = 1; k < 400; k++) {
        term *= x * x / 4 / ((long double)k * k);
        sum += term;
    }
    return sum;
}

#define MATH1(name, bf, bd, lo, hi, e)                                                             \
    static long double test_math_ref##name(long double x, long double y)                           \
    {                                                                                              \
        (void)y;                                                                                   \
        return e;                                                                                  \
    }
#define MATH2(name, bf, bd, lo, hi, e)                                                             \
    static long double test_math_ref##name(long double x, long double y) { return e; }
#define FAST1(name, b, lo, hi, e) MATH1(name, b, b, lo, hi, e)
#include "math.def"
#undef MATH1
#undef MATH2
#undef FAST1

struct math_case {
    const char *name;
    double bound, lo, hi;
    long double (*ref)(long double x, long double y);
    bool ranged; /* only lo..hi */
    struct compiled code;
    double worst;
    uint64_t at[2];
};

static struct math_case cases[] = {
#define MATH1(name, bf, bd, lo, hi, e)                                                             \
    {"__nv_" #name "f", bf, lo, hi, test_math_ref##name, false, {{0}, NULL, NULL}, 0, {0, 0}},     \
        {"__nv_" #name, bd, lo, hi, test_math_ref##name, false, {{0}, NULL, NULL}, 0, {0, 0}},
#define MATH2 MATH1
#define FAST1(name, b, lo, hi, e)                                                                  \
    {"__nv_" #name, b, lo, hi, test_math_ref##name, true, {{0}, NULL, NULL}, 0, {0, 0}},
#include "math.def"
};

static uint8_t in[ALU_MAX_SRC * SLOT] __attribute__((aligned(64))),
    out[ALU_MAX_DST * SLOT] __attribute__((aligned(64))),
    out1[ALU_MAX_DST * SLOT] __attribute__((aligned(64)));

static uint64_t get(const uint8_t *base, unsigned k, unsigned type, unsigned lane)
{
    uint64_t v = 0;
    memcpy(&v, base + k * SLOT + lane * lane_bytes(type), lane_bytes(type));
    return v;
}

/* From the useful range, or anything. */
static uint64_t argument(const struct math_case *c, unsigned type, unsigned n)
{
    uint64_t r = random_bits(), v = 0;
    if (!ptx_type_is_float(type))
        return value_of(type, n);
    if (!c->ranged && (n < 2 * edge_count(type) || r & 1))
        return value_of(type, n < edge_count(type) ? n : 1000000);
    double d = c->lo + (c->hi - c->lo) * (double)(random_bits() >> 11) * 0x1p-53;
    if (r & 2)
        d *= (double)(random_bits() >> 11) * 0x1p-53;
    if (c->ranged && (d < c->lo || d > c->hi))
        d = c->lo;
    float f = (float)d;
    type == PTX_F64 ? (void)memcpy(&v, &d, 8) : (void)memcpy(&v, &f, 4);
    return v;
}

static bool same_class(unsigned type, uint64_t x, uint64_t y)
{
    const struct format *f = format_of(type);
    return x == y || (f != NULL && is_nan(format_value(f, x)) && is_nan(format_value(f, y)));
}

/* In units of the last place of the exact value; an infinity one step beyond the largest is 1. */
static double error_of(const struct format *f, uint64_t bits, long double want)
{
    long double got = (long double)format_value(f, bits);
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    uint64_t near = format_bits(f, (quad)want, RN);
    if (near == bits)
        return fabsl(want) > max_norm(f) || want == 0 ? 0 : 0.5; /* the half unit is not measured */
    if (isinf(got) || isinf((double)format_value(f, near)))
        return llabs((long long)(near - bits)) <= 1 ? 1 : INFINITY;
    uint64_t m = near & format_nan(f);
    quad step = format_value(f, m + 1) - format_value(f, m);
    if (isinf((double)step))
        step = format_value(f, m) - format_value(f, m - 1);
    return (double)fabsl((long double)(((quad)got - (quad)want) / step));
}

CALLS_COMPILED static void run(struct math_case *c)
{
    const struct alu_sig *sig = &c->code.sig;
    const struct format *f = format_of(sig->dst[0]);
    unsigned printed = 0;
    for (unsigned r = 0; r < 600; r++) {
        uint64_t s[LANES][3];
        for (unsigned l = 0; l < LANES; l++)
            for (unsigned k = 0; k < sig->nsrc; k++) {
                s[l][k] = argument(c, sig->src[k], k ? 1000000 : r * LANES + l);
                memcpy(in + k * SLOT + l * lane_bytes(sig->src[k]), &s[l][k],
                       lane_bytes(sig->src[k]));
            }
        c->code.warp(in, out);
        for (unsigned l = 0; l < LANES; l++) {
            c->code.lane(in, out1, l);
            uint64_t got = get(out, 0, sig->dst[0], l), one = get(out1, 0, sig->dst[0], l);
            long double x = (long double)format_value(f, s[l][0]);
            long double y = sig->nsrc > 1 ? (long double)format_value(f, s[l][1]) : 0;
            long double want = c->ref(x, y);
            uint64_t payload;
            memcpy(&payload, &want, 8);
            double e = isnan(want) && (payload & 0xff) == 77 ? 0 : error_of(f, got, want);
            if (e > c->worst)
                c->worst = e, c->at[0] = s[l][0], c->at[1] = sig->nsrc > 1 ? s[l][1] : 0;
            bool good = e <= (c->bound < 0.5 ? 0.5 : c->bound) && same_class(sig->dst[0], got, one);
            if (!check_count(good) && printed++ < 4)
                printf("%s(%.17Lg, %.17Lg) is %.17Lg (%llx, scalar %llx), not %.17Lg: error %g\n",
                       c->name, x, y, (long double)format_value(f, got), (long long)got,
                       (long long)one, want, e);
        }
    }
}

/* Functions without a reference here: known, emitted, and the same as a scalar. */
static const char *const others[] = {
#include "names.def"
};

static struct compiled other_code[WEIR_COUNT(others)];

CALLS_COMPILED static void run_other(const char *name, const struct compiled *c)
{
    const struct alu_sig *sig = &c->sig;
    unsigned different = 0;
    for (unsigned r = 0; r < 20; r++) {
        for (unsigned k = 0; k < sig->nsrc; k++)
            for (unsigned l = 0; l < LANES; l++) {
                uint64_t v = value_of(sig->src[k], r < 4 ? r * LANES + l : 1000000);
                if (sig->src[k] == PTX_S32 && name[6] == 'n') /* jn, yn take time in proportion */
                    v &= 1023;
                memcpy(in + k * SLOT + l * lane_bytes(sig->src[k]), &v, lane_bytes(sig->src[k]));
            }
        c->warp(in, out);
        for (unsigned l = 0; l < LANES; l++) {
            c->lane(in, out1, l);
            for (unsigned k = 0; k < sig->ndst; k++)
                different += !same_class(sig->dst[k], get(out, k, sig->dst[k], l),
                                         get(out1, k, sig->dst[k], l));
        }
    }
    if (!check_count(different == 0))
        printf("%s: %u lanes differ from the scalar\n", name, different);
}

int main(int argc, char **argv)
{
    jit_init(argc > 1 ? argv[1] : "host");
    const char *only = argc > 2 ? argv[2] : "";
    unsigned step = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    for (unsigned k = 0; k < WEIR_COUNT(cases); k++)
        if (k % step == 0 && strstr(cases[k].name, only) != NULL &&
            !check_count(jit_add(NULL, NULL, cases[k].name, &cases[k].code, NULL)))
            printf("%s: not known\n", cases[k].name);
    jit_finish();
    for (unsigned k = 0; k < WEIR_COUNT(others); k++)
        if (k % step == 0 && strstr(others[k], only) != NULL &&
            !check_count(jit_add(NULL, NULL, others[k], &other_code[k], NULL)))
            printf("%s: not known\n", others[k]);
    jit_finish();
    for (unsigned k = 0; k < WEIR_COUNT(cases); k++)
        if (cases[k].code.warp != NULL) {
            run(&cases[k]);
            printf("%-22s worst error %-8.4g of %g (at %llx %llx)\n", cases[k].name + 5,
                   cases[k].worst, cases[k].bound, (long long)cases[k].at[0],
                   (long long)cases[k].at[1]);
        }
    for (unsigned k = 0; k < WEIR_COUNT(others); k++)
        if (other_code[k].warp != NULL)
            run_other(others[k], &other_code[k]);
    jit_exit();
    return check_done();
}
