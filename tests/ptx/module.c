/* module: what the parser makes of PTX: names, numbers, labels, scopes, addresses, lines. */
#include "check.h"
#include "ptx/forms.h"
#include "ptx/ptx.h"
#include "ptx/reach.h"

#include <stdlib.h>
#include <string.h>

static const char head[] = ".version 8.8\n.target sm_90a\n.address_size 64\n";

static struct ptx_module *parse(const char *text)
{
    struct diag d = {0};
    char *all = xprintf("%s%s", head, text);
    struct ptx_module *m = ptx_parse(all, strlen(all), &d);
    free(all);
    CHECK(m != NULL);
    if (m == NULL) {
        printf("  %s\n", d.text);
        exit(check_done());
    }
    return m;
}

static struct ptx_func *func(const struct ptx_module *m, const char *name)
{
    struct ptx_func *f = ptx_find_func(m, name);
    CHECK(f != NULL);
    return f;
}

static void test_header(void)
{
    struct ptx_module *m = parse(".file 1 \"a.cu\"\n.global .u32 x;\n.func f { ret; }");
    CHECK_EQ_INT(m->version_major, 8);
    CHECK_EQ_INT(m->version_minor, 8);
    CHECK_EQ_INT(m->target_sm, 90);
    CHECK_EQ_INT(m->target_suffix, 'a');
    CHECK_EQ_INT(m->address_bits, 64);
    CHECK_EQ_INT(m->nfiles, 2);
    CHECK(m->files[0] == NULL);
    CHECK_STR(m->files[1], "a.cu");
    CHECK(ptx_find_var(m, "x") == m->vars[0]);
    CHECK(ptx_find_func(m, "f") == m->funcs[0]);
    CHECK(ptx_find_var(m, "f") == NULL);
    CHECK(ptx_find_func(m, "nosuch") == NULL);
    CHECK(m->funcs[0]->module == m);
    ptx_free(m);
    ptx_free(NULL);
    /* the end of the text, with and without a NUL before it; a diagnostic nobody wants */
    static const char text[] = ".version 7.0\n.target sm_75\n\0garbage";
    m = ptx_parse(text, sizeof text, NULL);
    CHECK(m != NULL);
    ptx_free(m);
    CHECK(ptx_parse("x", 1, NULL) == NULL);
    CHECK(ptx_parse("", 0, NULL) == NULL);
}

/* Instructions of a kernel and of what it calls, by name, list and pointer: each function once. */
static void test_reach(void)
{
    struct ptx_module *m =
        parse(".func leaf { membar.cta; ret; }\n"
              ".func called { call leaf; call leaf; ret; }\n"
              ".func listed { bar.sync 0; ret; }\n"
              ".func pointed { call leaf; bar.sync 0; ret; }\n"
              ".func elsewhere { bar.sync 0; bar.sync 1; ret; }\n"
              ".global .u64 table[2] = {pointed, 0};\n"
              ".global .u64 tables[1] = {table};\n"
              ".entry alone { ret; }\n"
              ".entry direct { call called; call leaf; ret; }\n"
              ".entry by_list { .reg .u64 r; t: .calltargets listed, leaf; call r, t; ret; }\n"
              ".entry by_table { .reg .u64 r; ld.global.u64 r, [tables]; ret; }\n"
              ".entry by_address { .reg .u64 r; mov.u64 r, called; ret; }\n");
    CHECK_EQ_INT(ptx_reached_instructions(func(m, "alone")), 1);
    CHECK_EQ_INT(ptx_reached_instructions(func(m, "direct")), 3 + 3 + 2);
    CHECK_EQ_INT(ptx_reached_instructions(func(m, "by_list")), 2 + 2 + 2);
    CHECK_EQ_INT(ptx_reached_instructions(func(m, "by_table")), 2 + 3 + 2);
    CHECK_EQ_INT(ptx_reached_instructions(func(m, "by_address")), 2 + 3 + 2);
    ptx_free(m);
}

static void test_hash(void)
{
    struct ptx_module *a = parse(".global .u32 x;"), *b = parse(".global .u32 x;"),
                      *c = parse(".global .u32 y;");
    CHECK(memcmp(&a->hash, &b->hash, sizeof a->hash) == 0);
    CHECK(memcmp(&a->hash, &c->hash, sizeof a->hash) != 0);
    ptx_free(a);
    ptx_free(b);
    ptx_free(c);
}

