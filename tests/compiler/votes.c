/* Votes on numbers: chains of selections among their results by constants, some of them twice or
 * missing; comparisons of small numbers, with and without sign; lanes that match, by bits near and
 * far from each other, of 32 and 64 bits, where some lanes take part; whether a lane is the first
 * of those that match, and how many they are. All against the same in C. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, WARP = 32, ROUNDS = 6, MAX_STEPS = 24, TEXT = 1 << 14 };

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static CUdeviceptr in, flags, out;
static uint64_t values[THREADS];
static uint32_t set[THREADS], got[THREADS];

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_80\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 in, .param .u64 flags, .param .u64 out)\n{\n"                   \
    ".reg .b32 %t, %x, %f, %c, %r, %b, %m, %n, %l, %u; .reg .b64 %a, %k, %w, %v, %y;\n"            \
    ".reg .pred %p, %q, %z;\n"                                                                     \
    "mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 8;\n"                                                \
    "ld.param.u64 %a, [in]; add.u64 %k, %a, %w; ld.global.u64 %v, [%k]; cvt.u32.u64 %x, %v;\n"     \
    "mul.wide.u32 %w, %t, 4; ld.param.u64 %a, [flags]; add.u64 %k, %a, %w;\n"                      \
    "ld.global.u32 %f, [%k]; mov.u32 %r, 0; setp.eq.u32 %z, %f, 0;\n"
#define TAIL "ld.param.u64 %a, [out]; add.u64 %k, %a, %w; st.global.u32 [%k], %r;\nret;\n}\n"

static void launch(const char *text)
{
    CUmodule module = NULL;
    CUfunction f;
    CHECK_EQ_INT(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyHtoD(in, values, sizeof values), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyHtoD(flags, set, sizeof set), CUDA_SUCCESS);
    CHECK_EQ_INT(
        cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){&in, &flags, &out}, NULL),
        CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), CUDA_SUCCESS);
    CHECK_EQ_INT(cuModuleUnload(module), CUDA_SUCCESS);
}

/* Values with `kinds` different numbers in some bits, or anything. */
static void draw_lanes(uint32_t kinds, unsigned shift, bool some)
{
    uint64_t same = (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
    uint32_t kind = draw(3);
    for (int t = 0; t < THREADS; t++) {
        values[t] = same ^ (uint64_t)draw(kinds) << shift;
        if (some && draw(8) == 0)
            values[t] = (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
        set[t] = kind == 0 ? 1 : kind == 1 ? (uint32_t)t / WARP : draw(3);
    }
}

static void complain(const char *what, uint32_t t, uint32_t want)
{
    if (!check_count(got[t] == want))
        printf("%s, thread %u: %x instead of %x\n", what, t, got[t], want);
}

/* if (c == constant[n]) r = ballot(c == constant[n]), for n in turn. */
static void chain(void)
{
    static char text[TEXT];
    uint32_t constant[MAX_STEPS], steps = 4 + draw(MAX_STEPS - 4), lowest = draw(3) * 3;
    uint32_t range = 4 + draw(24), mask = draw(2) ? 31 : 63, rest = draw(2);
    int at = snprintf(text, sizeof text, "%sand.b32 %%c, %%x, %u; mov.u32 %%r, %s;\n", HEAD, mask,
                      rest ? "%t" : "77");
    for (uint32_t n = 0; n < steps; n++) {
        constant[n] = lowest + (draw(4) ? n % range : draw(range));
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "setp.eq.u32 %%p, %%c, %u; vote.sync.ballot.b32 %%b, %%p, -1;\n"
                       "add.u32 %%b, %%b, %u; selp.b32 %%r, %%b, %%r, %%p;\n",
                       constant[n], n);
    }
    snprintf(text + at, sizeof text - (size_t)at, "%s", TAIL);
    draw_lanes(mask + 1, 0, true);
    launch(text);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t want = rest ? t : 77;
        for (uint32_t n = 0; n < steps; n++) {
            uint32_t same = 0;
            for (uint32_t l = 0; l < WARP; l++)
                same |= (uint32_t)((values[t / WARP * WARP + l] & mask) == constant[n]) << l;
            want = (values[t] & mask) == constant[n] ? same + n : want;
        }
        complain("chain", t, want);
    }
}

