/* C2, module weircc: the files that weircc writes and reads itself: fat binaries, rules for make,
 * object files; and what it makes of clang's messages. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "weircc/messages/messages.h"
#include "weircc/objects/elf.h"
#include "weircc/objects/fatbin.h"
#include "weircc/objects/rdc_asm.h"
#include "weircc/source/mend.h"
#include "weircc/files/depfile.h"

static void write_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(bytes, 1, n, f) == n);
    if (f != NULL)
        fclose(f);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

/* ---- fat binaries ---- */

static void check_head(const char *text, bool ok, int major, int minor, int arch, bool debug)
{
    struct ptx_head head = {0};
    struct diag d = {0};
    CHECK_EQ_INT(ptx_read_head(text, &head, &d), ok);
    if (!ok) {
        CHECK(d.text[0] != '\0');
        return;
    }
    CHECK_EQ_INT(head.major, major);
    CHECK_EQ_INT(head.minor, minor);
    CHECK_EQ_INT(head.arch, arch);
    CHECK_EQ_INT(head.debug, debug);
}

static void test_ptx_head(void)
{
    check_head(".version 8.5\n.target sm_75\n", true, 8, 5, 75, false);
    check_head("// .version 1.0\n/* x\n*/ .version 7.0 // c\n .target sm_90a, debug\n", true, 7, 0,
               90, true);
    check_head(".version 8.0\n.target sm_80 // debug\n", true, 8, 0, 80, false);
    check_head(".target sm_80\n", false, 0, 0, 0, false);
    check_head(".version 8.0\n.address_size 64\n", false, 0, 0, 0, false);
    check_head("", false, 0, 0, 0, false);
    check_head("/* open", false, 0, 0, 0, false);
}

static uint64_t number(const char *p, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)bytes);
    return v;
}

static void test_fatbin(void)
{
    static const char ptx[] = ".version 8.5\n.target sm_86\n.address_size 64\n";
    struct diag d = {0};
    size_t size = 0;
    write_text("t.ptx", ptx);
    CHECK(fatbin_write("t.ptx", NULL, "t.fatbin", &d));
    char *f = file_read("t.fatbin", &size, &d);
    CHECK(f != NULL);
    CHECK_EQ_INT(number(f, 4), 0xBA55ED50u);
    CHECK_EQ_INT(number(f + 4, 2), 1);
    CHECK_EQ_INT(number(f + 6, 2), 16);
    CHECK_EQ_INT(number(f + 8, 8), size - 16);
    const char *entry = f + 16;
    CHECK_EQ_INT(number(entry, 2), 1);
    CHECK_EQ_INT(number(entry + 4, 4), 80);
    CHECK_EQ_INT(number(entry + 8, 8), size - 16 - 80);
    CHECK_EQ_INT(number(entry + 8, 8) % 8, 0);
    CHECK_EQ_INT(number(entry + 24, 2), 5);
    CHECK_EQ_INT(number(entry + 26, 2), 8);
    CHECK_EQ_INT(number(entry + 28, 4), 86);
    /* the options of NVIDIA's assembler, which its driver reads: none, "" */
    CHECK_EQ_INT(number(entry + 20, 4), 64);
    CHECK_EQ_INT(number(entry + 64, 4), 72);
    CHECK_EQ_INT(number(entry + 68, 4), 0);
    CHECK_EQ_INT(number(entry + 72, 8), 0);
    CHECK_STR(entry + 80, ptx); /* ended by a NUL */
    char *back = fatbin_read_ptx("t.fatbin", &d);
    CHECK_STR(back, ptx);
    free(back);
    free(f);
}

static void test_bad_fatbin(void)
{
    struct diag d = {0};
    CHECK(!fatbin_write("missing.ptx", NULL, "x.fatbin", &d));
    CHECK(strstr(d.text, "missing.ptx") != NULL);
    write_text("bad.ptx", "hello\n");
    d = (struct diag){0};
    CHECK(!fatbin_write("bad.ptx", NULL, "x.fatbin", &d));
    CHECK(strstr(d.text, "not PTX") != NULL);
    write_bytes("nul.ptx", ".version 8.5\n.target sm_75\n\0more", 33);
    d = (struct diag){0};
    CHECK(!fatbin_write("nul.ptx", NULL, "x.fatbin", &d));
    CHECK(access("x.fatbin", F_OK) != 0);
    d = (struct diag){0};
    CHECK(!fatbin_write("t.ptx", NULL, "no/such/directory.fatbin", &d));
    CHECK(strstr(d.text, "no/such/directory.fatbin") != NULL);
    d = (struct diag){0};
    CHECK(fatbin_read_ptx("bad.ptx", &d) == NULL);
    CHECK(strstr(d.text, "not a fat binary") != NULL);
}

