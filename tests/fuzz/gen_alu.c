/* gen_alu: registers, arithmetic and indices for the generator. */
#include "gen_state.h"

#include "../arithmetic/text.h"
#include "interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct class_info gen_classes[CLASSES] = {
    [C_P] = {"p", "pred", PTX_PRED, 6, 6, false}, [C_H] = {"h", "b16", PTX_B16, 4, 12, false},
    [C_R] = {"r", "b32", PTX_B32, 8, 20, false},  [C_U] = {"u", "u32", PTX_U32, 3, 6, false},
    [C_S] = {"s", "s32", PTX_S32, 3, 6, false},   [C_D] = {"d", "b64", PTX_B64, 5, 14, false},
    [C_L] = {"l", "s64", PTX_S64, 2, 4, false},   [C_I] = {"i", "b32", PTX_B32, 5, 40, false},
    [C_A] = {"a", "b64", PTX_B64, 3, 28, false},  [C_F] = {"f", "f32", PTX_F32, 5, 12, true},
    [C_X] = {"x", "f64", PTX_F64, 3, 6, true},    [C_G] = {"g", "b16", PTX_F16, 2, 2, true},
    [C_Q] = {"q", "b32", PTX_F16X2, 2, 2, true},  [C_B] = {"b", "b16", PTX_BF16, 2, 2, true},
    [C_C] = {"c", "b32", PTX_BF16X2, 2, 2, true},
};

enum { PENDING = -1, NONE_PENDING = -2 }; /* a register may begin with this instruction, or not */

/* ---- registers ---- */

struct name gen_reg(struct gen *g, enum class c)
{
    struct name n;
    snprintf(n.text, sizeof n.text, "%%%s%u", gen_classes[c].prefix,
             gen_random(g, (uint32_t)g->count[c]));
    return n;
}

/* Does a register of the class hold such a value as it is? */
static bool holds(enum class c, unsigned type, bool strict)
{
    const struct class_info *k = &gen_classes[c];
    unsigned bits = ptx_type_bits((enum ptx_type)type);
    if (type == PTX_PRED || k->type == PTX_PRED)
        return type == k->type;
    if (k->loose)
        return !strict && type == k->type;
    if (bits <= 8)
        return c == C_R || c == C_H;
    if (ptx_type_bits((enum ptx_type)k->type) != bits)
        return false;
    bool typed = c == C_U || c == C_S || c == C_L;
    return !typed || (type >= PTX_B8 && type <= PTX_S64);
}

static bool choose(struct gen *g, unsigned type, bool strict, bool index, struct name *n)
{
    enum class fits[CLASSES];
    uint32_t count = 0;
    for (int c = 0; c < CLASSES; c++)
        if (g->count[c] && holds((enum class)c, type, strict) && (index || (c != C_I && c != C_A)))
            fits[count++] = (enum class)c;
    if (count == 0)
        return false;
    *n = gen_reg(g, fits[gen_random(g, count)]);
    return true;
}

struct name gen_exact(struct gen *g, unsigned bits)
{
    return gen_reg(g, bits == 16 ? C_H : bits == 32 ? C_R : C_D);
}

struct name gen_source(struct gen *g, unsigned type, char kind, bool strict)
{
    struct name n;
    unsigned bits = ptx_type_bits((enum ptx_type)type);
    bool constants =
        (kind == 's' || kind == 'S') && type >= PTX_B16 && type <= PTX_S64 && bits >= 16;
    if (constants && gen_chance(g, 15)) {
        uint64_t v = gen_bits(g);
        v = gen_chance(g, 60) ? v % 70 : bits == 64 ? v : v & ((1ull << bits) - 1);
        snprintf(n.text, sizeof n.text, bits == 64 ? "0x%llx" : "%llu", (unsigned long long)v);
        return n;
    }
    if (type == PTX_F32 && kind == 's' && gen_chance(g, 10)) {
        snprintf(n.text, sizeof n.text, "0f%08x",
                 gen_chance(g, 50) ? 0x3f800000 : (uint32_t)gen_bits(g) & 0x7f7fffff);
        return n;
    }
    if (type == PTX_F32 && !strict && gen_chance(g, 70))
        return gen_reg(g, C_F);
    if (type == PTX_F64 && !strict && gen_chance(g, 70))
        return gen_reg(g, C_X);
    if (!choose(g, type, strict, true, &n))
        n.text[0] = 0;
    return n;
}

