/* gen_forms: kernels that run, one after the other, the instructions that are more than arithmetic
 * (tests/arithmetic/cases.def has that) in each of their forms: atomics on memory of the thread's
 * own and on memory that all share, loads and stores, moves, shuffles, votes, matches, reductions,
 * barriers. They have the parameters and the rules of random kernels (gen.h). */
#include "gen_state.h"

#include <stdio.h>
#include <string.h>

enum { INSTANCES = 16 }; /* in a kernel; each has some of GEN_SLOTS / INSTANCES slots for results */

struct forms {
    struct gen g;
    unsigned wanted; /* the kernel that is to be written */
    unsigned seen;   /* instances so far */
    unsigned slot;
    bool any;
};

/* Begins the next instance. False: it is another kernel's. */
static bool begin(struct forms *f)
{
    unsigned at = f->seen++;
    if (at / INSTANCES != f->wanted)
        return false;
    f->any = true;
    f->slot = at % INSTANCES * (GEN_SLOTS / INSTANCES);
    return true;
}

static char letter(unsigned bits) { return bits <= 16 ? 'h' : bits == 32 ? 'r' : 'd'; }

static unsigned bits_of(const char *type)
{
    for (unsigned t = 1; t < PTX_TYPE_COUNT; t++)
        if (strcmp(ptx_type_name((enum ptx_type)t), type) == 0)
            return ptx_type_bits((enum ptx_type)t);
    return 0;
}

/* Registers first .. first + n - 1 := what is in memory for this thread and instance. */
static void values(struct forms *f, unsigned bits, unsigned first, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        gen_put(&f->g, "ld.global.b%u %%%c%u, [%%at+%u];", bits < 16 ? 16 : bits, letter(bits),
                first + k, (f->seen * 56 + k * 24) % 13600 / 8 * 8);
}

/* A register to the next slot for results, with NaNs made one NaN if it is a float. */
static void result(struct forms *f, const char *type, unsigned reg)
{
    unsigned bits = bits_of(type), at = f->slot++ * 8;
    char c = letter(bits);
    struct gen *g = &f->g;
    if (!strcmp(type, "f32") || !strcmp(type, "f64") || !strcmp(type, "f16") ||
        !strcmp(type, "bf16"))
        gen_put(g, "setp.nan.%s %%pg, %%%c%u, %%%c%u; selp.b%u %%%c%u, 1, %%%c%u, %%pg;", type, c,
                reg, c, reg, bits, c, reg, c, reg);
    if (!strcmp(type, "f16x2") || !strcmp(type, "bf16x2"))
        gen_put(g,
                "setp.nan.%s %%pg|%%ph, %%r%u, %%r%u; mov.b32 {%%half0, %%half1}, %%r%u; selp.b16 "
                "%%half0, 1, %%half0, %%pg; selp.b16 %%half1, 2, %%half1, %%ph; mov.b32 %%r%u, "
                "{%%half0, %%half1};",
                type, reg, reg, reg, reg);
    gen_put(g, "st.global.b%u [%%out+%u], %%%c%u;", bits < 16 ? 16 : bits, at, c, reg);
}

static void predicate(struct forms *f, const char *p)
{
    gen_put(&f->g, "selp.b32 %%t0, 1, 0, %s; st.global.b32 [%%out+%u], %%t0;", p, f->slot++ * 8);
}

/* "{%r0, %r1}", or "%r0" for one. */
static const char *list(char *text, unsigned bits, unsigned first, unsigned n)
{
    size_t at = 0;
    for (unsigned k = 0; k < n; k++)
        at += (size_t)sprintf(text + at, "%s%%%c%u",
                              k       ? ", "
                              : n > 1 ? "{"
                                      : "",
                              letter(bits), first + k);
    if (n > 1)
        strcpy(text + at, "}");
    return text;
}

/* ---- atomics ---- */

/* A state space, the thread's own bytes in it, and what all threads share. */
static const struct {
    const char *suffix, *own, *common;
} spaces[] = {
    {".global", "%gown", "%gall"}, {".shared", "%sown", "%sall"},      {"", "%gown", "%gall"},
    {"", "%sgown", "%sgall"},      {".shared::cta", "%sown", "%sall"},
};