static void test_variables(void)
{
    struct ptx_module *m = parse(".extern .shared .align 16 .b8 dyn[];\n"
                                 ".global .align 8 .v2 .f32 pairs[3];\n"
                                 ".visible .global .attribute(.managed) .u32 managed = 7;\n"
                                 ".global .s16 shorts[2][2] = {{1, -2}, {3}};\n"
                                 ".global .f32 floats[2] = {1.5, 0f7fa00001};\n"
                                 ".global .u64 address = generic(shorts)+2;\n"
                                 ".global .u8 masked[2] = {0xff00(address), 4};\n"
                                 ".global .u64 code = k;\n"
                                 ".const .u32 grown[][2] = {{1, 2}, {3}};\n"
                                 ".entry k() { ret; }");
    const struct ptx_var *v = ptx_find_var(m, "dyn");
    CHECK(v->unsized && v->size == 0 && v->align == 16 && v->space == PTX_SPACE_SHARED);
    v = ptx_find_var(m, "pairs");
    CHECK_EQ_INT(v->size, 24);
    CHECK_EQ_INT(v->vec, 2);
    CHECK_EQ_INT(v->align, 8);
    CHECK(v->init == NULL);
    v = ptx_find_var(m, "managed");
    CHECK(v->managed && v->linkage == PTX_LINK_VISIBLE && v->init[0] == 7);
    v = ptx_find_var(m, "shorts");
    static const int16_t shorts[4] = {1, -2, 3, 0};
    CHECK(v->size == 8 && memcmp(v->init, shorts, 8) == 0);
    v = ptx_find_var(m, "floats");
    static const uint32_t floats[2] = {0x3fc00000, 0x7fa00001};
    CHECK(memcmp(v->init, floats, 8) == 0);
    v = ptx_find_var(m, "address");
    CHECK(v->nrelocs == 1 && v->relocs[0].generic && v->relocs[0].addend == 2);
    CHECK(v->relocs[0].var == ptx_find_var(m, "shorts") && v->relocs[0].bytes == 8);
    v = ptx_find_var(m, "masked");
    CHECK(v->nrelocs == 1 && v->relocs[0].bytes == 1 && v->relocs[0].shift == 1);
    CHECK(!v->relocs[0].generic && v->init[1] == 4);
    v = ptx_find_var(m, "code");
    CHECK(v->nrelocs == 1 && v->relocs[0].func == func(m, "k"));
    v = ptx_find_var(m, "grown");
    CHECK_EQ_INT(v->size, 16);
    for (int i = 0; i < m->nvars; i++)
        CHECK_EQ_INT(m->vars[i]->index, i);
    ptx_free(m);
}

static void test_constants(void)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"1+2*3", 7},
        {"(1+2)*3", 9},
        {"-7/2", -3},
        {"-7%4", -3},
        {"0xFFFFFFFFFFFFFFFF/2", INT64_MAX},
        {"-1>>1", -1},
        {"0xFFFFFFFFFFFFFFFF>>63", 1},
        {"1<<64", 0},
        {"-1 < 1", 1},
        {"-1 < 1U", 0},
        {"-2147483648", -2147483647 - 1},
        {"-9223372036854775808", INT64_MIN},
        {"-9223372036854775808/-1", INT64_MIN},
        {"0777", 511},
        {"0b101U", 5},
        {"0XfF", 255},
        {"WARP_SZ-1", 31},
        {"!5 || 0 && 1", 0},
        {"1 ? 2 : 0 ? 3 : 4", 2},
        {"~0 ^ 1 | 2 & 3", -2},
        {"(.u64)-1 > 0", 1},
        {"(.s64)2.75", 2},
        {"1.5 > 1.25 && 1", 1},
    };
    for (size_t i = 0; i < WEIR_COUNT(cases); i++) {
        char *text = xprintf(".func f { .reg .b64 %%r; mov.b64 %%r, %s; }", cases[i].text);
        struct ptx_module *m = parse(text);
        CHECK_EQ_INT((int64_t)m->funcs[0]->instrs[0].operands[1].imm, cases[i].value);
        ptx_free(m);
        free(text);
    }
}

