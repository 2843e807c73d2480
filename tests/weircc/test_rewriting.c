/* D1.1, module weircc: kernels that launch kernels: what the rewriter makes of each form of a
 * launch, on both sides, and what becomes of the PTX; directives for clusters, parameters that are
 * not copied; what debuggers are told. */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "weircc/device/llvm/casts.h"
#include "weircc/device/llvm/clusters.h"
#include "weircc/device/llvm/constant_memory.h"
#include "weircc/device/llvm/debug_data.h"
#include "weircc/device/llvm/grid_constants.h"
#include "weircc/device/llvm/kept_constants.h"
#include "weircc/device/llvm/math_calls.h"
#include "weircc/device/ptx/launch_ptx.h"
#include "weircc/source/kernel_bodies.h"
#include "weircc/source/launches.h"

/* What is added at the end of every text for the device. */
static const char tail[] =
    "\nstatic __attribute__((global, used)) void " LAUNCH_STATIC_KERNEL "() {}\n";
#define KERNEL "__attribute__((host, device, nvptx_kernel, noinline, used, disable_tail_calls))"
#define BODY   "{ __asm__ volatile(\"\" ::: \"memory\");"

static void check_device(const char *text, const char *expected)
{
    struct strbuf sb = {0};
    launches_rewrite(text, LAUNCH_DEVICE, &sb);
    size_t n = strlen(tail);
    CHECK(sb.count >= n && strcmp(sb.items + sb.count - n, tail) == 0);
    if (sb.count >= n)
        sb.items[sb.count - n] = '\0';
    CHECK_STR(sb.items, expected);
    sb_free(&sb);
}

static void check_host(const char *text, const char *expected)
{
    struct strbuf sb = {0};
    int changes = launches_rewrite(text, LAUNCH_HOST, &sb);
    CHECK_STR(sb.items, expected);
    CHECK_EQ_INT(changes != 0, strcmp(text, expected) != 0);
    sb_free(&sb);
}

/* ---- what is launched ---- */

static void test_callees(void)
{
    static const char *const callees[] = {
        "k",
        "::k",
        "a::b::k",
        "::a::k",
        "k<int>",
        "k<S<int>>",
        "k<S<T<int>>>",
        "a::k<(1 > 0), b[2], sizeof(int)>",
        "S<int>::k",
        "S<1, 2>::template k<3>",
        "(k)",
        "(*p)",
        "(x ? k : l)",
        "table[i]",
        "table[i][j]",
        "s.k",
        "s->k",
        "this->k",
        "s.table[f(1, 2)]",
        "get()",
        "get<int>(1)",
        "get(1)(2)",
        "s->get().k",
    };
    for (size_t i = 0; i < WEIR_COUNT(callees); i++) {
        char *text = xprintf("if (x) %s<<<g, b>>>(y, z);", callees[i]);
        char *expected =
            xprintf("if (x) (__weir_launch(g, b), %s(y, z), __weir_launched());", callees[i]);
        check_device(text, expected);
        free(text);
        free(expected);
    }
}

/* What stands before a callee and is no part of it. */
static void test_before(void)
{
    check_device("return k<<<1, 2>>>();", "return (__weir_launch(1, 2), k(), __weir_launched());");
    check_device("return ::k<<<1, 2>>>();",
                 "return (__weir_launch(1, 2), ::k(), __weir_launched());");
    check_device("else k<<<1, 2>>>();", "else (__weir_launch(1, 2), k(), __weir_launched());");
    check_device("do k<<<1, 2>>>(); while (f());",
                 "do (__weir_launch(1, 2), k(), __weir_launched()); while (f());");
    check_device("(void)k<<<1, 2>>>();", "(void)(__weir_launch(1, 2), k(), __weir_launched());");
    check_device("if (x) (k)<<<1, 2>>>();",
                 "if (x) (__weir_launch(1, 2), (k)(), __weir_launched());");
    check_device("while (f(x)) (*k)<<<1, 2>>>();",
                 "while (f(x)) (__weir_launch(1, 2), (*k)(), __weir_launched());");
    check_device("for (;;) k<<<1, 2>>>();",
                 "for (;;) (__weir_launch(1, 2), k(), __weir_launched());");
    check_device("{k<<<1, 2>>>();}", "{(__weir_launch(1, 2), k(), __weir_launched());}");
    check_device("x: k<<<1, 2>>>();", "x: (__weir_launch(1, 2), k(), __weir_launched());");
    check_device("a = 1, k<<<1, 2>>>(), b = 2;",
                 "a = 1, (__weir_launch(1, 2), k(), __weir_launched()), b = 2;");
    check_device("c ? k<<<1, 2>>>(3) : l<<<4, 5>>>(6);",
                 "c ? (__weir_launch(1, 2), k(3), __weir_launched()) : (__weir_launch(4, 5), l(6), "
                 "__weir_launched());");
    check_device("k<<<1, 2>>>();l<<<3, 4>>>();",
                 "(__weir_launch(1, 2), k(), __weir_launched());(__weir_launch(3, 4), l(), "
                 "__weir_launched());");
}