static const char *const orders[] = {"", ".relaxed", ".acquire", ".release", ".acq_rel"},
                         *const scopes[] = {"", ".cta", ".gpu", ".sys", ".cluster"};

struct atomic_form {
    const char *op, *types;
    unsigned operands;
    bool reduces; /* red has it, too */
    bool floats;
    unsigned vec; /* elements; global memory only */
};

static const struct atomic_form atomics[] = {
    {"and", "b32 b64", 1, true, false, 1},
    {"or", "b32 b64", 1, true, false, 1},
    {"xor", "b32 b64", 1, true, false, 1},
    {"exch", "b32 b64", 1, false, false, 1},
    {"cas", "b16 b32 b64", 2, false, false, 1},
    {"add", "u32 s32 u64", 1, true, false, 1},
    {"inc", "u32", 1, true, false, 1},
    {"dec", "u32", 1, true, false, 1},
    {"min", "u32 s32 u64 s64", 1, true, false, 1},
    {"max", "u32 s32 u64 s64", 1, true, false, 1},
    {"add", "f32 f64", 1, true, true, 1},
    {"add.noftz", "f16 f16x2 bf16 bf16x2", 1, true, true, 1},
    {"add", "f32", 1, true, true, 2},
    {"add", "f32", 1, true, true, 4},
    {"add.noftz", "f16 f16x2 bf16 bf16x2", 1, true, true, 2},
    {"add.noftz", "f16 f16x2 bf16 bf16x2", 1, true, true, 4},
    {"min.noftz", "f16 f16x2 bf16 bf16x2", 1, true, true, 2},
    {"max.noftz", "f16 f16x2 bf16 bf16x2", 1, true, true, 4},
    {"max.noftz", "f16 f16x2 bf16 bf16x2", 1, true, true, 2},
    {"add.noftz", "f16 bf16", 1, true, true, 8},
    {"min.noftz", "f16 bf16", 1, true, true, 8},
    {"max.noftz", "f16 bf16", 1, true, true, 8},
};

/* On memory of its own: the old value and the new one. */
static void own_atomic(struct forms *f, const struct atomic_form *a, const char *type,
                       unsigned space, bool red, const char *order, const char *scope)
{
    struct gen *g = &f->g;
    unsigned bits = bits_of(type), n = a->vec, shown = n > 2 ? 3 : n;
    char d[120], b[120], vec[8] = "";
    const char *suffix = spaces[space].suffix, *own = spaces[space].own;
    if (n > 1)
        snprintf(vec, sizeof vec, ".v%u", n);
    values(f, bits, 0, n * 2);
    for (unsigned k = 0; k < n; k++)
        gen_put(g, "st%s.b%u [%s+%u], %%%c%u;", suffix, bits, own, k * bits / 8, letter(bits), k);
    list(b, bits, n, n);
    if (a->operands > 1) { /* half of the comparisons are true */
        values(f, bits, 20, 1);
        gen_put(g, "selp.b%u %%%c%u, %%%c0, %%%c%u, %%even;", bits, letter(bits), n, letter(bits),
                letter(bits), n);
        sprintf(b + strlen(b), ", %%%c20", letter(bits));
    }
    if (red)
        gen_put(g, "red%s%s%s.%s%s.%s [%s], %s;", order, scope, suffix, a->op, vec, type, own, b);
    else
        gen_put(g, "atom%s%s%s.%s%s.%s %s, [%s], %s;", order, scope, suffix, a->op, vec, type,
                list(d, bits, 24, n), own, b);
    for (unsigned k = 0; k < shown; k++) {
        unsigned at = shown < n && k == 2 ? n - 1 : k;
        if (!red)
            result(f, type, 24 + at);
        gen_put(g, "ld%s.b%u %%%c0, [%s+%u];", suffix, bits, letter(bits), own, at * bits / 8);
        result(f, type, 0);
    }
    if (a->floats) /* what is left may be any NaN */
        gen_put(g, "st%s.v2.b64 [%s], {0, 0};", suffix, own);
}

