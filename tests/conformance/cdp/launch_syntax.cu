// FLAGS: -rdc=true -lcudadevrt
/* D1: launches wherever C++ lets an expression stand, and by whatever names a kernel has: each runs
 * the kernel that the language says, with the configuration that stands there. */
#include "check.h"
#include "on_weir.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

__device__ int results[128];

/* Adds the shape of its launch to where it is told: grid.x * 100 + block.x * 10 + value, once. */
static __device__ void note(int at, int value)
{
    if (threadIdx.x == 0 && blockIdx.x == 0)
        atomicAdd(&results[at], (int)(gridDim.x * 100 + blockDim.x * 10) + value);
}
__global__ void put(int at, int value) { note(at, value); }

/* ---- names ---- */

namespace a
{
__global__ void put(int at, int value) { note(at, value + 1); }
namespace b
{
__global__ void put(int at, int value) { note(at, value + 2); }
__device__ void from_inside(int at)
{
    put<<<1, 1>>>(at, 0);
    a::put<<<1, 1>>>(at + 1, 0);
    ::put<<<1, 1>>>(at + 2, 0);
}
} // namespace b
inline namespace hidden_version
{
__global__ void versioned(int at) { note(at, 3); }
} // namespace hidden_version
} // namespace a
namespace shortened = a::b;
using a::versioned;

__global__ void over(int at, int) { note(at, 1); }
__global__ void over(int at, unsigned) { note(at, 2); }
__global__ void over(int at, double) { note(at, 3); }
__global__ void over(int at, const int *) { note(at, 4); }
template <class T> __global__ void over(int at, T, T) { note(at, 5); }
template <> __global__ void over<char>(int at, char, char) { note(at, 6); }

__global__ void declared_only(int at, int value);

template <class T> struct box {
    T value;
};
template <class A, class B = int, int N = 4> __global__ void explicit_ones(int at, A a, B b)
{
    note(at, (int)(sizeof(A) + sizeof(B)) + N + (int)a + (int)b);
}
template <>
__global__ void explicit_ones<box<box<int>>, short, 4>(int at, box<box<int>>, short value)
{
    note(at, value);
}
template <bool C> __global__ void compared(int at) { note(at, C ? 1 : 2); }
template <class... T> __global__ void many(int at, T... values)
{
    int sum = 0;
    int unused[] = {0, (sum += (int)values)...};
    (void)unused;
    note(at, sum);
}
template <template <class> class W, class T> struct wrapped {
    W<T> w;
};
template <class W> __global__ void take_box(int at, W w) { note(at, (int)w.w.value); }

/* Members: of classes and of templates. */
struct holder {
    template <int N> static __device__ void launch(int at)
    {
        explicit_ones<char, short, N><<<N, 1>>>(at, char(0), short(0));
    }
    int at;
    __device__ void operator()(int value) const { put<<<2, 2>>>(at, value); }
    __device__ ~holder() { put<<<1, 1>>>(at, 1); }
};
template <class T> struct maker {
    T value;
    __device__ maker(int at, T v) : value(v) { put<<<1, 1>>>(at, (int)value); }
    template <class U> __device__ void again(int at, U u)
    {
        explicit_ones<T, U><<<1, 2>>>(at, value, u);
    }
};

__global__ void names()
{
    put<<<1, 1>>>(0, 0);
    a::put<<<1, 1>>>(1, 0);
    a::b::put<<<1, 1>>>(2, 0);
    ::a::b::put<<<1, 1>>>(3, 0);
    shortened::put<<<1, 1>>>(4, 0);
    versioned<<<1, 1>>>(5);
    a::b::from_inside(6);
    over<<<1, 1>>>(9, 1);
    over<<<1, 1>>>(10, 1u);
    over<<<1, 1>>>(11, 1.0);
    over<<<1, 1>>>(12, (const int *)nullptr);
    over<<<1, 1>>>(13, 1.f, 1.f);
    over<<<1, 1>>>(14, 'a', 'b');
    declared_only<<<2, 1>>>(15, 7);
    explicit_ones<char><<<1, 1>>>(16, 0, 0);
    explicit_ones<char, double><<<1, 1>>>(17, 0, 0);
    explicit_ones<char, double, (3 > 2)><<<1, 1>>>(18, 0, 0);
    explicit_ones<box<box<int>>, short, (8 >> 1)><<<1, 1>>>(29, {}, 8);
    compared<(1 > 2)><<<1, 1>>>(19);
    compared<(sizeof(box<box<int>>) >= 4)><<<(1 << 1), (4 >> 1)>>>(20);
    many<<<1, 1>>>(21);
    many<<<1, 1>>>(22, 1, 2.0, 'c' - 'a', short(3));
    many<int, long><<<1, 1>>>(23, 1, 2);
    take_box<<<1, 1>>>(24, wrapped<box, int>{{9}});
    holder::launch<3>(25);
    {
        holder h{26};
        h(5);
    }
    maker<int> m(27, 4);
    m.again(28, 'x');
    m.again<short>(29, 1);
}
__global__ void declared_only(int at, int value) { note(at, value); }