static void test_floats(void)
{
    struct ptx_module *m = parse(".func f { .reg .f32 %f; .reg .f64 %d; mov.f32 %f, 0f7f800001;\n"
                                 "mov.f32 %f, -1.5; mov.f64 %d, 0dfff0000000000000;\n"
                                 "mov.f32 %f, 1e5; mov.f32 %f, .5; mov.f32 %f, -0f00000000; }");
    const struct ptx_instr *i = m->funcs[0]->instrs;
    CHECK(i[0].operands[1].kind == PTX_OPR_FIMM && i[0].operands[1].is_f32);
    CHECK_EQ_INT(ptx_f32_bits(i[0].operands[1].fimm), 0x7f800001);
    CHECK(!i[1].operands[1].is_f32 && i[1].operands[1].fimm == -1.5);
    CHECK(i[2].operands[1].fimm < -1e308);
    CHECK(i[3].operands[1].fimm == 1e5);
    CHECK(i[4].operands[1].fimm == 0.5);
    CHECK_EQ_INT(ptx_f32_bits(i[5].operands[1].fimm), 0x80000000);
    ptx_free(m);
}

static void test_instruction(void)
{
    struct ptx_module *m = parse(".func f {\n .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %a;\n"
                                 ".reg .v4 .f32 v; .reg .f32 x;\n"
                                 "   @!%p1 ld.global.nc.L1::no_allocate.v4.f32 v, [%a+-16];\n"
                                 "mov.f32 x, v.z; mov.b32 %r0, %ctaid.y; mov.b32 %r1, %envreg12;\n"
                                 "shfl.sync.up.b32 %r1|%p0, %r2, 1, 0, -1;\n"
                                 "vadd.u32.u32.u32 %r0, %r1.b2, %r2.h1;\n"
                                 "vadd4.u32.u32.u32 %r0, %r1.b7610, %r2, %r0;\n"
                                 "mov.b32 %r0, WARP_SZ; mov.b64 {%r0, _}, %a; }");
    const struct ptx_func *f = m->funcs[0];
    const struct ptx_instr *i = f->instrs;
    CHECK_EQ_INT(i->op, PTX_OP_ld);
    CHECK(i->guard == 1 && i->guard_neg);
    CHECK(i->ntypes == 1 && i->types[0] == PTX_F32);
    CHECK(i->nspaces == 1 && i->spaces[0] == PTX_SPACE_GLOBAL);
    CHECK(i->vec == 4 && ptx_has(i, PTX_M_nc) && ptx_has(i, PTX_M_L1__no_allocate) &&
          ptx_has(i, PTX_M_v4) && !ptx_has(i, PTX_M_v2));
    CHECK_EQ_INT(i->line, 7);
    CHECK_EQ_INT(i->column, 10);
    CHECK_EQ_INT(i->noperands, 2);
    CHECK(i->operands[0].kind == PTX_OPR_VEC && i->operands[0].nitems == 4);
    CHECK_STR(f->regs[i->operands[0].items[2].reg].name, "v.z");
    CHECK(i->operands[1].kind == PTX_OPR_MEM && i->operands[1].offset == -16);
    CHECK_STR(f->regs[i->operands[1].reg].name, "%a");
    CHECK(i[1].operands[1].reg == i->operands[0].items[2].reg);
    CHECK(i[2].operands[1].sreg == PTX_SR_ctaid && i[2].operands[1].component == 1);
    CHECK(i[3].operands[1].sreg == PTX_SR_envreg && i[3].operands[1].component == 12);
    CHECK(i[4].pair && i[4].noperands == 6 && i[4].operands[5].imm == UINT64_MAX);
    CHECK(i[5].operands[1].select == 3 && i[5].operands[2].select == 6);
    CHECK(i[6].operands[1].select == 7 && i[6].operands[1].imm == 0x7610);
    CHECK(i[7].operands[1].kind == PTX_OPR_IMM && i[7].operands[1].imm == 32);
    CHECK(i[8].operands[0].items[1].kind == PTX_OPR_SINK);
    struct strbuf sb = {0};
    ptx_print_instr(f, i, &sb);
    CHECK_STR(sb.items,
              "@!%p1 ld.global.nc.L1::no_allocate.v4.f32 {v.x, v.y, v.z, v.w}, [%a+-16];");
    sb_free(&sb);
    ptx_free(m);
}

