/* link: modules of relocatable code become one, as the linker of the field does it. */
#include "check.h"
#include "compare.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4 };

/* Links the texts (each after a header of its own). NULL and d when it is refused. */
static struct ptx_module *link(struct diag *d, const char *a, const char *b, const char *c)
{
    const char *texts[] = {a, b, c};
    struct ptx_module *in[MOST];
    int n = 0;
    for (size_t i = 0; i < WEIR_COUNT(texts) && texts[i] != NULL; i++) {
        struct diag bad = {0};
        char *all = xprintf(".version 8.%d\n.target sm_%d\n%s", (int)i, i == 1 ? 80 : 75, texts[i]);
        in[n] = ptx_parse(all, strlen(all), &bad);
        free(all);
        CHECK(in[n] != NULL);
        if (in[n++] == NULL) {
            printf("  %s\n", bad.text);
            exit(check_done());
        }
    }
    struct ptx_module *m = ptx_link(in, n, d);
    for (int i = 0; i < n; i++) /* the result owns everything it refers to */
        ptx_free(in[i]);
    return m;
}

static void refused(const char *a, const char *b, const char *message)
{
    struct diag d = {0};
    struct ptx_module *m = link(&d, a, b, NULL);
    CHECK(m == NULL);
    CHECK(strstr(d.text, message) != NULL);
    if (strstr(d.text, message) == NULL)
        printf("  wanted: %s\n  got:    %s\n", message, d.text);
    ptx_free(m);
}

/* What was linked prints and parses like any other module. */
static void sound(struct ptx_module *m)
{
    struct strbuf sb = {0};
    struct diag d = {0};
    char why[256] = "";
    ptx_print(m, &sb);
    struct ptx_module *b = ptx_parse(sb.items, sb.count, &d);
    bool equal = b != NULL && modules_equal(m, b, why, sizeof why);
    CHECK(equal);
    if (!equal)
        printf("  %s%s\n%s\n", d.text, why, sb.items);
    ptx_free(b);
    sb_free(&sb);
    ptx_free(m);
}

static void test_references(void)
{
    struct diag d = {0};
    struct ptx_module *m =
        link(&d,
             ".file 1 \"a.cu\"\n.extern .func (.param .b32 r) f (.param .b32 a);\n"
             ".extern .global .align 4 .b8 shared_data[8]; .extern .func vprintf (.param .b64 x);\n"
             ".global .u64 table[2] = {f, shared_data+4};\n"
             ".visible .entry k() { .param .b32 a, r; .reg .b64 %a; .reg .b32 %r;\n"
             ".loc 1 3 1\ncall (r), f, (a); ld.global.b32 %r, [shared_data+4];\n"
             ".param .b64 s; call vprintf, (s);\n"
             "p: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %a, (a), p;\n"
             "t: .branchtargets X; X: brx.idx %r, t; }",
             ".file 1 \"b.cu\"\n.visible .global .align 8 .b8 shared_data[8] = {1,2,3};\n"
             ".visible .func (.param .b32 r) f (.param .b32 a) {\n.loc 1 7 1\n"
             ".reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 [r], %r; ret; }",
             NULL);
    CHECK(m != NULL);
    CHECK_EQ_INT(m->version_minor, 1);
    CHECK_EQ_INT(m->target_sm, 80);
    const struct ptx_func *f = ptx_find_func(m, "f"), *k = ptx_find_func(m, "k");
    const struct ptx_var *v = ptx_find_var(m, "shared_data");
    CHECK(f->has_body && f->module == m && k->instrs[0].call->func == f);
    CHECK(v->init != NULL && v->init[2] == 3 && k->instrs[1].operands[1].var == v);
    CHECK(ptx_find_var(m, "table")->relocs[0].func == f);
    CHECK(ptx_find_var(m, "table")->relocs[1].var == v);
    CHECK(!ptx_find_func(m, "vprintf")->has_body); /* whoever compiles binds it */
    CHECK_STR(m->files[k->instrs[0].loc_file], "a.cu");
    CHECK_STR(m->files[f->instrs[0].loc_file], "b.cu");
    CHECK(f->instrs[0].operands[1].var == f->params[0] && f->params[0]->scope == f);
    CHECK_EQ_INT(m->nfuncs, 3);
    CHECK_EQ_INT(m->nvars, 2);
    sound(m);
}

/* A kernel of another file is a function where it is launched. */
static void test_kernels_of_others(void)
{
    struct diag d = {0};
    struct ptx_module *m =
        link(&d,
             ".extern .func child(.param .b32 c, .param .b64 p);\n"
             ".visible .global .u64 pointer = child;\n"
             ".visible .entry parent() { .param .b32 a; .param .b64 b;\n"
             "call child, (a, b); ret; }",
             ".visible .entry child(.param .u8 c, .param .u64 p) { ret; }\n", NULL);
    CHECK(m != NULL);
    const struct ptx_func *child = ptx_find_func(m, "child");
    CHECK(child->is_entry && child->has_body);
    CHECK_EQ_INT(child->params[0]->size, 1);
    CHECK(ptx_find_func(m, "parent")->instrs[0].call->func == child);
    CHECK(ptx_find_var(m, "pointer")->relocs[0].func == child);
    CHECK_EQ_INT(m->nfuncs, 2);
    sound(m);
}

