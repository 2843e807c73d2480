/* test_arithmetic: every instruction of cases.def, as a warp and as a scalar, against the reference
 * in C. Exact results must agree bit for bit (any NaN for a NaN); approximations within their
 * bound. The scalar's result must be the warp's in every lane.
 *
 *   test_arithmetic [host | avx2 | sse2 [PREFIX [N]]]
 *
 * checks the instructions whose text begins with PREFIX, every N-th of them. */
#include "jit.h"
#include "ref.h"
#include "text.h"
#include "values.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>

enum measure { EXACT, ULP, ABS, REL, LOG };

struct test_case {
    const char *text;
    enum measure measure;
    double bound;
    struct text_instr t;
    struct compiled code;
    double worst;
};

static struct test_case cases[] = {
#define CASE(text) {text, EXACT, 0, {{0}, {{0}}, {0}}, {{0}, NULL, NULL}, 0},
#define NEWER      CASE
#define APPROX(text, measure, bound)                                                               \
    {text, measure, bound, {{0}, {{0}}, {0}}, {{0}, NULL, NULL}, 0},
#include "cases.def"
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

/* Same bits, or both NaN, half by half for packed types. */
static bool agree(unsigned type, uint64_t x, uint64_t y)
{
    const struct format *f = format_of(type);
    if (x == y || f == NULL)
        return x == y;
    if (type == PTX_F32X2)
        return agree(PTX_F32, x & 0xffffffff, y & 0xffffffff) && agree(PTX_F32, x >> 32, y >> 32);
    if (type == PTX_F16X2 || type == PTX_BF16X2) {
        unsigned part = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        return agree(part, x & 0xffff, y & 0xffff) && agree(part, x >> 16, y >> 16);
    }
    return is_nan(format_value(f, x)) && is_nan(format_value(f, y));
}

static double error_of(const struct test_case *c, const struct format *f, uint64_t bits,
                       long double want)
{
    long double got = (long double)format_value(f, bits);
    const struct format *g = f;
    uint64_t near = format_bits(g, (quad)want, RN);
    if (ptx_has(&c->t.instr, PTX_M_ftz))
        near = flush(g, near);
    quad rounded = format_value(g, near);
    if (isnan(want) || is_nan((quad)got))
        return isnan(want) && is_nan((quad)got) ? 0 : INFINITY;
    if (bits == near)
        return 0;
    if (rounded == 0 || isinf((double)rounded) ||
        isinf(got)) /* at the ends of the range: one step */
        return llabs((long long)(bits - near)) <= 2 && c->measure != ABS ? 1 : fabsl(got - want);
    double diff = (double)fabsl(got - want);
    switch (c->measure) {
    case ABS: return diff;
    case REL:
        return fabsl(want) < (long double)format_value(f, 1ull << f->fraction)
                   ? 0
                   : diff / (double)fabsl(want);
    case LOG: return fabsl(want) < 1 ? diff : diff / (double)fabsl(want);
    default: {
        quad step =
            format_value(g, (near & format_nan(g)) + 1) - format_value(g, near & format_nan(g));
        return (double)((quad)diff / step);
    }
    }
}

static void check_lane(struct test_case *c, unsigned lane, const uint64_t *s)
{
    const struct alu_sig *sig = &c->code.sig;
    uint64_t want[ALU_MAX_DST] = {0};
    long double exact = 0;
    bool promised =
        c->measure == EXACT ? ref_run(&c->t.instr, s, want) : ref_approx(&c->t.instr, s, &exact);
    for (unsigned k = 0; k < sig->ndst; k++) {
        unsigned type = sig->dst[k];
        uint64_t got = get(out, k, type, lane), one = get(out1, k, type, lane);
        bool good = true;
        double e = 0;
        if (c->measure == EXACT) {
            good = agree(type, got, want[k]);
        } else if (promised) {
            e = error_of(c, format_of(type), got, exact);
            good = e <= c->bound;
            if (e > c->worst)
                c->worst = e;
        }
        if (!check_count(good && agree(type, got, one)) && checks_failed < 60)
            printf(
                "%s: result %u of %llx %llx %llx %llx is %llx (scalar %llx), not %llx (error %g)\n",
                c->text, k, (long long)s[0], (long long)s[1], (long long)s[2], (long long)s[3],
                (long long)got, (long long)one, (long long)want[k], e);
    }
}

/* Values of the sources of one lane: all pairs of edges first. */
static void make_sources(const struct test_case *c, unsigned n, uint64_t *s)
{
    const struct alu_sig *sig = &c->code.sig;
    unsigned first = sig->ndst - sig->carry_out, rest = n;
    for (unsigned k = 0; k < sig->nsrc; k++) {
        unsigned edges = edge_count(sig->src[k]);
        bool pair = k < 2;
        s[k] = value_of(sig->src[k], pair && rest != ~0u ? rest % edges : 1000000);
        if (pair && rest != ~0u)
            rest = k == 0 ? rest / edges : rest < edges ? rest : ~0u;
        const struct ptx_operand *o = &c->t.operands[first + k];
        if (o->kind == PTX_OPR_IMM)
            s[k] = o->imm;
    }
}

static unsigned rounds(const struct test_case *c)
{
    const struct alu_sig *sig = &c->code.sig;
    unsigned n = edge_count(sig->src[0]) * (sig->nsrc > 1 ? edge_count(sig->src[1]) : 1);
    return n / LANES + 40;
}

CALLS_COMPILED static void run(struct test_case *c)
{
    const struct alu_sig *sig = &c->code.sig;
    unsigned failed = checks_failed;
    uint64_t s[LANES][ALU_MAX_SRC] = {{0}};
    for (unsigned r = 0; r < rounds(c); r++) {
        for (unsigned l = 0; l < LANES; l++) {
            make_sources(c, r * LANES + l, s[l]);
            for (unsigned k = 0; k < sig->nsrc; k++)
                if (c->t.uniform[sig->ndst - sig->carry_out + k])
                    s[l][k] = s[0][k];
            for (unsigned k = 0; k < sig->nsrc; k++)
                memcpy(in + k * SLOT + l * lane_bytes(sig->src[k]), &s[l][k],
                       lane_bytes(sig->src[k]));
        }
        c->code.warp(in, out);
        for (unsigned l = 0; l < LANES; l++)
            c->code.lane(in, out1, l);
        for (unsigned l = 0; l < LANES; l++)
            check_lane(c, l, s[l]);
        if (checks_failed > failed + 4)
            return;
    }
}

static bool is_sine(const struct test_case *c)
{
    return strncmp(c->text, "sin.approx.f32", 14) == 0 ||
           strncmp(c->text, "cos.approx.f32", 14) == 0;
}

/* No sine is beyond 1, where errors of rounding could make it so: near the multiples of pi/2. */
CALLS_COMPILED static void check_extremes(const struct test_case *c)
{
    for (int quarter = -5; quarter <= 5; quarter++) {
        for (unsigned r = 0; r < 400; r++) {
            for (unsigned l = 0; l < LANES; l++) {
                float off = (float)((int)(r * LANES + l) - 200 * (int)LANES) * 0x1p-22F;
                float x = (float)quarter * 0x1.921fb6p0F + off;
                memcpy(in + l * sizeof x, &x, sizeof x);
            }
            c->code.warp(in, out);
            for (unsigned l = 0; l < LANES; l++) {
                float y, x;
                memcpy(&y, out + l * sizeof y, sizeof y);
                memcpy(&x, in + l * sizeof x, sizeof x);
                if (!check_count(y <= 1 && y >= -1) && checks_failed < 60)
                    printf("%s: of %a is %a\n", c->text, (double)x, (double)y);
            }
        }
    }
    memset(in, 0, SLOT);
    c->code.warp(in, out);
    CHECK(get(out, 0, PTX_F32, 0) == (c->text[0] == 'c' ? 0x3f800000 : 0));
    const uint32_t minus_zero = 0x80000000;
    memcpy(in, &minus_zero, sizeof minus_zero);
    c->code.warp(in, out);
    CHECK(get(out, 0, PTX_F32, 0) == (c->text[0] == 'c' ? 0x3f800000 : 0x80000000));
}

int main(int argc, char **argv)
{
    jit_init(argc > 1 ? argv[1] : "host");
    const char *only = argc > 2 ? argv[2] : "";
    unsigned step = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    unsigned batch = 0, start = 0, count = WEIR_COUNT(cases);
    for (unsigned k = 0; k < count; k++) {
        struct test_case *c = &cases[k];
        struct diag d = {.text = ""};
        if ((k % step == 0 || is_sine(c)) && strncmp(c->text, only, strlen(only)) == 0) {
            CHECK(text_read(c->text, &c->t));
            if (!check_count(jit_add(&c->t.instr, c->t.uniform, NULL, &c->code, &d)))
                printf("%s: refused: %s\n", c->text, d.text);
            else
                batch++;
        }
        if (batch < 64 && k + 1 < count)
            continue;
        jit_finish();
        for (; start <= k; start++)
            if (cases[start].code.warp != NULL) {
                run(&cases[start]);
                if (is_sine(&cases[start]))
                    check_extremes(&cases[start]);
            }
        batch = 0;
    }
    for (unsigned k = 0; k < count; k++)
        if (cases[k].measure != EXACT && cases[k].code.warp != NULL)
            printf("%-32s worst error %.4g of %.4g\n", cases[k].text, cases[k].worst,
                   cases[k].bound);
    jit_exit();
    return check_done();
}
