# What nvcc accepts and clang does not: the program is built, and computes what nvcc's would.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH

. "$(dirname "$0")/computes.sh"

# What the C++ library asks of the compiler and is known only when the kernel runs: lengths and comparisons.
cat >a.cu <<'END'
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>
__global__ void k(int *p, const char *s)
{
    std::string_view v(s), w = "hello, you";
    p[0] = (int)(v.size() + 100 * w.size());
    p[1] = v == "hey" ? 1 : 2;
    p[2] = (int)w.find('y') + 100 * (int)w.find("lo") + 10000 * (v < w);
    std::array<unsigned char, 3> a{(unsigned char)s[0], 'e', 'y'}, b{'h', 'e', 'y'};
    p[3] = (a == b) + 2 * std::equal(a.begin(), a.end(), b.begin());
}
int main()
{
    int *p;
    char *s;
    cudaMallocManaged(&p, 64);
    cudaMallocManaged(&s, 16);
    strcpy(s, "hey");
    k<<<1, 1>>>(p, s);
    int status = cudaDeviceSynchronize();
    printf("is %d %d %d %d, %d\n", p[0], p[1], p[2], p[3], status);
}
END
run weircc -std=c++20 --expt-relaxed-constexpr a.cu -o program
ok
run ./program
says "is 1003 1 307 3, 0"

# Specifiers that only the declaration or the definition of a member template has.
cat >a.cu <<'END'
#include "main.h"
struct S {
    int v;
    template <class U> int add(U u) const;
    template <class U> int add(U u, int) const { return v; }
    template <class U, int N> S &set(const U &u);
    template <class U> S(U u);
    template <class U> operator U() const;
    template <class U> int operator+(U) const;
    template <class U> [[nodiscard]] __device__ int sub(U) const;
};
template <class V> __device__ int S::add(V value) const { return v + value; }
template <class U, int N> __device__ S &S::set(const U &u) { v = u + N; return *this; }
template <class U> __device__ S::S(U u) : v(u) {}
template <class U> __device__ S::operator U() const { return v; }
template <class U> __device__ int S::operator+(U u) const { return v + u; }
template <class U> int S::sub(U u) const { return v - u; }
namespace n {
template <class T> struct C {
    T v;
    template <class U> __host__ __device__ T mul(U u) const;
    template <class U> static T twice(U);
    struct In { template <class U> T get(U *p); };
};
template <class T> struct C<T *> { template <class U> static T twice(U); };
}
template <class T> template <class U> T n::C<T>::mul(U u) const { return v * u; }
template <class K> template <class U> __device__ K n::C<K>::twice(U u) { return u * 2; }
template <class K> template <class U> __host__ __device__ K n::C<K *>::twice(U u) { return u * 3; }
template <class T> template <class U> __device__ T n::C<T>::In::get(U *p) { return *p; }
__global__ void k(int *p)
{
    S s(*p); /* 41 */
    s.set<int, 3>(s.add(1)); /* 45 */
    n::C<int>::In in;
    *p = (s + 1L) + static_cast<int>(static_cast<float>(s)) + s.sub(5) /* 46 + 45 + 40 */
         + n::C<int>{7}.mul(2) + n::C<int>::twice(4) + n::C<int *>::twice(4) + in.get(p);
}
int host() { return n::C<int>{7}.mul(2) + n::C<int *>::twice(4); }
MAIN(k)
END
computes 206
computes 206 -rdc=true
computes 206 -ccbin g++ --host-frontend=ccbin

# A function outside of classes that is declared for the device and defined without a word.
cat >a.cu <<'END'
#include "main.h"
namespace n { __device__ int f(int); __host__ __device__ int g(int x); }
int n::f(int x) { return x + 1; }
int n::g(int y) { return y + 2; }
__device__ int plain(int x);
int plain(int x) { return n::f(x) + n::g(x); }
__global__ void k(int *p) { *p = plain(*p); }
MAIN(k)
END
computes 85

