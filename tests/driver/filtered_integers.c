/* Textures by the driver API: linear filtering of integers that are read as such, with an H100's
 * answers. (The runtime API refuses such textures, as NVIDIA's does.) */
#include "common.h"

enum { LANES = 32 };

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry row(.param .u64 t, .param .u64 out)\n{\n"
    ".reg .b64 %t, %o, %a; .reg .b32 %i, %r<4>; .reg .f32 %x;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %o, [out];\n"
    "mov.u32 %i, %tid.x; cvt.rn.f32.u32 %x, %i; mul.f32 %x, %x, 0f3E000000;\n"
    "tex.1d.v4.s32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x}];\n"
    "mad.wide.u32 %a, %i, 4, %o; st.global.u32 [%a], %r0; ret;\n}\n"
    ".visible .entry plane(.param .u64 t, .param .u64 out)\n{\n"
    ".reg .b64 %t, %o; .reg .b32 %r<4>; .reg .f32 %x;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; mov.f32 %x, 0f3F800000;\n"
    "tex.2d.v4.u32.f32 {%r0, %r1, %r2, %r3}, [%t, {%x, %x}];\n"
    "st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3}; ret;\n}\n";

/* A row of 10, 20, 40, 80, read at eighths, from 0 on: 8 and 16 bits, and 32 bits. */
static const int rounded[LANES] = {10, 10, 10, 10, 10, 11, 13, 14, 15, 16, 18, 19, 20, 23, 25, 28,
                                   30, 33, 35, 38, 40, 45, 50, 55, 60, 65, 70, 75, 80, 80, 80, 80};
static const int cut_off[LANES] = {10, 10, 10, 10, 10, 11, 12, 13, 15, 16, 17, 18, 20, 22, 25, 27,
                                   30, 32, 35, 37, 40, 45, 50, 55, 60, 65, 70, 75, 80, 80, 80, 80};
/* The same with normalized coordinates. */
static const int normalized[LANES] = {10, 10, 15, 20, 30, 40, 60, 80};

static CUtexObject texture_of(CUarray a, unsigned flags)
{
    CUDA_RESOURCE_DESC from = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a};
    CUDA_TEXTURE_DESC how = {.filterMode = CU_TR_FILTER_MODE_LINEAR, .flags = flags};
    CUtexObject t = 0;
    for (int n = 0; n < 3; n++)
        how.addressMode[n] = CU_TR_ADDRESS_MODE_CLAMP;
    NEED(cuTexObjectCreate(&t, &from, &how, NULL));
    return t;
}

static void put(void *to, int n, int bytes, int value)
{
    int8_t small = (int8_t)value;
    int16_t middle = (int16_t)value;
    const void *from = bytes == 1 ? (void *)&small : bytes == 2 ? (void *)&middle : (void *)&value;
    memcpy((char *)to + (size_t)n * (size_t)bytes, from, (size_t)bytes);
}

static void rows(CUmodule m, CUdeviceptr out, CUarray_format format, int bytes, unsigned flags)
{
    static const int values[4] = {10, 20, 40, 80};
    CUDA_ARRAY_DESCRIPTOR d = {.Width = 4, .Format = format, .NumChannels = 1};
    CUarray a;
    int raw[4], got[LANES];
    for (int n = 0; n < 4; n++)
        put(raw, n, bytes, values[n]);
    NEED(cuArrayCreate(&a, &d));
    NEED(cuMemcpyHtoA(a, 0, raw, 4 * (size_t)bytes));
    CUtexObject t = texture_of(a, flags);
    OK(launch(kernel(m, "row"), 1, LANES, NULL, (void *[]){&t, &out}));
    OK(cuMemcpyDtoH(got, out, sizeof got));
    const int *want = flags & CU_TRSF_NORMALIZED_COORDINATES ? normalized
                      : bytes == 4                           ? cut_off
                                                             : rounded;
    for (int n = 0; n < LANES; n++)
        CHECK_EQ_INT(got[n], want == normalized && n >= 8 ? 80 : want[n]);
    OK(cuTexObjectDestroy(t));
    OK(cuArrayDestroy(a));
}

/* In the middle of four elements of two channels each. */
static void plane(CUmodule m, CUdeviceptr out)
{
    static const uint32_t values[4][2] = {{1, 4000000000u}, {2, 0}, {3, 4000000000u}, {5, 100}};
    CUDA_ARRAY_DESCRIPTOR d = {
        .Width = 2, .Height = 2, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 2};
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = values,
                          .srcPitch = 16,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .WidthInBytes = 16,
                          .Height = 2};
    uint32_t got[4];
    NEED(cuArrayCreate(&copy.dstArray, &d));
    NEED(cuMemcpy2D(&copy));
    CUtexObject t = texture_of(copy.dstArray, CU_TRSF_READ_AS_INTEGER);
    OK(launch(kernel(m, "plane"), 1, 1, NULL, (void *[]){&t, &out}));
    OK(cuMemcpyDtoH(got, out, sizeof got));
    CHECK_EQ_INT(got[0], 2);
    CHECK_EQ_INT(got[1], 2000000025u);
    CHECK_EQ_INT(got[2], 0);
    OK(cuTexObjectDestroy(t));
    OK(cuArrayDestroy(copy.dstArray));
}

int main(void)
{
    CUmodule m;
    CUdeviceptr out;
    begin();
    NEED(cuModuleLoadData(&m, text));
    NEED(cuMemAlloc(&out, sizeof(int[LANES])));
    for (unsigned flags = 0; flags < 4; flags++) {
        rows(m, out, CU_AD_FORMAT_SIGNED_INT32, 4, flags);
        rows(m, out, CU_AD_FORMAT_UNSIGNED_INT32, 4, flags);
        if ((flags & CU_TRSF_READ_AS_INTEGER) != 0) {
            rows(m, out, CU_AD_FORMAT_SIGNED_INT16, 2, flags);
            rows(m, out, CU_AD_FORMAT_UNSIGNED_INT8, 1, flags);
        }
    }
    plane(m, out);
    OK(cuMemFree(out));
    OK(cuModuleUnload(m));
    return check_done();
}
