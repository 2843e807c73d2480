/* A loop that is entered in its middle, as compilers turn loops round, where some lanes go from a
 * branch back to the head and others by way of a short block: that block ran under a mask before
 * the lanes at the head, and changed what they had. Against the same in C. */
#include <stdint.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 64, BLOCKS = 2, TURNS = 3 };

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n"
    ".reg .b32 %t, %blk, %b, %e, %n, %i; .reg .b64 %out, %o, %own; .reg .pred %z, %l;\n"
    "ld.param.u64 %out, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mov.u32 %blk, %ctaid.x;\n"
    "mad.lo.u32 %t, %blk, 64, %t; mul.wide.u32 %o, %t, 4; add.s64 %own, %out, %o;\n"
    "setp.ne.u32 %z, %t, 3; mad.lo.u32 %e, %t, 29, 52; mov.u32 %b, 0; mov.u32 %i, 0;\n"
    "@!%z bra BEGIN;\nadd.u32 %e, %e, %e;\nBEGIN:\nbra MIDDLE;\n"
    "AGAIN:\n@!%z bra MIDDLE;\nadd.u32 %e, %e, %e;\n"
    "MIDDLE:\nsub.u32 %b, %t, %e; add.u32 %i, %i, 1; setp.lt.u32 %l, %i, %n;\n@%l bra AGAIN;\n"
    "st.global.u32 [%own], %b;\nret;\n}\n";

int main(void)
{
    CUcontext ctx;
    CUmodule module;
    CUfunction f;
    CUdeviceptr out;
    CHECK_EQ_INT(cuInit(0), 0);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
    CHECK_EQ_INT(cuCtxSetCurrent(ctx), 0);
    CHECK_EQ_INT(cuModuleLoadData(&module, text), 0);
    CHECK_EQ_INT(cuModuleGetFunction(&f, module, "k"), 0);
    CHECK_EQ_INT(cuMemAlloc(&out, BLOCKS * THREADS * sizeof(uint32_t)), 0);
    for (uint32_t n = 1; n <= TURNS; n++) {
        uint32_t got[BLOCKS * THREADS];
        CHECK_EQ_INT(
            cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){&out, &n}, NULL), 0);
        CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), 0);
        for (uint32_t t = 0; t < BLOCKS * THREADS; t++)
            CHECK_EQ_INT(got[t], t - ((t * 29 + 52) << (t != 3 ? n : 0)));
    }
    CHECK_EQ_INT(cuMemFree(out), 0);
    CHECK_EQ_INT(cuModuleUnload(module), 0);
    return check_done();
}
