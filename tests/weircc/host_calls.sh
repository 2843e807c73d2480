# Calls of host functions that a kernel may come to: variable arguments, virtual functions, files whose
# kernels launch kernels; and the C++ library's functions of wide characters, which the device has.
. "$(dirname "$0")/lib.sh"
export WEIR_CACHE_DIR="$scratch/cache"
unset LD_LIBRARY_PATH

comes_to() { # comes_to ARGUMENT FUNCTION
    run ./program "$1"
    ok
    says "$2: block: [0,0,0], thread: [0,0,0] Assertion \`device code calls a __host__ function\` failed."
    says "is 0, cudaErrorAssert"
    says 'weir: assertion failed in kernel'
    [ "$(grep -c 'Assertion' out)" = 1 ]
    note $? 'the assertion is told twice'
}

cat >a.cu <<'END'
#include <cstdio>
#include <cstdlib>
#include <array>
#include <string_view>
void report(const char *format, ...);
struct Shape {
    virtual int area(int x) const;
    virtual int pure(int) = 0;
    __host__ __device__ virtual int both(int x) const { return x + 1; }
    __host__ __device__ int use(int x) { if (x > 1000) return pure(x); return x > 100 ? area(x) : both(x); }
};
struct Square : Shape {
    int area(int x) const override { return x * x; }
    virtual int pure(int x) override final { return x; }
    __host__ __device__ int both(int x) const override { return x + 2; }
    __host__ __device__ int again(int x) { return x > 100 ? area(x) : x > 50 ? Square::pure(x) : 3; }
};
int Shape::area(int x) const { return x; }
template <class T> struct Log { static void say(T, ...) {} };
__host__ __device__ int g(int x)
{
    if (x == 7) report("seven %d %f\n", x, 3.0);
    if (x == 8) fprintf((FILE *)nullptr, "eight %d\n", x);
    if (x == 9) Log<int>::say(x, 3, 4);
    return x;
}
__global__ void k(int *p, int x)
{
    Square s;
    std::array<int, 3> a{1, 2, 3};
    p[0] = g(x) + s.use(x) + s.again(x) + a.at(x % 41) + std::string_view("hello").substr(1, 2)[0];
}
void report(const char *format, ...) { printf("report %s", format); }
int main(int argc, char **argv)
{
    Square s;
    Shape *b = &s;
    printf("%d %d %d\n", b->area(5), b->use(200), b->pure(3));
    g(7);
    int *p; cudaMallocManaged(&p, 4);
    k<<<1, 1>>>(p, argc > 1 ? atoi(argv[1]) : 41);
    cudaError_t e = cudaDeviceSynchronize();
    printf("is %d, %s\n", e ? 0 : *p, cudaGetErrorName(e));
}
END
run weircc -std=c++17 --expt-relaxed-constexpr a.cu -o program
ok
says "warning: calling a __host__ function ('report') from a __host__ __device__ function is not allowed"
run ./program
ok
says "25 40000 3"
says "report seven"
says "is 189, cudaSuccess"
comes_to 7 "void report(const char *, ...)"
comes_to 8 "int fprintf(FILE *__restrict, const char *__restrict, ...)"
comes_to 9 "static void Log<int>::say(T, ...) [T = int]"
comes_to 200 "int Shape::area(int) const"
comes_to 2000 "int Shape::pure(int)"
comes_to 46 "std::__throw_out_of_range_fmt(const char *, ...)"

# Where kernels launch kernels: functions of both may, kernels may not.
cat >a.cu <<'END'
#include <cstdio>
#include <cstdlib>
void report(const char *format, ...);
void plain(int);
__host__ __device__ int g(int x)
{
    if (x == 7) report("seven %d %f\n", x, 3.0);
    if (x == 8) plain(x);
    if (x == 9) exit(3);
    return x;
}
__global__ void child(int *p, int x) { *p = g(x); }
__global__ void k(int *p, int x)
{
    child<<<1, 1>>>(p, g(x));
}
void report(const char *format, ...) { printf("report %s", format); }
void plain(int) {}
int main(int argc, char **argv)
{
    g(8);
    int *p; cudaMallocManaged(&p, 4);
    k<<<1, 1>>>(p, argc > 1 ? atoi(argv[1]) : 41);
    cudaError_t e = cudaDeviceSynchronize();
    printf("is %d, %s\n", e ? 0 : *p, cudaGetErrorName(e));
}
END
run weircc -rdc=true a.cu -o program
ok
says "a.cu:7:17: warning: calling a __host__ function ('report') from a __host__ __device__ function is not allowed"
run ./program
says "is 41, cudaSuccess"
comes_to 7 "void report(const char *, ...)"
comes_to 8 "void plain(int)"
comes_to 9 "exit(int)"
sed 's/\*p = g(x)/if (x > 6) plain(x)/' a.cu >b.cu
run weircc -rdc=true -c b.cu
fails
says "b.cu:12:51: error: reference to __host__ function 'plain'"

# Wide characters.
cat >a.cu <<'END'
#include <cstdio>
#include <string>
#include <string_view>
#include <cwchar>
__global__ void k(int *o, const wchar_t *s)
{
    std::wstring_view v(s);
    o[0] = v.size();
    o[1] = v.find(L'c');
    o[2] = v.compare(L"abcdef") ;
    o[3] = std::char_traits<wchar_t>::length(s);
    std::u16string_view u(u"hello");
    o[4] = u.size();
    std::u32string_view u2(U"hello");
    o[5] = u2.find(U'l');
    o[6] = v.starts_with(L"ab");
    o[7] = v == std::wstring_view(L"abcde");
    std::u8string_view u8(u8"hey"); o[8] = u8.size();
    o[9] = u < std::u16string_view(u"help");
    wchar_t buf[8]; std::char_traits<wchar_t>::copy(buf, s, 4); std::char_traits<wchar_t>::move(buf+1, buf, 3);
    std::char_traits<wchar_t>::assign(buf + 5, 2, L'x');
    o[10] = buf[3]; o[11] = buf[6];
    char cb[8]; std::char_traits<char>::copy(cb, "abc", 4); std::char_traits<char>::assign(cb + 5, 2, 'x'); o[12]=cb[6];
    o[13] = v.rfind(L"d"); o[14] = v.find_first_of(L"ed"); o[15] = std::char_traits<char>::compare("abc", "abd", 3);
}
int main() {
 int *o; cudaMallocManaged(&o, 128); wchar_t *s; cudaMallocManaged(&s, 128); wcscpy(s, L"abcde");
 k<<<1,1>>>(o, s); printf("%d\n", (int)cudaDeviceSynchronize()); for (int i = 0; i < 16; i++) printf("%d ", o[i]); puts("");
}
END
run weircc -std=c++20 --expt-relaxed-constexpr a.cu -o program
ok
says_not "'w"
run ./program
says "5 2 -1 5 5 2 1 1 3 1 99 120 120 3 3 -1 "
done_