/* ---- places ---- */

static __device__ void in_return(int at, bool early)
{
    if (early)
        return put<<<1, 1>>>(at, 1);
    return (void)0, put<<<1, 2>>>(at, 2);
}
static __device__ int with_value(int at) { return put<<<1, 1>>>(at, 1), 5; }

template <int N> static __device__ void chosen(int at)
{
    if constexpr (N == 0)
        put<<<1, 1>>>(at, 0);
    else if constexpr (N == 1)
        a::put<<<1, 1>>>(at, 0);
    else
        chosen<N - 2>(at);
}
static constexpr __host__ __device__ int four(int a = 2, int b = 2) { return a + b; }

#define LAUNCH(k, g, b, ...)  k<<<g, b>>>(__VA_ARGS__)
#define LAUNCH_ALL(k, c, ...) k<<<LAUNCH_OPEN c LAUNCH_CLOSE>>>(__VA_ARGS__)
#define LAUNCH_OPEN
#define LAUNCH_CLOSE
#define CONFIGURATION dim3(2, 1), dim3(3)
#define BRACKETS(...) <<<__VA_ARGS__>>>
#define TWICE(x)                                                                                   \
    do {                                                                                           \
        x;                                                                                         \
        x;                                                                                         \
    } while (0)

__global__ void places(int n, bool yes)
{
    yes ? put<<<1, 1>>>(30, 1) : put<<<2, 2>>>(30, 2);
    !yes ? put<<<1, 1>>>(31, 1) : a::put<<<2, 2>>>(31, 2);
    int x = (put<<<1, 1>>>(32, 0), put<<<1, 2>>>(33, 0), 7);
    put<<<1, 1>>>(34, x), put<<<1, 1>>>(35, x);
    in_return(36, yes);
    in_return(37, !yes);
    put<<<1, 1>>>(38, with_value(39));
    chosen<0>(40);
    chosen<1>(41);
    chosen<7>(42);
    for (int k = (put<<<1, 1>>>(43, 0), 0); k < n; put<<<1, 1>>>(44, 0), k++)
        if (k & 1)
            continue;
        else
            put<<<1, 1>>>(45, k);
    switch (n) {
    case 3: put<<<1, 1>>>(46, 0); break;
    default: put<<<1, 1>>>(46, 1);
    }
    do
        put<<<1, 1>>>(47, 0);
    while (--n > 0);
    while (put<<<1, 1>>>(48, n), n++ < 1)
        ;
    LAUNCH(put, 1, 2, 49, 0);
    LAUNCH(put, dim3(1, 1), (four(1, 0) + 1), 50, four());
    LAUNCH_ALL(put, CONFIGURATION, 51, 0);
    put<<<CONFIGURATION>>>(52, 0);
    put BRACKETS(2, 3)(53, 0);
    TWICE((put<<<1, 1>>>(54, 0)));
    TWICE(LAUNCH(put, 1, 1, 55, 0));
    // clang-format off
    put<<<(four() > 3 ? 2 : 1), four(four(1, 1), -1) << 1 >> 1, sizeof(box<box<int>>) * (4 > 3), 0>>>(56, 0);
    // clang-format on
    put<<<[] { return 2; }(), dim3{3, 1, 1}>>>(57, [=](int v) { return v + n; }(0) - n);
    put<<<2, 3>>>(58, (over<<<1, 1>>>(59, 1), 4));
    auto run = [&](auto &&kernel, int at) { kernel<<<1, 3>>>(at, 0); };
    run(put, 60);
    run(a::put, 61);
    [](int at) {
        auto inner = [at](int v) { put<<<1, 1>>>(at, v); };
        inner(1);
        inner(2);
    }(62);
    void (*const table[])(int, int) = {put, a::put, a::b::put};
    for (int k = 0; k < 3; k++)
        table[k]<<<1, k + 1>>>(63 + k, 0);
    (yes ? table[1] : table[2])<<<1, 1>>>(66, 0);
    (*table[0])<<<1, 1>>>(67, 0);
    auto *pointer = &over<float>;
    pointer<<<1, 1>>>(68, 1, 2);
    static_cast<void (*)(int, double)>(over)<<<1, 1>>>(69, 2);
    if (int k = 1; put<<<1, 1>>>(70, k), k > 0)
        put<<<1, 1>>>(71, k);
try_again:
    if (results[72] == 0 && n > 100)
        goto try_again;
    put<<<1, 1>>>(72, 0);
}

/* Leaving an argument without its launch: what it had configured is of no meaning any more. */
#ifdef __clang__
__global__ void left_over(int n)
{
    for (int k = 0; k < n; k++)
        put<<<2, 2>>>(73, ({
                          if (k % 2)
                              continue;
                          put<<<1, 1>>>(74, 0);
                          0;
                      }));
    put<<<3, 1>>>(75, with_value(76));
    put<<<1, 1>>>(77, ({
                      if (n > 3)
                          return;
                      1;
                  }));
}
#endif

/* ---- parameter packs ---- */