static void test_configurations(void)
{
    static const char *const configurations[] = {
        "1, 2",
        "1, 2, 3, s",
        "dim3(1, 2), dim3(3)",
        "{1, 2}, {3}",
        "(n + 1) >> 5, 1 << 5",
        "n >> 3, f<1>(2)",
        "a < b, c > d",
        "f<g<h<int>>>(1), 2",
        "f<g<h<int>>>(1), f<g<h<int>>>(2)",
        "[] { return 1; }(), 2",
        "'>' - '<', \">>>(\"[0]",
    };
    for (size_t i = 0; i < WEIR_COUNT(configurations); i++) {
        char *text = xprintf("k<<<%s>>>(a, f<g<h<int>>>(1));", configurations[i]);
        char *expected = xprintf("(__weir_launch(%s), k(a, f<g<h<int>>>(1)), __weir_launched());",
                                 configurations[i]);
        check_device(text, expected);
        free(text);
        free(expected);
    }
}

/* Launches within the arguments of others. */
static void test_nested(void)
{
    check_device("k<<<1, 2>>>([=] { l<<<3, 4>>>(m); });",
                 "(__weir_launch(1, 2), k([=] { (__weir_launch(3, 4), l(m), __weir_launched()); "
                 "}), __weir_launched());");
    check_device("k<<<[] { l<<<3, 4>>>(); return 1; }(), 2>>>();",
                 "(__weir_launch([] { (__weir_launch(3, 4), l(), __weir_launched()); return 1; "
                 "}(), 2), k(), __weir_launched());");
    check_device("t[(l<<<3, 4>>>(), 0)]<<<1, 2>>>();",
                 "(__weir_launch(1, 2), t[((__weir_launch(3, 4), l(), __weir_launched()), 0)](), "
                 "__weir_launched());");
}

/* ---- text ---- */

/* What follows a launch stays on its line. */
static void test_lines(void)
{
    check_device("k\n<<<1,\n  2>>>\n(3,\n4); x",
                 "(__weir_launch(1,   2), k\n\n  \n(3,\n4), __weir_launched()); x");
    check_device("k<<<1,\n# 12 \"a.cu\"\n2>>>(3);",
                 "(__weir_launch(1, 2), k\n# 12 \"a.cu\"\n(3), __weir_launched());");
    check_host("__attribute__((global)) void p() {\nk<<<1,\n2>>>(\n3); }\n",
               "__attribute__((global)) void p() {\n((void)0)\n\n; }\n");
    check_device("# 1 \"a<<<b.cu\"\n#pragma k<<<1, 2>>>()\nx", "# 1 \"a<<<b.cu\"\n#pragma k<<<1, "
                                                               "2>>>()\nx");
}

static void test_no_launch(void)
{
    static const char *const texts[] = {
        "",
        "\n",
        "int a = b << 3 >> 2; S<T<U<int>>> c; d <<= 1;",
        "const char *s = \"k<<<1, 2>>>()\"; // k",
        "s = R\"x(k<<<1, 2>>>())x\";",
        /* what clang will refuse */
        "k<<<1, 2",
        "k<<<1, 2>>>;",
        "k<<<1, 2>>>(3",
        "<<<1, 2>>>()",
        "3<<<1, 2>>>()",
        "+<<<1, 2>>>()",
        "k<<<1, 2;>>>()",
        ")<<<1, 2>>>()",
        "a><<<1, 2>>>()",
        "operator<<<int>(x)",
    };
    for (size_t i = 0; i < WEIR_COUNT(texts); i++)
        check_device(texts[i], texts[i]);
}

static void test_kernels(void)
{
    check_device("__attribute__((global)) void k(int a) { f(); }",
                 KERNEL " void k(int a) " BODY " f(); }");
    check_device("template <int N = S{3}> extern \"C\" __attribute__((global)) void\n"
                 "__attribute__((launch_bounds(N, 2))) k(S s = S{1}) {}",
                 "template <int N = S{3}> extern \"C\" " KERNEL " void\n"
                 "__attribute__((launch_bounds(N, 2))) k(S s = S{1}) " BODY "}");
    check_device("__attribute__((global)) void k(); void f() {}", KERNEL " void k(); void f() {}");
    check_device("__attribute__((device)) void f() { global(); }",
                 "__attribute__((device)) void f() { global(); }");
    check_device("static __attribute__((global)) __attribute__((global)) void k() {}",
                 "static " KERNEL " " KERNEL " void k() " BODY "}");
}

/* ---- the host ---- */

#define DEVICE "__attribute__((device)) "
#define HOST   "__attribute__((host)) "
#define GLOBAL "__attribute__((global)) "