static void test_weak_and_common(void)
{
    struct diag d = {0};
    struct ptx_module *m = link(&d,
                                ".weak .func w() { exit; }\n.weak .func v() { exit; }\n"
                                ".common .global .b8 c[4];\n.weak .global .u32 g = 1;\n"
                                ".visible .func a() { call w; call v; ret; }",
                                ".weak .func w() { trap; }\n.visible .func v() { trap; }\n"
                                ".common .global .b8 c[16];\n.weak .global .u32 g = 2;\n",
                                ".extern .func v(); .extern .func w();\n"
                                ".visible .func b() { call w; call v; ret; }");
    CHECK(m != NULL);
    const struct ptx_func *w = ptx_find_func(m, "w"), *v = ptx_find_func(m, "v");
    CHECK_EQ_INT(w->instrs[0].op, PTX_OP_exit); /* the first weak one */
    CHECK_EQ_INT(v->instrs[0].op, PTX_OP_trap); /* the visible one */
    CHECK(ptx_find_func(m, "a")->instrs[1].call->func == v);
    CHECK(ptx_find_func(m, "b")->instrs[0].call->func == w);
    CHECK_EQ_INT(ptx_find_var(m, "c")->size, 16);
    CHECK_EQ_INT(ptx_find_var(m, "g")->init[0], 1);
    CHECK_EQ_INT(m->nfuncs, 4);
    sound(m);
}

static void test_private(void)
{
    struct diag d = {0};
    struct ptx_module *m = link(&d,
                                ".global .u32 s = 1;\n.func helper() { ret; }\n"
                                ".visible .func a() { .reg .b32 %r; ld.global.u32 %r, [s];\n"
                                "call helper; ret; }",
                                ".global .u32 s = 2;\n.func helper() { exit; }\n"
                                ".visible .func b() { .reg .b32 %r; ld.global.u32 %r, [s];\n"
                                "call helper; ret; }",
                                ".visible .global .u32 s = 3;");
    CHECK(m != NULL);
    CHECK_EQ_INT(ptx_find_var(m, "s")->init[0], 3); /* the one that everybody sees */
    const struct ptx_func *a = ptx_find_func(m, "a"), *b = ptx_find_func(m, "b");
    CHECK_EQ_INT(a->instrs[0].operands[1].var->init[0], 1);
    CHECK_EQ_INT(b->instrs[0].operands[1].var->init[0], 2);
    CHECK_EQ_INT(a->instrs[1].call->func->instrs[0].op, PTX_OP_ret);
    CHECK_EQ_INT(b->instrs[1].call->func->instrs[0].op, PTX_OP_exit);
    sound(m);
}

static void test_kernels_and_dynamic(void)
{
    struct diag d = {0};
    /* a kernel of another file shows as an extern function; dynamic shared memory is one array */
    struct ptx_module *m = link(&d,
                                ".extern .func child (.param .u32 n);\n"
                                ".extern .shared .align 4 .b8 dyn[];\n"
                                ".visible .entry parent() { .reg .b64 %a; mov.u64 %a, child;\n"
                                "mov.u64 %a, dyn; ret; }",
                                ".extern .shared .align 16 .b8 dyn[];\n"
                                ".visible .entry child (.param .u32 n) { .reg .b64 %a;\n"
                                "mov.u64 %a, dyn; ret; }",
                                NULL);
    CHECK(m != NULL);
    const struct ptx_func *p = ptx_find_func(m, "parent"), *c = ptx_find_func(m, "child");
    CHECK(c->is_entry && p->instrs[0].operands[1].func == c);
    CHECK_EQ_INT(m->nvars, 1);
    CHECK_EQ_INT(m->vars[0]->align, 16);
    CHECK(p->instrs[1].operands[1].var == m->vars[0] && c->instrs[0].operands[1].var == m->vars[0]);
    sound(m);
}

int main(void)
{
    test_references();
    test_kernels_of_others();
    test_weak_and_common();
    test_private();
    test_kernels_and_dynamic();
    refused(".visible .func f() { ret; }", ".visible .func f() { ret; }",
            "'f' is defined in two modules");
    refused(".visible .global .u32 x;", ".visible .global .u32 x = 1;",
            "'x' is defined in two modules");
    refused(".extern .global .u32 x;", ".extern .global .u32 x;",
            "'x' is extern in every module and defined in none");
    refused(".extern .global .u32 x;", ".visible .global .u64 x;",
            "has 4 bytes in one module and 8");
    refused(".extern .global .u32 x;", ".visible .const .u32 x;", "in .global in one module");
    refused(".extern .func f(.param .b32 a);", ".visible .func f() { ret; }",
            "'f' has different parameters");
    refused(".visible .func f() { ret; }", ".visible .global .u32 f;", "'f' is a function in one");
    struct diag d = {0};
    CHECK(ptx_link(NULL, 0, &d) == NULL);
    return check_done();
}
