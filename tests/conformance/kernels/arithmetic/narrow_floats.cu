/* K2: the formats of 8, 6 and 4 bits (cuda_fp8.h, cuda_fp6.h, cuda_fp4.h): on host and device, each
 * code has the value that the OCP formats give it, and what is converted becomes the nearest value,
 * ties to the even code, the largest one beyond the end. The reference looks through all values. */
#include <cmath>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <vector>

#include "check.h"

namespace
{

struct format {
    const char *name;
    int mantissa, exponent;
    int largest; /* code of the largest finite value */
    int nan;     /* first code that is no number, or one past the last code */
};
const format formats[] = {{"e4m3", 3, 4, 0x7e, 0x7f},
                          {"e5m2", 2, 5, 0x7b, 0x7d},
                          {"e2m3", 3, 2, 0x1f, 0x20},
                          {"e3m2", 2, 3, 0x1f, 0x20},
                          {"e2m1", 1, 2, 0x07, 0x08}};

/* The value of a code without sign. */
double value_of(const format &f, int code)
{
    int bias = (1 << (f.exponent - 1)) - 1, e = code >> f.mantissa;
    int m = code & ((1 << f.mantissa) - 1);
    return e ? ldexp((1 << f.mantissa) + m, e - bias - f.mantissa)
             : ldexp(m, 1 - bias - f.mantissa);
}

int nearest(const format &f, double x)
{
    int sign = std::signbit(x) ? 1 << (f.mantissa + f.exponent) : 0, best = 0;
    x = fabs(x);
    if (x != x)
        return -1;
    for (int c = 1; c <= f.largest; c++) {
        double d = fabs(value_of(f, c) - x), b = fabs(value_of(f, best) - x);
        if (d < b || (d == b && !(c & 1)))
            best = c;
    }
    return sign | (x >= value_of(f, f.largest) ? f.largest : best);
}

struct codes {
    unsigned char from_double, from_float, from_half;
};

__host__ __device__ codes convert(int kind, double x)
{
    float v = (float)x;
    __half h(v);
    switch (kind) {
    case 0:
        return {__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3), __nv_fp8_e4m3(v).__x,
                __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3)};
    case 1:
        return {__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2), __nv_fp8_e5m2(v).__x,
                __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E5M2)};
    case 2:
        return {__nv_cvt_double_to_fp6(x, __NV_E2M3, cudaRoundNearest), __nv_fp6_e2m3(v).__x,
                __nv_cvt_halfraw_to_fp6(h, __NV_E2M3, cudaRoundNearest)};
    case 3:
        return {__nv_cvt_double_to_fp6(x, __NV_E3M2, cudaRoundNearest), __nv_fp6_e3m2(v).__x,
                __nv_cvt_halfraw_to_fp6(h, __NV_E3M2, cudaRoundNearest)};
    default:
        return {__nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest), __nv_fp4_e2m1(v).__x,
                __nv_cvt_halfraw_to_fp4(h, __NV_E2M1, cudaRoundNearest)};
    }
}

template <typename T> __host__ __device__ float decode(int code)
{
    T t;
    t.__x = (unsigned char)code;
    return (float)t;
}
__host__ __device__ float decode(int kind, int code)
{
    return kind == 0   ? decode<__nv_fp8_e4m3>(code)
           : kind == 1 ? decode<__nv_fp8_e5m2>(code)
           : kind == 2 ? decode<__nv_fp6_e2m3>(code)
           : kind == 3 ? decode<__nv_fp6_e3m2>(code)
                       : decode<__nv_fp4_e2m1>(code);
}

__global__ void convert_all(int kind, const double *x, codes *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = convert(kind, x[i]);
}
__global__ void decode_all(int kind, float *out) { out[threadIdx.x] = decode(kind, threadIdx.x); }

void check_codes(int kind, const char *where, const std::vector<double> &x, const codes *got)
{
    int wrong = 0;
    for (size_t i = 0; i < x.size(); i++) {
        double h = (double)__half2float(__half((float)x[i]));
        int a = nearest(formats[kind], x[i]), b = nearest(formats[kind], (double)(float)x[i]);
        int c = nearest(formats[kind], h);
        bool ok = got[i].from_double == a && got[i].from_float == b && got[i].from_half == c;
        if (!ok && wrong++ < 4)
            printf("%s %s %.17g: %02x %02x %02x, not %02x %02x %02x\n", where, formats[kind].name,
                   x[i], got[i].from_double, got[i].from_float, got[i].from_half, a, b, c);
    }
    CHECK_EQ_INT(wrong, 0);
}