/* A register of a class to write: perhaps one that gets its first value. */
static struct name result_of(struct gen *g, enum class c)
{
    struct name n;
    if (g->pending != PENDING || !gen_may_begin(g, c))
        return gen_reg(g, c);
    snprintf(n.text, sizeof n.text, "%%%s%d", gen_classes[c].prefix, g->count[c]);
    g->pending = (int)c;
    return n;
}

struct name gen_result(struct gen *g, unsigned type)
{
    struct name n = {""};
    bool is_float = ptx_type_is_float((enum ptx_type)type) && type != PTX_F32X2;
    if (is_float) { /* only where a NaN's payload does not matter */
        for (int c = C_F; c < CLASSES; c++)
            if (gen_classes[c].type == type && g->count[c])
                return result_of(g, (enum class)c);
        return n;
    }
    unsigned bits = ptx_type_bits((enum ptx_type)type);
    if (bits >= 16 && gen_chance(g, 50))
        return result_of(g, bits == 16 ? C_H : bits == 32 ? C_R : C_D);
    choose(g, type, true, false, &n);
    return n;
}

bool gen_may_begin(struct gen *g, enum class c)
{
    int all = 0;
    for (int k = 0; k < CLASSES; k++)
        all += g->count[k];
    return g->depth == 0 && g->count[c] > 0 && g->count[c] < gen_classes[c].limit &&
           all < GEN_SLOTS - 8 && gen_chance(g, g->tiny ? 95 : 50);
}

/* ---- the case table ---- */

static const char *const table[] = {
#define CASE(text) text,
#define SAYS(text)
#define NEWER(text)
#define APPROX(text, measure, bound)
#include "../arithmetic/cases.def"
};

struct usable {
    const char *text;
    struct text_instr t;
    struct instr_info info;
    bool strict, carries;
    bool unguarded; /* NVIDIA's assembler makes several instructions of it and guards not all */
    bool registers; /* NVIDIA's assembler takes no constants, or not all of them */
};
static struct usable *usables;
static uint32_t nusables;

/* Ops whose result depends on more of a NaN than that it is one. */
static bool looks_at_nan(const struct ptx_instr *i)
{
    return i->op == PTX_OP_copysign || ptx_has(i, PTX_M_xorsign);
}

static bool registers_only(const struct ptx_instr *i)
{
    const char *name = ptx_op_name(i->op);
    return i->op == PTX_OP_bfe || i->op == PTX_OP_bfi || name[0] == 'v';
}

static void read_table(void)
{
    if (usables != NULL)
        return;
    usables = xcalloc(WEIR_COUNT(table), sizeof *usables);
    for (size_t k = 0; k < WEIR_COUNT(table); k++) {
        struct usable *u = &usables[nusables];
        u->text = table[k];
        if (!text_read(u->text, &u->t) || text_beyond_gpu(&u->t.instr))
            continue;
        const struct ptx_instr *i = &u->t.instr;
        u->t.instr.pair = strchr(u->text, '|') != NULL;
        if (i->types[0] == PTX_TF32 || !interp_operands(i, &u->info))
            continue;
        u->strict = looks_at_nan(i);
        u->registers = registers_only(i);
        u->unguarded = i->op == PTX_OP_set || i->op == PTX_OP_testp || ptx_op_name(i->op)[0] == 'v';
        u->carries = ptx_has(i, PTX_M_cc) || i->op == PTX_OP_addc || i->op == PTX_OP_subc ||
                     i->op == PTX_OP_madc;
        nusables += !u->carries;
    }
}