/* All threads on one word. What it holds in the end does not depend on their order. */
static void common_atomic(struct forms *f, const struct atomic_form *a, const char *type,
                          unsigned space, bool red, bool uniform)
{
    struct gen *g = &f->g;
    unsigned bits = bits_of(type);
    char c = letter(bits);
    const char *suffix = spaces[space].suffix, *all = spaces[space].common;
    bool counts = !strcmp(a->op, "inc") || !strcmp(a->op, "dec");
    if (uniform || counts)
        gen_put(g, "ld.global.b%u %%%c0, [%%in+%u];", bits, c, f->seen * 40 % 13600);
    else
        values(f, bits, 0, 1);
    if (counts)
        gen_put(g, "and.b32 %%r0, %%r0, 31;");
    gen_put(g, "bar.sync 0; mov.b%u %%%c1, 12; @%%first st%s.b%u [%s], %%%c1; bar.sync 0;", bits, c,
            suffix, bits, all, c);
    if (red)
        gen_put(g, "@%%some red%s.%s.%s [%s], %%%c0;", suffix, a->op, type, all, c);
    else
        gen_put(g, "@%%some atom%s.%s.%s %%%c2, [%s], %%%c0;", suffix, a->op, type, c, all, c);
    gen_put(g, "bar.sync 0; ld%s.b%u %%%c1, [%s];", suffix, bits, c, all);
    result(f, type, 1);
}

/* The next of several names between blanks. */
static bool next_name(const char **names, char *name)
{
    size_t n = strcspn(*names, " ");
    if (n == 0)
        return false;
    memcpy(name, *names, n);
    name[n] = 0;
    *names += n + ((*names)[n] == ' ');
    return true;
}

static void all_atomics(struct forms *f)
{
    char type[16];
    unsigned count = 0;
    for (size_t k = 0; k < WEIR_COUNT(atomics); k++) {
        const struct atomic_form *a = &atomics[k];
        for (const char *types = a->types; next_name(&types, type);)
            for (unsigned space = 0; space < (a->vec > 1 ? 1 : WEIR_COUNT(spaces)); space++)
                for (unsigned red = 0; red < 1u + a->reduces; red++, count++) {
                    const char *order = orders[count % 5], *scope = scopes[count / 5 % 5];
                    if (red && (count % 5 == 2 || count % 5 == 4))
                        order = "";
                    if (*order && !*scope)
                        scope = ".gpu";
                    if (begin(f))
                        own_atomic(f, a, type, space, red, order, scope);
                    if (!a->floats && a->reduces) {
                        if (begin(f))
                            common_atomic(f, a, type, space, red, false);
                        if (begin(f))
                            common_atomic(f, a, type, space, red, true);
                    }
                }
    }
    /* every order and scope there is */
    for (unsigned o = 1; o < 5; o++)
        for (unsigned s = 1; s < 5; s++)
            for (unsigned red = 0; red < 2; red++)
                if ((!red || o == 1 || o == 3) && begin(f))
                    own_atomic(f, &atomics[5], s % 2 ? "u32" : "u64", o % 2, red, orders[o],
                               scopes[s]);
}

/* ---- loads, stores and moves ---- */

static void load_store(struct forms *f, const char *type, unsigned vec, unsigned space,
                       const char *load, const char *store)
{
    static const struct {
        const char *suffix, *own;
    } areas[] = {{".global", "%gown"}, {".shared", "%sown"}, {".local", "mine"},
                 {"", "%gown"},        {"", "%sgown"},       {"", "%lgown"}};
    struct gen *g = &f->g;
    unsigned bits = bits_of(type), reg = bits < 16 ? 16 : bits;
    char d[64], s[64], v[8] = "";
    if (vec > 1)
        snprintf(v, sizeof v, ".v%u", vec);
    values(f, bits, 0, vec);
    gen_put(g, "st%s%s%s.%s [%s], %s;", store, areas[space].suffix, v, type, areas[space].own,
            list(s, bits, 0, vec));
    gen_put(g, "ld%s%s%s.%s %s, [%s];", load, areas[space].suffix, v, type, list(d, bits, 8, vec),
            areas[space].own);
    for (unsigned k = 0; k < vec; k++)
        gen_put(g, "st.global.b%u [%%out+%u], %%%c%u;", reg, f->slot++ * 8, letter(bits), 8 + k);
    if (bits < 32 && type[0] != 'b' && vec == 1) { /* extended to more */
        gen_put(g, "ld%s%s.%s %%r0, [%s];", load, areas[space].suffix, type, areas[space].own);
        result(f, "b32", 0);
    }
}