# Default arguments that the definition of a class template's member adds.
cat >a.cu <<'END'
#include "main.h"
template <class T, int N> struct A;
template <class T> struct A<T, 3> {
    T v[3];
    __device__ T get(int i, T d);
    __device__ __host__ static T two(T, T b);
    template <class U> __device__ T both(U u, int = 1);
};
template <class T> __device__ T A<T, 3>::get(int i, T d = T(7)) { return i < 3 ? v[i] : d; }
template <class U> __device__ __host__ U A<U, 3>::two(U a, U b = static_cast<U>(5))
{
    return a * b;
}
template <class T> template <class U> __device__ T A<T, 3>::both(U u, int n) { return u + n; }
template <class T> struct B { struct In { __device__ int m(int q); }; };
template <class T> __device__ int B<T>::In::m(int q = sizeof(T) - 1) { return q; }
__global__ void k(int *p)
{
    A<int, 3> a;
    *p = a.get(9) + A<int, 3>::two(2) + B<int>::In().m() + a.both(1L);
}
MAIN(k)
END
computes 22

# Without -rdc an extern variable of the device is a definition.
cat >a.cu <<'END'
#include "main.h"
extern __device__ int x;
extern __device__ int x;
namespace n { extern __device__ float list[4]; }
extern __constant__ int c;
extern "C" __device__ int d;
extern __managed__ int m;
extern __device__ int later;
__global__ void k(int *p)
{
    n::list[1] += 1.5f;
    d = 3;
    *p = ++x + (int)(n::list[1] * 2) + c + d + later + m;
}
__device__ int later = 1000;
#ifndef NO_MAIN
int prepare()
{
    int five = 5;
    m = 100;
    return cudaMemcpyToSymbol(c, &five, sizeof five);
}
#define cudaDeviceSynchronize() prepare(), k<<<1, 1>>>(p), (cudaDeviceSynchronize)()
MAIN(k)
#endif
END
computes 1116
computes 1116 -ccbin g++ --host-frontend=ccbin
run weircc -c a.cu -o a.o
ok
says "a.cu: warning: the device variable 'n::list', which kernel 'k(int*)' uses, is extern: without -rdc=true that is taken for its definition"
says_not later
run weircc -ptx a.cu
ok
contains a.ptx '.visible .global .align 4 .u32 x;'
(echo '#define NO_MAIN' && sed 's/ k(/ k2(/' a.cu) >b.cu
run weircc a.cu b.cu -o two # each file has its own
ok
run weircc -rdc=true -c a.cu -o a.o
ok
says_not warning

# Extern shared variables with a size are dynamic shared memory.
cat >a.cu <<'END'
#include "main.h"
extern __shared__ int outside[4][4];
struct pair { int a, b; };
__device__ int second() { extern __shared__ pair both; return both.b; }
__global__ void k(int *p)
{
    extern __shared__ int t[8];
    t[1] = 3;
    outside[1][2] = 4;
    *p = t[1] + t[6] + second();
}
MAIN(k)
END
computes 10

# #pragma unroll before what is no loop, and with numbers that are none.
cat >a.cu <<'END'
#include "main.h"
template <int N> __device__ int sum(int n)
{
    int s = 0;
#pragma unroll N / 2 - 1
    for (int i = 0; i < n; i++)
        s += i;
#pragma unroll -1
    for (int i = 0; i < n; i++)
        s += i;
#pragma unroll 5000000000
    for (int i = 0; i < n; i++)
        s += i;
#pragma unroll 2
#pragma unroll 4
    for (int i = 0; i < n; i++)
        s += i;
#pragma unroll
    if (s > 100)
        s++;
#pragma unroll
    { s++; }
#pragma unroll
    int last = s;
    return last;
#pragma unroll
}
__global__ void k(int *p) { *p = sum<1>(10); }
MAIN(k)
END
computes 182

