/* E1, K1, by the driver API: a device of a later compute capability (WEIR_COMPUTE_CAPABILITY=10.3):
 * which modules it takes, what is new in PTX for it, and what is refused by name. Elementwise
 * instructions are compared in tests/arithmetic; here is what goes through memory and the warp. */
#include "common.h"

#include <math.h>
#include <stdbool.h>

static CUresult load_text(CUmodule *module, const char *target, const char *body)
{
    char text[4096];
    snprintf(text, sizeof text,
             ".version 9.0\n.target %s\n.address_size 64\n"
             ".visible .entry k(.param .u64 p)\n{\n"
             ".reg .b32 r<9>; .reg .f32 f<9>; .reg .b64 d<9>; .reg .pred q;\n"
             "ld.param.u64 d0, [p];\nmov.u32 r0, %%tid.x;\n"
             "%s\nret;\n}\n",
             target, body);
    return cuModuleLoadData(module, text);
}

/* A module of sm_NN is for later devices, too, of sm_NNf for its family, of sm_NNa for one. */
static void targets(void)
{
    static const struct {
        const char *target;
        bool runs;
    } cases[] = {
        {"sm_75", true},    {"sm_90", true},    {"sm_90a", false},  {"sm_100", true},
        {"sm_100f", true},  {"sm_100a", false}, {"sm_103", true},   {"sm_103a", true},
        {"sm_103f", true},  {"sm_110", false},  {"sm_110f", false}, {"sm_120", false},
        {"sm_120a", false}, {"sm_121", false},
    };
    CUmodule module;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_CU(load_text(&module, cases[i].target, ""),
                 cases[i].runs ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX);
        if (cases[i].runs)
            OK(cuModuleUnload(module));
        else
            CHECK(strstr(weir_last_message(), "; this device is sm_103") != NULL);
    }
}

static void refusals(void)
{
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"tcgen05.wait::ld.sync.aligned;", "'tcgen05' is not supported"},
        {"wgmma.fence.sync.aligned;", "'wgmma.fence.sync.aligned' needs target sm_90a"},
    };
    CUmodule module;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(load_text(&module, "sm_103a", cases[i].body) != CUDA_SUCCESS);
        if (!check_count(strstr(weir_last_message(), cases[i].message) != NULL))
            printf("%s: %s\n", cases[i].body, weir_last_message());
    }
}

/* Runs the body with one warp on a buffer of 32 x 64 bytes. */
static void run(const char *body, void *data, size_t size)
{
    CUmodule module;
    CUfunction f;
    CUdeviceptr p;
    NEED(load_text(&module, "sm_103a", body));
    NEED(cuModuleGetFunction(&f, module, "k"));
    NEED(cuMemAlloc(&p, size));
    NEED(cuMemcpyHtoD(p, data, size));
    void *arguments[] = {&p};
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuMemcpyDtoH(data, p, size));
    OK(cuMemFree(p));
    OK(cuModuleUnload(module));
}

/* 256 bits at once: each thread adds its index to eight words and moves them. */
static void wide_accesses(void)
{
    uint32_t words[2][32][8];
    for (uint32_t t = 0; t < 32; t++)
        for (uint32_t k = 0; k < 8; k++)
            words[0][t][k] = t * 100 + k, words[1][t][k] = 0;
    run("mad.wide.u32 d0, r0, 32, d0;\n"
        "ld.global.L2::evict_last.v8.b32 {r1, r2, r3, r4, r5, r6, r7, _}, [d0];\n"
        "add.u32 r1, r1, r0;\nadd.u32 r7, r7, r0;\n"
        "st.global.v8.b32 [d0+1024], {r1, r2, r3, r4, r5, r6, r7, r0};",
        words, sizeof words);
    for (uint32_t t = 0; t < 32; t++)
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t want = k == 7 ? t : words[0][t][k] + (k == 0 || k == 6 ? t : 0);
            CHECK_EQ_INT(words[1][t][k], want);
        }
    uint64_t longs[2][32][4];
    for (uint64_t t = 0; t < 32; t++)
        for (uint64_t k = 0; k < 4; k++)
            longs[0][t][k] = t << 40 | k, longs[1][t][k] = 0;
    run("mad.wide.u32 d0, r0, 32, d0;\n"
        "ld.global.nc.v4.b64 {d1, d2, d3, d4}, [d0];\n"
        "st.v4.b64 [d0+1024], {d4, d3, d2, d1};",
        longs, sizeof longs);
    for (uint64_t t = 0; t < 32; t++)
        for (uint64_t k = 0; k < 4; k++)
            CHECK(longs[1][t][k] == longs[0][t][3 - k]);
}

