# The traits by which programs ask what a lambda is.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH

# What a lambda is: of the device, of both; not where the option is missing, nor of a functor.
cat >a.cu <<'END'
#include <cstdio>
#include <type_traits>
template <class T, class = void> struct Kind { static constexpr int is = 0; };
template <class T>
struct Kind<T, std::enable_if_t<__nv_is_extended_device_lambda_closure_type(T)>> { static constexpr int is = 1; };
template <class T>
struct Kind<T, std::enable_if_t<__nv_is_extended_host_device_lambda_closure_type(T)>> { static constexpr int is = 2; };
template <class T> int kind(T) { return Kind<T>::is; }
struct Functor { __device__ int operator()(int) const { return 1; } };
template <class F> __global__ void k(int *p, F f) { *p = f(Kind<F>::is); }
template <class F> void launch(int *p, F f) { k<<<1, 1>>>(p, f); }
int main()
{
    int *p, n = 1;
    cudaMallocManaged(&p, 4);
    printf("kinds %d %d %d %d %d %d %d %d %d\n", kind([=] __device__(int i) { return i + n; }),
           kind([=] __device__(float &f, int) mutable -> float { return f = n++; }), kind([] __device__() {}) * kind([] __device__(int) noexcept {}),
           kind([=] __host__ __device__(int i) { return i + n; }), kind([] __host__(int) {}),
           kind([=] __device__(auto i) { return i + n; }), kind(Functor()), kind(3), kind(&n));
    printf("generic %d %d %d %d %d %d\n", kind([=] __device__(auto i) mutable { return n += i; }),
           kind([] __device__(const auto &i, auto &j, auto &&k, auto l) { return i + j + k + l; }),
           kind([=] __device__(auto i, auto j) -> int { return i.none(j); }), kind([=](auto i) { return i + n; }),
           kind([=] __host__ __device__(auto i, auto j) { return i + j; }), kind([] __host__(auto i) { return i + 1; }));
    printf("packs %d %d %d %d %d %d %d %d %d\n", kind([=] __device__(auto... x) { return n + sizeof...(x); }),
           kind([] __device__(auto &&...x) { return sizeof...(x); }), kind([] __device__(auto i, const auto &...x) { return i.none(x...); }),
           kind([=] __device__(auto i, auto &j, auto &&k, auto... x) mutable { return n += i.none(j, k, x...); }),
           kind([=] __device__(auto i, auto, auto, auto, auto, auto, auto, auto, auto...) -> decltype(i) { return i.none(); }),
           kind([](auto... x) { return sizeof...(x); }), kind([=](auto &i, auto &&...x) mutable { return n += i.none(x...); }),
           kind([] __host__ __device__(auto i, auto... x) { return i.none(x...); }), kind([] __host__(auto... x) { return sizeof...(x); }));
    printf("mixed %d %d %d %d %d %d %d %d %d %d\n", kind([=] __device__(int i, auto x) { return i + n + x.none(); }),
           kind([] __device__(auto x, float *p) { return *p + x.none(); }), kind([=] __device__(const auto &x, float4 &f, int &&i) mutable { return f.x + i + (n = x.none()); }),
           kind([] __device__(int i, auto &x, auto y, Functor f) -> int { return x.none(y); }), kind([] __device__(const int &i, auto... x) { return i + none(x...); }),
           kind([=](int i, auto x) { return x.none(i); }), kind([] __host__ __device__(auto x, const char *s, auto y) { return x.none(y); }),
           kind([] __host__(int i, auto x) { return x.none(i); }), kind([=](auto x, auto y) { return x.none(y); }), kind([](auto x, auto y, auto z, auto w) mutable { return x.none(y); }));
    launch(p, [=] __device__(auto i) { return i + 41; });
    launch(p, [=] __device__(int i) { return i + 40 + n; });
    printf("%d %s\n", cudaDeviceSynchronize(), cudaGetErrorName(cudaGetLastError()));
    printf("is %d\n", *p);
}
END
for std in c++14 c++17 c++20; do
    run weircc -std=$std --extended-lambda a.cu -o program
    ok
    run ./program
    says "kinds 1 1 1 2 0 1 0 0 0"
    says "generic 1 1 1 0 0 0"
    says "packs 1 1 1 1 1 0 0 0 0"
    says "mixed 1 1 1 1 1 0 0 0 0 0"
    says "is 42"
done
run weircc -std=c++17 a.cu -o program
ok
run ./program
says "kinds 0 0 0 0 0 0 0 0 0"
# Types that are made of a lambda's: CUB and libcu++ ask about references.
cat >a.cu <<'END'
#include <cstdio>
template <class T> void ask()
{
    printf(" %d%d", (int)__nv_is_extended_device_lambda_closure_type(T),
           (int)__nv_is_extended_host_device_lambda_closure_type(T));
}
template <class T> void ask_all(const char *name, T)
{
    printf("%s", name);
    ask<T>(), ask<const T>(), ask<volatile T>(), ask<const volatile T>(), ask<T &>(), ask<const T &>(), ask<T &&>();
    ask<T *>(), ask<T[3]>(), ask<T()>(), ask<void(T)>();
    puts("");
}
template <class T> struct Derived : T { };
int main()
{
    auto device = [] __device__(int i) { return i; };
    auto both = [] __host__ __device__(int i) { return i; };
    auto generic = [] __device__(auto i) { return i.none(); };
    ask_all("device", device), ask_all("both", both), ask_all("generic", generic);
    ask_all("derived", Derived<decltype(device)>{device});
}
END
run weircc -std=c++17 --extended-lambda a.cu -o program
ok
run ./program
says "device 10 10 10 10 00 00 00 00 00 00 00"
says "both 01 01 01 01 00 00 00 00 00 00 00"
says "generic 10 10 10 10 00 00 00 00 00 00 00"
says "derived 00 00 00 00 00 00 00 00 00 00 00"
done_