# Traits of functions that only the device has.
cat >a.cu <<'END'
#include <type_traits>
#include "main.h"
struct product { __device__ int operator()(int a, int b) const { return a * b; } };
template <class F, class... A> __device__ std::invoke_result_t<F, A...> call(F f, A... a)
{
    return f(a...);
}
template <class F, std::enable_if_t<std::is_invocable_v<F, int, int>, int> = 0>
__device__ typename std::result_of<F(int, int)>::type old(F f)
{
    return f(3, 5);
}
static_assert(std::is_invocable_r_v<int, product, int, int>, "");
__global__ void k(int *p) { *p = call(product(), 6, 7) + old(product()); }
MAIN(k)
END
computes 57

# Instances of templates have the names that the host compiler gives them.
cat >named.h <<'END'
#include <type_traits>
template <class T, std::enable_if_t<std::is_class<T>::value, int> = 0> int start(T *p);
struct answer { int value; };
END
cat >named.cu <<'END'
#include "named.h"
template <class T, std::enable_if_t<std::is_class<T>::value, int> = 0> __global__ void k(T *p)
{
    p->value = 42;
}
template <class T, std::enable_if_t<std::is_class<T>::value, int>> int start(T *p)
{
    k<<<1, 1>>>(p);
    return cudaDeviceSynchronize();
}
template int start(answer *p);
END
cat >user.cpp <<'END'
#include <cstdio>
#include <cuda_runtime.h>
#include "named.h"
int main()
{
    answer *p;
    cudaMallocManaged((void **)&p, sizeof *p, cudaMemAttachGlobal);
    int status = start(p);
    printf("is %d, %d\n", p->value, status);
    return 0;
}
END
for frontend in '' '-ccbin g++ --host-frontend=ccbin'; do
    # shellcheck disable=SC2086
    run weircc named.cu user.cpp -o named $frontend
    ok
    run ./named
    ok
    says 'is 42, 0'
done

# Groups that are cut from one that is named.
cat >a.cu <<'END'
#include <cooperative_groups.h>
#include "main.h"
namespace cg = cooperative_groups;
__global__ void k(int *p)
{
    auto warp = cg::tiled_partition<32, cg::thread_block>(cg::this_thread_block());
    auto four = cg::tiled_partition<4, decltype(warp)>(warp);
    *p = warp.size() + four.size();
}
MAIN(k)
END
computes 36

# Constants of a kernel that only the device has: in its launch bounds and in its body.
cat >a.cu <<'END'
#include "main.h"
extern __host__ __device__ void fails();
constexpr int threads_of(int arch)
{
    return arch > 0 ? arch / 10 : (fails(), 0);
}
constexpr __host__ __device__ int arch()
{
#ifdef __CUDA_ARCH__
    return __CUDA_ARCH__;
#else
    return 0;
#endif
}
template <int N> struct sized { static_assert(N > 0, "of no size"); int items[N]; };
template <class T> __global__ void __launch_bounds__(threads_of(arch())) k(T *p)
{
    static constexpr int n = threads_of(arch());
    sized<n> s = {};
#pragma unroll
    for (int i = 0; i < n; i++)
        s.items[i] = i;
    *p = s.items[n - 1] + threadIdx.x;
}
MAIN(k)
END
computes 74