static void test_labels(void)
{
    struct ptx_module *m = parse(".func f {\n"
                                 "A: { bra A; A: ret; bra A; }\n" /* the inner A */
                                 "bra A; bra END;\n"
                                 "t: .branchtargets A, END, B;\n"
                                 ".reg .b32 %r; B: brx.idx %r, t;\n"
                                 "END: }");
    const struct ptx_func *f = m->funcs[0];
    CHECK_EQ_INT(f->instrs[0].operands[0].target, 1);
    CHECK_EQ_INT(f->instrs[2].operands[0].target, 1);
    CHECK_EQ_INT(f->instrs[3].operands[0].target, 0);
    CHECK_EQ_INT(f->instrs[4].operands[0].target, 6);
    CHECK_EQ_INT(f->ninstrs, 6);
    CHECK_EQ_INT(f->instrs[5].targets->count, 3);
    CHECK_EQ_INT(f->instrs[5].targets->index[0], 0);
    CHECK_EQ_INT(f->instrs[5].targets->index[1], 6);
    CHECK_EQ_INT(f->instrs[5].targets->index[2], 5);
    ptx_free(m);
}

static void test_scopes(void)
{
    struct ptx_module *m = parse(
        ".func f {\n.reg .b32 %r<3>, x; mov.b32 x, 0;\n"
        "{ .reg .b32 x; mov.b32 x, 1; { .reg .b32 x, %r1; mov.b32 x, %r1; } mov.b32 x, %r1; }\n"
        "mov.b32 x, %r2; { .shared .b32 g; st.shared.b32 [g], 1; }\n"
        "st.global.b32 [g], 1; }\n.global .b32 g;");
    const struct ptx_func *f = m->funcs[0];
    static const char *const first[] = {"x", "x$1", "x$2", "x$1", "x"};
    static const char *const second[] = {NULL, NULL, "%r1$1", "%r1", "%r2"};
    for (int k = 0; k < 5; k++) {
        CHECK_STR(f->regs[f->instrs[k].operands[0].reg].name, first[k]);
        if (second[k] != NULL)
            CHECK_STR(f->regs[f->instrs[k].operands[1].reg].name, second[k]);
    }
    CHECK(f->instrs[5].operands[0].var == f->vars[0]);
    CHECK(f->instrs[6].operands[0].var == m->vars[0]); /* declared only later */
    CHECK(f->vars[0]->scope == f && m->vars[0]->scope == NULL);
    ptx_free(m);
}

static void test_registers(void)
{
    /* ranges next to single registers, and prefixes that end in digits */
    struct ptx_module *m = parse(".func f { .reg .b32 %r<101>; .reg .b64 x<20>; .reg .f32 y1<5>;\n"
                                 "mov.b32 %r100, 1; mov.b64 x19, 1; mov.b32 y14, 0f00000000;\n"
                                 "mov.b32 y10, 0f00000000; }");
    const struct ptx_func *f = m->funcs[0];
    CHECK_EQ_INT(f->nregs, 126);
    CHECK_EQ_INT(f->instrs[0].operands[0].reg, 100);
    CHECK_EQ_INT(f->instrs[1].operands[0].reg, 120);
    CHECK_EQ_INT(f->instrs[2].operands[0].reg, 125);
    CHECK_EQ_INT(f->instrs[3].operands[0].reg, 121);
    CHECK_STR(f->regs[125].name, "y14");
    ptx_free(m);
}

