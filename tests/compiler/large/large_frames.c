/* Module compiler, llvm/stack_size.c, and base/stack.h: code that is not optimized keeps each value
 * of a large kernel in a place of its own: the frame of this kernel takes more of the machine's
 * stack than a thread has, worker or host thread. It ran into the end of the stack, which was told
 * as the kernel's fault. Run in the baseline tier, where workers run its blocks and where the
 * thread that waits runs them all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "check.h"
#include "cuda.h"

enum { VALUES = 48000, FIRST = 8, THREADS = 32, BLOCKS = 6, EACH = 6 };

/* The value after `n`, of which each EACH is followed by a branch. */
static uint64_t next(const uint64_t *v, unsigned n) { return v[n - 1] * (2 * n + 1) + v[n - 7]; }

static uint64_t expected(uint64_t *v, uint64_t thread)
{
    for (unsigned n = 0; n < FIRST; n++)
        v[n] = thread * (n + 3) + n;
    for (unsigned n = FIRST; n < VALUES; n++) {
        v[n] = next(v, n);
        if (n % EACH == 0 && v[n] <= v[n - 3])
            v[n] ^= n;
    }
    return v[VALUES - 1];
}

/* `meets`: its threads meet in a function that is called by pointer, so its warps have stacks of
 * their own. */
static char *source(bool meets)
{
    struct strbuf s = {0};
    sb_printf(&s,
              ".version 8.0\n.target sm_80\n.address_size 64\n"
              ".func meet()\n{\nbar.sync 0;\nret;\n}\n"
              ".visible .entry deep(.param .u64 out)\n{\n"
              ".reg .b64 %%a<3>, %%v<%d>;\n.reg .b32 %%r<4>;\n.reg .pred %%p;\n"
              "ld.param.u64 %%a0, [out];\nmov.u32 %%r0, %%ctaid.x;\nmov.u32 %%r1, %%tid.x;\n"
              "mad.lo.u32 %%r0, %%r0, %d, %%r1;\ncvt.u64.u32 %%a1, %%r0;\n"
              "mad.wide.u32 %%a2, %%r0, 8, %%a0;\n",
              VALUES, THREADS);
    for (unsigned n = 0; n < FIRST; n++)
        sb_printf(&s, "mad.lo.u64 %%v%u, %%a1, %u, %u;\n", n, n + 3, n);
    for (unsigned n = FIRST; n < VALUES; n++) {
        sb_printf(&s, "mad.lo.u64 %%v%u, %%v%u, %u, %%v%u;\n", n, n - 1, 2 * n + 1, n - 7);
        if (n % EACH == 0)
            sb_printf(&s,
                      "setp.gt.u64 %%p, %%v%u, %%v%u;\n@%%p bra past%u;\n"
                      "xor.b64 %%v%u, %%v%u, %u;\npast%u:\n",
                      n, n - 3, n, n, n, n, n);
    }
    if (meets)
        sb_printf(&s, "mov.u64 %%a0, meet;\nkind: .callprototype _ ();\ncall %%a0, (), kind;\n");
    sb_printf(&s, "st.global.u64 [%%a2], %%v%d;\nret;\n}\n", VALUES - 1);
    return s.items;
}

static void run(bool meets)
{
    CUmodule module = NULL;
    CUfunction deep = NULL;
    CUdeviceptr out = 0;
    char *text = source(meets);
    uint64_t *values = malloc(VALUES * sizeof *values), found[BLOCKS * THREADS];
    CHECK_EQ_INT(cuModuleLoadData(&module, text), CUDA_SUCCESS);
    CHECK(cuModuleGetFunction(&deep, module, "deep") == CUDA_SUCCESS);
    CHECK(cuMemAlloc(&out, sizeof found) == CUDA_SUCCESS);
    void *arguments[] = {&out};
    for (int round = 0; round < 2; round++) {
        CHECK(cuMemsetD8(out, 0, sizeof found) == CUDA_SUCCESS);
        CHECK(cuLaunchKernel(deep, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) ==
              CUDA_SUCCESS);
        CHECK_EQ_INT(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK(cuMemcpyDtoH(found, out, sizeof found) == CUDA_SUCCESS);
        unsigned wrong = 0;
        for (unsigned n = 0; n < BLOCKS * THREADS; n++)
            wrong += found[n] != expected(values, n);
        CHECK_EQ_INT(wrong, 0);
    }
    free(values);
    free(text);
}

int main(void)
{
    CUdevice device = 0;
    CUcontext context = NULL;
    CHECK(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    CHECK(cuCtxCreate(&context, NULL, 0, device) == CUDA_SUCCESS);
    run(false);
    run(true);
    return check_done();
}