# Macros that follow from options.
cat >macros.cu <<'END'
#ifdef __CUDACC_EXTENDED_LAMBDA__
has_lambda
#endif
#ifdef __CUDACC_RELAXED_CONSTEXPR__
has_constexpr
#endif
#ifdef __CUDACC_DEVICE_ATOMIC_BUILTINS__
has_atomics
#endif
#if __CUDA_ARCH_SPECIFIC__ == 900 && __CUDA_ARCH_FAMILY_SPECIFIC__ == 900
has_specific
#endif
END
run weircc -E macros.cu
ok
says has_atomics
says_not has_lambda
says_not has_constexpr
says_not has_specific
run weircc -E macros.cu --extended-lambda --expt-relaxed-constexpr -arch=sm_90a
ok
says has_lambda
says has_constexpr
says has_specific
# Functions of the host that __host__ __device__ functions call, which kernels never come to: nvcc
# warns. One that a kernel comes to ends it, with the function's name.
cat >a.cu <<'END'
#include <cstdio>
#include <cstdlib>
#include <thread>
void plain(int);
static int fixed(int x);
namespace n { int deep(int a, int b = 3); template <class T> T same(T t) { return t; } }
struct M {
    int v;
    int get(int) const;
    static M make();
    operator int *();
    int operator()(int a) { return a; }
    bool operator==(const M &o) const { return v == o.v; }
};
template <class T> struct Out {
    T *p;
    __host__ __device__ Out() { p = get(); }
    T *get() { return new T; }
};
template <class F> void pass(F f) { f(1); }
template <class T> __host__ __device__ T two(T t) { return t > 100 ? n::same(t) : t; }
__host__ __device__ void unused(int x) { plain(x); }
__host__ __device__ int g(int x)
{
    M m{1};
    switch (x) {
    case 100: plain(x); break;
    case 101: return fixed(x);
    case 102: return n::deep(x);
    case 103: exit(3);
    case 104: return m.get(3);
    case 105: return M::make().v;
    case 106: return m(3);
    case 107: return m == M{2};
    case 108: return *(int *)m;
    case 109: return two(x);
    case 110: abort();
    case 111: return Out<int>().p != nullptr;
    }
    return x + 1;
}
__global__ void k(int *p, int x) { *p = g(x); }
void plain(int x) { printf("plain %d\n", x); }
static int fixed(int x) { return x * 2; }
int n::deep(int a, int b) { return a + b; }
int M::get(int) const { return v; }
M::operator int *() { return &v; }
M M::make() { return {}; }
int main(int argc, char **argv)
{
    void (*address)(int) = &plain;
    std::thread thread(plain, g(101));
    thread.join();
    pass(plain);
    pass(fixed);
    address(g(102));
    int *p;
    cudaMallocManaged(&p, sizeof *p);
    k<<<1, 1>>>(p, argc > 1 ? atoi(argv[1]) : 41);
    cudaError_t error = cudaDeviceSynchronize();
    printf("is %d, %s\n", error == cudaSuccess ? *p : 0, cudaGetErrorName(error));
    return 0;
}
END
run weircc a.cu -o program -Xcompiler -Wall,-Wextra,-Wno-implicit-fallthrough
ok
says "a.cu:27:15: warning: calling a __host__ function ('plain') from a __host__ __device__ function is not allowed"
says "warning: calling a __host__ function ('exit') from"
says_not "unused"
run ./program
ok
says "plain 202"
says "plain 105"
says "is 42, cudaSuccess"
comes_to() { # comes_to ARGUMENT FUNCTION
    run ./program "$1"
    ok
    says "$2: block: [0,0,0], thread: [0,0,0] Assertion \`device code calls a __host__ function\` failed."
    says "is 0, cudaErrorAssert"
}
comes_to 100 "a.cu:4: void plain(int)"
comes_to 101 "int fixed(int)"
comes_to 102 "int n::deep(int, int)"
comes_to 103 "exit(int)"
comes_to 104 "int M::get(int) const"
comes_to 105 "M M::make()"
comes_to 106 "int M::operator()(int)"
comes_to 107 "bool M::operator==(const M &) const"
comes_to 108 "M::operator int *()"
comes_to 109 "T n::same(T) [T = int]"
comes_to 110 "abort()"
comes_to 111 "T *Out<int>::get() [T = int]"
run weircc -w -c a.cu
ok
says_not warning
run weircc --host-frontend=ccbin -ccbin g++ a.cu -o program
ok
run ./program
says "is 42, cudaSuccess"
# In two files of relocatable device code.
cat >a.cu <<'END'
#include <cstdlib>
__host__ __device__ void die() { exit(1); }
__global__ void k(int *p) { if (*p > 3) die(); }
int main() { return 0; }
END
sed 's/die/end/; s/k(int/l(int/; /main/d' a.cu >b.cu
run weircc -rdc=true a.cu b.cu -o program
ok
# A function of the device or a kernel may not, and what it says of the others stays.
cat >a.cu <<'END'
void plain(int);
__host__ __device__ int g(int x) { if (x > 4) plain(x); return x; }
__device__ int h(int x) { if (x > 4) plain(x); return x; }
END
run weircc -c a.cu
fails
says "call to __host__ function from __device__ function"
cat >a.cu <<'END'
template <class T> void plain(T);
__host__ __device__ int g(int x) { if (x > 4) plain(x); return x; }
template <class T> __global__ void k(T x) { if (x > 4) plain(x); }
void f() { k<<<1, 1>>>(4); }
END
run weircc -c a.cu
fails
says "call to __host__ function from __global__ function"
# A constructor that has to initialize what it has: as clang says it.
cat >a.cu <<'END'
struct B { B(int); };
struct C : B { C(int, int); };
__host__ __device__ int g(int x) { if (x > 4) C c(x, 2); return x; }
END
run weircc -c a.cu
fails
says "reference to __host__ function 'C' in __host__ __device__ function"
says_not "must explicitly initialize"

