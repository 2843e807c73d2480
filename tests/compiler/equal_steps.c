/* Lanes whose index, which rises or falls by a step from lane to lane, has a value that is given: a
 * branch and a select for each of 32 and 64 bits, where the index wraps around and where no lane
 * has the value. Against the same in C. */
#include <stdint.h>
#include <stdio.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, ROUNDS = 60 };

static const int64_t steps[] = {1, 2, 3, 12, 516, 4096, 65536, 65535, -1, -2, -6, -516, -65536};

static uint64_t draw(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static CUfunction compiled(CUmodule *module, int64_t step, unsigned bits)
{
    char text[2048];
    CUfunction f;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_80\n.address_size 64\n"
             ".visible .entry k(.param .u64 out, .param .u%u from, .param .u%u n)\n{\n"
             ".reg .b32 %%x, %%y, %%d, %%t, %%r; .reg .b64 %%a, %%o;\n"
             ".reg .b%u %%i, %%from, %%n, %%w, %%far; .reg .pred %%p, %%q;\n"
             "mov.u32 %%x, %%tid.x; mov.u32 %%y, %%tid.y; mov.u32 %%d, %%ntid.x;\n"
             "mad.lo.u32 %%t, %%y, %%d, %%x; mul.wide.u32 %%o, %%t, 4; ld.param.u64 %%a, [out];\n"
             "add.s64 %%a, %%a, %%o; ld.param.u%u %%from, [from]; ld.param.u%u %%n, [n];\n"
             "cvt.u%u.u32 %%w, %%x; mul.lo.s%u %%far, %%w, %lld; add.s%u %%i, %%from, %%far;\n"
             "mov.u32 %%r, 0; setp.ne.s%u %%p, %%i, %%n;\n@%%p bra ELSE;\nadd.u32 %%r, %%t, 100;\n"
             "ELSE:\nsetp.eq.u%u %%q, %%n, %%i;\n@%%q bra DONE;\nadd.u32 %%r, %%r, 1000;\nDONE:\n"
             "st.global.u32 [%%a], %%r;\nret;\n}\n",
             bits, bits, bits, bits, bits, bits, bits, (long long)step, bits, bits, bits);
    CHECK_EQ_INT(cuModuleLoadData(module, text), 0);
    CHECK_EQ_INT(cuModuleGetFunction(&f, *module, "k"), 0);
    return f;
}

static void compare(CUfunction f, CUdeviceptr out, int64_t step, unsigned bits, unsigned width)
{
    uint64_t all = ~UINT64_C(0) >> (64 - bits), from = draw() & all;
    if (draw() % 2 == 0)
        from = (0 - draw() % 64) & all;
    uint64_t n = (from + (uint64_t)step * (draw() % (width + 8))) & all;
    if (draw() % 4 == 0)
        n = (n + draw() % 3 * (UINT64_C(1) << draw() % bits)) & all;
    uint32_t got[THREADS];
    CHECK_EQ_INT(cuLaunchKernel(f, 1, 1, 1, width, THREADS / width, 1, 0, NULL,
                                (void *[]){&out, &from, &n}, NULL),
                 0);
    CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), 0);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint64_t i = (from + (uint64_t)step * (t % width)) & all;
        CHECK_EQ_INT(got[t], i == n ? t + 100 : 1000);
    }
}

int main(void)
{
    CUcontext ctx;
    CUdeviceptr out;
    CHECK_EQ_INT(cuInit(0), 0);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
    CHECK_EQ_INT(cuCtxSetCurrent(ctx), 0);
    CHECK_EQ_INT(cuMemAlloc(&out, THREADS * sizeof(uint32_t)), 0);
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        for (unsigned bits = 32; bits <= 64; bits += 32) {
            CUmodule module;
            CUfunction f = compiled(&module, steps[k], bits);
            for (int n = 0; n < ROUNDS; n++)
                compare(f, out, steps[k], bits, n % 3 == 0 ? 64 : n % 3 == 1 ? 32 : 16);
            CHECK_EQ_INT(cuModuleUnload(module), 0);
        }
    CHECK_EQ_INT(cuMemFree(out), 0);
    return check_done();
}
