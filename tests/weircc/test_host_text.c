/* Module weircc: the host half of CUDA files for a compiler that knows no CUDA: what becomes of
 * each form of declaration, body, lambda and launch, and which records an assembler file gets. */
#include <stdlib.h>

#include "check.h"
#include "weircc/ccbin/host_records.h"
#include "weircc/ccbin/host_text.h"

#define DEVICE "__attribute__((device)) "
#define BOTH   "__attribute__((host)) __attribute__((device)) "
#define GLOBAL "__attribute__((global)) "
#define UNUSED "__attribute__((unused)) "
#define USED   "__attribute__((used)) "
#define SHADOW "__attribute__((used, visibility(\"internal\"))) "
#define STUB(sizes, addresses)                                                                     \
    "{ static __attribute__((used)) unsigned long __weir_kernel[] = {1, " sizes                    \
    "}; void *__weir_arguments[] = {" addresses                                                    \
    "nullptr}; ::__weir_launch_stub(__weir_kernel, __weir_arguments); }"
#define ADDRESS(name) "(void *)__builtin_addressof(" name "), "
#define SIZE(name)    "sizeof(" name "), "

static void check(const char *text, const char *expected)
{
    struct strbuf out = {0};
    struct diag d = {0};
    CHECK(host_text_rewrite(text, &out, &d));
    CHECK_STR(out.items, expected);
    sb_free(&out);
}

static void check_same(const char *text) { check(text, text); }

static void test_kernels(void)
{
    check(GLOBAL "void k(int *a, const float b) { a[0] = b; }", USED
          "void k(int *a, const float b) " STUB(SIZE("a") SIZE("b"), ADDRESS("a") ADDRESS("b")));
    check("template <class T, int N = (1 > 0)> " GLOBAL "void k(S<T, N> x = S<T, N>()) { f(x); }",
          "template <class T, int N = (1 > 0)> " USED
          "void k(S<T, N> x = S<T, N>()) " STUB(SIZE("x"), ADDRESS("x")));
    check("void __attribute__((launch_bounds(256, 2))) " GLOBAL "k(void) { }",
          "void __attribute__((unused)) " USED "k(void) " STUB("", ""));
    check("template <class... T> " GLOBAL "void k(T... x) { }",
          "template <class... T> " USED
          "void k(T... x) " STUB("sizeof(x)..., ", "(void *)__builtin_addressof(x)..., "));
    check(GLOBAL "void k(int, T *, unsigned, void (*f)(int), float (&m)[3], N::t) { }", USED
          "void k(int __weir_parameter_0, T * __weir_parameter_1, unsigned "
          "__weir_parameter_2, void (*f)(int), float (&m)[3], N::t __weir_parameter_5) " STUB(
              SIZE("__weir_parameter_0") SIZE("__weir_parameter_1") SIZE("__weir_parameter_2")
                  SIZE("f") SIZE("m") SIZE("__weir_parameter_5"),
              ADDRESS("__weir_parameter_0") ADDRESS("__weir_parameter_1") ADDRESS(
                  "__weir_parameter_2") ADDRESS("f") ADDRESS("m") ADDRESS("__weir_parameter_5")));
    check(GLOBAL "void k(int *p);", USED "void k(int *p);");
    check("template " GLOBAL "void k<int>(int *);", "template " USED "void k<int>(int *);");
    struct strbuf out = {0};
    struct diag d = {0};
    CHECK(!host_text_rewrite(GLOBAL "void k(void (*)(int)) {}", &out, &d));
    CHECK(strstr(d.text, "a name for each parameter") != NULL);
    sb_free(&out);
}

static void test_functions(void)
{
    check(DEVICE "int f(int x) { return __popc(x); }", UNUSED "int f(int x) { __builtin_trap(); }");
    check(DEVICE "void f() {\n  a();\n#pragma unroll\n  b();\n}\nint x;",
          UNUSED "void f() {\n  \n\n  \n}\nint x;");
    check(BOTH "int f() { return 1; }", UNUSED UNUSED "int f() { return 1; }");
    check(DEVICE "auto f() { return 1; }", UNUSED "auto f() { return 1; }");
    check(DEVICE "auto f() -> decltype(g<1>()) { return 1; }",
          UNUSED "auto f() -> decltype(g<1>()) { __builtin_trap(); }");
    check(DEVICE "constexpr int f() { return 1; }", UNUSED "constexpr int f() { return 1; }");
    check("struct S { public: " DEVICE "S() : a{1}, b(2) { c(); } " DEVICE
          "~S() { c(); } int a; };",
          "struct S { public: " UNUSED "S() : a{1}, b(2) { } " UNUSED "~S() { } int a; };");
    check("struct S { " DEVICE "S() = default; " DEVICE "T &operator=(const T &) { return x; } };",
          "struct S { " UNUSED "S() = default; " UNUSED
          "T &operator=(const T &) { __builtin_trap(); } };");
    check("struct S { " DEVICE "float operator()(int i) const { return i; } };",
          "struct S { " UNUSED "float operator()(int i) const { __builtin_trap(); } };");
    check("template <class T> " DEVICE "enable_if_t<(sizeof(T) > 4), T> f(T x = T{}) { return x; }",
          "template <class T> " UNUSED
          "enable_if_t<(sizeof(T) > 4), T> f(T x = T{}) { __builtin_trap(); }");
    check(BOTH "R(T &) -> R<T>;", "  R(T &) -> R<T>;");
    check_same("int f() { return 1; } struct [[nodiscard]] S {}; int g[3] = {1, 2, 3};");
}