/* A launch at this position stays, or not. */
static void check_position(const char *before, const char *after, bool stays)
{
    char *text = xprintf("%sk<<<1, 2>>>(3);%s", before, after);
    char *expected = xprintf("%s%s;%s", before, stays ? "k<<<1, 2>>>(3)" : "((void)0)", after);
    check_host(text, expected);
    free(text);
    free(expected);
}

/* What is taken out of a pattern leaves its parameter packs. */
static void test_packs(void)
{
    static const char declared[] = "template <class... T> " DEVICE "void f(T... k) { ";
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"(k<<<1, 2>>>(3), ...); }", "(((void)(k), (void)0), ...); }"},
        {"(..., t<T><<<1, 2>>>(3)); }", "(..., ((void)sizeof(T(*)()), (void)0)); }"},
        {"int a[] = {(g<<<1, k>>>(h(k)), 0)...}; }", "int a[] = {(((void)(k), (void)0), 0)...}; }"},
        {"([&] { k<<<1, 2>>>(3); }(), ...); }", "([&] { ((void)(k), (void)0); }(), ...); }"},
        /* expanded in the launch */
        {"(g<<<1, sizeof...(T)>>>(k), ...); }", "(((void)(k), (void)0), ...); }"},
        {"g<T...><<<1, 2>>>((k + 1)...); }", "((void)0); }"},
        {"(g<<<1, 2>>>(x.k, k...), ...); }", "(((void)0), ...); }"},
        {"g<<<1, 2>>>(k); }", "((void)0); }"},
    };
    for (size_t i = 0; i < WEIR_COUNT(cases); i++) {
        char *text = xprintf("%s%s", declared, cases[i].text);
        char *expected = xprintf("%s%s", declared, cases[i].expected);
        check_host(text, expected);
        free(text);
        free(expected);
    }
}

static void test_places(void)
{
    check_position("int main() { ", "}", true);
    check_position(HOST "void f() { ", "}", true);
    check_position(HOST DEVICE "void f() { ", "}", true);
    check_position(DEVICE "inline " HOST "void f() { ", "}", true);
    check_position("__attribute__((host, device)) void f() { ", "}", true);
    check_position(DEVICE "void f() { ", "}", false);
    check_position(GLOBAL "void f() { ", "}", false);
    check_position("void " GLOBAL "f() { ", "}", false);
    check_position(GLOBAL "void f(S s = S{1}) { if (x) { ", "} }", false);
    check_position(DEVICE "int x; void f() { ", "}", true);
    check_position(DEVICE "int x = {1}; void f() { ", "}", true);
    check_position(GLOBAL "void g() {} void f() { ", "}", true);
    check_position(GLOBAL "void g(); void f() { ", "}", true);
    check_position("void g() {} " DEVICE "void f() { ", "}", false);
    check_position("namespace n { struct S { " DEVICE "void g() {} void f() { ", "} }; }", true);
    check_position("struct S { void g() {} " DEVICE "void f() { ", "} };", false);
    check_position("void f() { g([=] " DEVICE "(int x) { ", "}); }", false);
    check_position("void f() { g([=] " DEVICE "(int x) {}, [=](int x) { ", "}); }", true);
    check_position("void f() { g([=] " DEVICE "{}); ", "}", true);
    check_position(GLOBAL "void f() { g([=](int x) { ", "}); }", false);
    check_position(GLOBAL "void f() { auto l = [=] " HOST DEVICE "(int x) { ", "}; }", true);
    check_position("} ) } void f() { ", "} } )", true);
}

/* ---- PTX ---- */

#define HEAD  ".version 8.5\n.target sm_75\n.address_size 64\n"
#define MODEL "_ZL20__weir_static_kernelv__intern__0123"
static const char configure[] = ".extern .func __weir_launch_configure\n(\n.param .b32 p\n)\n;\n";

static void check_ptx(const char *ptx, const char *expected, const char *warnings)
{
    struct strbuf out = {0}, told = {0};
    struct diag d = {0};
    sb_append(&told, "", 0);
    CHECK(launch_ptx_finish(ptx, false, &out, &told, &d));
    CHECK_STR(d.text, "");
    if (expected != NULL)
        CHECK_STR(out.items, expected);
    CHECK_STR(told.items, warnings);
    sb_free(&out);
    sb_free(&told);
}