/* Votes by comparisons of bytes with constants, some of them no bytes. */
static void comparisons(void)
{
    static const char *const how[] = {"lt.s32", "gt.s32", "le.u32", "ge.u32", "ne.u32", "eq.s32"};
    static char text[TEXT];
    uint32_t what[12], by[12];
    int at =
        snprintf(text, sizeof text, "%sand.b32 %%c, %%x, 255;\n@%%z mov.u32 %%c, 250;\n", HEAD);
    for (uint32_t n = 0; n < 12; n++) {
        what[n] = draw(6);
        by[n] = draw(n % 4 == 0 ? 400 : 256);
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "setp.%s %%p, %%c, %u; vote.sync.ballot.b32 %%b, %%p, -1;\n"
                       "mad.lo.u32 %%r, %%r, 5, %%b;\n",
                       how[what[n]], by[n]);
    }
    snprintf(text + at, sizeof text - (size_t)at, "%s", TAIL);
    draw_lanes(256, 0, true);
    launch(text);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t want = 0;
        for (uint32_t n = 0; n < 12; n++) {
            uint32_t bits = 0;
            for (uint32_t l = 0; l < WARP; l++) {
                uint32_t i = t / WARP * WARP + l, c = set[i] == 0 ? 250 : values[i] & 255;
                bool is[6] = {c<by[n], c> by[n], c <= by[n], c >= by[n], c != by[n], c == by[n]};
                bits |= (uint32_t)is[what[n]] << l;
            }
            want = want * 5 + bits;
        }
        complain("comparisons", t, want);
    }
}

/* The lanes that match, among all or those whose flag is set; and what is made of them. */
static void match(bool wide, bool some, bool first)
{
    static char text[TEXT];
    static const uint32_t kinds[] = {1, 2, 5, 16, 40, 300, 70000};
    static const uint32_t shifts[] = {0, 3, 8, 27, 30, 40, 61};
    unsigned bits = wide ? 64 : 32;
    snprintf(text, sizeof text,
             "%svote.sync.ballot.b32 %%m, %s, -1;\n%smatch.any.sync.b%u %%b, %s, %%m;\n%s%s%s",
             HEAD, some ? "!%z" : "1", some ? "@%z bra NONE;\n" : "", bits, wide ? "%v" : "%x",
             first ? "add.s32 %n, %b, -1; not.b32 %c, %b; and.b32 %n, %c, %n; popc.b32 %n, %n;\n"
                     "and.b32 %l, %t, 31; setp.eq.u32 %p, %n, %l; popc.b32 %c, %b;\n"
                     "selp.b32 %r, %c, 99, %p;\n"
                   : "mov.u32 %r, %b;\n",
             some ? "NONE:\n" : "", TAIL);
    draw_lanes(kinds[draw(7)], shifts[draw(wide ? 7 : 5)], draw(3) == 0);
    launch(text);
    uint64_t part = wide ? UINT64_MAX : UINT32_MAX;
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t same = 0, lane = t % WARP;
        for (uint32_t l = 0; l < WARP; l++) {
            uint32_t i = t / WARP * WARP + l;
            bool is = (!some || set[i] != 0) && ((values[i] ^ values[t]) & part) == 0;
            same |= (uint32_t)is << l;
        }
        uint32_t want = same;
        if (first && same != 0)
            want = (uint32_t)__builtin_ctz(same) == lane ? (uint32_t)__builtin_popcount(same) : 99;
        complain("match", t, some && set[t] == 0 ? 0 : want);
    }
}

int main(void)
{
    CUcontext context;
    CHECK_EQ_INT(cuInit(0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    CHECK_EQ_INT(cuCtxSetCurrent(context), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&in, sizeof values), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&flags, sizeof set), CUDA_SUCCESS);
    CHECK_EQ_INT(cuMemAlloc(&out, sizeof got), CUDA_SUCCESS);
    for (int n = 0; n < ROUNDS; n++) {
        chain();
        comparisons();
        for (int kind = 0; kind < 8; kind++)
            match(kind & 1, kind & 2, kind & 4);
    }
    return check_done();
}