/* What redux.sync of floats gives: NaNs are left out unless .NaN asks for them. */
static float reduced(const float *v, uint32_t members, bool max, bool abs, bool nan)
{
    float r = NAN;
    for (int t = 0; t < 32; t++) {
        if ((members >> t & 1) == 0)
            continue;
        float x = abs ? fabsf(v[t]) : v[t];
        if (isnan(x)) {
            if (nan)
                return NAN;
            continue;
        }
        bool less = x < r || (x == r && signbit(x) && !signbit(r));
        bool more = x > r || (x == r && !signbit(x) && signbit(r));
        if (isnan(r) || (max ? more : less))
            r = x;
    }
    return r;
}

static void one_reduction(int n, const float *v, uint32_t even, uint32_t odd)
{
    static const char *const mods[] = {"min",     "max",     "min.abs",     "max.abs",
                                       "min.NaN", "max.NaN", "min.abs.NaN", "max.abs.NaN"};
    char body[512];
    float data[2][32];
    memcpy(data[0], v, sizeof data[0]);
    /* two groups that name different members: even lanes and odd ones; or all one */
    snprintf(body, sizeof body,
             "mad.wide.u32 d0, r0, 4, d0;\nld.global.f32 f0, [d0];\n"
             "and.b32 r1, r0, 1;\nsetp.eq.u32 q, r1, 0;\nselp.b32 r2, %u, %u, q;\n"
             "redux.sync.%s.f32 f1, f0, %s;\n"
             "st.global.f32 [d0+128], f1;",
             even, odd, mods[n], even == odd ? "0xffffffff" : "r2");
    run(body, data, sizeof data);
    for (int t = 0; t < 32; t++) {
        float want = reduced(v, t % 2 == 0 ? even : odd, n % 2 != 0, n / 2 % 2 != 0, n >= 4);
        uint32_t got_bits, want_bits;
        memcpy(&got_bits, &data[1][t], 4);
        memcpy(&want_bits, &want, 4);
        if (isnan(want))
            want_bits = 0x7fffffff;
        if (!check_count(got_bits == want_bits))
            printf("redux.sync.%s: lane %d: %08x, not %08x\n", mods[n], t, got_bits, want_bits);
    }
}

static void reductions(void)
{
    float v[32];
    for (int t = 0; t < 32; t++)
        v[t] = (float)((t * 37) % 64) - 31.5f;
    for (int n = 0; n < 8; n++) {
        one_reduction(n, v, 0xffffffff, 0xffffffff);
        one_reduction(n, v, 0x55555555, 0xaaaaaaaa);
    }
    v[3] = NAN, v[8] = -INFINITY, v[9] = INFINITY;
    for (int n = 0; n < 8; n++)
        one_reduction(n, v, 0x55555555, 0xaaaaaaaa);
    for (int t = 0; t < 32; t++)
        v[t] = t % 3 == 0 ? -0.0f : t % 3 == 1 ? 0.0f : NAN;
    for (int n = 0; n < 8; n++)
        one_reduction(n, v, 0xffffffff, 0xffffffff);
    for (int t = 0; t < 32; t++)
        v[t] = -NAN;
    for (int n = 0; n < 8; n++)
        one_reduction(n, v, 0xffffffff, 0xffffffff);
}

/* ---- cvt.rs ---- */

struct small {
    const char *name;
    int exponent, fraction, bias, count;
    double max;
    uint32_t nan;
};
static const struct small smalls[] = {
    {"f16x2", 5, 10, 15, 2, 65504, 0x7fff}, {"bf16x2", 8, 7, 127, 2, 0x1.fep127, 0x7fff},
    {"e4m3x4", 4, 3, 7, 4, 448, 0x7f},      {"e5m2x4", 5, 2, 15, 4, 57344, 0x7f},
    {"e2m3x4", 2, 3, 1, 4, 7.5, 0x1f},      {"e3m2x4", 3, 2, 3, 4, 28, 0x1f},
    {"e2m1x4", 2, 1, 1, 4, 6, 0x7},
};

/* The code of x, rounded up if what is cut off and the random part of the last place are one
 * together. */