static void test_static_kernels(void)
{
    check_ptx(HEAD "\t.file\t1 \"k.cu\"\n"
                   ".entry _ZL1kv\n()\n;\n"
                   "\t// .weak " MODEL "\n"
                   ".weak .entry " MODEL "\n(\n\n)\n;\n"
                   ".global .u64 p = _ZL1kv;\n"
                   ".visible .entry k2()\n{\n\tcall.uni _ZL1kv, ();\n$L__tmp0:\n\tret;\n}\n"
                   ".entry _ZL1kv()\n{\n\t.loc\t1 1 1\n\tret;\n}\n"
                   ".weak .entry " MODEL "()\n{\n\tret;\n}\n",
              HEAD ".visible .entry _ZL1kv__intern__0123\n()\n;\n"
                   ".global .u64 p = _ZL1kv__intern__0123;\n"
                   ".visible .entry k2()\n{\n\tcall.uni _ZL1kv__intern__0123, ();\n\tret;\n}\n"
                   ".visible .entry _ZL1kv__intern__0123()\n{\n\tret;\n}\n",
              "");
    struct strbuf out = {0}, told = {0};
    struct diag d = {0};
    CHECK(!launch_ptx_finish("no PTX", false, &out, &told, &d));
    CHECK(d.text[0] != '\0');
    sb_free(&out);
    sb_free(&told);
}

static void test_stack_accesses(void)
{
    check_ptx(HEAD ".visible .entry k(.param .u64 a)\n{\n"
                   ".local .align 8 .b8 depot[64];\n.reg .b64 %SP, %SPL, %rd<4>;\n"
                   ".reg .b32 %r<4>;\n.reg .f32 %f<4>;\n"
                   "\tmov.u64 %SPL, depot;\n\tcvta.local.u64 %SP, %SPL;\n"
                   "\tld.u32 %r1, [%SP+8];\n\tst.v2.f32 [%SP], {%f1, %f2};\n"
                   "\tld.u32 %r1, [%rd1+8];\n\tadd.u64 %rd1, %SP, 8;\n"
                   "\tld.volatile.u32 %r1, [%SP+8];\n\tld.local.u32 %r1, [%SPL+8];\n\tret;\n}\n",
              HEAD ".visible .entry k(.param .u64 a)\n{\n"
                   ".local .align 8 .b8 depot[64];\n.reg .b64 %SP, %SPL, %rd<4>;\n"
                   ".reg .b32 %r<4>;\n.reg .f32 %f<4>;\n"
                   "\tmov.u64 %SPL, depot;\n\tcvta.local.u64 %SP, %SPL;\n"
                   "\tld.local.u32 %r1, [%SPL+8];\n\tst.local.v2.f32 [%SPL], {%f1, %f2};\n"
                   "\tld.u32 %r1, [%rd1+8];\n\tadd.u64 %rd1, %SP, 8;\n"
                   "\tld.volatile.u32 %r1, [%SP+8];\n\tld.local.u32 %r1, [%SPL+8];\n\tret;\n}\n",
              "");
}

/* A parent that passes %rd9, made by `code`, to a launch of `child`. */
static void check_pointer(const char *code, const char *kind)
{
    char *ptx = xprintf(HEAD "\t.file\t1 \"/src/a.cu\"\n%s"
                             ".visible .entry _Z5childPi\n(\n.param .b64 q\n)\n{\n\tret;\n}\n"
                             ".visible .entry parent\n(\n.param .b64 a\n)\n{\n"
                             ".local .align 8 .b8 depot[64];\n.shared .align 4 .b8 tile[64];\n"
                             ".reg .b64 %%rd<20>;\n.reg .pred %%p<4>;\n.reg .b32 %%r<4>;\n"
                             "ld.param.u64 %%rd1, [a];\n"
                             "%s"
                             "\t.loc\t1 7 9\n"
                             "{\n.param .b32 param0;\nst.param.b32 [param0], 1;\n"
                             "call.uni __weir_launch_configure, (param0);\n}\n"
                             "{\n.param .b64 param0;\nst.param.b64 [param0], %%rd9;\n"
                             "call.uni _Z5childPi, (param0);\n}\n"
                             "\tret;\n}\n",
                        configure, code);
    char *expected =
        kind == NULL ? xstrdup("")
                     : xprintf("/src/a.cu:7:9: warning: a pointer to %s memory is passed to the "
                               "launch of a kernel, 'child' (argument 1): the child grid cannot "
                               "use it\n",
                               kind);
    check_ptx(ptx, NULL, expected);
    free(ptx);
    free(expected);
}

