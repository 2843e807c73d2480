/* K2: forms of instructions that compilers hardly write: what the ISA describes in passing, and
 * what NVIDIA's assembler takes beyond its text. Calls by a table of functions; sums and products
 * of 16 bits with a carry; fused multiply-adds of bf16 that do not round to nearest; bf16 to float
 * with a rounding; a match without its mask. */
#include <cuda.h>

#include <cstring>

#include "check.h"

#define OK(call) CHECK_EQ_INT((call), CUDA_SUCCESS)

static const char source[] = R"(
.version 8.0
.target sm_90
.address_size 64
.func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }
.func (.reg .u32 r) square(.reg .u32 a) { mul.lo.u32 r, a, a; ret; }
.func (.reg .u32 r) next(.reg .u32 a) { add.u32 r, a, 1; ret; }
.global .u64 table[3] = {twice, square, next};
.visible .entry calls(.param .u64 out)
{
    .reg .u32 %t, %n, %r; .reg .u64 %p, %f, %o;
    mov.u32 %t, %tid.x;
    rem.u32 %n, %t, 3;
    mul.wide.u32 %o, %n, 8;
    mov.u64 %p, table;
    add.u64 %p, %p, %o;
    ld.global.u64 %f, [%p];
    call (%r), %f, (%t), table;
    ld.param.u64 %p, [out];
    mul.wide.u32 %o, %t, 4;
    add.u64 %p, %p, %o;
    st.global.u32 [%p], %r;
    ret;
}
.visible .entry carries(.param .u64 out)
{
    .reg .u16 %h<9>; .reg .u32 %t, %r; .reg .u64 %p, %o;
    mov.u32 %t, %tid.x;
    cvt.u16.u32 %h0, %t;
    mov.u16 %h1, 0xfff0;
    add.cc.u32 %r, %t, -16;      // carries from 16 on
    addc.u16 %h2, %h0, %h1;
    sub.cc.u32 %r, %t, 16;       // borrows below 16
    subc.s16 %h3, %h0, %h1;
    add.cc.u32 %r, %t, -16;
    madc.lo.u16 %h4, %h0, %h1, %h0;
    add.cc.u32 %r, %t, -16;
    madc.hi.s16 %h5, %h0, %h1, %h0;
    ld.param.u64 %p, [out];
    mul.wide.u32 %o, %t, 8;
    add.u64 %p, %p, %o;
    st.global.v4.u16 [%p], {%h2, %h3, %h4, %h5};
    ret;
}
.visible .entry fused(.param .u64 out)
{
    .reg .b16 %a, %b, %c, %h<9>; .reg .b32 %t, %r<9>; .reg .f32 %f<3>; .reg .u64 %p, %o;
    mov.u32 %t, %tid.x;
    // 1 + t / 128, times itself, minus 2^-30
    cvt.u16.u32 %a, %t;
    add.u16 %a, %a, 0x3f80;
    mov.b16 %c, 0xb080;
    fma.rn.bf16 %h0, %a, %a, %c;
    fma.rz.bf16 %h1, %a, %a, %c;
    fma.rm.bf16 %h2, %a, %a, %c;
    fma.rp.bf16 %h3, %a, %a, %c;
    cvt.rn.f32.bf16 %f0, %a;
    cvt.rz.f32.bf16 %f1, %c;
    mov.b32 %r0, {%h0, %h1};
    mov.b32 %r1, {%h2, %h3};
    mov.b32 %r2, %f0;
    mov.b32 %r3, %f1;
    ld.param.u64 %p, [out];
    mul.wide.u32 %o, %t, 16;
    add.u64 %p, %p, %o;
    st.global.v4.u32 [%p], {%r0, %r1, %r2, %r3};
    ret;
}
.visible .entry alike(.param .u64 out)
{
    .reg .pred %q; .reg .b32 %t, %v, %r; .reg .u64 %p, %o;
    mov.u32 %t, %tid.x;
    shr.u32 %v, %t, 5;           // the same in a warp, but for a lane of the second
    setp.eq.u32 %q, %t, 40;
    @%q mov.b32 %v, 9;
    match.all.sync.b32 _|%q, %v, 0xffffffff;
    selp.u32 %r, 1, 0, %q;
    ld.param.u64 %p, [out];
    mul.wide.u32 %o, %t, 4;
    add.u64 %p, %p, %o;
    st.global.u32 [%p], %r;
    ret;
}
)";

enum { THREADS = 64 };

static CUmodule module;
static CUdeviceptr memory;

static void run(const char *kernel, void *out, size_t size)
{
    CUfunction f;
    void *arguments[] = {&memory};
    OK(cuModuleGetFunction(&f, module, kernel));
    OK(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, nullptr, arguments, nullptr));
    OK(cuMemcpyDtoH(out, memory, size));
}

static void check_calls()
{
    unsigned out[THREADS];
    run("calls", out, sizeof out);
    for (unsigned t = 0; t < THREADS; t++)
        CHECK_EQ_INT(out[t], t % 3 == 0 ? 2 * t : t % 3 == 1 ? t * t : t + 1);
}

static void check_carries()
{
    unsigned short out[THREADS][4];
    run("carries", out, sizeof out);
    for (int t = 0; t < THREADS; t++) {
        int carry = t >= 16, borrow = t < 16;
        CHECK_EQ_INT(out[t][0], (unsigned short)(t + 0xfff0 + carry));
        CHECK_EQ_INT(out[t][1], (unsigned short)(t - 0xfff0 - borrow));
        CHECK_EQ_INT(out[t][2], (unsigned short)(t * 0xfff0 + t + carry));
        CHECK_EQ_INT(out[t][3], (unsigned short)((t * -16 >> 16) + t + carry));
    }
}

static void check_fused()
{
    unsigned out[THREADS][4];
    run("fused", out, sizeof out);
    for (unsigned t = 0; t < THREADS; t++) {
        /* in units of 2^-14: (128 + t)^2, less a little */
        unsigned exact = (128 + t) * (128 + t), step = exact < 32768 ? 128 : 256;
        unsigned down = (exact - 1) / step, rest = exact - down * step;
        unsigned bits = step == 128 ? 0x3f80 - 128 : 0x4000 - 128; /* of 0 steps */
        unsigned up = down + 1, near = rest * 2 > step ? up : down;
        CHECK_EQ_INT(out[t][0] & 0xffff, bits + near);
        CHECK_EQ_INT(out[t][0] >> 16, bits + down);
        CHECK_EQ_INT(out[t][1] & 0xffff, bits + down);
        CHECK_EQ_INT(out[t][1] >> 16, bits + up);
        CHECK_EQ_INT(out[t][2], (0x3f80 + t) << 16);
        CHECK_EQ_INT(out[t][3], 0xb0800000);
    }
}

static void check_alike()
{
    unsigned out[THREADS];
    run("alike", out, sizeof out);
    for (unsigned t = 0; t < THREADS; t++)
        CHECK_EQ_INT(out[t], t < 32);
}

int main()
{
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory, THREADS * 16));
    OK(cuModuleLoadData(&module, source));
    check_calls();
    check_carries();
    check_fused();
    check_alike();
    OK(cuModuleUnload(module));
    OK(cuMemFree(memory));
    return check_done();
}