/* Every truncation of a container is refused, none is read past its end. */
static void test_truncated_fatbin(void)
{
    size_t size = 0;
    struct diag d = {0};
    char *f = file_read("t.fatbin", &size, &d);
    for (size_t n = 0; f != NULL && n < size; n++) {
        write_bytes("cut.fatbin", f, n);
        d = (struct diag){0};
        CHECK(fatbin_read_ptx("cut.fatbin", &d) == NULL);
        CHECK(d.text[0] != '\0');
    }
    free(f);
}

static void test_fatbin_without_ptx(void)
{
    size_t size = 0;
    struct diag d = {0};
    char *f = file_read("t.fatbin", &size, &d);
    CHECK(f != NULL);
    f[16 + 41] = (char)0x80; /* the zstd flag */
    write_bytes("z.fatbin", f, size);
    CHECK(fatbin_read_ptx("z.fatbin", &d) == NULL);
    CHECK(strstr(d.text, "compressed") != NULL);
    d = (struct diag){0};
    f[16] = 2; /* a cubin */
    write_bytes("elf.fatbin", f, size);
    CHECK(fatbin_read_ptx("elf.fatbin", &d) == NULL);
    CHECK(strstr(d.text, "holds no PTX") != NULL);
    free(f);
}

/* ---- device symbols ---- */

static void note_symbol(void *self, const char *name, enum device_linkage linkage)
{
    static const char marks[] = {[DEVICE_EXTERN] = '?', [DEVICE_GLOBAL] = '!', [DEVICE_WEAK] = '~'};
    sb_printf(self, "%c%s ", marks[linkage], name);
}

static void check_symbols(const char *ptx, const char *expected)
{
    struct strbuf sb = {0};
    sb_append(&sb, "", 0);
    ptx_visit_symbols(ptx, note_symbol, &sb);
    CHECK_STR(sb.items, expected);
    sb_free(&sb);
}

static void test_device_symbols(void)
{
    check_symbols(".visible .entry _Z1kPi(\n.param .u64 p\n)\n{ ret; }", "!_Z1kPi ");
    check_symbols(".extern .func  (.param .b32 func_retval0) f\n(\n.param .b32 x\n)\n;", "?f ");
    check_symbols(".extern .func g;\n.weak .func (.param .b32 r) h() { }", "?g ~h ");
    check_symbols(".visible .global .align 4 .u32 v = 3;\n.extern .const .align 8 .b8 c[16];",
                  "!v ?c ");
    check_symbols(".extern .shared .align 16 .b8 dynamic[];\n.global .u32 own;\n.func s() {}", "");
    check_symbols("// .visible .entry a()\n/* .extern .func b; */ .file 1 \".visible .func c\"",
                  "");
    check_symbols(".visible .global .attribute(.managed) .align 4 .u32 m;", "!m ");
    check_symbols(".weak .entry $odd$name_1(", "~$odd$name_1 ");
    check_symbols(".visible", "");
    check_symbols(".visible .func (", "");
    check_symbols("", "");
}

/* ---- rules for make ---- */

static void check_rule(const char *text, const char *expected)
{
    struct strlist files = {0};
    struct diag d = {0};
    struct strbuf sb = {0};
    write_text("rule.d", text);
    CHECK(depfile_read("rule.d", &files, &d));
    sb_printf(&sb, "%s", "");
    for (size_t i = 0; i < files.count; i++)
        sb_printf(&sb, "[%s]", files.items[i]);
    CHECK_STR(sb.items, expected);
    sb_free(&sb);
}

static void test_read_rules(void)
{
    check_rule("a.o: a.cu b.h\n", "[a.cu][b.h]");
    check_rule("a.o: a.cu \\\n  b.h \\\n  c.h\n\nb.h:\n", "[a.cu][b.h][c.h]");
    check_rule("C:\\ x.o : one\\ two.cu d$$r.h e\\#f.h one\\ two.cu\n",
               "[one two.cu][d$r.h][e#f.h]");
    check_rule("a.o:\n", "");
    check_rule("a.o: a.cu", "[a.cu]");
    check_rule("", "");
}