static void test_calls(void)
{
    struct ptx_module *m =
        parse(".entry k(.param .u64 p) .maxntid 128, 4 .minnctapersm 3 {\n"
              ".param .b32 a, r; .reg .b64 %f; .reg .b32 %x;\n"
              "call (r), g, (a); call h; call (%x), old, (%x, 3);\n"
              "p: .callprototype (.param .b32 _) _ (.param .b32 _); call (r), %f, (a), p;\n"
              "c: .calltargets g; call (r), %f, (a), c; mov.u64 %f, g; }\n"
              ".func (.param .b32 r) g (.param .b32 a) { ret; }\n.extern .func h;\n"
              ".func (.reg .b32 r) old (.reg .b32 a, .reg .b32 b) { add.u32 r, a, b; ret; }");
    const struct ptx_func *k = func(m, "k"), *g = func(m, "g"), *old = func(m, "old");
    CHECK(k->is_entry && k->maxntid[0] == 128 && k->maxntid[1] == 4 && k->maxntid[2] == 1);
    CHECK_EQ_INT(k->minnctapersm, 3);
    const struct ptx_call *c = k->instrs[0].call;
    CHECK(c->func == g && c->reg == -1 && c->nrets == 1 && c->nargs == 1);
    CHECK(c->args[0].kind == PTX_OPR_SYM && c->args[0].var == k->vars[0]);
    CHECK(k->instrs[1].call->func == func(m, "h") && !func(m, "h")->has_body);
    c = k->instrs[2].call;
    CHECK(c->func == old && c->args[1].kind == PTX_OPR_IMM && c->args[1].imm == 3);
    CHECK(old->param_regs[0] == 1 && old->ret_regs[0] == 0);
    CHECK_EQ_INT(old->instrs[0].operands[0].reg, 0);
    c = k->instrs[3].call;
    CHECK(c->func == NULL && c->reg == 0 && c->proto != NULL && c->proto->nparams == 1);
    c = k->instrs[4].call;
    CHECK(c->proto == NULL && c->ncandidates == 1 && c->candidates[0] == g);
    CHECK(k->instrs[5].operands[1].func == g);
    CHECK(g->params[0]->scope == g && g->params[0]->index == 0);
    ptx_free(m);
}

/* A variable that holds functions may stand for the list of those that a register can lead to. */
static void test_calls_by_table(void)
{
    struct ptx_module *m = parse(".func (.param .b32 r) f (.param .b32 a) { ret; }\n"
                                 ".func (.param .b32 r) g (.param .b32 a) { ret; }\n"
                                 ".global .u64 table[2] = {f, g};\n"
                                 ".entry k() { .param .b32 a, r; .reg .b64 %f;\n"
                                 "ld.global.u64 %f, [table + 8]; call (r), %f, (a), table; }\n");
    const struct ptx_call *c = func(m, "k")->instrs[1].call;
    CHECK(c->proto == NULL && c->ncandidates == 2);
    CHECK(c->candidates[0] == func(m, "f") && c->candidates[1] == func(m, "g"));
    ptx_free(m);
}

/* Launches: kernels as what is called, with integers passed as 32 bits (as clang has it). */
static void test_calls_of_kernels(void)
{
    struct ptx_module *m =
        parse(".visible .entry k(.param .u8 b, .param .u16 s, .param .u64 p);\n"
              ".visible .entry parent() {\n.param .b32 a, b; .param .b64 c;\n"
              "call k, (a, b, c); ret; }\n"
              ".visible .entry k(.param .u8 b, .param .u16 s, .param .u64 p) { ret; }");
    const struct ptx_func *k = func(m, "k");
    CHECK(k->is_entry && k->has_body && func(m, "parent")->instrs[0].call->func == k);
    CHECK_EQ_INT(k->params[1]->size, 2);
    ptx_free(m);
}

