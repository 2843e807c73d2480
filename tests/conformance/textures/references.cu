// SANITIZERS: fetches and surfaces (src/texture)
/* K2: texture and surface references, which a program binds by name: what kernels read through them
 * under every setting, what the calls refuse, and that a kernel sees the binding of its launch. */
#include <cuda.h>

#include <cstring>
#include <initializer_list>
#include <vector>

#include "check.h"
#include "on_weir.h"

#define OK(call)          CHECK_EQ_INT(call, CUDA_SUCCESS)
#define ERROR(call, code) CHECK_EQ_INT(call, code)

/* Thread t reads coordinate t / 2 - 1, element t - 2, or element t of row 1. */
static const char source[] = R"(
.version 8.0
.target sm_80
.address_size 64
.global .texref tex;
.global .surfref srf;
.visible .entry halves(.param .u64 out)
{
    .reg .f32 %f<5>; .reg .b64 %rd<3>; .reg .b32 %r;
    ld.param.u64 %rd1, [out];
    mov.u32 %r, %tid.x;
    cvt.rn.f32.s32 %f0, %r;
    fma.rn.f32 %f0, %f0, 0f3F000000, 0fBF800000;
    tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f0}];
    mul.wide.u32 %rd2, %r, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry elements(.param .u64 out)
{
    .reg .b64 %rd<3>; .reg .b32 %r<7>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    sub.u32 %r6, %r1, 2;
    tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [tex, {%r6}];
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.s32 [%rd1], %r2;
    ret;
}
.visible .entry row(.param .u64 out)
{
    .reg .f32 %f<6>; .reg .b64 %rd<3>; .reg .b32 %r;
    ld.param.u64 %rd1, [out];
    mov.u32 %r, %tid.x;
    cvt.rn.f32.u32 %f0, %r;
    mov.f32 %f5, 0f3FC00000;
    tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex, {%f0, %f5}];
    mul.wide.u32 %rd2, %r, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.f32 [%rd1], %f1;
    ret;
}
.visible .entry put()
{
    .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    add.u32 %r3, %r1, 100;
    sust.b.1d.b32.trap [srf, {%r2}], {%r3};
    ret;
}
)";

enum { THREADS = 16 };

static CUmodule module;
static CUtexref tex;
static CUsurfref srf;
static CUdeviceptr out;

static CUfunction kernel(const char *name)
{
    CUfunction f = nullptr;
    OK(cuModuleGetFunction(&f, module, name));
    return f;
}

static void run(const char *name, CUdeviceptr to)
{
    void *arguments[] = {&to};
    OK(cuLaunchKernel(kernel(name), 1, 1, 1, THREADS, 1, 1, 0, nullptr, arguments, nullptr));
}

template <class T> static std::vector<T> results(CUdeviceptr from)
{
    std::vector<T> v(THREADS);
    OK(cuMemcpyDtoH(v.data(), from, THREADS * sizeof(T)));
    return v;
}

/* The first results of a kernel must be these. */
template <class T> static void gives(int line, const char *name, std::initializer_list<T> want)
{
    run(name, out);
    std::vector<T> got = results<T>(out);
    size_t n = 0;
    for (T w : want) {
        if (got[n] != w)
            printf("line %d: result %zu is %g, not %g\n", line, n, (double)got[n], (double)w);
        CHECK(got[n++] == w);
    }
}
#define FLOATS(name, ...) gives<float>(__LINE__, name, {__VA_ARGS__})
#define INTS(name, ...)   gives<int>(__LINE__, name, {__VA_ARGS__})

static CUarray array_of(float first)
{
    CUDA_ARRAY_DESCRIPTOR d = {8, 0, CU_AD_FORMAT_FLOAT, 1};
    CUarray a = nullptr;
    float v[8];
    for (int i = 0; i < 8; i++)
        v[i] = first + i;
    OK(cuArrayCreate(&a, &d));
    OK(cuMemcpyHtoA(a, 0, v, sizeof v));
    return a;
}