static void test_pointers(void)
{
    check_pointer("mov.u64 %rd9, %rd1;\n", NULL);
    check_pointer("mov.u64 %rd2, tile;\ncvta.shared.u64 %rd9, %rd2;\n", "shared");
    check_pointer("mov.u64 %rd2, depot;\ncvta.local.u64 %rd3, %rd2;\nadd.u64 %rd9, %rd3, 8;\n",
                  "local");
    check_pointer("cvta.shared.u64 %rd9, %rd1;\n", "shared");
    check_pointer("mov.u64 %rd2, tile;\ncvta.shared.u64 %rd3, %rd2;\n"
                  "mul.lo.u64 %rd4, %rd1, 4;\nadd.s64 %rd9, %rd4, %rd3;\n",
                  "shared");
    /* on one way it is a pointer to anything */
    check_pointer("cvta.shared.u64 %rd9, %rd1;\nsetp.eq.u64 %p1, %rd1, 0;\n@%p1 bra skip;\n"
                  "mov.u64 %rd9, %rd1;\nskip:\n",
                  NULL);
    check_pointer("cvta.shared.u64 %rd3, %rd1;\nsetp.eq.u64 %p1, %rd1, 0;\n"
                  "selp.b64 %rd9, %rd3, %rd1, %p1;\n",
                  NULL);
    check_pointer("cvta.shared.u64 %rd3, %rd1;\nadd.u64 %rd4, %rd3, 8;\n"
                  "setp.eq.u64 %p1, %rd1, 0;\nselp.b64 %rd9, %rd3, %rd4, %p1;\n",
                  "shared");
    /* an address in shared memory's own space is a number as any other; a loaded pointer, too */
    check_pointer("cvta.to.shared.u64 %rd9, %rd1;\n", NULL);
    check_pointer("cvta.shared.u64 %rd3, %rd1;\nld.u64 %rd9, [%rd3];\n", NULL);
}

/* ---- clusters ---- */

/* LLVM's text for one kernel with these arguments, and PTX that has it; what becomes of the PTX. */
static void check_clusters(const char *types, const char *values, const char *kernel,
                           const char *directives, const char *message)
{
    char *llvm =
        xprintf("target triple = \"nvptx64-nvidia-cuda\"\n\n"
                "@.str = private constant [5 x i8] c\"mine\\00\", section \"llvm.metadata\"\n"
                "@.str1 = private constant [18 x i8] c\"weir.cluster_dims\\00\", section "
                "\"llvm.metadata\"\n"
                "@.args = private constant { %s } { %s }, section \"llvm.metadata\"\n"
                "@llvm.global.annotations = appending global [3 x { ptr, ptr, ptr, i32, "
                "ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @other, ptr @.str, ptr @.str2, "
                "i32 3, ptr null }, { ptr, ptr, ptr, i32, ptr } { ptr @kernel, ptr @.str1, "
                "ptr @.str2, i32 3, ptr @.args }, { ptr, ptr, ptr, i32, ptr } { ptr @%s, "
                "ptr @.str1, ptr @.str2, i32 3, ptr @.args }], section \"llvm.metadata\"\n",
                types, values, kernel);
    static const char before[] = ".visible .entry kernel\n(\n\t.param .u64 p\n)\n;\n"
                                 ".visible .entry other()\n{\n\tret;\n}\n"
                                 ".weak .entry kernel(\n\t.param .u64 p\n)\n.maxntid 8, 1, 1\n";
    static const char after[] = "{\n\tcall kernels;\n}\n.visible .entry kernels()\n{\n}\n";
    char *ptx = xprintf("%s%s", before, after);
    char *want = xprintf("%s%s%s", before, directives, after);
    struct strbuf out = {0};
    struct diag d = {0};
    CHECK(clusters_finish(ptx, llvm, &out, &d) == (message == NULL));
    if (message == NULL)
        CHECK_STR(out.items, want);
    else
        CHECK_STR(d.text, message);
    sb_free(&out);
    free(want);
    free(ptx);
    free(llvm);
}

static void test_clusters(void)
{
    static const char least[] =
        "__cluster_dims__ of 'kernel': a cluster has at least one block in each direction";
    static const char integer[] = "__cluster_dims__ of 'kernel': an argument is not an integer";
    check_clusters("i32, i32", "i32 1, i32 4", "kernel",
                   ".explicitcluster\n.reqnctapercluster 4, 1, 1\n", NULL);
    check_clusters("i32, i64, i8, i32", "i32 1, i64 4, i8 2, i32 3", "\"kernel\"",
                   ".explicitcluster\n.reqnctapercluster 4, 2, 3\n", NULL);
    check_clusters("i32, i32", "i32 1, i32 0", "kernel", "", least);
    check_clusters("i32, i32, i32", "i32 1, i32 2, i32 -1", "kernel", "", least);
    check_clusters("i32, double", "i32 1, double 2.000000e+00", "kernel", "", integer);
    check_clusters("i32, i1", "i32 1, i1 true", "kernel", "", integer);
    check_clusters("i32, i32, i32, i32, i32", "i32 1, i32 1, i32 1, i32 1, i32 1", "kernel", "",
                   "__cluster_dims__ of 'kernel': more than three arguments");
    check_clusters("i32, i32", "i32 1, i32 4", "function", "",
                   "__cluster_dims__ of 'function', which is not a kernel");
}

/* ---- parameters ---- */

/* Only what is handed over in memory has an address of its own; names may be quoted, and other
 * annotations stay. */