template <class T> __global__ void of_type(int at) { note(at, (int)sizeof(T)); }
template <int N> __global__ void of_number(int at) { note(at, N); }

template <class... Ts> static __device__ void each_type(int at)
{
    (of_type<Ts><<<1, 1>>>(at), ...);
    (..., of_type<Ts><<<1, 2>>>(at + 1));
}
template <int... Ns> static __device__ void each_number(int at)
{
    (of_number<Ns><<<1, Ns>>>(at), ...);
    int unused[] = {(put<<<1, 1>>>(at + 1, Ns), 0)...};
    (void)unused;
    ((Ns > 1 ? put<<<1, 1>>>(at + 2, 1) : put<<<2, 2>>>(at + 2, 2)), ...);
}
template <class... K> static __device__ void each_kernel(int at, K... kernels)
{
    (kernels<<<1, 1>>>(at, 1), ...);
    ([&] { kernels<<<1, sizeof...(K)>>>(at + 1, 1); }(), ...);
}
template <class... T> static __device__ void each_value(int at, T &&...values)
{
    many<<<1, 1>>>(at, values...); /* expanded within the launch */
    many<T...><<<1, 1>>>(at, values...);
    (many<<<1, sizeof...(values)>>>(at + 1, values, sizeof...(T)), ...);
    many<<<1, 1>>>(at + 2, (values + 1)...);
}
struct with_values {
    int values;
};
static __device__ void no_pack(int at, with_values w) { put<<<1, 1>>>(at, w.values); }

__global__ void packs()
{
    each_type<int, char, double>(80);
    each_number<1, 2>(82);
    each_kernel(85, put, a::put);
    each_value<int, int>(87, 1, 2);
    no_pack(90, {3});
    [](auto... v) { (put<<<1, 1>>>(91, v), ...); }(1, 2);
}

/* ---- pointers ---- */

/* that the compiler does not know the value of. */

typedef void (*kernel)(int, int);
__device__ kernel volatile first = put, second = a::put, none;
static __device__ void plain(int at, int value) { atomicAdd(&results[at], value); }
__device__ kernel volatile no_kernel = plain;

__global__ void pointers()
{
    first<<<1, 1>>>(92, 0), second<<<1, 2>>>(92, 0), first<<<2, 1>>>(92, 0);
    first<<<1, 1>>>(92, 0), second<<<1, 2>>>(92, 0), first<<<2, 1>>>(92, 0);
    first<<<1, 1>>>(92, 0), second<<<1, 2>>>(92, 0), first<<<2, 1>>>(92, 0);
    no_kernel(93, 7);
    first<<<1, 2>>>(94, (second<<<3, 1>>>(95, 0), no_kernel(93, 1), 3));
    first<<<1, 1>>>(96, (put<<<1, 3>>>(97, (second<<<1, 4>>>(98, 0), 1)), 2));
}

/* Launching no kernel is an error of the thread's. */
#ifdef __clang__
__global__ void no_pointer()
{
    none<<<1, 1>>>(0, 0);
    results[99] = cudaGetLastError();
    results[100] = cudaGetLastError();
}
#endif

static int got[128];
static void expect(int from, const int *values, int count)
{
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(got, results, sizeof got));
    for (int k = 0; k < count; k++)
        if (!check_count(got[from + k] == values[k]))
            printf("result %d is %d, not %d\n", from + k, got[from + k], values[k]);
}

int main()
{
    static const int of_names[] = {110, 111, 112, 112, 112, 113, 112, 111, 110, 111,
                                   112, 113, 114, 115, 116, 217, 119, 123, 120, 112,
                                   221, 110, 118, 113, 119, 316, 336, 114, 253, 253};
    static const int of_places[] = {111, 223, 110, 120, 117, 117, 111, 122, 115, 111, 110,
                                    111, 111, 110, 330, 222, 110, 330, 221, 120, 124, 230,
                                    230, 230, 220, 220, 210, 230, 234, 111, 130, 131, 223,
                                    110, 121, 132, 111, 110, 115, 113, 111, 111, 110};
    static const int of_the_left[] = {660, 330, 315, 111, 0};
    names<<<1, 1>>>();
    expect(0, of_names, 30);
    places<<<1, 1>>>(3, true);
    expect(30, of_places, 43);
    static const int of_packs[] = {343, 373, 233, 223, 333, 223, 243, 226, 247, 115, 113, 223};
    packs<<<1, 1>>>();
    expect(80, of_packs, 12);
    static const int of_pointers[] = {1323, 8, 123, 311, 112, 131, 141};
    pointers<<<1, 1>>>();
    expect(92, of_pointers, 7);
#ifdef __clang__ /* nvcc's statement expressions are not for this */
    static const int of_none[] = {cudaErrorInvalidDeviceFunction, cudaSuccess};
    if (on_weir()) { // a GPU reads the kernel that there is not
        no_pointer<<<1, 1>>>();
        expect(99, of_none, 2);
    }
    left_over<<<1, 1>>>(5);
    expect(73, of_the_left, 5);
#endif
    return check_done();
}
