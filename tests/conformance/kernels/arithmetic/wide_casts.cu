/* K2: casts between floating point and integers of 128 bits. Within the range they are the host's;
 * out of it they give the nearest integer, as casts to 64 bits do, and for NaN the integer whose
 * highest bit alone is set. And the bits of an index as a float. */
#include <cmath>
#include <cstring>

#include "check.h"

typedef __int128 i128;
typedef unsigned __int128 u128;

enum { NUMBERS = 20, INTEGERS = 16 };

struct from_float {
    i128 i;
    u128 u;
    i128 single;
};

struct to_float {
    double d, du;
    float f, fu;
};

__global__ void to_integers(const double *in, from_float *out)
{
    double x = in[threadIdx.x];
    out[threadIdx.x] = {(i128)x, (u128)x, (i128)(float)x};
}

__global__ void to_numbers(const u128 *in, to_float *out)
{
    u128 x = in[threadIdx.x];
    out[threadIdx.x] = {(double)(i128)x, (double)x, (float)(i128)x, (float)x};
}

__global__ void constants(from_float *out, to_float *numbers)
{
    out[0] = {(i128)-1e20, (u128)0x1.8p99, (i128)1e10f};
    numbers[0] = {(double)(-((i128)1 << 100)), (double)((u128)1 << 127), (float)((i128)3 << 90),
                  0.0f};
}

static const u128 top = (u128)1 << 127;

static u128 unsigned_of(double x)
{
    if (std::isnan(x))
        return top;
    return x <= 0 ? 0 : x >= 0x1p128 ? ~(u128)0 : (u128)x;
}

static i128 signed_of(double x)
{
    if (std::isnan(x))
        return (i128)top;
    return x >= 0x1p127 ? (i128)(top - 1) : x <= -0x1p127 ? (i128)top : (i128)x;
}

static const double numbers[NUMBERS] = {
    0.0,  -0.0,  0.9,     -0.9,     1.5,     -7.9,    0x1p52,   0x1.8p53,  1e19,    -1e19,
    1e30, -1e30, 0x1p126, -0x1p127, 0x1p127, 0x1p128, INFINITY, -INFINITY, -5e-324, NAN};

static void check_integers(from_float *out)
{
    double *in;
    CHECK_EQ_INT(cudaMallocManaged(&in, sizeof numbers), cudaSuccess);
    memcpy(in, numbers, sizeof numbers);
    to_integers<<<1, NUMBERS>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int k = 0; k < NUMBERS; k++) {
        CHECK(out[k].i == signed_of(numbers[k]));
        CHECK(out[k].u == unsigned_of(numbers[k]));
        CHECK(out[k].single == signed_of((float)numbers[k]));
    }
    cudaFree(in);
}

static void check_numbers(to_float *out)
{
    u128 *in;
    CHECK_EQ_INT(cudaMallocManaged(&in, INTEGERS * sizeof(u128)), cudaSuccess);
    for (int k = 0; k < INTEGERS; k++) /* ties and what is beside them, of both sizes */
        in[k] = (((u128)0x1000001ull << 40) + (k & 1 ? 1 : 0)) << (k * 4);
    in[0] = 0;
    in[2] = ~(u128)0;
    in[4] = top;
    in[6] = 1;
    in[8] = ((u128)0x20000000000001ull << 12) + ((u128)1 << 11);
    in[10] = top - 1;
    to_numbers<<<1, INTEGERS>>>(in, out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int k = 0; k < INTEGERS; k++) {
        CHECK(out[k].d == (double)(i128)in[k]);
        CHECK(out[k].du == (double)in[k]);
        CHECK(out[k].f == (float)(i128)in[k]);
        CHECK(out[k].fu == (float)in[k]);
    }
    cudaFree(in);
}

/* Bits of an index that are meant as a float: what is neither sum nor product of indices. */
__global__ void floats_of_indices(float *sums, double *doubles, int high)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[i] = fabsf(__int_as_float(i + high)) + 1.0f;
    doubles[i] = __longlong_as_double((long long)i * 3 + ((long long)high << 32)) * 2;
}
static void check_floats_of_indices()
{
    enum { COUNT = 512, HIGH = 0x3f800000 };
    struct {
        float sums[COUNT];
        double doubles[COUNT];
    } *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, sizeof *out), cudaSuccess);
    floats_of_indices<<<COUNT / 256, 256>>>(out->sums, out->doubles, HIGH);
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < COUNT; i++) {
        int bits = i + HIGH;
        long long wide = (long long)i * 3 + ((long long)HIGH << 32);
        float f;
        double d;
        memcpy(&f, &bits, sizeof f);
        memcpy(&d, &wide, sizeof d);
        CHECK(out->sums[i] == f + 1.0f && out->doubles[i] == d * 2);
    }
    cudaFree(out);
}

int main()
{
    check_floats_of_indices();
    from_float *out;
    to_float *back;
    CHECK_EQ_INT(cudaMallocManaged(&out, NUMBERS * sizeof *out), cudaSuccess);
    CHECK_EQ_INT(cudaMallocManaged(&back, NUMBERS * sizeof *back), cudaSuccess);
    check_integers(out);
    check_numbers(back);
    constants<<<1, 1>>>(out, back);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK(out[0].i == (i128)-1e20 && out[0].u == (u128)0x1.8p99 && out[0].single == (i128)1e10f);
    CHECK(back[0].d == -0x1p100 && back[0].du == 0x1p127 && back[0].f == 0x1.8p91f);
    return check_done();
}