static void test_grid_constants(void)
{
#define STRINGS                                                                                    \
    "@.str = private unnamed_addr constant [19 x i8] c\"weir.grid_constant\\00\", section \"x\"\n" \
    "@.str.1 = private unnamed_addr constant [6 x i8] c\"other\\00\", section \"x\"\n"
#define OTHER                                                                                      \
    "  call void @llvm.var.annotation.p0.p0(ptr %0, ptr @.str.1, ptr @.f, i32 4, ptr null)\n"
#define SIGNATURE                                                                                  \
    "define void @\"k<(int)1>\"(ptr byval([2 x { i32, i32 }]) align 4 %0, i32 %1, "                \
    "ptr byval(%struct.M) align 64 %map) #1 {\n"
    struct strbuf sb = {0};
    grid_constants_rewrite(
        STRINGS SIGNATURE OTHER
        "  call void @llvm.var.annotation.p0.p0(ptr %map, ptr @.str, ptr @.f, i32 4, ptr "
        "null)\n"
        "  call void @llvm.var.annotation.p0.p0(ptr %0, ptr @.str, ptr @.f, i32 4, ptr null)\n"
        "  call void @llvm.var.annotation.p0.p0(ptr %7, ptr @.str, ptr @.f, i32 4, ptr null)\n"
        "  ret void\n}\n"
        "define void @plain(ptr %0) {\n" OTHER "}\n"
        "!nvvm.annotations = !{!4}\n!4 = !{ptr @\"k<(int)1>\", !\"kernel\", i32 1}\n",
        &sb);
    CHECK_STR(sb.items, STRINGS SIGNATURE OTHER
              "  ret void\n}\n"
              "define void @plain(ptr %0) {\n" OTHER "}\n"
              "!nvvm.annotations = !{!4, !5}\n!4 = !{ptr @\"k<(int)1>\", !\"kernel\", i32 1}\n"
              "!5 = !{ptr @\"k<(int)1>\", !\"grid_constant\", !6}\n!6 = !{i32 3, i32 1}\n");
    sb_free(&sb);
}

/* What has no mark moves, wherever it is used, with what debuggers are told of it. What is marked,
 * only declared or used in a way that is not known stays, and so do strings. Other annotations than
 * the mark stay, too. */
static void test_constant_memory(void)
{
#define USE(space, name) "addrspacecast (ptr addrspace(" space ") @" name " to ptr)"
#define TEXT(space)                                                                                \
    "@a = internal addrspace(" space ") constant [1 x i32] [i32 1], align 4, !dbg !0\n"            \
    "@\"b, c\" = addrspace(" space ") externally_initialized constant i32 2, comdat, align 4\n"    \
    "@m = addrspace(4) global i32 3, align 4, !dbg !2\n"                                           \
    "@d = external addrspace(4) global i32, align 4\n"                                             \
    "@other = internal addrspace(4) constant i32 4\n"                                              \
    "@p = internal addrspace(" space                                                               \
    ") constant { ptr, ptr } { ptr " USE(space, "a") ", ptr " USE(                                 \
        "4", "m") " }\n"                                                                           \
                  "@s = constant [9 x i8] c\"" USE(                                                \
                      "4", "a") "\"\n"                                                             \
                                "@.str = private constant [14 x i8] c\"weir.constant\\00\"\n"      \
                                "@.str.1 = private constant [2 x i8] c\"x\\00\"\n"
#define CODE(space)                                                                                \
    "  %1 = load i32, ptr " USE(                                                                   \
        space, "\"b, c\"") "\n"                                                                    \
                           "  %2 = load i32, ptr addrspace(4) @other\n  %3 = load i32, ptr " USE(  \
                               "4", "other") "\n"                                                  \
                                             "  %4 = add i32 ptrtoint (ptr " USE(                  \
                                                 "4", "d") "), ptrtoint (ptr " USE(space,          \
                                                                                   "a") ")\n"
#define NODES(where)                                                                               \
    "!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression(" where "))\n"                  \
    "!2 = !DIGlobalVariableExpression(var: !3, expr: !DIExpression(" XDEREF "))\n"
#define XDEREF                   "DW_OP_constu, 4, DW_OP_swap, DW_OP_xderef"
#define TYPE                     "{ ptr, ptr, i32 }"
#define ENTRY(space, name, text) TYPE " { ptr " USE(space, name) ", ptr @" text ", i32 7 }"
#define ANNOTATIONS              "@llvm.global.annotations = appending global "
#define KERNEL_NOTE              TYPE " { ptr @kernel, ptr @.str.1, i32 7 }"
    struct strbuf sb = {0};
    constant_memory_rewrite(
        TEXT("4") ANNOTATIONS
        "[4 x " TYPE "] [" ENTRY("4", "m", ".str") ", " KERNEL_NOTE ", " ENTRY(
            "4", "m", ".str") ", " ENTRY("4", "a", ".str.1") "], section \"x\"\n" CODE("4")
            NODES(XDEREF),
        &sb);
    CHECK_STR(sb.items, TEXT("1") ANNOTATIONS "[2 x " TYPE "] [" KERNEL_NOTE ", " ENTRY(
                            "1", "a", ".str.1") "], section \"x\"\n" CODE("1") NODES(""));
    sb_free(&sb);
    constant_memory_rewrite(TEXT("4") ANNOTATIONS "[1 x " TYPE
                                                  "] [" ENTRY("4", "m", ".str") "]\n" CODE("4")
                                                      NODES(XDEREF),
                            &sb);
    CHECK_STR(sb.items, TEXT("1") CODE("1") NODES(""));
    sb_free(&sb);
    /* nothing is to be done */
    constant_memory_rewrite("@d = external addrspace(4) global i32\n" NODES(XDEREF), &sb);
    CHECK_STR(sb.items, "@d = external addrspace(4) global i32\n" NODES(XDEREF));
    sb_free(&sb);
}