static void test_write_rules(void)
{
    struct strlist files = {0};
    struct diag d = {0};
    list_add(&files, "my file.cu");
    list_add(&files, "/inc/cuda.h");
    list_add(&files, "/inc2/a$b.h");
    struct depfile_rule rule = {
        .target = "my file.o", .skip_directories = {"/inc", NULL}, .phony_targets = true};
    CHECK(depfile_write("out.d", &rule, &files, &d));
    char *text = file_read("out.d", NULL, &d);
    CHECK_STR(text, "my\\ file.o : my\\ file.cu \\\n    /inc2/a$$b.h\n\n/inc2/a$$b.h:\n");
    free(text);
    CHECK(!depfile_write("no/such/out.d", &rule, &files, &d));
    CHECK(strstr(d.text, "no/such/out.d") != NULL);
}

/* ---- object files ---- */

__attribute__((section("weir_test_section"), used)) static int in_section = 1;

static void test_sections(void)
{
    CHECK(elf_has_section("/proc/self/exe", "weir_test_section"));
    CHECK(!elf_has_section("/proc/self/exe", "weir_test_sect"));
    CHECK(!elf_has_section("/proc/self/exe", "no such section"));
    CHECK(!elf_has_section("missing.o", ".text"));
    CHECK(!elf_has_section("t.ptx", ".text"));
    write_bytes("cut.o", "\177ELF\2\1\1", 7);
    CHECK(!elf_has_section("cut.o", ".text"));
}

/* ---- messages ---- */

/* What messages_show prints, by way of a file instead of standard error. */
static char *shown(struct messages *m, const char *text)
{
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    int fd = open("shown.txt", O_CREAT | O_TRUNC | O_RDWR, 0600);
    dup2(fd, STDERR_FILENO);
    messages_show(m, text);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
    return file_read("shown.txt", NULL, NULL);
}

static void test_messages(void)
{
    static const char device[] = "In file included from a.cu:1:\n"
                                 "b.h:3:5: warning: unused variable 'x' [-Wunused-variable]\n"
                                 "    3 | int x; // error: not one\n"
                                 "      |     ^\n"
                                 "a.cu:9:1: note: seen from here\n"
                                 "2 warnings generated when compiling for sm_75.\n";
    static const char host[] = "In file included from a.cu:1:\n"
                               "b.h:3:5: warning: unused variable 'x' [-Wunused-variable]\n"
                               "    3 | int x; // error: not one\n"
                               "      |     ^\n"
                               "a.cu:9:1: note: seen from here\n"
                               "a.cu:12:1: error: expected ';'\n"
                               "1 warning and 1 error generated when compiling for host.\n";
    struct messages m = {0};
    char *first = shown(&m, device);
    CHECK(strstr(first, "In file included from a.cu:1:\nb.h:3:5: warning") == first);
    CHECK(strstr(first, "note: seen from here\n") != NULL);
    CHECK(strstr(first, "generated") == NULL);
    CHECK_EQ_INT(m.errors, 0);
    char *second = shown(&m, host);
    CHECK_STR(second, "a.cu:12:1: error: expected ';'\n");
    CHECK_EQ_INT(m.errors, 1);
    free(first);
    free(second);
}

/* A disk that is full is no reason to report a defect of clang's. */
static void test_unwritable_message(void)
{
    struct messages m = {0};
    char *text =
        shown(&m, "fatal error: error in backend: IO failure on output stream: No space left "
                  "on device\nPLEASE submit a bug report to https://x and include it.\n"
                  "Stack dump:\n0.\tProgram arguments: clang\n"
                  "a.cu:2:1: warning: another\n");
    CHECK_STR(text, "fatal error: cannot write: No space left on device\n"
                    "a.cu:2:1: warning: another\n");
    CHECK_EQ_INT(m.errors, 1);
    free(text);
}

static void test_reworded_message(void)
{
    struct messages m = {0};
    char *text =
        shown(&m, "a.cu:3:9: error: reference to __global__ function 'child' in __global__ "
                  "function\n    3 | child<<<1, 1>>>();\n"
                  "a.cu:1:17: note: 'child' declared here\n"
                  "    1 | __global__ void child() {}\n");
    CHECK(strstr(text, "a.cu:3:9: error: kernel 'child' is launched from device code") == text);
    CHECK(strstr(text, "child<<<1, 1>>>") != NULL);
    CHECK(strstr(text, "declared here") == NULL);
    free(text);
}

