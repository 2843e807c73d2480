/* K2: forms of instructions that compilers hardly write: what the ISA describes in passing, and
 * what NVIDIA's assembler takes beyond its text. Calls by a table of functions; sums and products
 * of 16 bits with a carry; bf16 to float with a rounding, to half and back without one; a match
 * without its mask. */
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
    addc.s16 %h5, %h1, 1;
    ld.param.u64 %p, [out];
    mul.wide.u32 %o, %t, 8;
    add.u64 %p, %p, %o;
    st.global.v4.u16 [%p], {%h2, %h3, %h4, %h5};
    ret;
}
.visible .entry converted(.param .u64 out)
{
    .reg .b16 %a, %c, %h<3>; .reg .b32 %t, %r<9>; .reg .f32 %f<3>; .reg .u64 %p, %o;
    mov.u32 %t, %tid.x;
    cvt.u16.u32 %a, %t;
    add.u16 %c, %a, 0x3c00;      // 1 + t / 1024, halves
    add.u16 %a, %a, 0x3f80;      // 1 + t / 128, bf16
    cvt.rn.f32.bf16 %f0, %a;
    cvt.rz.f32.bf16 %f1, %a;
    cvt.f16.bf16 %h0, %a;
    cvt.bf16.f16 %h1, %c;
    mov.b32 %r0, %f0;
    mov.b32 %r1, %f1;
    cvt.u32.u16 %r2, %h0;
    cvt.u32.u16 %r3, %h1;
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
        CHECK_EQ_INT(out[t][3], (unsigned short)(0xfff1 + carry));
    }
}

static void check_converted()
{
    unsigned out[THREADS][4];
    run("converted", out, sizeof out);
    for (unsigned t = 0; t < THREADS; t++) {
        unsigned eighths = t / 8, rest = t % 8; /* of a half's step count to bf16, ties to even */
        CHECK_EQ_INT(out[t][0], (0x3f80 + t) << 16);
        CHECK_EQ_INT(out[t][1], (0x3f80 + t) << 16);
        CHECK_EQ_INT(out[t][2], 0x3c00 + 8 * t);
        CHECK_EQ_INT(out[t][3], 0x3f80 + eighths + (rest > 4 || (rest == 4 && eighths % 2 != 0)));
    }
}

static void check_alike()
{
    unsigned out[THREADS];
    run("alike", out, sizeof out);
    for (unsigned t = 0; t < THREADS; t++)
        CHECK_EQ_INT(out[t], t < 32);
}

/* So tex and tld4 have nothing to compare (textures/offsets.cu). */
static void check_depth_textures()
{
    static const CUarray_format formats[] = {CU_AD_FORMAT_FLOAT, CU_AD_FORMAT_UNSIGNED_INT16,
                                             CU_AD_FORMAT_UNSIGNED_INT32};
    for (CUarray_format format : formats) {
        CUDA_ARRAY3D_DESCRIPTOR d = {};
        CUarray array;
        d.Width = d.Height = 4;
        d.Format = format;
        d.NumChannels = 1;
        d.Flags = CUDA_ARRAY3D_DEPTH_TEXTURE;
        CHECK_EQ_INT(cuArray3DCreate(&array, &d), CUDA_ERROR_INVALID_VALUE);
    }
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
    check_converted();
    check_alike();
    check_depth_textures();
    OK(cuModuleUnload(module));
    OK(cuMemFree(memory));
    return check_done();
}