/* What the first targets wrote shorter. */
static void test_early_names(void)
{
    struct diag d = {0};
    static const char text[] = ".version 1.4\n.target sm_10, map_f64_to_f32\n"
                               ".entry k { .reg .f32 f; mad.f32 f, f, f, f; div.f32 f, f, f;\n"
                               "rcp.f32 f, f; mul.f32 f, f, f; exit; }";
    struct ptx_module *m = ptx_parse(text, sizeof text, &d);
    CHECK_STR(d.text, "");
    CHECK(m != NULL);
    const struct ptx_instr *i = m->funcs[0]->instrs;
    CHECK(i[0].op == PTX_OP_fma && ptx_has(&i[0], PTX_M_rn) && ptx_has(&i[0], PTX_M_ftz));
    CHECK(i[1].op == PTX_OP_div && ptx_has(&i[1], PTX_M_approx));
    CHECK(i[2].op == PTX_OP_rcp && ptx_has(&i[2], PTX_M_approx));
    CHECK(i[3].op == PTX_OP_mul && i[3].nmods == 0);
    ptx_free(m);

    /* from sm_20 on, versions before 3.2 took the rounding to nearest where none is written */
    static const char unrounded[] = ".version 1.4\n.target sm_20, map_f64_to_f32\n"
                                    ".entry k { .reg .f32 f; mad.f32 f, f, f, f;\n"
                                    "mad.ftz.sat.f32 f, f, f, f; exit; }";
    m = ptx_parse(unrounded, sizeof unrounded, &d);
    CHECK_STR(d.text, "");
    CHECK(m != NULL);
    i = m->funcs[0]->instrs;
    CHECK(i[0].op == PTX_OP_mad && ptx_has(&i[0], PTX_M_rn) && !ptx_has(&i[0], PTX_M_ftz));
    CHECK(i[1].op == PTX_OP_mad && ptx_has(&i[1], PTX_M_rn) && ptx_has(&i[1], PTX_M_ftz) &&
          ptx_has(&i[1], PTX_M_sat));
    ptx_free(m);
}

static void test_lines(void)
{
    struct ptx_module *m = parse(".file 1 \"a\"\n.file 2 \"b\"\n.func f {\n.loc 1 5 2\nret;\n"
                                 ".loc 2 9 1, inlined_at 1 5 2\nret;\n"
                                 ".loc 2 11 3, function_name x, inlined_at 2 9 1\nret; ret;\n}\n"
                                 ".func g { ret; }");
    const struct ptx_instr *i = m->funcs[0]->instrs;
    CHECK(i[0].loc_file == 1 && i[0].loc_line == 5 && i[0].loc_inlined_at == 0);
    CHECK(i[1].loc_file == 2 && i[1].loc_line == 9);
    const struct ptx_loc *at = &m->locs[i[1].loc_inlined_at - 1];
    CHECK(at->file == 1 && at->line == 5 && at->column == 2 && at->inlined_at == 0);
    at = &m->locs[i[2].loc_inlined_at - 1];
    CHECK(at->file == 2 && at->line == 9);
    at = &m->locs[at->inlined_at - 1]; /* the chain goes on to where that was inlined */
    CHECK(at->file == 1 && at->line == 5);
    CHECK_EQ_INT(i[3].loc_inlined_at, i[2].loc_inlined_at);
    CHECK_EQ_INT(m->funcs[1]->instrs[0].loc_line, 0); /* a function starts without a line */
    ptx_free(m);
}

/* Every type and name of the tables is sound: the printer and the caches rely on it. */
static void test_tables(void)
{
    for (int t = 1; t < PTX_TYPE_COUNT; t++)
        CHECK(ptx_type_name((enum ptx_type)t)[0] != '\0' && ptx_type_bits((enum ptx_type)t) > 0);
    for (int o = 0; o < PTX_OP_COUNT; o++)
        CHECK(ptx_op_name((enum ptx_op)o)[0] != '\0');
    for (int k = 1; k < PTX_M_COUNT; k++)
        CHECK(ptx_mod_name((enum ptx_mod)k)[0] != '\0');
    for (int s = 0; s < PTX_SR_COUNT; s++)
        CHECK(ptx_sreg_name((enum ptx_sreg)s)[0] != '\0');
    CHECK(ptx_type_is_float(PTX_BF16X2) && !ptx_type_is_float(PTX_B32));
    CHECK(ptx_type_is_signed(PTX_S16X2) && !ptx_type_is_signed(PTX_F32));
}

/* A mistake in the table of forms refuses instructions; it must not get as far as that. */
static void test_forms(void) { CHECK(ptx_forms_mistake() == NULL); }

int main(void)
{
    test_forms();
    test_header();
    test_reach();
    test_hash();
    test_variables();
    test_constants();
    test_floats();
    test_instruction();
    test_labels();
    test_scopes();
    test_registers();
    test_calls();
    test_calls_by_table();
    test_calls_of_kernels();
    test_early_names();
    test_lines();
    test_tables();
    return check_done();
}
