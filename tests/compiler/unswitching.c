/* Tests that a whole block decides alike, of which the code after the first is there for either
 * outcome: unrolled ones that choose an address, one in a loop that is come to with values from
 * before and from the loop, and one that each thread decides (with a pragma). All against the same
 * in C. */
#include <stdint.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, WORDS = 1024, WIDTH = 64 };

/* One of three words, along a row or down a column. */
#define TAP(n)                                                                                     \
    "@%p bra DOWN" #n ";\nadd.s32 %i, %t, " #n ";\nbra.uni ON" #n ";\nDOWN" #n ":\n"               \
    "mad.lo.s32 %i, %w, " #n ", %t;\nON" #n ":\n"                                                  \
    "mul.wide.s32 %o, %i, 4; add.s64 %q, %in, %o; ld.global.u32 %v, [%q];\n"                       \
    "mad.lo.u32 %sum, %sum, 3, %v;\n"

#define BEGIN(name)                                                                                \
    ".visible .entry " name "(.param .u64 in, .param .u64 out, .param .u32 flag, .param .u32 n)\n" \
    "{\n.reg .b32 %t, %i, %j, %w, %v, %sum, %flag, %n, %step; .reg .b64 %in, %out, %o, %q;\n"      \
    ".reg .pred %p, %again;\n"                                                                     \
    "mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; ld.param.u64 %in, [in]; ld.param.u64 %q, [out];"  \
    "\nadd.s64 %out, %q, %o; ld.param.u32 %flag, [flag]; ld.param.u32 %n, [n]; mov.u32 %w, 64;\n"  \
    "mov.u32 %sum, 1; mov.u32 %j, 0; mov.u32 %i, %t; mov.u32 %step, 5;\n"

#define END "st.global.u32 [%out], %sum;\nret;\n}\n"

/* The step is written before the test that the loop is entered at, by the loop as well. */
#define LOOP                                                                                       \
    "LOOP:\nadd.u32 %step, %step, %j;\n@!%p bra B;\nadd.u32 %i, %i, %step; bra.uni C;\nB:\n"       \
    "add.u32 %i, %i, 64; xor.b32 %step, %step, 3;\nC:\nand.b32 %i, %i, 1023;\n"                    \
    "mul.wide.u32 %o, %i, 4; add.s64 %q, %in, %o; ld.global.u32 %v, [%q];\n"                       \
    "@%p bra D;\nmad.lo.u32 %sum, %sum, 5, %v; bra.uni E;\nD:\nadd.u32 %sum, %sum, %v;\nE:\n"      \
    "add.u32 %sum, %sum, %step; add.u32 %j, %j, 1; setp.lt.u32 %again, %j, %n;\n"                  \
    "@%again bra LOOP;\n"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n" BEGIN(
    "taps") "setp.ne.u32 %p, %flag, 0;\n" TAP(0) TAP(1) TAP(2) TAP(3)
    END BEGIN("loop") "setp.eq.u32 %p, %flag, 0;\n" LOOP END BEGIN(
        "threads") ".pragma \"weir_rows\";\n"
                   "and.b32 %v, %t, 3; setp.eq.u32 %p, %v, %flag;\n" LOOP END;

static uint32_t in[WORDS];

static uint32_t taps(uint32_t t, uint32_t flag)
{
    uint32_t sum = 1;
    for (uint32_t k = 0; k < 4; k++)
        sum = sum * 3 + in[flag != 0 ? t + WIDTH * k : t + k];
    return sum;
}

static uint32_t loop(uint32_t t, int along, uint32_t n)
{
    uint32_t sum = 1, j = 0, i = t, step = 5;
    do {
        step += j;
        i += along ? step : WIDTH;
        step ^= along ? 0 : 3;
        i &= WORDS - 1;
        sum = along ? sum + in[i] : sum * 5 + in[i];
        sum += step;
    } while (++j < n);
    return sum;
}

int main(void)
{
    static const char *const names[] = {"taps", "loop", "threads"};
    CUcontext ctx;
    CUmodule module;
    CUdeviceptr from, out;
    CHECK_EQ_INT(cuInit(0), 0);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
    CHECK_EQ_INT(cuCtxSetCurrent(ctx), 0);
    CHECK_EQ_INT(cuModuleLoadData(&module, text), 0);
    for (uint32_t k = 0; k < WORDS; k++)
        in[k] = k * 2654435761u >> 7;
    CHECK_EQ_INT(cuMemAlloc(&from, sizeof in), 0);
    CHECK_EQ_INT(cuMemAlloc(&out, THREADS * sizeof(uint32_t)), 0);
    CHECK_EQ_INT(cuMemcpyHtoD(from, in, sizeof in), 0);
    for (uint32_t run = 0; run < 3 * 6; run++) {
        uint32_t which = run / 6, flag = run % 2, n = 1 + run % 6 * 4, got[THREADS];
        void *arguments[] = {&from, &out, &flag, &n};
        CUfunction f;
        CHECK_EQ_INT(cuModuleGetFunction(&f, module, names[which]), 0);
        CHECK_EQ_INT(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL), 0);
        CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), 0);
        for (uint32_t t = 0; t < THREADS; t++)
            CHECK_EQ_INT(got[t], which == 0   ? taps(t, flag)
                                 : which == 1 ? loop(t, flag == 0, n)
                                              : loop(t, (t & 3) == flag, n));
    }
    CHECK_EQ_INT(cuMemFree(from), 0);
    CHECK_EQ_INT(cuMemFree(out), 0);
    CHECK_EQ_INT(cuModuleUnload(module), 0);
    return check_done();
}
