/* Calls through pointers in code for debuggers fit into the stack that a program has by default. */
// FLAGS: -G
#include "check.h"

struct vector {
    float e[3];
    __device__ vector(float a, float b, float c)
    {
        e[0] = a;
        e[1] = b;
        e[2] = c;
    }
};
__device__ vector operator+(const vector &a, const vector &b)
{
    return vector(a.e[0] + b.e[0], a.e[1] + b.e[1], a.e[2] + b.e[2]);
}
__device__ vector operator*(const vector &a, const vector &b)
{
    return vector(a.e[0] * b.e[0], a.e[1] * b.e[1], a.e[2] * b.e[2]);
}

struct shape {
    __device__ virtual vector at(const vector &v) const = 0;
};
struct ball : shape {
    __device__ vector at(const vector &v) const override
    {
        vector a = v + v;
        vector b = a * a + v;
        vector c = b * b + a * v;
        vector d = c + b * a + v * v;
        vector e = d * d + c * c + b * b;
        return a + b + c + d + e;
    }
};
struct list : shape {
    const shape *of;
    __device__ vector at(const vector &v) const override
    {
        vector a = v * v;
        vector b = of->at(a + v) + of->at(v);
        return a + b * a;
    }
};

__global__ void look(float *out)
{
    ball inner;
    list outer;
    outer.of = &inner;
    const shape *s = &outer;
    out[threadIdx.x] = s->at(vector(1, 2, 3)).e[0];
}

int main()
{
    float *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, 32 * sizeof *out), cudaSuccess);
    look<<<1, 32>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 32; i++)
        CHECK(out[i] == 280045.0f);
    return check_done();
}