static void all_loads(struct forms *f)
{
    static const char *const types[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
                                        "u32", "s32", "f32", "b64", "u64", "s64", "f64"};
    static const char *const
        loads[] = {"",
                   ".volatile",
                   ".relaxed.gpu",
                   ".acquire.sys",
                   ".weak",
                   ".ca",
                   ".cg",
                   ".cs",
                   ".cv",
                   ".lu",
                   ".relaxed.cta",
                   ".acquire.cluster",
                   ".L1::evict_last",
                   ".L2::128B"},
        *const stores[] = {
            "",    ".volatile", ".relaxed.gpu", ".release.sys",     ".weak",           ".wb", ".cg",
            ".cs", ".wt",       ".release.cta", ".relaxed.cluster", ".L1::no_allocate"};
    unsigned count = 0;
    for (size_t t = 0; t < WEIR_COUNT(types); t++)
        for (unsigned vec = 1; vec <= 4; vec *= 2)
            for (unsigned space = 0; space < 6; space++, count++) {
                bool local = space == 2, weak = local || space > 2;
                const char *load = loads[count % WEIR_COUNT(loads)];
                const char *store = stores[count % WEIR_COUNT(stores)];
                if (bits_of(types[t]) * vec > 128)
                    continue;
                if (space == 1 && count % WEIR_COUNT(loads) >= 5)
                    load = "", store = "";
                if (begin(f))
                    load_store(f, types[t], vec, space,
                               weak && local ? ""
                               : space == 0  ? load
                                             : "",
                               weak && local ? ""
                               : space == 0  ? store
                                             : "");
                if (!local && space != 0 && begin(f))
                    load_store(f, types[t], vec, space, count % 3 ? ".volatile" : ".acquire.gpu",
                               count % 3 ? ".volatile" : ".release.gpu");
            }
    for (size_t k = 0; k < WEIR_COUNT(loads); k++)
        if (begin(f))
            load_store(f, "u32", 1, 0, loads[k], stores[k % WEIR_COUNT(stores)]);
}

/* Loads that are the same for all threads, and what has no result: it must change nothing. */
static void all_hints(struct forms *f)
{
    static const char *const types[] = {"b8",  "u8",  "s8",  "b16", "u16", "s16", "b32",
                                        "u32", "s32", "f32", "b64", "u64", "s64", "f64"};
    static const char *const hints[] = {
        "membar.cta;",
        "membar.gl;",
        "membar.sys;",
        "fence.sc.gpu;",
        "fence.acq_rel.cta;",
        "fence.acq_rel.sys;",
        "fence.sc.cluster;",
        "fence.proxy.async;",
        "fence.proxy.alias;",
        "nanosleep.u32 20;",
        "prefetch.global.L1 [%at];",
        "prefetch.global.L2 [%at];",
        "prefetchu.L1 [%at];",
        "prefetch.global.L2::evict_last [%at];",
        "applypriority.global.L2::evict_normal [%in], 128;",
        "pmevent 1;",
        "griddepcontrol.wait;",
        "griddepcontrol.launch_dependents;",
        ("createpolicy.fractional.L2::evict_last.b64 %d9, 0.5; ld.global.L2::cache_hint.b32 %r9, "
         "[%at], %d9;")};
    struct gen *g = &f->g;
    for (size_t t = 0; t < WEIR_COUNT(types); t++)
        if (begin(f)) {
            unsigned bits = bits_of(types[t]), n = bits == 64 ? 2 : 4;
            char d[64];
            gen_put(g, "ldu.global.%s %%%c0, [%%in+%u]; ldu.global.v%u.%s %s, [%%in+%u];", types[t],
                    letter(bits), f->seen * 40 % 13600, n, types[t], list(d, bits, 1, n),
                    f->seen * 48 % 13600);
            for (unsigned k = 0; k <= n; k++)
                result(f, bits < 16 ? "b16" : bits == 16 ? "b16" : bits == 32 ? "b32" : "b64", k);
        }
    for (size_t k = 0; k < WEIR_COUNT(hints); k++)
        if (begin(f)) {
            values(f, 32, 0, 1);
            gen_put(g, "st.global.b32 [%%gown], %%r0;");
            gen_put(g, "%s", hints[k]);
            gen_put(g, "ld.global.b32 %%r1, [%%gown];");
            result(f, "b32", 1);
        }
}