void one_format(int kind)
{
    const format &f = formats[kind];
    std::vector<double> x = {INFINITY, -INFINITY, 1e300, -1e300, 1e-300, 0.0, -0.0, 70000, 1e-40};
    for (int c = 0; c <= f.largest; c++) {
        double v = value_of(f, c), middle = (v + value_of(f, c + 1)) / 2;
        for (double y : {v, middle, middle * (1 + 1e-15), middle * (1 - 1e-15), middle * (1 + 1e-6),
                         v * (1 - 1e-12)}) {
            x.push_back(y);
            x.push_back(-y);
        }
    }
    std::vector<codes> host(x.size());
    for (size_t i = 0; i < x.size(); i++)
        host[i] = convert(kind, x[i]);
    check_codes(kind, "host", x, host.data());

    double *in;
    codes *out;
    float *values;
    int n = (int)x.size();
    cudaMalloc(&in, n * sizeof(double));
    cudaMallocManaged(&out, n * sizeof(codes));
    cudaMallocManaged(&values, 256 * sizeof(float));
    cudaMemcpy(in, x.data(), n * sizeof(double), cudaMemcpyHostToDevice);
    convert_all<<<(n + 127) / 128, 128>>>(kind, in, out, n);
    decode_all<<<1, 256>>>(kind, values);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    check_codes(kind, "device", x, out);

    int sign = 1 << (f.mantissa + f.exponent), wrong = 0;
    for (int c = 0; c < f.nan; c++) {
        double v = c <= f.largest ? value_of(f, c) : INFINITY;
        for (float got : {decode(kind, c), values[c]})
            wrong += !(got == v && !std::signbit(got));
        for (float got : {decode(kind, c | sign), values[c | sign]})
            wrong += !(got == -v && std::signbit(got));
    }
    for (int c = f.nan; c < sign; c++)
        for (float got : {decode(kind, c), decode(kind, c | sign), values[c], values[c | sign]})
            wrong += got == got;
    CHECK_EQ_INT(wrong, 0);
    cudaFree(in);
    cudaFree(out);
    cudaFree(values);
}

/* The upper 22 bits of all floats, with lower ones on both sides of nothing: what a format cuts off
 * is more bits than that. A float becomes what the same double does; NaN is one code. */
__device__ bool as_its_double(int kind, float v)
{
    codes got = convert(kind, (double)v);
    if (v != v)
        return got.from_float == (kind < 2 ? 0x7f : kind < 4 ? 0x1f : 0x07);
    bool same = got.from_float == got.from_double;
    if (kind < 2) {
        __nv_fp8_interpretation_t format = kind == 0 ? __NV_E4M3 : __NV_E5M2;
        same = same && __nv_cvt_float_to_fp8(v, __NV_NOSAT, format) ==
                           __nv_cvt_double_to_fp8((double)v, __NV_NOSAT, format);
    }
    return same;
}
__global__ void floats_as_doubles(int kind, int *wrong)
{
    unsigned upper = (blockIdx.x * blockDim.x + threadIdx.x) << 10;
    for (unsigned lower : {0u, 1u, 0x200u, 0x3ffu})
        if (!as_its_double(kind, __uint_as_float(upper | lower)))
            atomicAdd(wrong, 1);
}
void all_floats()
{
    int *wrong;
    cudaMallocManaged(&wrong, sizeof(int));
    for (int kind = 0; kind < 5; kind++) {
        *wrong = 0;
        floats_as_doubles<<<(1 << 22) / 256, 256>>>(kind, wrong);
        CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
        CHECK_EQ_INT(*wrong, 0);
    }
    cudaFree(wrong);
}

} // namespace

int main()
{
    for (int kind = 0; kind < 5; kind++)
        one_format(kind);
    all_floats();

    /* without saturation: infinity, or NaN where there is none */
    CHECK_EQ_INT(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E5M2), 0x7c);
    CHECK_EQ_INT(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E4M3) & 0x7f, 0x7f);
    CHECK_EQ_INT(__nv_cvt_float_to_fp8(464.0f, __NV_NOSAT, __NV_E4M3), 0x7e);
    CHECK_EQ_INT(__nv_cvt_float_to_fp8(NAN, __NV_SATFINITE, __NV_E4M3) & 0x7f, 0x7f);

    /* vectors: the first value in the lowest bits */
    CHECK_EQ_INT(__nv_fp8x4_e4m3(make_float4(1, 2, 3, 4)).__x, 0x48444038);
    CHECK_EQ_INT(__nv_fp4x2_e2m1(make_float2(1, -6)).__x, 0xf2);
    CHECK_EQ_INT(__nv_fp4x4_e2m1(make_float4(1, 2, 3, 4)).__x, 0x6542);
    __nv_fp8x2_e5m2 pair(make_float2(0.5f, -3.0f));
    CHECK((float2(pair).x == 0.5f && float2(pair).y == -3.0f));
    CHECK_EQ_INT((int)__nv_fp8_e4m3(-1.75f), -1);
    CHECK_EQ_INT((unsigned char)__nv_fp8_e5m2(1000.0f), 255);

    /* scale factors are powers of two */
    CHECK_EQ_INT(__nv_cvt_float_to_e8m0(1.0f, __NV_SATFINITE, cudaRoundZero), 127);
    CHECK_EQ_INT(__nv_cvt_float_to_e8m0(3.0f, __NV_SATFINITE, cudaRoundPosInf), 129);
    CHECK_EQ_INT(__nv_cvt_float_to_e8m0(3.0f, __NV_SATFINITE, cudaRoundZero), 128);
    CHECK_EQ_INT(__nv_cvt_e8m0_to_bf16raw(127).x, 0x3f80);
    return check_done();
}
