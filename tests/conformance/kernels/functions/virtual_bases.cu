/* K2: classes of kernels have what C++ gives them: virtual bases and functions, of bases more than
 * one deep. */
#include "check.h"

struct root {
    int a;
    __device__ explicit root(int x) : a(x) {}
    __device__ virtual int sum() const { return a; }
};

struct left : virtual root {
    int l;
    __device__ left() : root(3), l(4) {}
    __device__ int sum() const override { return a + l; }
};

struct right : virtual root {
    int r;
    __device__ right() : root(5), r(6) {}
};

struct both : left, right {
    int b;
    __device__ both() : root(9), b(7) {}
    __device__ int sum() const override { return left::sum() + r + b; }
};

struct last : both {
    int e;
    __device__ last() : root(20), e(8) {}
};

__global__ void build(int *out)
{
    last whole;
    left *l = &whole;
    right *r = &whole;
    root *base = r;
    out[0] = l->a * 100 + l->l * 10 + r->r;
    out[1] = base->sum();
    out[2] = whole.e + static_cast<left *>(&whole)->sum();
    left half;
    base = &half;
    out[3] = base->sum();
}

int main()
{
    int *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, 4 * sizeof *out), cudaSuccess);
    build<<<1, 1>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(out[0], 2046);
    CHECK_EQ_INT(out[1], 20 + 4 + 6 + 7);
    CHECK_EQ_INT(out[2], 8 + 37);
    CHECK_EQ_INT(out[3], 7);
    CHECK_EQ_INT(cudaFree(out), cudaSuccess);
    return check_done();
}
