/* C2, module weircc: the option table and the reading of a command line: every option in every
 * spelling, lists, values that are not allowed, response files, the choice of the architecture. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "weircc/options/arch.h"
#include "weircc/options/options.h"

/* Parses up to four arguments. */
static bool parse(struct cmdline *c, struct diag *d, const char *a, const char *b, const char *e,
                  const char *f)
{
    const char *args[] = {a, b, e, f};
    int n = 0;
    while (n < 4 && args[n] != NULL)
        n++;
    memset(c, 0, sizeof *c);
    memset(d, 0, sizeof *d);
    return cmdline_parse(c, n, (char **)args, d);
}

/* A value that the option allows. */
static const char *good_value(const struct option *o)
{
    static char first[64];
    if (o->form == FORM_BOOL)
        return "true";
    if (o->values == NULL)
        return "value";
    if (strcmp(o->values, "#number") == 0)
        return "3";
    snprintf(first, sizeof first, "%.*s", (int)strcspn(o->values, "|"), o->values);
    return first;
}

static const char *stored(const struct cmdline *c, int id)
{
    enum option_form form = option_table[id].form;
    if (form != FORM_LIST && form != FORM_SPEC)
        return c->value[id];
    return c->list[id].count == 1 ? c->list[id].items[0] : NULL;
}

/* One option by one of its names: bare, with '=', with a space, and refused where it must be. */
static void check_spelling(int id, const char *dashes, const char *name)
{
    const struct option *o = &option_table[id];
    struct cmdline c;
    struct diag d;
    char *bare = xprintf("%s%s", dashes, name);
    if (id == OPT_options_file)
        return;
    if (o->form == FORM_FLAG) {
        CHECK_EQ_INT(parse(&c, &d, bare, NULL, NULL, NULL), o->use != USE_REFUSE);
        CHECK_EQ_INT(c.given[id], o->use != USE_REFUSE);
        char *with_value = xprintf("%s=1", bare);
        CHECK(!parse(&c, &d, with_value, NULL, NULL, NULL));
        return;
    }
    const char *value = good_value(o);
    char *joined = xprintf("%s=%s", bare, value);
    bool ok = parse(&c, &d, joined, NULL, NULL, NULL);
    CHECK_EQ_INT(ok, o->use != USE_REFUSE);
    if (!ok) {
        CHECK(strstr(d.text, o->lname) != NULL && strstr(d.text, "not supported") != NULL);
        return;
    }
    CHECK_STR(stored(&c, id), value);
    CHECK(parse(&c, &d, bare, value, NULL, NULL));
    CHECK_STR(stored(&c, id), value);
    CHECK(!parse(&c, &d, bare, NULL, NULL, NULL)); /* the value is missing */
    CHECK(strstr(d.text, "argument expected after") != NULL);
    if (o->values != NULL) {
        CHECK(!parse(&c, &d, bare, "nonsense", NULL, NULL));
        CHECK(strstr(d.text, "nonsense") != NULL);
    }
}

static void test_every_spelling(void)
{
    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option *o = &option_table[id];
        CHECK(o->lname != NULL && o->text != NULL && o->text[0] != '\0');
        check_spelling(id, "--", o->lname);
        if (o->sname != NULL)
            check_spelling(id, "-", o->sname);
    }
}

/* No name may stand for two options. */
static void test_names_are_unique(void)
{
    for (int a = 0; a < OPT_COUNT; a++)
        for (int b = a + 1; b < OPT_COUNT; b++) {
            const struct option *x = &option_table[a], *y = &option_table[b];
            CHECK(strcmp(x->lname, y->lname) != 0);
            if (x->sname != NULL && y->sname != NULL)
                CHECK(strcmp(x->sname, y->sname) != 0);
        }
}