/* ---- what nvcc lets pass ---- */

static void check_fix(const char *text, const char *expected)
{
    struct strbuf sb = {0};
    int changes = mend_text(text, &(struct mend_plan){0}, &sb);
    CHECK_STR(sb.items, expected);
    CHECK_EQ_INT(changes != 0, strcmp(text, expected) != 0);
    sb_free(&sb);
}

static void check_unions(const char *text, const char *expected)
{
    struct strbuf sb = {0};
    mend_text(text, &(struct mend_plan){.unions = true}, &sb);
    const char *after = strchr(sb.items, '\n'); /* the line that defines the union */
    CHECK(after != NULL);
    CHECK_STR(after != NULL ? after + 1 : "", expected);
    sb_free(&sb);
}

static void test_mend_shared(void)
{
#define S "__attribute__((shared))"
    check_unions(
        "{ " S " a::b<c, 2> x; }",
        "{ typedef a::b<c, 2> __weir_type_x; " S
        "  __weir_shared<__weir_type_x> __weir_place_x; auto &x = __weir_place_x.value; }");
    check_unions("static " S "\nbar<(1 > 0)> x [ 2 ][N];",
                 "       typedef bar<(1 > 0)> __weir_type_x [ 2 ][N]; " S
                 "\n __weir_shared<__weir_type_x> __weir_place_x; auto &x = __weir_place_x.value;");
    check_unions(S " alignas(8) t x;", "typedef t __weir_type_x; " S
                                       " _Alignas(8)  __weir_shared<__weir_type_x> __weir_place_x; "
                                       "auto &x = __weir_place_x.value;");
    check_unions("{ " S " static alignas(8) a::b<c> x; }",
                 "{ typedef a::b<c> __weir_type_x; " S
                 " static _Alignas(8)  __weir_shared<__weir_type_x> __weir_place_x; auto &x = "
                 "__weir_place_x.value; }");
    const char *const stay[] = {S " float x[4];", S " t x, y;", S " t x = 1;", S " t x[];",
                                S " struct t x;"};
    for (size_t i = 0; i < WEIR_COUNT(stay); i++)
        check_unions(stay[i], stay[i]);
#undef S
}

static void test_mend_launches(void)
{
    check_fix("k << < g, b >> > (x);", "k <<<  g, b >>>  (x);");
    check_fix("k<< <g, f(b >> 1)>> >(x); y >> > (z);", "k<<< g, f(b >> 1)>>> (x); y >> > (z);");
    check_fix("k <<< g, b >> > (x);", "k <<< g, b >>>  (x);");
    check_fix("k< < < g,\n b> > >\n(x);", "k<<<   g,\n b>>>  \n(x);");
    check_fix("k << < g, sizeof(v<w<x<int> > >) >> > ();",
              "k <<<  g, sizeof(v<w<x<int> > >) >>>  ();");
    check_fix("k<<<g, b>>>(x);", "k<<<g, b>>>(x);");
    check_fix("v<w<x<int> > > (y);", "v<w<x<int> > > (y);");
    check_fix("friend o &operator<< <T>(o &, v<w<T> > > (u));",
              "friend o &operator<< <T>(o &, v<w<T> > > (u));");
    check_fix("a << b; c < d;", "a << b; c < d;");
    check_fix("k<<<g, {x, f({1}), 1}, 0>>>(y, {z});", "k<<<g, dim3{x, f({1}), 1}, 0>>>(y, {z});");
    check_fix("k<<<{2}, f({3}), v>>>(x); h(a, {b});", "k<<<dim3{2}, f({3}), v>>>(x); h(a, {b});");
}