/* The case's text with registers instead of its operands' letters. False: there is no register
 * for one of them. */
static bool instantiate(struct gen *g, const struct usable *u, char *line, size_t size)
{
    size_t op = strcspn(u->text, " "), at = 0;
    struct name first = {""}; /* the two results of an instruction must not be one register */
    int n = 0;
    at = (size_t)snprintf(line, size, "%.*s", (int)op, u->text);
    for (const char *s = u->text + op; *s;) {
        size_t gap = strspn(s, " ,|"), length = strcspn(s + gap, " ,|");
        at += (size_t)snprintf(line + at, size - at, "%.*s", (int)gap, s);
        s += gap;
        if (length == 0)
            break;
        const char *dot = memchr(s, '.', length);
        const struct operand_info *o = &u->info.operand[n];
        struct name name;
        if (u->t.operands[n].kind == PTX_OPR_IMM) {
            snprintf(name.text, sizeof name.text, "%.*s", (int)length, s);
        } else {
            bool plain = dot == NULL && *s != '-' && !u->registers;
            name = o->written ? gen_result(g, o->type)
                              : gen_source(g, o->type, plain ? o->kind : 'r', u->strict);
            if (name.text[0] == 0 || (o->written && !strcmp(name.text, first.text)))
                return false;
            if (n == 0)
                first = name;
        }
        at += (size_t)snprintf(line + at, size - at, "%s%s%.*s", *s == '-' ? "-" : "", name.text,
                               dot != NULL ? (int)(s + length - dot) : 0, dot != NULL ? dot : "");
        n++;
        s += length;
    }
    return true;
}

void gen_arithmetic(struct gen *g, const char *guard)
{
    char line[256];
    read_table();
    for (int tries = 0; tries < 20; tries++) {
        const struct usable *u = &usables[gen_random(g, nusables)];
        /* conversions are a third of the table */
        if (u->t.instr.op == PTX_OP_cvt && gen_chance(g, 60))
            continue;
        g->pending = guard[0] && !u->unguarded ? NONE_PENDING : PENDING;
        if (!instantiate(g, u, line, sizeof line))
            continue;
        if (g->pending >= 0)
            g->count[g->pending]++;
        gen_put(g, "%s%s;", u->unguarded ? "" : guard, line);
        return;
    }
}

void gen_carry(struct gen *g)
{
    static const char *const first[] = {"add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"},
                             *const next[] = {"addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"},
                             *const last[] = {"addc", "subc", "madc.lo", "madc.hi"};
    bool wide = gen_chance(g, 30), minus = gen_chance(g, 40);
    int length = 2 + (int)gen_random(g, 3);
    for (int k = 0; k < length; k++) {
        uint32_t which = minus ? 1 : gen_chance(g, 60) ? 0 : 2 + gen_random(g, 2);
        const char *op = k == 0 ? first[which] : k + 1 < length ? next[which] : last[which];
        struct name d = gen_exact(g, wide ? 64 : 32), a = gen_exact(g, wide ? 64 : 32),
                    b = gen_exact(g, wide ? 64 : 32), c = gen_exact(g, wide ? 64 : 32);
        if (which < 2)
            gen_put(g, "%s.%s %s, %s, %s;", op, wide ? "u64" : "u32", d.text, a.text, b.text);
        else
            gen_put(g, "%s.%s %s, %s, %s, %s;", op, wide ? "s64" : "u32", d.text, a.text, b.text,
                    c.text);
    }
}

/* ---- floats to bits ---- */

