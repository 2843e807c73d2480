/* K2.4: functions that have __host__ and __device__ in their declaration or in their definition
 * alone: members of classes and of templates of them, constructors, operators, functions of
 * namespaces. */
#include "check.h"

struct S {
    int x;
    S(int);
    ~S();
    int f(int a) const;
    static int g(int);
    int operator()(int) const;
    S &operator+=(const S &);
    template <class T> T h(T);
    virtual int v(int);
    operator int();
    __host__ __device__ int marked(int) const;
    __device__ int devices(int);
};
__host__ __device__ S::S(int y) : x(y) {}
__device__ __host__ S::~S() {}
__host__ __device__ int S::f(int a) const { return x + a; }
__device__ int S::g(int a) { return a * 2 + (int)threadIdx.x; }
__host__ __device__ int S::operator()(int a) const { return f(a) * 3; }
__host__ __device__ S &S::operator+=(const S &o)
{
    x += o.x;
    return *this;
}
template <class T> __host__ __device__ T S::h(T t) { return t + (T)x; }
__host__ __device__ int S::v(int a) { return a; }
__host__ __device__ S::operator int() { return x; }
int S::marked(int a) const { return a + 10; }
int S::devices(int a) { return a + 20; }

template <class T> class B
{
  public:
    T get(T) const;
    struct In {
        int q();
    };
};
template <class T> __host__ __device__ T B<T>::get(T t) const { return t; }
template <class T> __host__ __device__ int B<T>::In::q() { return 7; }

namespace n
{
class C
{
  public:
    int f();
};
int twice(int);
} // namespace n
__device__ int n::C::f() { return 5; }
__host__ __device__ int n::twice(int a) { return 2 * a; }

__global__ void k(int *p)
{
    S s(3);
    s += S(1);
    B<int> b;
    B<int>::In in;
    n::C c;
    int results[] = {s.f(1),       S::g(2),  s(1),   s.h(1), (int)s,     s.marked(2),
                     s.devices(3), b.get(4), in.q(), c.f(),  n::twice(8)};
    for (int i = 0; i < 11; i++)
        p[i] = results[i];
}

int main()
{
    static const int wanted[] = {5, 4, 15, 5, 4, 12, 23, 4, 7, 5, 16};
    int *p;
    CHECK(cudaMallocManaged(&p, sizeof wanted) == cudaSuccess);
    k<<<1, 1>>>(p);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    for (int i = 0; i < 11; i++)
        CHECK(p[i] == wanted[i]);
    S s(1);
    CHECK(s.f(1) == 2 && s(1) == 6 && s.h(2) == 3 && s.v(4) == 4 && n::twice(2) == 4);
    return check_done();
}