static void test_mend_templates(void)
{
    struct mend_plan plan = {0};
    CHECK(!mend_learn("a.cu:1:2: error: no such thing\n", &plan));
    const char *messages =
        "a.cu:9:13: error: missing 'template' keyword prior to dependent template name 'cast'\n"
        "    9 |     int r = V<D, S>::cast<n>(d, s);\n"
        "a.cu:2:3: error: reference to overloaded function could not be resolved; did you mean\n"
        "  219 |   conv<A<a>, b>::\tapply <n>(q->f(), w.get < 3 > (x));\n";
    CHECK(mend_learn(messages, &plan));
    CHECK(!mend_learn(messages, &plan));
    CHECK_EQ_INT(plan.members.count, 3);
    const char *text = "r = V<D, S>::cast<n>(d, s) + v.\n cast < (n > 2) >\n(d);\n"
                       "q->cast<n>(d)->get<3>(); q->template cast<n>(d);\n"
                       "a.cast < b; c.cast<d>::e(); x.other<n>(d); cast<n>(d);\n"
                       "template <> int V<D, S>::cast<3>(D *, S *) { return 3; }\n";
    struct strbuf sb = {0};
    CHECK_EQ_INT(mend_text(text, &plan, &sb), 4);
    CHECK_STR(sb.items,
              "r = V<D, S>::template cast<n>(d, s) + v.\n template cast < (n > 2) >\n(d);\n"
              "q->template cast<n>(d)->template get<3>(); q->template cast<n>(d);\n"
              "a.cast < b; c.cast<d>::e(); x.other<n>(d); cast<n>(d);\n"
              "template <> int V<D, S>::cast<3>(D *, S *) { return 3; }\n");
    sb_free(&sb);
    for (size_t i = 0; i < plan.members.count; i++)
        free(plan.members.items[i]);
    free(plan.members.items);
}

/* What clang says of constexpr functions and of templates that are members, and what is made of it.
 */
static void test_mend_constexprs(void)
{
    struct constexpr_places places = {0};
    CHECK(!constexprs_learn("a.cu:1:2: error: no such thing\n", &places));
    const char *messages =
        "b.h:3:4: error: variable of non-literal type 'V' (aka 'W') cannot be defined in a "
        "constexpr "
        "function "
        "before C++23\n"
        "b.h:7:16: error: constexpr if condition is not a constant expression\n"
        "b.h:6:1: error: use 'template' keyword to treat 'rebind' as a dependent template name\n"
        "b.h:6:1: error: reference to non-static member function must be called\n";
    CHECK(constexprs_learn(messages, &places));
    CHECK(!constexprs_learn(messages, &places));
    const char *text =
        "# 1 \"a.cu\"\nV a;\n# 1 \"b.h\" 1\n"
        "struct S { constexpr S(int n = 2) { constexpr int k = 1; if constexpr (k) {\n"
        "\n"
        "V v; } } constexpr int f() { return 1; }\n"
        "typename A<B<c>>::rebind<d>::e x; A::rebind<e> y; b ::rebind<c>;\n"
        "p.operator()<1>(x); operator()<1>(x);\n"
        "\n"
        "if constexpr (this->n and not this->m) f(this->n);\n"
        "if constexpr (this->f() or this->n) g();\n# 9 \"a.cu\" 2\nV b;\n";
    struct strbuf sb = {0};
    CHECK_EQ_INT(constexprs_write(text, &places, &sb), 5);
    const char *begin = strstr(sb.items, "# 1 \"a.cu\"");
    CHECK(begin != NULL);
    CHECK_STR(begin, "# 1 \"a.cu\"\nV a;\n# 1 \"b.h\" 1\n"
                     "struct S {  S(int n = 2) { constexpr int k = 1; if constexpr (k) {\n"
                     "\n"
                     "V v; } } constexpr int f() { return 1; }\n"
                     "typename A<B<c>>:: template rebind<d>::e x; A::rebind<e> y; b ::rebind<c>;\n"
                     "p.template operator()<1>(x); operator()<1>(x);\n"
                     "\n"
                     "if constexpr (decltype(__weir_class(this))::type::n and not "
                     "decltype(__weir_class(this))::type::m) f(this->n);\n"
                     "if constexpr (this->f() or this->n) g();\n# 9 \"a.cu\" 2\nV b;\n");
    sb_free(&sb);
    for (struct strlist *l = &places.variables; l <= &places.types; l++) {
        for (size_t i = 0; i < l->count; i++)
            free(l->items[i]);
        free(l->items);
    }
}