void gen_fix(struct gen *g, enum class c, int n, const char *to)
{
    const struct class_info *k = &gen_classes[c];
    const char *type = ptx_type_name((enum ptx_type)k->type);
    unsigned bits = ptx_type_bits((enum ptx_type)k->type);
    if (k->type == PTX_F16X2 || k->type == PTX_BF16X2) {
        gen_put(g, "setp.nan.%s %%nan0|%%nan1, %%%s%d, %%%s%d; mov.b32 {%%half0, %%half1}, %%%s%d;",
                type, k->prefix, n, k->prefix, n, k->prefix, n);
        gen_put(g,
                "selp.b16 %%half0, 0x7e11, %%half0, %%nan0; selp.b16 %%half1, 0x7e22, %%half1, "
                "%%nan1; mov.b32 %s, {%%half0, %%half1};",
                to);
        return;
    }
    gen_put(g,
            "setp.nan.%s %%nan0, %%%s%d, %%%s%d; mov.b%u %s, %%%s%d; selp.b%u %s, 0x7e01, %s, "
            "%%nan0;",
            type, k->prefix, n, k->prefix, n, bits, to, k->prefix, n, bits, to, to);
}

void gen_fix_random(struct gen *g)
{
    enum class c = (enum class)(C_F + gen_random(g, CLASSES - C_F));
    if (g->count[c])
        gen_fix(g, c, (int)gen_random(g, (uint32_t)g->count[c]),
                gen_exact(g, ptx_type_bits((enum ptx_type)gen_classes[c].type)).text);
}

/* ---- indices ---- */

/* A register to write, after those that are read have been chosen. */
static struct name target(struct gen *g, enum class c)
{
    struct name n;
    if (!gen_may_begin(g, c))
        return gen_reg(g, c);
    snprintf(n.text, sizeof n.text, "%%%s%d", gen_classes[c].prefix, g->count[c]++);
    return n;
}

long long gen_offset(struct gen *g)
{
    static const uint32_t edges[] = {0x7fffffff, 0x80000000, 0xffffffff, 0x7ffffff0, 0xfffffff0,
                                     0xffffff00, 0x7fffff80, 0x80000010, 256,        128,
                                     0x10000,    0x8000,     0xffff8000, 0xfffffff8, 250};
    if (gen_chance(g, 35))
        return (int32_t)(edges[gen_random(g, WEIR_COUNT(edges))] -
                         (gen_chance(g, 60) ? gen_random(g, 40) : 0));
    return (long long)gen_random(g, 80) - 16;
}

static uint32_t mask(struct gen *g)
{
    static const uint32_t masks[] = {1,          3,          7,          15,         31,
                                     63,         127,        0xff,       0x3ff,      0xffff,
                                     0xfffffff8, 0xfffffff0, 0xffffffe0, 0x7fffffff, 0xfffffffe,
                                     0x18,       0x3f8,      0xffffff00};
    return masks[gen_random(g, WEIR_COUNT(masks))];
}

static void new_index(struct gen *g, const char *i)
{
    static const char *const specials[] = {"%tid.x",  "%tid.y", "%laneid", "%ctaid.x", "%ntid.x",
                                           "%thread", "%tid.x", "%thread", "%tid.z",   "%global"};
    switch (gen_random(g, 4)) {
    case 0: gen_put(g, "mov.u32 %s, %s;", i, specials[gen_random(g, 10)]); break;
    case 1:
        gen_put(g, "mad.lo.s32 %s, %%thread, %u, %lld;", i, gen_random(g, 9), gen_offset(g));
        break;
    case 2: gen_put(g, "mov.b32 %s, %lld;", i, gen_offset(g)); break;
    default: gen_put(g, "add.u32 %s, %%%s, %lld;", i, g->function ? "thread" : "n", gen_offset(g));
    }
}