static void test_variables(void)
{
    check("__attribute__((constant)) float t[2] = {1, 2};", SHADOW "float t[2] = {1, 2};");
    check("static " DEVICE "int (*table[])(int) = {f, g};",
          "static " SHADOW "int (*table[])(int) = {f, g};");
    check(DEVICE "S s{1};", SHADOW "S s{1};");
    check("extern " DEVICE "int x;", "extern " UNUSED "int x;");
    check("extern __attribute__((shared)) int s[];", "extern " UNUSED "int s[];");
    check("__attribute__((device, section(\"weir_managed\"))) int m;",
          "__attribute__((used, visibility(\"internal\"), section(\"weir_managed\"))) int m;");
}

static void test_lambdas(void)
{
    check("auto f = [=] " DEVICE "(int i) { p[i] = i; };", "auto f = [=]  (int i) { p[i] = i; };");
    check("g([] " BOTH "{ return 1; });", "g([]   { return 1; });");
    check("g([](int i) " DEVICE "{ return i; });", "g([](int i)  { return i; });");
}

static void test_launches(void)
{
    check("k<<<1, n>>>(a, b);", "(::__cudaPushCallConfiguration(1, n) ? (void)0 : k(a, b));");
    check("n::k<S<int>>\n<<<g(),\n b>>>(a);",
          "(::__cudaPushCallConfiguration(g(), b) ? (void)0 : n::k<S<int>>\n\n (a));");
    check("if (x) k<T><<<{1, 2}, 3>>>(k2<<<4, 5>>>(c), d); else y();",
          "if (x) (::__cudaPushCallConfiguration({1, 2}, 3) ? (void)0 : k<T>"
          "((::__cudaPushCallConfiguration(4, 5) ? (void)0 : k2(c)), d)); else y();");
}

/* ---- records ---- */

static const char ptx[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
                          ".visible .const .align 4 .b8 c[8];\n"
                          ".visible .global .align 4 .u32 _ZL1z__static__0123;\n"
                          ".visible .entry _Z1kPi(.param .u64 p) { ret; }\n"
                          ".visible .entry unused(.param .u32 p) { ret; }\n";

static bool records(const char *assembler, bool rdc, struct strbuf *out, struct diag *d)
{
    return host_records_add(assembler, ptx, rdc ? NULL : "0123456789", 10, out, d);
}

static void test_records(void)
{
    static const char host[] =
        "\t.globl\t_Z1kPi\n_Z1kPi:\n\tret\n\t.globl\tc\n\t.internal\tc\nc:\n\t.zero\t8\n"
        "\t.local\t_ZL1z\n\t.comm\t_ZL1z,4,4\n"
        "_ZZ1kPiE13__weir_kernel:\n\t.quad\t1\n\t.quad\t8\n";
    struct strbuf out = {0};
    struct diag d = {0};
    CHECK(records(host, false, &out, &d));
    CHECK(strstr(out.items, "\t.globl\t_Z1kPi\n") != NULL);
    CHECK(strstr(out.items, "\t.globl\tc\n") == NULL);
    CHECK(strstr(out.items, "\t.quad\t_Z1kPi\n") != NULL);
    CHECK(strstr(out.items, "\t.quad\t_ZZ1kPiE13__weir_kernel\n") != NULL);
    CHECK(strstr(out.items, "\t.quad\t_ZL1z\n") != NULL);
    CHECK(strstr(out.items, "\t.asciz\t\"_ZL1z__static__0123\"\n") != NULL);
    CHECK(strstr(out.items, "unused") == NULL);
    CHECK(strstr(out.items, "\t.quad\t0x3736353433323130,0x3938\n") != NULL);
    sb_free(&out);
    CHECK(records("\t.globl\tc\nc:\n\t.zero\t8\n", false, &out, &d)); /* the host's own */
    CHECK(strstr(out.items, "\t.globl\tc\n") != NULL);
    sb_free(&out);
    CHECK(records(host, true, &out, &d));
    CHECK(strstr(out.items, "\t.globl\tc\n") != NULL);
    CHECK(strstr(out.items, "cuda_offloading_entries") != NULL);
    CHECK(strstr(out.items, "nv_fatbin") == NULL);
    sb_free(&out);
    CHECK(!records("_ZZ1kPiE13__weir_kernel:\n\t.quad\t1\n\t.quad\t4\n", false, &out, &d));
    CHECK(strstr(d.text, "other sizes") != NULL);
    sb_free(&out);
    d = (struct diag){0};
    CHECK(!records("_ZZ1qPiE13__weir_kernel:\n\t.quad\t1\n\t.quad\t8\n", false, &out, &d));
    CHECK(strstr(d.text, "_ZZ1qPiE13__weir_kernel") != NULL);
    sb_free(&out);
}

int main(void)
{
    test_kernels();
    test_functions();
    test_variables();
    test_lambdas();
    test_launches();
    test_records();
    return check_done();
}