static uint32_t stochastic(const struct small *f, double x, uint32_t random, bool finite)
{
    if (isnan(x))
        return f->nan;
    double v = fabs(x);
    uint32_t sign = signbit(x) ? 1u << (f->exponent + f->fraction) : 0;
    uint32_t infinity = ((1u << f->exponent) - 1) << f->fraction;
    if (finite && v > f->max)
        v = f->max;
    if (isinf(v))
        return sign | infinity;
    int place = v > 0 ? ilogb(v) : -1000;
    place = place < 1 - f->bias ? 1 - f->bias : place;
    double kept = floor(ldexp(v, f->fraction - place) + random / 65536.0);
    uint32_t code = (uint32_t)kept + ((uint32_t)(place + f->bias - 1) << f->fraction);
    if (f->count == 2 && code > infinity)
        code = infinity;
    return sign | code;
}

/* Which 16 bits of the random word are for source n. */
static uint32_t random_part(const struct small *f, uint32_t bits, int n)
{
    bool upper = n < f->count / 2;
    if (f->fraction == 1) /* e2m1: the upper or the lower bytes of both halves */
        return upper ? (bits >> 16 & 0xff00) | (bits >> 8 & 0xff)
                     : (bits >> 8 & 0xff00) | (bits & 0xff);
    uint32_t half = upper ? bits >> 16 : bits & 0xffff;
    return f->fraction == 10 ? (half & 0x1fff) << 3 : half;
}

static float stochastic_source(const struct small *f, unsigned n)
{
    static const float special[] = {0,     -0.0f,     INFINITY, -INFINITY,   NAN, 1,
                                    -1.5f, 0x1p-149f, 65519,    0x1.ffp127f, 448, 6.1f};
    if (n % 40 < 12)
        return special[n % 40];
    float v = 1 + (float)(n * 2654435761u >> 9) * 0x1p-23f;
    int least = 1 - f->bias - f->fraction - 3, most = (int)log2(f->max) + 1;
    int exponent = least + (int)(n * 40503u >> 4) % (most - least + 1);
    return ldexpf(n % 3 == 0 ? -v : v, exponent < -126 ? -126 : exponent > 127 ? 127 : exponent);
}

static void one_stochastic(const struct small *f, bool finite, bool relu)
{
    enum { TIMES = 12 };
    char body[1024];
    for (unsigned time = 0; time < TIMES; time++) {
        uint32_t data[32][8] = {0};
        for (unsigned t = 0; t < 32; t++) {
            for (unsigned n = 0; n < 4; n++) {
                float v = stochastic_source(f, (time * 32 + t) * 4 + n);
                memcpy(&data[t][n], &v, 4);
            }
            data[t][4] = (time * 32 + t) * 2246822519u + time;
        }
        bool four = f->count == 4, narrow = f->fraction == 1;
        snprintf(body, sizeof body,
                 "mad.wide.u32 d0, r0, 32, d0;\n.reg .b16 h;\n"
                 "ld.global.v4.f32 {f1, f2, f3, f4}, [d0];\nld.global.u32 r1, [d0+16];\n"
                 "cvt.rs%s%s.%s.f32 %s, %s, r1;\n%sst.global.u32 [d0+20], r2;",
                 relu ? ".relu" : "", finite ? ".satfinite" : "", f->name, narrow ? "h" : "r2",
                 four ? "{f1, f2, f3, f4}" : "f1, f2", narrow ? "cvt.u32.u16 r2, h;\n" : "");
        run(body, data, sizeof data);
        for (unsigned t = 0; t < 32; t++) {
            uint32_t want = 0, each = f->count == 2 ? 16 : narrow ? 4 : 8;
            for (int n = 0; n < f->count; n++) {
                float x;
                memcpy(&x, &data[t][n], 4);
                if (relu && x <= 0)
                    x = 0;
                want = want << each | stochastic(f, x, random_part(f, data[t][4], n), finite);
            }
            if (!check_count(data[t][5] == want))
                printf("cvt.rs.%s of %08x %08x %08x %08x, random %08x: %08x, not %08x\n", f->name,
                       data[t][0], data[t][1], data[t][2], data[t][3], data[t][4], data[t][5],
                       want);
        }
    }
}

static void stochastic_rounding(void)
{
    for (size_t n = 0; n < sizeof smalls / sizeof *smalls; n++)
        for (int relu = 0; relu < 2; relu++) {
            one_stochastic(&smalls[n], true, relu != 0);
            if (smalls[n].count == 2)
                one_stochastic(&smalls[n], false, relu != 0);
        }
}

int main(void)
{
    begin();
    targets();
    refusals();
    wide_accesses();
    reductions();
    stochastic_rounding();
    OK(cuDevicePrimaryCtxRelease(0));
    return check_done();
}