/* What the host asks for is visible, by the host's name where clang has given it none. What is
 * there for the option alone is let go; what has other reasons to stay does. */
static void test_kept_constants(void)
{
#define CAST(name) "ptr addrspacecast (ptr addrspace(4) @" name " to ptr)"
#define USED       "@llvm.compiler.used = appending global "
    struct strbuf sb = {0};
    struct strlist names = {0};
    list_add(&names, "_ZL1a__static__01");
    list_add(&names, "_ZL1b__static__01");
    list_add(&names, "_Z1tIiE");
    kept_constants_rewrite(
        "\n@_ZL1a = internal addrspace(4) constant i32 1\n"
        "@_ZL1b = internal addrspace(4) constant i32 2\n"
        "@_ZL2ab = internal addrspace(4) constant i32 3\n"
        "@_Z1tIiE = linkonce_odr addrspace(4) constant i32 4, comdat\n"
        "@_ZL1b__static__01 = addrspace(4) constant i32 2\n"
        "@y = addrspace(1) global i32 5\n" USED
        "[6 x ptr] [" CAST("_ZL1a") ", " CAST("_ZL1b") ", " CAST("_ZL2ab") ", " CAST(
            "_Z1tIiE") ", " CAST("_ZL1b__static__01") ", "
                                                      "ptr @y"
                                                      "], section \"m\"\n"
                                                      "  load " CAST("_ZL1a") "\n",
        &names, &sb);
    CHECK_STR(sb.items,
              "\n@_ZL1a__static__01 = addrspace(4) constant i32 1\n"
              "@_ZL1b = internal addrspace(4) constant i32 2\n"
              "@_ZL2ab = internal addrspace(4) constant i32 3\n"
              "@_Z1tIiE = weak_odr addrspace(4) constant i32 4, comdat\n"
              "@_ZL1b__static__01 = addrspace(4) constant i32 2\n"
              "@y = addrspace(1) global i32 5\n" USED
              "[4 x ptr] [" CAST("_ZL1a__static__01") ", " CAST(
                  "_Z1tIiE") ", " CAST("_ZL1b__static__01") ", ptr @y], section \"m\"\n  "
                                                            "load " CAST("_ZL1a__static__01") "\n");
    sb_free(&sb);
}

/* ---- what debuggers are told ---- */

/* Units lose their imports, wherever these stand; strings and other nodes stay as they are. */
static void test_debug_data(void)
{
#define UNIT "!9 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3"
#define REST                                                                                       \
    "@.str = c\", imports: !1\"\n!1 = !DISubprogram(name: \"f\", imports: !4)\n!8 = "              \
    "!{!\"!9 = distinct !DICompileUnit(a, imports: !2)\"}\n"
    static const char *const texts[][2] = {
        {UNIT ", globals: !11, imports: !12, splitDebugInlining: false)\n",
         UNIT ", globals: !11, splitDebugInlining: false)\n"},
        {UNIT ", imports: !12)\n", UNIT ")\n"},
        {UNIT ", flags: \"-D X=a, imports: !5\", imports: !12)", /* the text ends in it */
         UNIT ", flags: \"-D X=a, imports: !5\")"},
        {UNIT ", flags: \"a, imports: !5\")\n", UNIT ", flags: \"a, imports: !5\")\n"},
        {"", ""},
    };
    for (size_t i = 0; i < WEIR_COUNT(texts); i++) {
        struct strbuf sb = {0};
        char *text = xprintf(REST "%s", texts[i][0]), *expected = xprintf(REST "%s", texts[i][1]);
        debug_data_rewrite(text, &sb);
        CHECK_STR(sb.items, expected);
        sb_free(&sb);
        free(expected);
        free(text);
    }
}