static void test_mend_guides(void)
{
    struct mend_plan plan = {0};
    CHECK(!mend_learn("a.cu:1:2: error: no viable constructor or deduction guide for deduction\n",
                      &plan));
    const char *messages =
        "a.cu:1:2: error: no viable constructor or deduction guide for deduction of template\n"
        "b.h:3:4: note: candidate function not viable: call to __host__ function from __device__\n";
    CHECK(mend_learn(messages, &plan) && plan.guides);
    CHECK(!mend_learn(messages, &plan));
    struct mend_plan other = {0};
    CHECK(mend_learn("a.cu:1:2: error: reference to __host__ function '<deduction guide for "
                     "pair><int *>' in __host__ __device__ function\n",
                     &other) &&
          other.guides);
    const char *text =
        "template <class T> box(T, int) -> box<T>;\nexplicit box(f(int)) ->\n box<int>;\n"
        "auto box(int) -> other<int>; box(p)->run<int>(); auto f(int) -> f_t;\n";
    struct strbuf sb = {0};
    CHECK_EQ_INT(mend_text(text, &plan, &sb), 2);
    CHECK_STR(
        sb.items,
        "template <class T> __attribute__((host)) __attribute__((device)) box(T, int) -> box<T>;\n"
        "explicit __attribute__((host)) __attribute__((device)) box(f(int)) ->\n box<int>;\n"
        "auto box(int) -> other<int>; box(p)->run<int>(); auto f(int) -> f_t;\n");
    sb_free(&sb);
}

/* Where clang says that specifiers are missing, and what is written there. */
static void test_mend_specifiers(void)
{
    struct specifier_places places = {0};
    CHECK(!specifiers_learn("a.cu:4:12: error: out-of-line definition of 'f' does not match any "
                            "declaration in 'S'\n    4 | void S::f() {}\n      |         ^\n",
                            &places));
    CHECK(!specifiers_learn(
        "a.cu:4:1: error: __global__ function 'k' cannot overload __host__ function 'k'\n"
        "    4 | X k() {}\n      |   ^\n"
        "a.cu:1:6: note: previous declaration is here\n    1 | void k();\n      |      ^\n",
        &places));
    const char *messages =
        "a.cu:4:12: error: out-of-line definition of 'f' does not match any declaration in 'n::S'\n"
        "    4 | __device__ int n::S<int>::f(int f) {}\n"
        "      |                           ^\n"
        "b \\c.h:2:9: note: member declaration nearly matches\n"
        "    2 | int f(); int f(int); int *f(char);\n"
        "      |              ^\n"
        "a.cu:5:12: error: __host__ __device__ function 'operator+' cannot overload __host__ "
        "function 'operator+'\n"
        "    5 | X int &S::operator+(int) {}\n"
        "      |           ^\n"
        "b \\c.h:3:9: note: previous declaration is here\n"
        "    3 | int &operator+(int);\n"
        "      |      ^\n";
    CHECK(specifiers_learn(messages, &places));
    CHECK(!specifiers_learn(messages, &places));
    CHECK_EQ_INT((int)places.count, 4);
    const char *text = "# 1 \"b \\\\c.h\" 1\nint f();\nint f(); int f(int); int *f(char);\n"
                       "int &operator+(int);\n# 4 \"a.cu\" 2\n"
                       "D int n::S<int>::f(int f) {}\nB int &S::operator+(int) {}\n";
    struct strbuf sb = {0};
    CHECK_EQ_INT(specifiers_write(text, &places, &sb), 4);
    CHECK_STR(sb.items,
              "# 1 \"b \\\\c.h\" 1\nint f();\n"
              "int f(); int __attribute__((device)) f(int); int *f(char);\n"
              "int &__attribute__((host)) __attribute__((device)) operator+(int);\n"
              "# 4 \"a.cu\" 2\nD int __attribute__((device)) n::S<int>::f(int f) {}\n"
              "B int &__attribute__((host)) __attribute__((device)) S::operator+(int) {}\n");
    sb_free(&sb);
    for (size_t i = 0; i < places.count; i++) {
        free(places.items[i].file);
        free(places.items[i].word);
    }
    free(places.items);
}

