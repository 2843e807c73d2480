/* K2: casts of floating point to integers out of their range. 8 and 16 bits are cut from 32, to
 * which the value is converted with saturation; constants are no different. */
#include <cmath>
#include <cstdint>

#include "check.h"

enum { VALUES = 14 };
static const double values[VALUES] = {0.0,      -0.5,   1.9,          -1.9,    127.5,
                                      128.0,    255.9,  300.0,        32768.0, 70000.5,
                                      -70000.5, -129.0, 4294967296.0, -1e300};

struct results {
    signed char sc;
    unsigned char uc;
    short s;
    unsigned short us;
    int i;
    unsigned int u;
};

template <class T> __global__ void cast(const T *in, results *out)
{
    T x = in[threadIdx.x];
    out[threadIdx.x] = {(signed char)x,    (unsigned char)x, (short)x,
                        (unsigned short)x, (int)x,           (unsigned int)x};
}

__global__ void constants(unsigned char *out)
{
    out[0] = (unsigned char)70000.5f;
    out[1] = (unsigned char)300.0;
    out[2] = (unsigned char)(signed char)-129.0f;
    out[3] = (unsigned char)-1.0f;
#ifdef __clang__ /* nvcc 13 stops with an internal error */
    out[4] = (unsigned char)(_Float16)300.0f;
#else
    out[4] = 44;
#endif
}

/* What a program that makes images does: the sum is added as a float. */
__global__ void accumulate(unsigned char *pixels, float by) { pixels[threadIdx.x] += by; }

/* A cast that may or may not be made: nothing follows from it for the value. */
__global__ void branches(const float *in, int *out)
{
    float x = in[threadIdx.x];
    unsigned char c = (unsigned char)x;
    out[threadIdx.x] = x > 1000.0f ? 1 : c > 100 ? 2 : 3;
}

/* A value that is known to be out of range when functions have been inlined: what comes after its
 * cast is there as with any other value. */
__device__ int cell(float x, float size, int cells)
{
    int n = (int)(x / size);
    return n >= cells ? cells - 1 : n < 0 ? 0 : n;
}

__global__ void inlined(int *out)
{
    out[0] = cell(3.4e38f, 0.5f, 64);
    out[1] = cell(-3.4e38f, 0.5f, 64);
    out[2] = cell(7.0f, 2.0f, 64);
    for (int n = 3; n < 8; n++) {
        float infinite = 1e38f * 10;
        out[n] = (int)infinite > 1000 ? n : -1;
    }
    out[8] = (long long)(double)-1e300 < 0;
    out[9] = 9;
}

/* NaNs, and numbers far out of range to 64 bits: known when the kernel is compiled, and not. */
template <class T> __device__ void to_words(T x, long long *out)
{
    out[0] = (int)x;
    out[1] = (unsigned)x;
    out[2] = (long long)x;
    out[3] = (long long)(unsigned long long)x;
}

template <class T> __global__ void words(const T *in, long long *out)
{
    to_words(in[0], out);
    to_words(in[1], out + 4);
    to_words(in[2], out + 8);
    to_words((T)NAN, out + 12);
    to_words((T)-1e38, out + 16);
    to_words((T)1e38, out + 20);
}

template <class T> static void nans(bool wide)
{
    T *in;
    long long *out, high = INT64_MIN;
    long long expected[12] = {wide ? INT32_MIN : 0,
                              wide ? 0x80000000ll : 0,
                              high,
                              high,
                              INT32_MIN,
                              0,
                              high,
                              0,
                              INT32_MAX,
                              0xffffffffll,
                              INT64_MAX,
                              -1};
    CHECK_EQ_INT(cudaMallocManaged(&in, 3 * sizeof *in), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, 24 * sizeof *out), cudaSuccess);
    in[0] = (T)NAN;
    in[1] = (T)-1e38;
    in[2] = (T)1e38;
    words<<<1, 1>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int n = 0; n < 24; n++)
        CHECK_EQ_INT(out[n], expected[n % 12]);
    cudaFree(in);
    cudaFree(out);
}

static int saturated(double x)
{
    return x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : (int)x;
}
static unsigned saturated_unsigned(double x)
{
    return x >= 4294967295.0 ? UINT32_MAX : x <= 0 ? 0 : (unsigned)x;
}

template <class T> static void casts()
{
    T *in;
    results *out;
    CHECK_EQ_INT(cudaMallocManaged(&in, VALUES * sizeof *in), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, VALUES * sizeof *out), cudaSuccess);
    for (int n = 0; n < VALUES; n++)
        in[n] = (T)values[n];
    cast<<<1, VALUES>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int n = 0; n < VALUES; n++) {
        int i = saturated((double)in[n]);
        unsigned u = saturated_unsigned((double)in[n]);
        CHECK_EQ_INT(out[n].sc, (signed char)i);
        CHECK_EQ_INT(out[n].uc, (unsigned char)u);
        CHECK_EQ_INT(out[n].s, (short)i);
        CHECK_EQ_INT(out[n].us, (unsigned short)u);
        CHECK_EQ_INT(out[n].i, i);
        CHECK_EQ_INT(out[n].u, u);
    }
    cudaFree(in);
    cudaFree(out);
}

int main()
{
    casts<float>();
    casts<double>();
    nans<float>(false);
    nans<double>(true);

    unsigned char *bytes;
    float *in;
    int *out;
    CHECK_EQ_INT(cudaMallocManaged(&bytes, 32), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&in, 32 * sizeof *in), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&out, 32 * sizeof *out), cudaSuccess);
    constants<<<1, 1>>>(bytes);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    const int expected[] = {112, 44, 127, 0, 44};
    for (int n = 0; n < 5; n++)
        CHECK_EQ_INT(bytes[n], expected[n]);

    for (int n = 0; n < 32; n++)
        bytes[n] = 250;
    accumulate<<<1, 32>>>(bytes, 10.0f);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int n = 0; n < 32; n++)
        CHECK_EQ_INT(bytes[n], 4);

    for (int n = 0; n < 32; n++)
        in[n] = n % 3 == 0 ? 2000.0f : n % 3 == 1 ? 120.0f : 356.0f;
    branches<<<1, 32>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int n = 0; n < 32; n++)
        CHECK_EQ_INT(out[n], n % 3 == 0 ? 1 : n % 3 == 1 ? 2 : 3);

    inlined<<<1, 1>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    const int cells[] = {63, 0, 3, 3, 4, 5, 6, 7, 1, 9};
    for (int n = 0; n < 10; n++)
        CHECK_EQ_INT(out[n], cells[n]);
    cudaFree(bytes);
    cudaFree(in);
    cudaFree(out);
    return check_done();
}
