/* K2.12: wmma: every shape, type and layout of nvcuda::wmma against a reference in double (or
 * integers), on random matrices with a leading dimension larger than the matrix. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

enum { PAD = 16 };

/* Leading dimension of a rows x columns matrix in an order. */
template <typename Order> constexpr int pitch(int rows, int columns)
{
    return (std::is_same<Order, wmma::row_major>::value ? columns : rows) + PAD;
}
template <typename Order> constexpr int place(int row, int column, int pitch)
{
    return std::is_same<Order, wmma::row_major>::value ? row * pitch + column
                                                       : column * pitch + row;
}
template <typename Order> constexpr wmma::layout_t order()
{
    return std::is_same<Order, wmma::row_major>::value ? wmma::mem_row_major : wmma::mem_col_major;
}

template <int M, int N, int K, typename T, typename Memory, typename Acc, typename Out, typename LA,
          typename LB, typename LC, bool Shared>
__global__ void multiply(const Memory *a, const Memory *b, const Acc *c, Out *d)
{
    __shared__ __align__(32) Memory sa[(M + PAD) * (K + PAD)];
    const Memory *from = a;
    if (Shared) {
        for (int i = threadIdx.x; i < (M + PAD) * (K + PAD); i += 32)
            sa[i] = a[i];
        __syncthreads();
        from = sa;
    }
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
    wmma::fragment<wmma::accumulator, M, N, K, Out> fd;
    wmma::load_matrix_sync(fa, from, pitch<LA>(M, K));
    wmma::load_matrix_sync(fb, b, pitch<LB>(K, N));
    wmma::load_matrix_sync(fc, c, pitch<LC>(M, N), order<LC>());
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d, fd, pitch<LC>(M, N), order<LC>());
}

static double number(double v) { return v; }
static double number(float v) { return v; }
static double number(__half v) { return __half2float(v); }
static double number(__nv_bfloat16 v) { return __bfloat162float(v); }
static double number(int v) { return v; }
static double number(signed char v) { return v; }
static double number(unsigned char v) { return v; }

static double between() { return rand() / (double)RAND_MAX * 4 - 2; }
static void random_value(double &v) { v = between(); }
static void random_value(float &v) { v = (float)between(); }
static void random_value(__half &v) { v = __float2half((float)between()); }
static void random_value(__nv_bfloat16 &v) { v = __float2bfloat16((float)between()); }
static void random_value(int &v) { v = rand() % 200001 - 100000; }
static void random_value(signed char &v) { v = (signed char)(rand() >> 7); }
static void random_value(unsigned char &v) { v = (unsigned char)(rand() >> 7); }

/* What the matrix unit sees of a factor's element. */
template <typename T, typename Memory> double seen(Memory v)
{
    if constexpr (std::is_same<T, wmma::precision::tf32>::value) {
        uint32_t bits;
        memcpy(&bits, &v, 4);
        bits &= 0xffffe000u;
        memcpy(&v, &bits, 4);
    }
    return number(v);
}

template <typename V> struct managed {
    V *p;
    explicit managed(size_t n)
    {
        CHECK(cudaMallocManaged(&p, n * sizeof(V)) == cudaSuccess);
        memset(p, 0, n * sizeof(V));
    }
    ~managed() { cudaFree(p); }
};

template <int M, int N, int K, typename T, typename Memory, typename Acc, typename Out, typename LA,
          typename LB, typename LC, bool Shared>
void run()
{
    managed<Memory> a((M + PAD) * (K + PAD)), b((K + PAD) * (N + PAD));
    managed<Acc> c((M + PAD) * (N + PAD));
    managed<Out> d((M + PAD) * (N + PAD));
    for (int i = 0; i < (M + PAD) * (K + PAD); i++)
        random_value(a.p[i]);
    for (int i = 0; i < (K + PAD) * (N + PAD); i++)
        random_value(b.p[i]);
    for (int i = 0; i < (M + PAD) * (N + PAD); i++)
        random_value(c.p[i]);
    multiply<M, N, K, T, Memory, Acc, Out, LA, LB, LC, Shared><<<1, 32>>>(a.p, b.p, c.p, d.p);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    int wrong = 0, touched = 0;
    std::vector<char> inside((M + PAD) * (N + PAD));
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double want = number(c.p[place<LC>(m, n, pitch<LC>(M, N))]), scale = fabs(want);
            for (int k = 0; k < K; k++) {
                double p = seen<T>(a.p[place<LA>(m, k, pitch<LA>(M, K))]) *
                           seen<T>(b.p[place<LB>(k, n, pitch<LB>(K, N))]);
                want += p;
                scale += fabs(p);
            }
            int at = place<LC>(m, n, pitch<LC>(M, N));
            inside[at] = 1;
            double error = fabs(number(d.p[at]) - want);
            double allowed = std::is_same<Out, int>::value      ? 0
                             : std::is_same<Out, double>::value ? scale * 0x1p-50
                             : std::is_same<Out, float>::value
                                 ? scale * 0x1p-20
                                 : fabs(want) * 0x1p-11 + scale * 0x1p-20;
            wrong += !(error <= allowed);
        }
    for (size_t i = 0; i < inside.size(); i++)
        touched += !inside[i] && number(d.p[i]) != 0;
    if (wrong)
        printf("m%dn%dk%d, factors of %zu bytes: ", M, N, K, sizeof(Memory));
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(touched, 0);
}

template <int M, int N, int K, typename T, typename Memory, typename Acc, typename Out>
void orders()
{
    typedef wmma::row_major row;
    typedef wmma::col_major col;
    run<M, N, K, T, Memory, Acc, Out, row, row, row, false>();
    run<M, N, K, T, Memory, Acc, Out, row, col, row, true>();
    run<M, N, K, T, Memory, Acc, Out, col, row, col, false>();
    run<M, N, K, T, Memory, Acc, Out, col, col, col, true>();
}

int main()
{
    srand(1);
    orders<16, 16, 16, __half, __half, float, float>();
    orders<16, 16, 16, __half, __half, __half, __half>();
    orders<16, 16, 16, __half, __half, __half, float>();
    orders<16, 16, 16, __half, __half, float, __half>();
    orders<32, 8, 16, __half, __half, float, float>();
    orders<32, 8, 16, __half, __half, __half, __half>();
    orders<8, 32, 16, __half, __half, float, float>();
    orders<8, 32, 16, __half, __half, __half, __half>();
    orders<16, 16, 16, __nv_bfloat16, __nv_bfloat16, float, float>();
    orders<32, 8, 16, __nv_bfloat16, __nv_bfloat16, float, float>();
    orders<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float, float>();
    orders<16, 16, 8, wmma::precision::tf32, float, float, float>();
    orders<8, 8, 4, double, double, double, double>();
    orders<16, 16, 16, signed char, signed char, int, int>();
    orders<32, 8, 16, signed char, signed char, int, int>();
    orders<8, 32, 16, signed char, signed char, int, int>();
    orders<16, 16, 16, unsigned char, unsigned char, int, int>();
    orders<32, 8, 16, unsigned char, unsigned char, int, int>();
    orders<8, 32, 16, unsigned char, unsigned char, int, int>();
    return check_done();
}