# Alignments that functions compute, by which clang dies.
cat >a.cu <<'END'
#include "main.h"
constexpr unsigned long least(unsigned long a, unsigned long b) { return a < b ? a : b; }
template <int N, int M> __host__ __device__ constexpr unsigned long less() { return N < M ? N : M; }
template <class T> struct Get { T *p; template <int A, int B> __host__ __device__ T *at() const { return p + A + B; } };
template <class T> __host__ __device__ T sum(Get<T> g)
{
    return *static_cast<T *>(__builtin_assume_aligned(g.p + 1, least(64, sizeof(T)))) +
           *static_cast<T *>(__builtin_assume_aligned(g.template at<1, 2>(), less<4, 8>())) +
           *static_cast<T *>(__builtin_assume_aligned(g.p, 8));
}
__global__ void k(int *p) { p[1] = 2, p[3] = 30, *p = sum(Get<int>{p}); }
MAIN(k)
END
computes 73 --expt-relaxed-constexpr
run ls tmp
says_not "a-"
# Where the file is mended anyway that takes no run more.
cat >b.cu <<'END'
constexpr unsigned long least(unsigned long a, unsigned long b) { return a < b ? a : b; }
__global__ void j(int *p) { auto v = threadIdx; *p = v.x; }
__global__ void k(int *p) { *p = *(int *)__builtin_assume_aligned(p + 4, least(16, 32)); }
END
run weircc -c b.cu --expt-relaxed-constexpr --time few
ok
run grep -c 'clang (device)' few
says "2"
# However many there are, clang is asked twice, and reads the source once more for the mended text.
{
    echo 'template <class T> __device__ int x(T v) { return v.x; }'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
        echo "__global__ void k$i(int *p) { auto v = threadIdx; *p = x(v) + $i; }"
    done
    echo 'struct S { int v; template <class U> int add(U u) const; };'
    echo 'template <class V> __device__ int S::add(V value) const { return v + value; }'
    echo '__global__ void k(int *p) { *p = S{*p}.add(3); }'
} >a.cu
run weircc -c a.cu --time times
ok
run grep -c 'clang (device)' times
says "2"
run grep -c 'clang (preprocess)' times
says "2" # the host half once, too
# What it refuses for good is shown up to clang's own number.
{
    echo 'struct S {};'
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
        echo "void f$i() { S s = $i; }"
    done
} >a.cu
run weircc -c a.cu
fails
says "a.cu:21:"
says_not "a.cu:22:"
says "too many errors emitted"
# cuda::atomic by cooperative_groups.h alone, as with CUDA 13.
cat >a.cu <<'END'
#include <cooperative_groups.h>
__device__ void add(int *p) { cuda::atomic_ref<int, cuda::thread_scope_device>(*p).fetch_add(1, cuda::std::memory_order_relaxed); }
__global__ void k(int *p) { add(p); }
#include "main.h"
MAIN(k)
END
computes 42 -std=c++17
echo 'int h() { return cuda::no_such_name; }' >>a.cu
run weircc -std=c++17 -c a.cu
fails
says "no_such_name"
done_