static void all_moves(struct forms *f)
{
    static const char *const types[] = {"b16", "u16", "s16", "b32", "u32", "s32",
                                        "f32", "b64", "u64", "s64", "f64"};
    struct gen *g = &f->g;
    for (size_t k = 0; k < WEIR_COUNT(types); k++)
        if (begin(f)) {
            unsigned bits = bits_of(types[k]);
            values(f, bits, 0, 1);
            gen_put(g, "mov.%s %%%c1, %%%c0;", types[k], letter(bits), letter(bits));
            result(f, bits == 16 ? "b16" : bits == 32 ? "b32" : "b64", 1);
        }
    if (begin(f)) {
        values(f, 16, 0, 4);
        gen_put(g, "mov.b32 %%r0, {%%h0, %%h1}; mov.b64 %%d0, {%%h0, %%h1, %%h2, %%h3};");
        result(f, "b32", 0);
        result(f, "b64", 0);
    }
    if (begin(f)) {
        values(f, 32, 0, 2);
        gen_put(
            g,
            "mov.b64 %%d0, {%%r0, %%r1}; mov.b64 {%%r2, %%r3}, %%d0; mov.b32 {%%h0, %%h1}, %%r3; "
            "mov.b64 {_, %%r4}, %%d0; mov.b16 %%h2, -1;");
        result(f, "b64", 0);
        result(f, "b32", 2);
        result(f, "b16", 0);
        result(f, "b16", 1);
        result(f, "b32", 4);
    }
    if (begin(f)) {
        gen_put(g, "mov.pred %%pg, %%even; mov.pred %%ph, %%some;");
        predicate(f, "%pg");
        predicate(f, "%ph");
    }
    static const char *const tests[] = {"global", "shared", "local"};
    for (int k = 0; k < 3; k++)
        if (begin(f)) {
            gen_put(
                g,
                "isspacep.%s %%pg, %%sgown; isspacep.%s %%ph, %%lgown; isspacep.%s %%pi, %%gown;",
                tests[k], tests[k], tests[k]);
            predicate(f, "%pg");
            predicate(f, "%ph");
            predicate(f, "%pi");
        }
}

/* ---- across a warp ---- */

static void shuffle(struct forms *f, const char *mode, const char *b, unsigned c, bool pair)
{
    struct gen *g = &f->g;
    values(f, 32, 0, 2);
    gen_put(g, "shfl.sync.%s.b32 %%r2%s, %%r0, %s, 0x%x, -1;", mode, pair ? "|%pg" : "", b, c);
    result(f, "b32", 2);
    if (pair)
        predicate(f, "%pg");
}

/* In both halves of a divided warp, each with its own lanes. */
static void divided(struct forms *f, const char *mode, unsigned mask)
{
    struct gen *g = &f->g;
    int label = (int)f->seen;
    values(f, 32, 0, 1);
    gen_put(
        g,
        "shr.u32 %%t0, 0x%x, %%lane; and.b32 %%t0, %%t0, 1; setp.ne.u32 %%pg, %%t0, 0; @%%pg bra "
        "A%d; shfl.sync.%s.b32 %%r2, %%r0, 1, 0x1f, 0x%x; redux.sync.add.u32 %%r3, %%r0, 0x%x; "
        "bra B%d; A%d: shfl.sync.%s.b32 %%r2, %%r0, 1, 0x1f, 0x%x; redux.sync.add.u32 %%r3, "
        "%%r0, 0x%x; B%d:",
        mask, label, mode, ~mask, ~mask, label, label, mode, mask, mask, label);
    result(f, "b32", 2);
    result(f, "b32", 3);
}