static void narrow_index(struct gen *g)
{
    struct name a = gen_reg(g, C_I), b = gen_reg(g, C_I), p = gen_reg(g, C_P), d = target(g, C_I);
    const char *sign = gen_chance(g, 50) ? "s" : "u";
    switch (gen_random(g, 20)) {
    case 0:
    case 1: new_index(g, d.text); break;
    case 2:
    case 3: gen_put(g, "add.%s32 %s, %s, %lld;", sign, d.text, a.text, gen_offset(g)); break;
    case 4: gen_put(g, "add.%s32 %s, %s, %s;", sign, d.text, a.text, b.text); break;
    case 5: gen_put(g, "sub.%s32 %s, %s, %s;", sign, d.text, a.text, b.text); break;
    case 6: gen_put(g, "sub.%s32 %s, %lld, %s;", sign, d.text, gen_offset(g), a.text); break;
    case 7:
        gen_put(g, "mul.lo.%s32 %s, %s, %d;", sign, d.text, a.text, (int)gen_random(g, 19) - 6);
        break;
    case 8:
        gen_put(g, "mad.lo.%s32 %s, %s, %u, %s;", sign, d.text, a.text, gen_random(g, 33), b.text);
        break;
    case 9: gen_put(g, "shl.b32 %s, %s, %u;", d.text, a.text, gen_random(g, 6)); break;
    case 10: gen_put(g, "shr.%s32 %s, %s, %u;", sign, d.text, a.text, gen_random(g, 8)); break;
    case 11:
    case 12: gen_put(g, "and.b32 %s, %s, 0x%x;", d.text, a.text, mask(g)); break;
    case 13: gen_put(g, "or.b32 %s, %s, %s;", d.text, a.text, b.text); break;
    case 14: gen_put(g, "xor.b32 %s, %s, 0x%x;", d.text, a.text, mask(g)); break;
    case 15:
        gen_put(g, "%s.%s32 %s, %s, %lld;", gen_chance(g, 50) ? "min" : "max", sign, d.text, a.text,
                gen_offset(g));
        break;
    case 16: gen_put(g, "selp.b32 %s, %s, %s, %s;", d.text, a.text, b.text, p.text); break;
    case 17:
        gen_put(g, "%s.%s32 %s, %s, %u;", gen_chance(g, 50) ? "div" : "rem", sign, d.text, a.text,
                (1 + gen_random(g, 40)) * (gen_chance(g, 50) ? 8 : 1));
        break;
    case 18:
        gen_put(g, "cvt.%s32.%s %s, %s;", sign, gen_chance(g, 50) ? "u16" : "s16", d.text, a.text);
        break;
    default:
        gen_put(g, "bfe.%s32 %s, %s, %u, %u;", sign, d.text, a.text, gen_random(g, 8),
                gen_random(g, 20));
    }
}

static void wide_index(struct gen *g)
{
    uint32_t which = gen_random(g, 16);
    struct name a = gen_reg(g, C_A), b = gen_reg(g, C_A), i = gen_reg(g, C_I), j = gen_reg(g, C_I),
                d = target(g, which == 9 ? C_I : C_A);
    const char *sign = gen_chance(g, 50) ? "s" : "u", *other = gen_chance(g, 50) ? "s" : "u";
    switch (which) {
    case 0:
    case 1:
        gen_put(g, "mul.wide.%s32 %s, %s, %d;", sign, d.text, i.text, (int)gen_random(g, 20) - 3);
        break;
    case 2:
        gen_put(g, "mad.wide.%s32 %s, %s, %u, %s;", sign, d.text, i.text, gen_random(g, 9), a.text);
        break;
    case 3:
    case 4: gen_put(g, "cvt.%s64.%s32 %s, %s;", other, sign, d.text, i.text); break;
    case 5: gen_put(g, "add.s64 %s, %s, %s;", d.text, a.text, b.text); break;
    case 6: gen_put(g, "add.s64 %s, %s, %lld;", d.text, a.text, gen_offset(g)); break;
    case 7: gen_put(g, "shl.b64 %s, %s, %u;", d.text, a.text, gen_random(g, 5)); break;
    case 8: gen_put(g, "sub.s64 %s, %s, %s;", d.text, a.text, b.text); break;
    case 9: gen_put(g, "cvt.u32.u64 %s, %s;", d.text, a.text); break;
    case 10: gen_put(g, "mul.wide.%s32 %s, %s, %s;", sign, d.text, i.text, j.text); break;
    case 11: /* registers wider than the types */
        gen_put(g, "cvt.%s%u.%s32 %s, %s;", other, 8u << gen_random(g, 3), sign, d.text,
                gen_chance(g, 50) ? i.text : a.text);
        break;
    case 12:
        gen_put(g, "cvt.%s64.%s%u %s, %s;", other, sign, 8u << gen_random(g, 3), d.text, a.text);
        break;
    case 13: gen_put(g, "and.b64 %s, %s, 0x%x;", d.text, a.text, mask(g)); break;
    case 14: gen_put(g, "shr.%s64 %s, %s, %u;", sign, d.text, a.text, gen_random(g, 6)); break;
    default: gen_put(g, "mul.lo.s64 %s, %s, %d;", d.text, a.text, (int)gen_random(g, 12) - 3);
    }
}