static void test_joined_values(void)
{
    struct cmdline c;
    struct diag d;
    CHECK(parse(&c, &d, "-Iinc", "-Llib", "-lm", "-DX=1"));
    CHECK_STR(c.list[OPT_include_path].items[0], "inc");
    CHECK_STR(c.list[OPT_library_path].items[0], "lib");
    CHECK_STR(c.list[OPT_library].items[0], "m");
    CHECK_STR(c.list[OPT_define_macro].items[0], "X=1");
    CHECK(parse(&c, &d, "-O3", "-UY", "-t4", "-I=dir"));
    CHECK_STR(c.value[OPT_optimize], "3");
    CHECK_STR(c.list[OPT_undefine_macro].items[0], "Y");
    CHECK_STR(c.list[OPT_include_path].items[0], "dir");
    CHECK(parse(&c, &d, "-UX", "-DX=3,Y", "-U", "Y")); /* the order tells what is defined */
    CHECK_EQ_INT(c.macros.count, 4);
    CHECK_STR(c.macros.items[0], "-UX");
    CHECK_STR(c.macros.items[1], "-DX=3");
    CHECK_STR(c.macros.items[3], "-UY");
    CHECK(!parse(&c, &d, "-Ofast", NULL, NULL, NULL));
    CHECK(!parse(&c, &d, "-oout", NULL, NULL, NULL)); /* nvcc does not join these either */
    CHECK(!parse(&c, &d, "-xcu", NULL, NULL, NULL));
    CHECK(!parse(&c, &d, "-XcompilerWall", NULL, NULL, NULL));
}

/* Several words in one value, as makefiles have them. */
static void test_several_words(void)
{
    static const char *const words[] = {"-O2", "-pthread", "-DX=a b", "-fPIC"};
    struct cmdline c;
    struct diag d;
    CHECK(parse(&c, &d, "-Xcompiler", " -O2  -pthread -DX=\"a b\",-fPIC ", NULL, NULL));
    CHECK_EQ_INT(c.list[OPT_compiler_options].count, 4);
    for (size_t i = 0; i < 4 && i < c.list[OPT_compiler_options].count; i++)
        CHECK_STR(c.list[OPT_compiler_options].items[i], words[i]);
    /* what a shell makes of it, and before that one level of escapes */
    static const char *const values[][2] = {{"'-fPIC'", "-fPIC"},
                                            {"-DZ='z'", "-DZ=z"},
                                            {"-DZ=\\\"w\\\"", "-DZ=w"},
                                            {"-DZ=\\\\\\\"w\\\\\\\"", "-DZ=\"w\""},
                                            {"'-DZ=\"k l\"'", "-DZ=\"k l\""},
                                            {"it's", "it's"}};
    for (size_t i = 0; i < WEIR_COUNT(values); i++) {
        CHECK(parse(&c, &d, "-Xcompiler", values[i][0], NULL, NULL));
        CHECK_EQ_INT(c.list[OPT_compiler_options].count, 1);
        CHECK_STR(c.list[OPT_compiler_options].items[0], values[i][1]);
    }
}

static void test_unknown(void)
{
    static const char *const unknown[] = {"-fPIC",      "-Wall", "--foo",           "-foo=bar",
                                          "--rdc=true", "--o",   "--use-fast-math", "-output-file"};
    struct cmdline c;
    struct diag d;
    for (size_t i = 0; i < WEIR_COUNT(unknown); i++) {
        CHECK(!parse(&c, &d, unknown[i], NULL, NULL, NULL));
        CHECK(strstr(d.text, unknown[i]) != NULL);
    }
    CHECK(parse(&c, &d, "-fPIC", "-forward-unknown-to-host-compiler", NULL, NULL));
    CHECK_STR(c.unknown_compiler.items[0], "-fPIC");
    CHECK_EQ_INT(c.unknown_linker.count, 0);
    CHECK(parse(&c, &d, "--forward-unknown-opts", "-foo=bar", "a.cu", NULL));
    CHECK_STR(c.unknown_compiler.items[0], "-foo=bar");
    CHECK_STR(c.unknown_linker.items[0], "-foo=bar");
    CHECK_EQ_INT(c.order.count, 1);
}

static void check_list(const char *text, const char *expected)
{
    struct strlist l = {0};
    struct strbuf sb = {0};
    list_split(&l, text);
    sb_printf(&sb, "%s", "");
    for (size_t i = 0; i < l.count; i++)
        sb_printf(&sb, "[%s]", l.items[i]);
    CHECK_STR(sb.items, expected);
    sb_free(&sb);
}