static void test_mend(void)
{
    check_fix("asm(\"mov.u32 %0, %smid;\" : \"=r\"(x));",
              "asm(\"mov.u32 %0, %%smid;\" : \"=r\"(x));");
    check_fix("asm volatile (\"mov %0, \" \"%lanemask_lt\" \";\" : \"=r\"(x) : : \"memory\");",
              "asm volatile (\"mov %0, \" \"%%lanemask_lt\" \";\" : \"=r\"(x) : : \"memory\");");
    check_fix("__asm__ __volatile__(\"%%tid.x %0 %1 %w2 %[n] %=\" : \"=r\"(f(a, b)) : \"r\"(y));",
              "__asm__ __volatile__(\"%%tid.x %0 %1 %w2 %[n] %=\" : \"=r\"(f(a, b)) : \"r\"(y));");
    check_fix("asm(\"st [%1], %0;\" ::\"r\"(v) \"l\"(p) : \"memory\");",
              "asm(\"st [%1], %0;\" ::\"r\"(v) ,\"l\"(p) : \"memory\");");
    check_fix("asm(\"%0 %1\" : [a] \"=r\"(v[1]) [b] \"=l\"((p)(q)));",
              "asm(\"%0 %1\" : [a] \"=r\"(v[1]) ,[b] \"=l\"((p)(q)));");
    /* no operands: % means nothing special */
    check_fix("asm(\"mov.u32 r, %smid;\");", "asm(\"mov.u32 r, %smid;\");");
    /* what only looks like one */
    check_fix("f(\"asm(\\\"%smid\\\" : 1)\"); int asm_x = 1'000; char c = '\"'; g(\"%smid\" + (a ? "
              "b : c));",
              "f(\"asm(\\\"%smid\\\" : 1)\"); int asm_x = 1'000; char c = '\"'; g(\"%smid\" + (a ? "
              "b : c));");
    check_fix("x = R\"(asm(\"%smid\" : \"=r\"(x)))\";", "x = R\"(asm(\"%smid\" : \"=r\"(x)))\";");
    check_fix("# 1 \"a.cu\"\n# 2 \"it's.cu\"\nasm(\"%smid %0\"\n# 3 \"a.cu\"\n: \"=r\"(x));",
              "# 1 \"a.cu\"\n# 2 \"it's.cu\"\nasm(\"%%smid %0\"\n# 3 \"a.cu\"\n: \"=r\"(x));");
    check_fix("static __attribute__((shared)) alignas(16) float t[4];",
              "static __attribute__((shared)) _Alignas(16) float t[4];");
    check_fix("__attribute__((a(b), c)) __attribute__((d))\nalignas(x) int y;",
              "__attribute__((a(b), c)) __attribute__((d))\n_Alignas(x) int y;");
    check_fix("__attribute__((shared)) alignas(16) alignas(sizeof(T)) a::b<c> y;",
              "__attribute__((shared)) _Alignas(16) _Alignas(sizeof(T)) a::b<c> y;");
    check_fix("__attribute__((shared)) static\n# 3 \"a.cu\"\nconst alignas(16) T y;",
              "__attribute__((shared)) static\n# 3 \"a.cu\"\nconst _Alignas(16) T y;");
    check_fix("__attribute__((a)) struct __attribute__((b)) __attribute__((c)) alignas(16) s {};",
              "__attribute__((a)) struct __attribute__((b)) __attribute__((c)) alignas(16) s {};");
    check_fix("struct alignas(16) s { alignas(8) int x; } __attribute__((device)) t;",
              "struct alignas(16) s { alignas(8) int x; } __attribute__((device)) t;");
    check_fix("__attribute__((a", "__attribute__((a");
    check_fix("__attribute__", "__attribute__");
    check_fix("asm", "asm");
    check_fix("asm(\"open", "asm(\"open");
    check_fix("asm(\"a\" : \"b\"(", "asm(\"a\" : \"b\"(");
    check_fix("", "");
}

/* Files are written into a directory of the test's own, wherever it is started. */
static void enter_directory(char *directory)
{
    const char *parent = getenv("TMPDIR");
    snprintf(directory, PATH_MAX, "%s/weircc-files-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(directory) == NULL || chdir(directory) != 0) {
        perror(directory);
        exit(2);
    }
}

static void leave_directory(const char *directory)
{
    DIR *d = opendir(".");
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            CHECK_EQ_INT(unlink(e->d_name), 0);
    closedir(d);
    CHECK(chdir("/") == 0 && rmdir(directory) == 0);
}

int main(void)
{
    char directory[PATH_MAX];
    enter_directory(directory);
    test_mend();
    test_mend_launches();
    test_mend_templates();
    test_mend_constexprs();
    test_mend_guides();
    test_mend_specifiers();
    test_mend_shared();
    test_ptx_head();
    test_fatbin();
    test_bad_fatbin();
    test_truncated_fatbin();
    test_fatbin_without_ptx();
    test_device_symbols();
    test_read_rules();
    test_write_rules();
    CHECK_EQ_INT(in_section, 1);
    test_sections();
    test_messages();
    test_unwritable_message();
    test_reworded_message();
    leave_directory(directory);
    return check_done();
}