/* Indices of 16 bits, which wrap around soon. */
static void short_index(struct gen *g)
{
    uint32_t which = gen_random(g, 8);
    bool narrow = which < 2 || (which >= 4 && which < 7); /* writes 16 bits */
    struct name k = gen_reg(g, C_H), j = gen_reg(g, C_I), h = narrow ? target(g, C_H) : k,
                i = narrow ? j : target(g, C_I);
    const char *sign = gen_chance(g, 50) ? "s" : "u", *other = gen_chance(g, 50) ? "s" : "u";
    switch (which) {
    case 0:
    case 1: gen_put(g, "cvt.u16.u32 %s, %s;", h.text, i.text); break;
    case 2: gen_put(g, "cvt.%s32.%s16 %s, %s;", other, sign, i.text, h.text); break;
    case 3:
        gen_put(g, "mul.wide.%s16 %s, %s, %u;", sign, i.text, h.text,
                gen_chance(g, 50) ? gen_random(g, 70000) & 0xffff : gen_random(g, 20));
        break;
    case 4: gen_put(g, "add.s16 %s, %s, %u;", h.text, k.text, gen_random(g, 0x10000)); break;
    case 5: gen_put(g, "mul.lo.u16 %s, %s, %u;", h.text, k.text, gen_random(g, 40)); break;
    case 6: gen_put(g, "and.b16 %s, %s, 0x%x;", h.text, k.text, mask(g) & 0xffff); break;
    default: /* registers wider than the types */
        gen_put(g, "cvt.%s%u.%s%u %s, %s;", other, 8u << gen_random(g, 2), sign,
                8u << gen_random(g, 3), i.text, j.text);
    }
}

void gen_index(struct gen *g)
{
    uint32_t kind = gen_random(g, 100);
    if (kind < 50)
        narrow_index(g);
    else if (kind < 86)
        wide_index(g);
    else
        short_index(g);
}

struct name gen_condition(struct gen *g)
{
    static const char *const compare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    struct name p = gen_reg(g, C_P);
    const char *c = compare[gen_random(g, 6)];
    switch (gen_random(g, 8)) {
    case 0: return p;
    case 1:
    case 2:
    case 3:
        gen_put(g, "setp.%s.%s32 %s, %s, %lld;", c, gen_chance(g, 50) ? "s" : "u", p.text,
                gen_reg(g, C_I).text, gen_offset(g));
        break;
    case 4:
        gen_put(g, "setp.%s.%s32 %s, %s, %s;", c, gen_chance(g, 50) ? "s" : "u", p.text,
                gen_reg(g, C_I).text, gen_reg(g, C_I).text);
        break;
    case 5:
        gen_put(g, "mov.u32 %%t0, %%tid.x; setp.%s.s32 %s, %%t0, %u;", c, p.text,
                gen_random(g, 40));
        break;
    case 6:
        gen_put(g, "setp.%s.f32 %s, %s, %s;", c, p.text, gen_reg(g, C_F).text,
                gen_reg(g, C_F).text);
        break;
    default:
        gen_put(g, "setp.%s.s32 %s, %s, %s;", c, p.text, gen_reg(g, C_R).text,
                gen_reg(g, C_R).text);
    }
    return p;
}
