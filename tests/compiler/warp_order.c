/* Which warp of a block comes first after a barrier, in kernels that lack one: all threads read a
 * sum of the block, and each warp's first thread writes another number where the sum stood or
 * beside it; and one thread reads the sum, and all write others. Each gives what it gives on a GPU,
 * where a warp has read when another one has made what it writes. */
#include <stdint.h>

#include <cuda.h>

#include "../check.h"

enum { THREADS = 128, WARPS = THREADS / 32, ROUNDS = 5 };

/* The registers that both use; each round adds its number, so that sums differ. */
#define BEGIN(name)                                                                                \
    ".visible .entry " name "(.param .u64 out)\n{\n.shared .align 4 .b8 s[512];\n"                 \
    ".reg .b32 %t, %w, %l, %at, %v, %x, %y, %sum, %round, %s; .reg .b64 %a, %k;\n"                 \
    ".reg .pred %lane0, %thread0, %again;\n"                                                       \
    "mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %l, %t, 31; setp.eq.s32 %lane0, %l, 0;\n"      \
    "setp.eq.s32 %thread0, %t, 0; mov.u32 %s, s; mov.u32 %sum, 0; mov.u32 %round, 0;\n"            \
    "mul.wide.u32 %k, %t, 4; ld.param.u64 %a, [out]; add.u64 %a, %a, %k;\n"

#define AGAIN                                                                                      \
    "add.u32 %round, %round, 1; setp.lt.u32 %again, %round, 5;\n@%again bra ROUND;\n"              \
    "st.global.u32 [%a], %sum;\nret;\n}\n"

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
    /* the sum is returned to all */
    BEGIN(
        "returned") "mad.lo.u32 %at, %w, 4, %s;\nROUND:\n"
                    "add.u32 %v, %w, %round;\n@!%lane0 bra A;\nst.shared.u32 [%at], %v;\nA:\n"
                    "bar.sync 0;\n@!%thread0 bra B;\n"
                    "ld.shared.u32 %x, [s]; ld.shared.u32 %y, [s+4]; add.u32 %x, %x, %y;\n"
                    "ld.shared.u32 %y, [s+8]; add.u32 %x, %x, %y;\n"
                    "ld.shared.u32 %y, [s+12]; add.u32 %x, %x, %y; st.shared.u32 [s], %x;\nB:\n"
                    "bar.sync 0;\nld.shared.u32 %x, [s]; mad.lo.u32 %sum, %x, %round, %sum;\n" AGAIN
                        /* one thread adds up what all have written */
                        BEGIN("collected") "mad.lo.u32 %at, %t, 4, %s;\nROUND:\n"
                                           "add.u32 %v, %t, %round; st.shared.u32 [%at], "
                                           "%v;\nbar.sync 0;\n"
                                           "@!%thread0 bra B;\n"
                                           "ld.shared.u32 %x, [s]; mad.lo.u32 %sum, %x, %round, "
                                           "%sum;\n"
                                           "ld.shared.u32 %x, [s+508]; mad.lo.u32 %sum, %x, "
                                           "%round, %sum;\nB:\n" AGAIN;

static uint32_t sum_returned(uint32_t round)
{
    uint32_t sum = 0;
    for (uint32_t w = 0; w < WARPS; w++)
        sum += w + round;
    return sum;
}

int main(void)
{
    CUcontext ctx;
    CUmodule module;
    CUdeviceptr out;
    CHECK_EQ_INT(cuInit(0), 0);
    CHECK_EQ_INT(cuDevicePrimaryCtxRetain(&ctx, 0), 0);
    CHECK_EQ_INT(cuCtxSetCurrent(ctx), 0);
    CHECK_EQ_INT(cuModuleLoadData(&module, text), 0);
    CHECK_EQ_INT(cuMemAlloc(&out, THREADS * sizeof(uint32_t)), 0);
    uint32_t returned = 0, collected = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        returned += sum_returned(round) * round;
        collected += (round + THREADS - 1 + round) * round;
    }
    for (int which = 0; which < 2; which++) {
        CUfunction f;
        uint32_t got[THREADS];
        CHECK_EQ_INT(cuModuleGetFunction(&f, module, which == 0 ? "returned" : "collected"), 0);
        CHECK_EQ_INT(
            cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){(void *)&out}, NULL), 0);
        CHECK_EQ_INT(cuMemcpyDtoH(got, out, sizeof got), 0);
        for (uint32_t t = 0; t < THREADS; t++)
            CHECK_EQ_INT(got[t], which == 0 ? returned : t == 0 ? collected : 0);
    }
    CHECK_EQ_INT(cuMemFree(out), 0);
    CHECK_EQ_INT(cuModuleUnload(module), 0);
    return check_done();
}