static void test_lists(void)
{
    check_list("a,b,c", "[a][b][c]");
    check_list("a", "[a]");
    check_list("", "");
    check_list("a,,b", "[a][b]");
    check_list("f(a\\,b),c", "[f(a,b)][c]");
    check_list("\"-Wl,-rpath,x\",y", "[-Wl,-rpath,x][y]");
    check_list("Y=\"p,q\"", "[Y=\"p,q\"]");
}

static void check_words(const char *text, const char *expected)
{
    struct strlist l = {0};
    struct diag d = {0};
    struct strbuf sb = {0};
    bool ok = args_split(&l, text, &d);
    sb_printf(&sb, "%s", ok ? "" : "error");
    for (size_t i = 0; ok && i < l.count; i++)
        sb_printf(&sb, "[%s]", l.items[i]);
    CHECK_STR(sb.items, expected);
    sb_free(&sb);
}

static void test_words(void)
{
    check_words(" -c  a.cu\n-o \"b c.o\"\t", "[-c][a.cu][-o][b c.o]");
    check_words("-DX='a \"b\"' -I\\ y", "[-DX=a \"b\"][-I y]");
    check_words("\"open", "error");
    check_words("", "");
    check_words("''", "[]");
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    if (f != NULL) {
        fputs(text, f);
        fclose(f);
    }
}