static void all_shuffles(struct forms *f)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const unsigned clamps[] = {0,      0x1f,   0x1000, 0x101f, 0x181f,
                                      0x1c1f, 0x1c03, 0x1807, 0x1e1f, 0x07};
    static const char *const lanes[] = {"0", "1", "5", "31", "%r1", "%lane", "33"};
    for (int m = 0; m < 4; m++)
        for (size_t c = 0; c < WEIR_COUNT(clamps); c++)
            for (size_t b = 0; b < WEIR_COUNT(lanes); b++)
                if (begin(f))
                    shuffle(f, modes[m], lanes[b], clamps[c], (b + c) % 3 != 0);
    if (begin(f))
        divided(f, "bfly", 0x0ff000f3);
    if (begin(f))
        divided(f, "bfly", 0x3300ff00);
}

static void all_votes(struct forms *f)
{
    static const char *const modes[] = {"all.pred %pi", "any.pred %pi", "uni.pred %pi",
                                        "ballot.b32 %r2"},
                             *const whats[] = {"%even",  "!%even", "%some",
                                               "%first", "%never", "!%never"};
    for (int m = 0; m < 4; m++)
        for (size_t w = 0; w < WEIR_COUNT(whats); w++)
            if (begin(f)) {
                gen_put(&f->g, "vote.sync.%s, %s, 0xffffffff;", modes[m], whats[w]);
                if (m < 3)
                    predicate(f, "%pi");
                else
                    result(f, "b32", 2);
            }
}

static void all_matches(struct forms *f)
{
    struct gen *g = &f->g;
    for (unsigned bits = 32; bits <= 64; bits *= 2)
        for (unsigned k = 0; k < 4; k++) {
            char c = letter(bits);
            if (!begin(f))
                continue;
            values(f, bits, 0, 1);
            gen_put(g, "and.b%u %%%c0, %%%c0, %u;", bits, c, c, 7u << k >> 1 & 15);
            if (k == 3) /* all alike but one */
                gen_put(g, "mov.b%u %%%c0, 9; @%%first mov.b%u %%%c0, 8;", bits, c, bits, c);
            gen_put(g,
                    "match.any.sync.b%u %%r2, %%%c0, -1; match.all.sync.b%u %%r3|%%pg, %%%c0, -1; "
                    "match.all.sync.b%u %%r4, %%%c0, -1;",
                    bits, c, bits, c, bits, c);
            result(f, "b32", 2);
            result(f, "b32", 3);
            result(f, "b32", 4);
            predicate(f, "%pg");
        }
}

static void all_reductions(struct forms *f)
{
    static const char *const ops[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                      "max.s32", "and.b32", "or.b32",  "xor.b32"};
    struct gen *g = &f->g;
    for (size_t k = 0; k < WEIR_COUNT(ops); k++)
        for (int uniform = 0; uniform < 2; uniform++)
            if (begin(f)) {
                values(f, 32, 0, 1);
                if (uniform)
                    gen_put(g, "ld.global.b32 %%r0, [%%in+%u];", f->seen * 40 % 13600);
                gen_put(g, "redux.sync.%s %%r2, %%r0, -1;", ops[k]);
                result(f, "b32", 2);
            }
}

/* Which lane is elected is open, but it is one, and all agree. */
static void all_elections(struct forms *f)
{
    struct gen *g = &f->g;
    if (begin(f)) {
        gen_put(
            g,
            "elect.sync %%r0|%%pg, -1; vote.sync.ballot.b32 %%r1, %%pg, -1; popc.b32 %%r2, %%r1; "
            "bfind.u32 %%r3, %%r1; setp.eq.u32 %%ph, %%r3, %%r0; bar.warp.sync -1;");
        result(f, "b32", 2);
        predicate(f, "%ph");
    }
}