/* Functions of LLVM's and of the C library, as calls of the device library. */
static void test_math_calls(void)
{
    static const char text[] = "define internal float @__nv_expf(float %0) #1 {\n"
                               "  %2 = call contract float @llvm.exp.f32(float %1)\n"
                               "  %3 = tail call double @erf(double %4), !dbg !5\n"
                               "  %4 = call float @erff(float %2)\n"
                               "  %5 = frem contract float %2, 2.000000e+00, !dbg !7\n"
                               "  %6 = call float @llvm.exp.f16(half %9)\n"
                               "}\n"
                               "declare float @llvm.exp.f32(float) #4\n"
                               "declare double @erf(double) #5\n"
                               "define float @erff(float %0) {\n";
    struct strbuf sb = {0};
    CHECK_EQ_INT(math_calls_rewrite(text, &sb), 4);
    CHECK_STR(sb.items, "define internal float @__nv_expf(float %0) #1 {\n"
                        "  %2 = call contract float @__nv_expf(float %1)\n"
                        "  %3 = tail call double @__nv_erf(double %4), !dbg !5\n"
                        "  %4 = call float @erff(float %2)\n"
                        "  %5 = call contract float @__nv_fmodf(float %2, float 2.000000e+00), "
                        "!dbg !7\n"
                        "  %6 = call float @llvm.exp.f16(half %9)\n"
                        "}\n"
                        "declare double @__nv_erf(double) #5\n"
                        "define float @erff(float %0) {\n"
                        "declare float @__nv_fmodf(float, float)\n");
    sb_free(&sb);
    CHECK(math_calls_found_library("declare float @__nv_logbf(float)\n"));
    CHECK(!math_calls_found_library("declare float @__nv_expf(float)\n"));
}

/* ---- time ---- */

/* A text of many lines, none of which holds what is looked for, is read once, and not once for each
 * line. */
static void test_long_text(void)
{
    struct strbuf text = {0}, out = {0};
    sb_printf(&text, "  %%1 = frem float %%2, %%3\n");
    for (int i = 0; i < 200000; i++)
        sb_printf(&text, "  %%12 = add i32 %%1, 2\n");
    clock_t begin = clock();
    casts_rewrite(text.items, &out);
    CHECK_STR(out.items, text.items);
    out.count = 0;
    casts_lower(text.items, &out);
    out.count = 0;
    math_calls_rewrite(text.items, &out);
    CHECK((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
    sb_free(&text);
    sb_free(&out);
}

/* ---- kernels for the host ---- */

static void check_bodies(const char *text, const char *expected)
{
    struct strbuf sb = {0};
    kernel_bodies_empty(text, &sb);
    CHECK_STR(sb.items, expected);
    sb_free(&sb);
}

static void test_kernel_bodies(void)
{
    check_bodies(
        "__attribute__((global)) void k(int n = f({1})) { if (n) { g(); } }\nint a() { return 1; }",
        "__attribute__((global)) void k(int n = f({1})) {}\nint a() { return 1; }");
    check_bodies("template <class T> __attribute__((launch_bounds(c<T>(), 1)))\n"
                 "static __attribute__((global)) void k(T) noexcept(b{} == 1)\n"
                 "{\n#pragma unroll\n    while (f()) { }\n# 7 \"a.cu\"\n}\nint b;",
                 "template <class T> \n"
                 "static __attribute__((global)) void k(T) noexcept(b{} == 1)\n"
                 "{\n\n    \n# 7 \"a.cu\"\n}\nint b;");
    check_bodies(
        "__attribute__((global)) void k(int);\n__attribute__((device)) int d() { return 2; }",
        "__attribute__((global)) void k(int);\n__attribute__((device)) int d() { return 2; }");
    check_bodies(
        "template <class T> __attribute__((global)) void k(T v) requires (c<T>) { v.f(); }",
        "template <class T> __attribute__((global)) void k(T v) requires (c<T>) {}");
    check_bodies("template <class T> __attribute__((global)) void k(T v) requires requires (T t) { "
                 "t.f(); } { v.f(); }",
                 "template <class T> __attribute__((global)) void k(T v) requires requires (T t) { "
                 "t.f(); } {}");
    check_bodies("struct s { friend __attribute__((global)) void k(int); int m() { return 1; } };",
                 "struct s { friend __attribute__((global)) void k(int); int m() { return 1; } };");
    CHECK(!kernel_bodies_may_be_why("error: use of undeclared identifier 'x'"));
    CHECK(kernel_bodies_may_be_why(
        "error: constexpr variable 'c' must be initialized by a constant expression"));
}

int main(void)
{
    test_long_text();
    test_kernel_bodies();
    test_callees();
    test_before();
    test_configurations();
    test_nested();
    test_lines();
    test_no_launch();
    test_kernels();
    test_places();
    test_packs();
    test_static_kernels();
    test_stack_accesses();
    test_pointers();
    test_clusters();
    test_constant_memory();
    test_kept_constants();
    test_grid_constants();
    test_debug_data();
    test_math_calls();
    return check_done();
}