static void test_response_files(void)
{
    struct cmdline c;
    struct diag d;
    char dir[] = "/tmp/weircc-options-XXXXXX";
    CHECK(mkdtemp(dir) != NULL && chdir(dir) == 0);
    write_file("outer.opt", "-DA -optf inner.opt\n-DC");
    write_file("inner.opt", "-DB \"with space.cu\"");
    CHECK(parse(&c, &d, "-optf", "outer.opt", "-DD", NULL));
    CHECK_EQ_INT(c.list[OPT_define_macro].count, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ_INT(c.list[OPT_define_macro].items[i][0], 'A' + (int)i);
    CHECK_STR(c.order.items[0].text, "with space.cu");
    write_file("loop.opt", "-optf loop.opt");
    CHECK(!parse(&c, &d, "--options-file=loop.opt", NULL, NULL, NULL));
    CHECK(strstr(d.text, "includes itself") != NULL);
    CHECK(!parse(&c, &d, "-optf", "missing.opt", NULL, NULL));
    CHECK(strstr(d.text, "missing.opt") != NULL);
    CHECK(unlink("outer.opt") == 0 && unlink("inner.opt") == 0 && unlink("loop.opt") == 0);
    CHECK(chdir("/") == 0 && rmdir(dir) == 0);
}

static void test_environment(void)
{
    struct cmdline c;
    struct diag d;
    setenv("NVCC_PREPEND_FLAGS", "-DFIRST -std=c++11", 1);
    setenv("NVCC_APPEND_FLAGS", "-DLAST -std=c++20", 1);
    CHECK(parse(&c, &d, "-DMIDDLE", "-std=c++14", NULL, NULL));
    CHECK_STR(c.list[OPT_define_macro].items[0], "FIRST");
    CHECK_STR(c.list[OPT_define_macro].items[2], "LAST");
    CHECK_STR(c.value[OPT_std], "c++20");
    CHECK_EQ_INT(c.warnings.count, 2);
    unsetenv("NVCC_PREPEND_FLAGS");
    unsetenv("NVCC_APPEND_FLAGS");
}

static void test_link_order(void)
{
    struct cmdline c;
    struct diag d;
    CHECK(parse(&c, &d, "a.o", "-lx", "-Xlinker=-z,defs", "b.a"));
    CHECK_EQ_INT(c.order.count, 5);
    static const char *const texts[] = {"a.o", "x", "-z", "defs", "b.a"};
    for (size_t i = 0; i < WEIR_COUNT(texts) && i < c.order.count; i++)
        CHECK_STR(c.order.items[i].text, texts[i]);
    CHECK_EQ_INT(c.order.items[1].kind, ITEM_LIBRARY);
    CHECK_EQ_INT(c.order.items[3].kind, ITEM_LINKER_OPTION);
}

/* ---- architectures ---- */

static void check_arch(const char *a, const char *b, const char *expected, unsigned warnings)
{
    struct cmdline c;
    struct diag d;
    struct arch arch;
    CHECK(parse(&c, &d, a, b, NULL, NULL));
    bool ok = arch_choose(&c, &arch, &d);
    CHECK_STR(ok ? arch_name(&arch) : "error", expected);
    CHECK_EQ_INT(c.warnings.count, warnings);
    if (!ok)
        CHECK(d.text[0] != '\0');
}

static void test_architectures(void)
{
    check_arch(NULL, NULL, "sm_75", 0);
    check_arch("-arch=sm_80", NULL, "sm_80", 0);
    check_arch("-arch=compute_86", NULL, "sm_86", 0);
    check_arch("-arch=sm_90a", NULL, "sm_90a", 0);
    check_arch("-arch=native", NULL, "sm_90", 0);
    check_arch("-arch=all", NULL, "sm_90", 0);
    check_arch("-arch=all-major", NULL, "sm_90", 0);
    check_arch("-arch=sm_35", NULL, "sm_52", 1);
    check_arch("-arch=sm_35", "-Wno-deprecated-gpu-targets", "sm_52", 0);
    check_arch("-arch=sm_13", NULL, "sm_52", 1);
    check_arch("-arch=sm_120", NULL, "sm_90", 1);
    check_arch("-arch=sm_88", NULL, "sm_87", 1);
    check_arch("-arch=lto_80", NULL, "sm_80", 0);
    check_arch("-arch=compute_70", "-code=sm_70,compute_70", "sm_70", 0);
    check_arch("-gencode=arch=compute_80,code=sm_80", NULL, "sm_80", 0);
    check_arch("-gencode=arch=compute_80,code=[sm_80,compute_80]", NULL, "sm_80", 0);
    check_arch("-gencode=arch=compute_80,code=\"sm_80,compute_80\"", NULL, "sm_80", 0);
    check_arch("-gencode=code=sm_86,arch=compute_80", NULL, "sm_80", 0);
    check_arch("--generate-code=arch=compute_60,code=sm_61", "-arch=sm_70", "sm_70", 0);
    check_arch("-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_75,code=sm_75",
               "sm_90", 0);
    /* the highest that clang has, when there is one it has */
    check_arch("-gencode=arch=compute_100,code=sm_100", "-gencode=arch=compute_80,code=sm_80",
               "sm_80", 0);
}

static void test_bad_architectures(void)
{
    static const char *const bad[] = {"-arch=sm_19",
                                      "-arch=sm_",
                                      "-arch=80",
                                      "-arch=sm_80a",
                                      "-arch=sm_81",
                                      "-arch=compute_8x",
                                      "-code=sm_80",
                                      "-gencode=arch=compute_80",
                                      "-gencode=code=sm_80",
                                      "-gencode=foo=sm_80",
                                      "-gencode=arch=compute_80,code=[sm_80",
                                      "-gencode=arch=sm_80,code=sm_80",
                                      "-gencode=arch=compute_90,code=sm_80",
                                      "-gencode=arch=compute_80,code=",
                                      "-gencode="};
    for (size_t i = 0; i < WEIR_COUNT(bad); i++)
        check_arch(bad[i], NULL, "error", 0);
    check_arch("-arch=sm_80", "-code=compute_75", "error", 0);
    check_arch("-arch=native", "-code=sm_90", "error", 0);
}

int main(void)
{
    unsetenv("NVCC_PREPEND_FLAGS");
    unsetenv("NVCC_APPEND_FLAGS");
    test_every_spelling();
    test_names_are_unique();
    test_joined_values();
    test_several_words();
    test_unknown();
    test_lists();
    test_words();
    test_response_files();
    test_environment();
    test_link_order();
    test_architectures();
    test_bad_architectures();
    return check_done();
}