static void test_names()
{
    CUtexref t;
    CUsurfref s;
    CUdeviceptr p;
    size_t bytes;
    OK(cuModuleGetTexRef(&tex, module, "tex"));
    OK(cuModuleGetTexRef(&t, module, "tex"));
    CHECK(t == tex);
    OK(cuModuleGetSurfRef(&srf, module, "srf"));
    OK(cuModuleGetSurfRef(&s, module, "srf"));
    CHECK(s == srf);
    ERROR(cuModuleGetTexRef(&t, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    ERROR(cuModuleGetTexRef(&t, module, "srf"), CUDA_ERROR_NOT_FOUND);
    ERROR(cuModuleGetTexRef(&t, module, "put"), CUDA_ERROR_NOT_FOUND);
    ERROR(cuModuleGetSurfRef(&s, module, "tex"), CUDA_ERROR_NOT_FOUND);
    ERROR(cuModuleGetTexRef(nullptr, module, "tex"), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuModuleGetTexRef(&t, module, nullptr), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuModuleGetTexRef(&t, nullptr, "tex"), CUDA_ERROR_INVALID_HANDLE);
    ERROR(cuModuleGetGlobal(&p, &bytes, module, "tex"), CUDA_ERROR_INVALID_VALUE);
}

static void test_defaults()
{
    CUaddress_mode address;
    CUfilter_mode filter;
    CUarray_format format;
    CUdeviceptr p;
    CUarray a;
    CUmipmappedArray m;
    unsigned flags = 7;
    int channels = 7, anisotropy = 7;
    float color[4] = {7, 7, 7, 7}, least = 7, most = 7;
    for (int dim = 0; dim < 3; dim++) {
        OK(cuTexRefGetAddressMode(&address, tex, dim));
        CHECK_EQ_INT(address, CU_TR_ADDRESS_MODE_CLAMP);
    }
    ERROR(cuTexRefGetAddressMode(&address, tex, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefGetFilterMode(&filter, tex));
    CHECK_EQ_INT(filter, CU_TR_FILTER_MODE_POINT);
    OK(cuTexRefGetFlags(&flags, tex));
    CHECK_EQ_INT(flags, 0);
    OK(cuTexRefGetFormat(&format, &channels, tex));
    CHECK_EQ_INT(format, CU_AD_FORMAT_FLOAT);
    CHECK_EQ_INT(channels, 1);
    OK(cuTexRefGetMaxAnisotropy(&anisotropy, tex));
    CHECK_EQ_INT(anisotropy, 0);
    OK(cuTexRefGetBorderColor(color, tex));
    CHECK(color[0] == 0 && color[3] == 0);
    OK(cuTexRefGetMipmapLevelClamp(&least, &most, tex));
    CHECK(least == 0 && most == 0);
    ERROR(cuTexRefGetAddress(&p, tex), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefGetArray(&a, tex), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefGetMipmappedArray(&m, tex), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuSurfRefGetArray(&a, srf), CUDA_ERROR_INVALID_VALUE);
    FLOATS("halves", 0, 0, 0, 0); /* nothing is bound */
}

static void test_array(CUarray a)
{
    float color[4] = {3, 4, 5, 6};
    CUarray got = nullptr;
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefGetArray(&got, tex));
    CHECK(got == a);
    FLOATS("halves", 10, 10, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16);
    OK(cuTexRefSetFilterMode(tex, CU_TR_FILTER_MODE_LINEAR));
    FLOATS("halves", 10, 10, 10, 10, 10.5, 11, 11.5, 12);
    OK(cuTexRefSetAddressMode(tex, 0, CU_TR_ADDRESS_MODE_BORDER));
    FLOATS("halves", 0, 0, 5, 10, 10.5);
    OK(cuTexRefSetBorderColor(tex, color));
    FLOATS("halves", 3, 3, 6.5, 10, 10.5);
    OK(cuTexRefSetFlags(tex, CU_TRSF_NORMALIZED_COORDINATES));
    FLOATS("halves", 3, 3, 6.5, 13.5, 10, 3);
    OK(cuTexRefSetAddressMode(tex, 0, CU_TR_ADDRESS_MODE_WRAP));
    FLOATS("halves", 13.5, 13.5, 13.5, 13.5);
    OK(cuTexRefSetAddressMode(tex, 0, CU_TR_ADDRESS_MODE_MIRROR));
    FLOATS("halves", 17, 13.5, 10, 13.5, 17);
    OK(cuTexRefSetFlags(tex, 0));
    OK(cuTexRefSetFilterMode(tex, CU_TR_FILTER_MODE_POINT));
    OK(cuTexRefSetAddressMode(tex, 0, CU_TR_ADDRESS_MODE_CLAMP));
}

/* Levels of a mipmapped array; tex reads the first, or what the clamps say. */
static void test_mipmapped(CUarray a)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {};
    CUmipmappedArray m = nullptr, got = nullptr;
    CUarray none;
    d.Width = 8;
    d.Format = CU_AD_FORMAT_FLOAT;
    d.NumChannels = 1;
    OK(cuMipmappedArrayCreate(&m, &d, 4));
    for (unsigned n = 0; n < 4; n++) {
        CUarray level = nullptr;
        float v[8];
        for (int i = 0; i < 8; i++)
            v[i] = 100 * n + i;
        OK(cuMipmappedArrayGetLevel(&level, m, n));
        OK(cuMemcpyHtoA(level, 0, v, (8 >> n) * sizeof *v));
    }
    ERROR(cuTexRefSetMipmappedArray(tex, m, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetMipmappedArray(tex, m, 0)); /* the elements are of the reference's format already */
    OK(cuTexRefSetMipmappedArray(tex, m, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefGetMipmappedArray(&got, tex));
    CHECK(got == m);
    if (on_weir()) /* NVIDIA's driver crashes */
        ERROR(cuTexRefGetMipmappedArray(nullptr, tex), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefGetArray(&none, tex), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetFlags(tex, CU_TRSF_NORMALIZED_COORDINATES));
    FLOATS("halves", 0, 0, 0, 4, 7);
    OK(cuTexRefSetMipmapLevelClamp(tex, 1, 1));
    FLOATS("halves", 100, 100, 100, 102, 103);
    OK(cuTexRefSetMipmapLevelClamp(tex, 0, 0));
    OK(cuTexRefSetFlags(tex, 0));
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    ERROR(cuTexRefGetMipmappedArray(&got, tex), CUDA_ERROR_INVALID_VALUE);
    FLOATS("halves", 10, 10, 10, 10, 11);
    OK(cuMipmappedArrayDestroy(m));
}

static void test_wrong(CUarray a)
{
    unsigned flags;
    CUaddress_mode address;
    ERROR(cuTexRefSetAddressMode(tex, 3, CU_TR_ADDRESS_MODE_CLAMP), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetAddressMode(tex, -1, CU_TR_ADDRESS_MODE_CLAMP), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetFlags(tex, 0x8000), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 3), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetArray(tex, a, 2), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetArray(tex, nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
    ERROR(cuTexRefSetArray(nullptr, a, 1), CUDA_ERROR_INVALID_HANDLE);
    ERROR(cuTexRefSetMipmappedArray(tex, nullptr, 1), CUDA_ERROR_INVALID_HANDLE);
    ERROR(cuTexRefSetBorderColor(tex, nullptr), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefGetFlags(nullptr, tex), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefGetFlags(&flags, nullptr), CUDA_ERROR_INVALID_HANDLE);
    ERROR(cuTexRefGetAddressMode(nullptr, tex, 0), CUDA_ERROR_INVALID_VALUE);
    /* modes that are none are taken as the default */
    OK(cuTexRefSetAddressMode(tex, 0, (CUaddress_mode)9));
    OK(cuTexRefGetAddressMode(&address, tex, 0));
    CHECK_EQ_INT(address, CU_TR_ADDRESS_MODE_CLAMP);
    OK(cuTexRefSetFilterMode(tex, (CUfilter_mode)9));
    FLOATS("halves", 10, 10, 10, 10, 11);
    /* elements of another format read as nothing, unless the array's are taken over */
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_UNSIGNED_INT8, 1));
    OK(cuTexRefSetArray(tex, a, 0));
    FLOATS("halves", 0, 0, 0, 0, 0);
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    FLOATS("halves", 10, 10, 10, 10, 11);
}

static void test_memory()
{
    CUdeviceptr p, at = 0;
    int ints[64];
    float floats[256];
    size_t offset = 77;
    OK(cuMemAlloc(&p, 8192));
    for (int i = 0; i < 64; i++)
        ints[i] = 1000 + i;
    OK(cuMemcpyHtoD(p, ints, sizeof ints));
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_SIGNED_INT32, 1));
    OK(cuTexRefSetFlags(tex, CU_TRSF_READ_AS_INTEGER));
    OK(cuTexRefSetAddress(&offset, tex, p, 32));
    CHECK_EQ_INT(offset, 0);
    OK(cuTexRefGetAddress(&at, tex));
    CHECK(at == p);
    INTS("elements", 0, 0, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 0, 0);
    OK(cuTexRefSetAddress(&offset, tex, p + 8, 32));
    CHECK_EQ_INT(offset, 8);
    INTS("elements", 0, 0, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 0, 0);
    ERROR(cuTexRefSetAddress(nullptr, tex, p + 8, 32), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetAddress(&offset, tex, p, (size_t)1 << 40), CUDA_ERROR_INVALID_VALUE);
    OK(cuTexRefSetAddress(nullptr, tex, p, 32));
    OK(cuTexRefSetAddress(&offset, tex, 0, 32));
    OK(cuTexRefSetAddress(&offset, tex, p, 0));

    CUDA_ARRAY_DESCRIPTOR d = {16, 4, CU_AD_FORMAT_FLOAT, 1};
    int channels = 0;
    CUarray_format format;
    for (int i = 0; i < 256; i++)
        floats[i] = (float)i;
    OK(cuMemcpyHtoD(p, floats, sizeof floats));
    OK(cuTexRefSetFlags(tex, 0));
    OK(cuTexRefSetAddress2D(tex, &d, p, 64));
    FLOATS("row", 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    ERROR(cuTexRefSetAddress2D(tex, &d, p + 8, 64), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetAddress2D(tex, &d, p, 48), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefSetAddress2D(tex, nullptr, p, 64), CUDA_ERROR_INVALID_VALUE);
    d.NumChannels = 2;
    OK(cuTexRefSetAddress2D(tex, &d, p, 256));
    OK(cuTexRefGetFormat(&format, &channels, tex));
    CHECK_EQ_INT(channels, 2);
    FLOATS("row", 64, 66, 68, 70);
    OK(cuMemFree(p));
}

static void test_surface(CUarray plain)
{
    CUDA_ARRAY3D_DESCRIPTOR d = {16, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUarray a, got = nullptr;
    int v[16] = {};
    OK(cuArray3DCreate(&a, &d));
    OK(cuSurfRefSetArray(srf, a, 0));
    OK(cuSurfRefGetArray(&got, srf));
    CHECK(got == a);
    OK(cuLaunchKernel(kernel("put"), 1, 1, 1, THREADS, 1, 1, 0, nullptr, nullptr, nullptr));
    OK(cuMemcpyAtoH(v, a, 0, sizeof v));
    for (int i = 0; i < 16; i++)
        CHECK_EQ_INT(v[i], 100 + i);
    ERROR(cuSurfRefSetArray(srf, plain, 0), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuSurfRefSetArray(srf, a, 1), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuSurfRefSetArray(srf, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuArrayDestroy(a));
}

/* Kernels in a queue, each with the binding of its launch. */
static void test_order(CUarray a, CUarray b)
{
    OK(cuTexRefSetFormat(tex, CU_AD_FORMAT_FLOAT, 1));
    OK(cuTexRefSetArray(tex, a, CU_TRSA_OVERRIDE_FORMAT));
    run("halves", out);
    OK(cuTexRefSetArray(tex, b, CU_TRSA_OVERRIDE_FORMAT));
    run("halves", out + 64);
    CHECK(results<float>(out)[4] == 11);
    CHECK(results<float>(out + 64)[4] == 21);
}

static void test_created(CUarray a)
{
    CUtexref t;
    OK(cuTexRefCreate(&t));
    OK(cuTexRefSetArray(t, a, CU_TRSA_OVERRIDE_FORMAT));
    OK(cuTexRefDestroy(t));
    ERROR(cuTexRefCreate(nullptr), CUDA_ERROR_INVALID_VALUE);
    ERROR(cuTexRefDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

int main()
{
    CUdevice device;
    CUcontext context;
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, source));
    OK(cuMemAlloc(&out, 4096));
    CUarray a = array_of(10), b = array_of(20);
    test_names();
    test_defaults();
    test_array(a);
    test_mipmapped(a);
    test_wrong(a);
    test_memory();
    test_surface(a);
    test_order(a, b);
    test_created(a);
    OK(cuModuleUnload(module));
    OK(cuArrayDestroy(a));
    OK(cuArrayDestroy(b));
    OK(cuMemFree(out));
    return check_done();
}