static void all_barriers(struct forms *f)
{
    static const char *const names[] = {"bar", "bar.cta", "barrier", "barrier.cta"};
    struct gen *g = &f->g;
    for (int k = 0; k < 4; k++)
        if (begin(f)) {
            const char *aligned = k == 2 ? ".aligned" : "";
            gen_put(g,
                    "%s.red.popc%s.u32 %%r2, 0, %%even; %s.red.and%s.pred %%pg, 1, %%some; "
                    "%s.red.or%s.pred "
                    "%%ph, 2, !%%even; %s.sync%s 3;",
                    names[k], aligned, names[k], aligned, names[k], aligned, names[k], aligned);
            result(f, "b32", 2);
            predicate(f, "%pg");
            predicate(f, "%ph");
        }
}

/* ---- kernels ---- */

static void head(struct forms *f)
{
    struct gen *g = &f->g;
    gen_put(g,
            "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u64 %%gall, [work]; "
            "mov.u32 %%t0, %%tid.x; mov.u32 %%lane, %%laneid; mul.wide.u32 %%at, %%t0, %d; add.s64 "
            "%%out, %%out, %%at; mul.wide.u32 %%gown, %%t0, %d; add.s64 %%gown, %%gown, %%gall; "
            "add.s64 "
            "%%gown, %%gown, %d; mul.wide.u32 %%at, %%t0, 8; add.s64 %%at, %%at, %%in;",
            GEN_SLOTS * 8, GEN_OWN_BYTES, GEN_ATOMIC_BYTES);
    gen_put(
        g,
        "mov.u32 %%sall, sums; mov.u32 %%sown, block; mad.lo.u32 %%sown, %%t0, %d, %%sown; "
        "cvt.u64.u32 %%sgown, %%sown; cvta.shared.u64 %%sgown, %%sgown; cvt.u64.u32 %%sgall, "
        "%%sall; "
        "cvta.shared.u64 %%sgall, %%sgall; mov.u64 %%lgown, mine; cvta.local.u64 %%lgown, %%lgown;",
        GEN_OWN_BYTES);
    gen_put(
        g,
        "and.b32 %%t1, %%t0, 1; setp.eq.u32 %%even, %%t1, 0; setp.eq.u32 %%first, %%t0, 0; rem.u32 "
        "%%t1, %%t0, 7; setp.ne.u32 %%some, %%t1, 3; setp.gt.u32 %%never, %%t0, 5000;");
}

bool gen_forms(unsigned index, struct strbuf *out, struct gen_shape *shape)
{
    struct forms f = {.g = {.out = out, .state = index}, .wanted = index};
    *shape = (struct gen_shape){.grid = {1, 1, 1}, .block = {64, 1, 1}};
    sb_printf(
        out,
        "// seed %u block 64 1 1 grid 1 1 1\n.version 8.8\n.target sm_90a\n.address_size 64\n"
        ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 work, .param .u32 "
        "n)\n{\n.reg .pred %%pg, %%ph, %%pi, %%even, %%some, %%first, %%never;\n.reg .b16 "
        "%%h<40>, %%half0, %%half1;\n.reg .b32 %%r<40>, %%t0, %%t1, %%lane, %%sown, "
        "%%sall;\n.reg .b64 %%d<40>, %%in, %%out, %%at, %%gown, %%gall, %%sgown, %%sgall, "
        "%%lgown;\n.local .align 16 .b8 mine[64];\n.shared .align 16 .b8 block[%d];\n.shared "
        ".align 16 .b8 sums[512];\n",
        index, 64 * GEN_OWN_BYTES);
    head(&f);
    all_atomics(&f);
    all_loads(&f);
    all_moves(&f);
    all_shuffles(&f);
    all_votes(&f);
    all_matches(&f);
    all_reductions(&f);
    all_barriers(&f);
    all_hints(&f);
    all_elections(&f);
    gen_put(&f.g, "ret;");
    sb_printf(out, "}\n");
    return f.any;
}
