/* gen_mem: accesses to memory and what the threads of a warp do together, for the generator. */
#include "gen_state.h"

#include <stdio.h>
#include <string.h>

/* ---- reading what nobody writes ---- */

struct access {
    const char *type; /* of ld and st */
    unsigned type_id, bytes;
    int vec;
};

static const struct access accesses[] = {
    {"b8", PTX_B8, 1, 1},       {"s8", PTX_S8, 1, 1},      {"u8", PTX_U8, 1, 1},
    {"b16", PTX_B16, 2, 1},     {"s16", PTX_S16, 2, 1},    {"u16", PTX_U16, 2, 1},
    {"b32", PTX_B32, 4, 1},     {"b32", PTX_B32, 4, 1},    {"u32", PTX_U32, 4, 1},
    {"f32", PTX_F32, 4, 1},     {"f32", PTX_F32, 4, 1},    {"b64", PTX_B64, 8, 1},
    {"f64", PTX_F64, 8, 1},     {"v2.b32", PTX_B32, 8, 2}, {"v4.b32", PTX_B32, 16, 4},
    {"v2.b64", PTX_B64, 16, 2}, {"v2.b16", PTX_B16, 4, 2}, {"s32", PTX_S32, 4, 1},
};

static const struct access *access_of(struct gen *g, unsigned most)
{
    for (;;) {
        const struct access *a = &accesses[gen_random(g, WEIR_COUNT(accesses))];
        if (a->bytes <= most)
            return a;
    }
}

/* Registers for the access: one, or a vector of different ones. */
static void registers(struct gen *g, const struct access *a, bool write, char *text, size_t size)
{
    if (a->vec == 1) {
        unsigned bits = ptx_type_bits((enum ptx_type)a->type_id);
        struct name n = {""};
        if (!write && a->type_id == PTX_F32)
            n = gen_reg(g, C_F);
        else if (!write && a->type_id == PTX_F64)
            n = gen_reg(g, C_X);
        else if (bits < 64 && gen_chance(g, 50))
            n = gen_exact(g, 32 < bits ? 64 : 32);
        else
            n = bits == 32 && gen_chance(g, 10) ? gen_reg(g, C_I)
                                                : gen_exact(g, bits < 16 ? 16 : bits);
        snprintf(text, size, "%s", n.text);
        return;
    }
    enum class c = a->type_id == PTX_B64 ? C_D : a->type_id == PTX_B16 ? C_H : C_R;
    int first = (int)gen_random(g, (uint32_t)g->count[c]), at = 0;
    for (int k = 0; k < a->vec; k++)
        at += snprintf(text + at, size - (size_t)at, "%s%%%s%d", k ? ", " : "{",
                       gen_classes[c].prefix, (first + k) % g->count[c]);
    snprintf(text + at, size - (size_t)at, "}");
}

static const char *guard(struct gen *g, char *text, size_t size)
{
    if (gen_chance(g, 15))
        snprintf(text, size, "@%s%s ", gen_chance(g, 50) ? "!" : "", gen_reg(g, C_P).text);
    else
        text[0] = 0;
    return text;
}

static const char *load_kind(struct gen *g)
{
    static const char *const kinds[] = {"ld.global",    "ld.global",   "ld.global.nc",
                                        "ld",           "ld.global",   "ld.global.ca",
                                        "ld.global.cg", "ld.global.nc"};
    return kinds[gen_random(g, 8)];
}

/* %at := base + index * bytes, widened in one of many ways. */
static void address(struct gen *g, const char *base, const char *index, unsigned bytes)
{
    unsigned shift = (unsigned)__builtin_ctz(bytes);
    switch (gen_random(g, 5)) {
    case 0:
        gen_put(g, "mul.wide.u32 %%at, %s, %u; add.s64 %%at, %s, %%at;", index, bytes, base);
        break;
    case 1:
        gen_put(g, "cvt.u64.u32 %%at, %s; shl.b64 %%at, %%at, %u; add.s64 %%at, %%at, %s;", index,
                shift, base);
        break;
    case 2: gen_put(g, "mad.wide.u32 %%at, %s, %u, %s;", index, bytes, base); break;
    case 3:
        gen_put(g, "shl.b32 %%t1, %s, %u; cvt.u64.u32 %%at, %%t1; add.s64 %%at, %s, %%at;", index,
                shift, base);
        break;
    default:
        gen_put(g, "mul.lo.u32 %%t1, %s, %u; cvt.u64.u32 %%at, %%t1; add.s64 %%at, %s, %%at;",
                index, bytes, base);
    }
}

/* Signed indices from the middle, guarded on both sides. */
static void read_middle(struct gen *g, const struct access *a, const char *regs)
{
    unsigned half = GEN_IN_BYTES / 2 / a->bytes;
    struct name i = gen_reg(g, C_I);
    gen_put(g, "setp.ge.s32 %%pg, %s, -%u; setp.lt.and.s32 %%pg, %s, %u, %%pg;", i.text, half,
            i.text, half);
    if (gen_chance(g, 50))
        gen_put(g, "mul.wide.s32 %%at, %s, %u;", i.text, a->bytes);
    else
        gen_put(g, "cvt.s64.s32 %%at, %s; mul.lo.s64 %%at, %%at, %u;", i.text, a->bytes);
    gen_put(g, "add.s64 %%at, %%in, %%at; @%%pg %s.%s %s, [%%at+%u];", load_kind(g), a->type, regs,
            GEN_IN_BYTES / 2);
}

/* 64-bit indices, guarded. */
static void read_wide(struct gen *g, const struct access *a, const char *regs)
{
    struct name i = gen_reg(g, C_A);
    unsigned n = GEN_IN_BYTES / a->bytes;
    if (gen_chance(g, 50))
        gen_put(g,
                "setp.lt.u64 %%pg, %s, %u; shl.b64 %%at, %s, %u; add.s64 %%at, %%at, %%in; "
                "@%%pg %s.%s %s, [%%at];",
                i.text, n, i.text, (unsigned)__builtin_ctz(a->bytes), load_kind(g), a->type, regs);
    else
        gen_put(g, "and.b64 %%at, %s, %u; add.s64 %%at, %%in, %%at; %s.%s %s, [%%at];", i.text,
                GEN_IN_BYTES - a->bytes, load_kind(g), a->type, regs);
}

static void read_guarded(struct gen *g, const struct access *a, const char *regs)
{
    struct name i = gen_reg(g, C_I);
    unsigned n = GEN_IN_BYTES / a->bytes;
    if (gen_chance(g, 30))
        n = 1 + gen_random(g, n < 200 ? n : 200); /* more lanes outside */
    gen_put(g, "setp.%s.u32 %%pg, %s, %u;", gen_chance(g, 50) ? "lt" : "lo", i.text, n);
    if (gen_chance(g, 40)) {
        int label = g->labels++;
        gen_put(g, "@!%%pg bra L%d;", label);
        address(g, "%in", i.text, a->bytes);
        gen_put(g, "%s.%s %s, [%%at];\nL%d:", load_kind(g), a->type, regs, label);
        return;
    }
    address(g, "%in", i.text, a->bytes);
    gen_put(g, "@%%pg %s.%s %s, [%%at];", load_kind(g), a->type, regs);
}

static void read_masked(struct gen *g, const struct access *a, const char *regs,
                        const char *guarded)
{
    struct name i = gen_reg(g, gen_chance(g, 70) ? C_I : C_R);
    unsigned n = GEN_IN_BYTES / a->bytes, back = gen_random(g, 4);
    switch (gen_random(g, 4)) {
    case 0: gen_put(g, "rem.u32 %%t0, %s, %u;", i.text, n - back); break;
    case 1: gen_put(g, "min.u32 %%t0, %s, %u;", i.text, n - 1 - back); break;
    case 2: gen_put(g, "max.s32 %%t0, %s, 0; min.s32 %%t0, %%t0, %u;", i.text, n - 1 - back); break;
    default: gen_put(g, "and.b32 %%t0, %s, %u;", i.text, n / 2 - 1);
    }
    address(g, "%in", "%t0", a->bytes);
    gen_put(g, "%s%s.%s %s, [%%at+%u];", guarded, load_kind(g), a->type, regs,
            gen_chance(g, 30) ? 0 : back * a->bytes);
}

static void read_constant(struct gen *g)
{
    struct name i = gen_reg(g, gen_chance(g, 70) ? C_I : C_R);
    gen_put(g, "and.b32 %%t0, %s, 63; mul.wide.u32 %%at, %%t0, 4;", i.text);
    if (gen_chance(g, 60))
        gen_put(g, "mov.u64 %%at2, constants; add.s64 %%at, %%at, %%at2; ld.const.b32 %s, [%%at];",
                gen_exact(g, 32).text);
    else
        gen_put(g, "mov.u64 %%at2, numbers; add.s64 %%at, %%at2, %%at; ld.global.b32 %s, [%%at];",
                gen_exact(g, 32).text);
}

void gen_read(struct gen *g)
{
    char regs[96], text[24];
    const struct access *a = access_of(g, 16);
    registers(g, a, false, regs, sizeof regs);
    switch (gen_random(g, 8)) {
    case 0: read_constant(g); break;
    case 1: read_middle(g, a, regs); break;
    case 2: read_wide(g, a, regs); break;
    case 3:
    case 4: read_guarded(g, a, regs); break;
    default: read_masked(g, a, regs, guard(g, text, sizeof text));
    }
}

/* ---- regions that are written ---- */

/* %own<r> := which element is this thread's: some permutation of the block's threads. */
static void own(struct gen *g, struct region *r)
{
    uint32_t t = g->threads;
    bool power = (t & (t - 1)) == 0;
    switch (gen_random(g, 6)) {
    case 0: gen_put(g, "sub.u32 %s, %u, %%thread;", r->own, t - 1); break;
    case 1:
        if (power) {
            gen_put(g, "xor.b32 %s, %%thread, %u;", r->own, gen_random(g, t));
            break;
        }
        /* fall through */
    case 2:
        gen_put(g, "add.u32 %s, %%thread, %u; rem.u32 %s, %s, %u;", r->own, gen_random(g, t),
                r->own, r->own, t);
        break;
    case 3:
        if (power) {
            gen_put(g, "mul.lo.u32 %s, %%thread, %u; and.b32 %s, %s, %u;", r->own,
                    gen_random(g, 20) * 2 + 1, r->own, r->own, t - 1);
            break;
        }
        /* fall through */
    case 4:
        if (t % 32 == 0) {
            gen_put(g,
                    "and.b32 %%t0, %%thread, 31; shr.u32 %%t1, %%thread, 5; mad.lo.u32 %s, %%t0, "
                    "%u, %%t1;",
                    r->own, t / 32);
            break;
        }
        /* fall through */
    default: gen_put(g, "mov.b32 %s, %%thread;", r->own);
    }
}

void gen_regions(struct gen *g)
{
    for (int k = 0; k < 2; k++) {
        struct region *r = &g->regions[k];
        r->owning = gen_chance(g, 25) ? READ_ONLY : gen_chance(g, 50) ? ELEMENTS : WORDS;
        if (r->owning != READ_ONLY)
            own(g, r);
    }
}

/* The address of something in the region at byte offset %t0: "[...]" for ld and st, and which. */
static void region_address(struct gen *g, const struct region *r, char *space, char *text)
{
    if (r->shared && gen_chance(g, 70)) {
        gen_put(g, "add.u32 %%t1, %%sbase, %%t0;");
        strcpy(space, ".shared");
        strcpy(text, "[%t1]");
        return;
    }
    gen_put(g,
            gen_chance(g, 50) ? "cvt.u64.u32 %%at, %%t0; add.s64 %%at, %s, %%at;"
                              : "mad.wide.u32 %%at, %%t0, 1, %s;",
            r->base);
    strcpy(space, r->shared || gen_chance(g, 20) ? "" : ".global");
    strcpy(text, "[%at]");
}

static void read_region(struct gen *g, const struct region *r)
{
    char space[16], at[16], regs[96], text[24];
    const struct access *a = access_of(g, 16);
    unsigned n = g->threads * GEN_OWN_BYTES / a->bytes;
    registers(g, a, false, regs, sizeof regs);
    struct name i = gen_reg(g, gen_chance(g, 70) ? C_I : C_R);
    gen_put(g, gen_chance(g, 50) ? "rem.u32 %%t0, %s, %u;" : "min.u32 %%t0, %s, %u;", i.text,
            n - 1);
    gen_put(g, "mul.lo.u32 %%t0, %%t0, %u;", a->bytes);
    region_address(g, r, space, at);
    gen_put(g, "%sld%s.%s %s, %s;", guard(g, text, sizeof text), space, a->type, regs, at);
}

/* %t0 := offset of `bytes` bytes that are this thread's. */
static void own_offset(struct gen *g, const struct region *r, unsigned bytes)
{
    unsigned unit = r->owning == WORDS ? 4 : bytes, n = GEN_OWN_BYTES / unit;
    if (gen_chance(g, 50))
        gen_put(g, "mov.b32 %%t0, %u;", gen_random(g, n));
    else
        gen_put(g, "and.b32 %%t0, %s, %u;", gen_reg(g, gen_chance(g, 70) ? C_I : C_R).text, n - 1);
    if (r->owning == WORDS)
        gen_put(g, "mad.lo.u32 %%t0, %%t0, %u, %s; shl.b32 %%t0, %%t0, 2;", g->threads, r->own);
    else
        gen_put(g, "mul.lo.u32 %%t0, %%t0, %u; mad.lo.u32 %%t0, %s, %d, %%t0;", bytes, r->own,
                GEN_OWN_BYTES);
}

/* Atomics on what is this thread's alone: their results are fixed. */
static void own_atomic(struct gen *g, const struct region *r)
{
    static const char *const ops[] = {"add.u32", "and.b32", "or.b32",   "xor.b32", "exch.b32",
                                      "min.s32", "max.u32", "inc.u32",  "dec.u32", "add.s32",
                                      "cas.b32", "add.u64", "exch.b64", "cas.b64", "min.s64"};
    char space[16], at[16];
    const char *op = ops[gen_random(g, WEIR_COUNT(ops))];
    unsigned bytes = strstr(op, "64") != NULL ? 8 : 4;
    if (r->owning == WORDS && bytes == 8)
        op = "xor.b32", bytes = 4;
    own_offset(g, r, bytes);
    region_address(g, r, space, at);
    struct name d = gen_exact(g, bytes * 8), b = gen_exact(g, bytes * 8),
                c = gen_exact(g, bytes * 8);
    if (strstr(op, "cas") != NULL)
        gen_put(g, "atom%s.%s %s, %s, %s, %s;", space, op, d.text, at, b.text, c.text);
    else
        gen_put(g, "atom%s.%s %s, %s, %s;", space, op, d.text, at, b.text);
}

void gen_own(struct gen *g)
{
    struct region *r = &g->regions[gen_random(g, 2)];
    char space[16], at[16], regs[96], text[24];
    if (r->owning == READ_ONLY) {
        read_region(g, r);
        return;
    }
    if (gen_chance(g, 15)) {
        own_atomic(g, r);
        return;
    }
    const struct access *a = access_of(g, r->owning == WORDS ? 4 : 16);
    bool write = gen_chance(g, 55) && a->type_id != PTX_F32 && a->type_id != PTX_F64;
    registers(g, a, write, regs, sizeof regs);
    own_offset(g, r, a->bytes);
    region_address(g, r, space, at);
    guard(g, text, sizeof text);
    if (write)
        gen_put(g, "%sst%s.%s %s, %s;", text, space, a->type, at, regs);
    else
        gen_put(g, "%sld%s.%s %s, %s;", text, space, a->type, regs, at);
}

void gen_local(struct gen *g)
{
    char regs[96], text[24];
    const struct access *a = access_of(g, 16);
    bool write = gen_chance(g, 50) && a->type_id != PTX_F32 && a->type_id != PTX_F64;
    bool direct = gen_chance(g, 70);
    registers(g, a, write, regs, sizeof regs);
    guard(g, text, sizeof text);
    if (gen_chance(g, 40)) {
        unsigned k = gen_random(g, 64 / a->bytes) * a->bytes;
        if (write)
            gen_put(g, "%sst.local.%s [mine+%u], %s;", text, a->type, k, regs);
        else
            gen_put(g, "%sld.local.%s %s, [mine+%u];", text, a->type, regs, k);
        return;
    }
    gen_put(g, "and.b32 %%t0, %s, %u; mul.wide.u32 %%at, %%t0, %u; mov.u64 %%at2, mine;",
            gen_reg(g, gen_chance(g, 50) ? C_I : C_R).text, 64 / a->bytes - 1, a->bytes);
    if (!direct)
        gen_put(g, "cvta.local.u64 %%at2, %%at2;");
    gen_put(g, "add.s64 %%at, %%at, %%at2;");
    if (write)
        gen_put(g, "%sst%s.%s [%%at], %s;", text, direct ? ".local" : "", a->type, regs);
    else
        gen_put(g, "%sld%s.%s %s, [%%at];", text, direct ? ".local" : "", a->type, regs);
}

/* ---- atomics that commute ---- */

void gen_atomic(struct gen *g)
{
    static const char *const ops[] = {
        "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "max.u32", "max.s64", "min.u64",
        "and.b32", "or.b32",  "xor.b64", "and.b64", "inc.u32", "dec.u32", "add.f32", "add.f64"};
    uint32_t k = gen_random(g, WEIR_COUNT(ops));
    const char *op = ops[k];
    unsigned bytes = strstr(op, "64") != NULL ? 8 : 4;
    bool shared = gen_chance(g, 40), red = gen_chance(g, 50);
    char value[24], text[24];
    if (k == 12 || k == 13)
        snprintf(value, sizeof value, "1000"); /* the same bound for all, else order matters */
    else if (k >= 14)
        gen_put(g, "and.b32 %%t0, %s, 3; cvt.rn.f%u.u32 %%fl%u, %%t0;", gen_reg(g, C_R).text,
                bytes * 8, bytes * 8),
            snprintf(value, sizeof value, "%%fl%u", bytes * 8);
    else
        snprintf(value, sizeof value, "%s",
                 bytes == 4 && gen_chance(g, 50) ? gen_reg(g, C_I).text
                                                 : gen_exact(g, bytes * 8).text);
    if (gen_chance(g, 40))
        gen_put(g, "mov.b32 %%t0, %u;", gen_random(g, 4) * 8 + k * 32);
    else
        gen_put(g, "and.b32 %%t0, %s, 3; mad.lo.u32 %%t0, %%t0, 8, %u;", gen_reg(g, C_I).text,
                k * 32);
    const char *space = ".global", *at = "[%at]";
    if (shared) {
        gen_put(g, "add.u32 %%t0, %%satomic, %%t0;");
        space = ".shared", at = "[%t0]";
    } else {
        gen_put(g, "cvt.u64.u32 %%at, %%t0; add.s64 %%at, %%work, %%at;");
        if (gen_chance(g, 30))
            space = "";
    }
    static const char *const scopes[] = {"", ".relaxed.gpu", ".gpu", ".relaxed.sys", ""};
    const char *scope = scopes[gen_random(g, 5)];
    guard(g, text, sizeof text);
    if (red)
        gen_put(g, "%sred%s%s.%s %s, %s;", text, scope, space, op, at, value);
    else
        gen_put(g, "%satom%s%s.%s %%junk%s%u, %s, %s;", text, scope, space, op, k >= 14 ? "f" : "",
                bytes * 8, at, value);
}

/* ---- warps ---- */

static void shuffle(struct gen *g)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    struct name d = gen_reg(g, gen_chance(g, 80) ? C_R : C_I),
                a = gen_reg(g, gen_chance(g, 60) ? C_R : C_I), p = gen_reg(g, C_P);
    if (gen_chance(g, 70)) {
        uint32_t mode = gen_random(g, 4), segments[] = {0, 0x10, 0x18, 0x1c, 0x1e};
        uint32_t c = segments[gen_random(g, 5)] << 8 | (mode == 0 ? 0 : 0x1f);
        char b[24];
        if (gen_chance(g, 70))
            snprintf(b, sizeof b, "%u", gen_random(g, 32));
        else
            snprintf(b, sizeof b, "%s", gen_reg(g, C_I).text);
        gen_put(g, "shfl.sync.%s.b32 %s|%s, %s, %s, 0x%x, %s;", modes[mode], d.text, p.text, a.text,
                b, c, g->mask);
        return;
    }
    gen_put(g,
            "and.b32 %%t0, %s, 31; mov.b32 %%t2, %s; shr.u32 %%t1, %%t2, %%t0; and.b32 %%t1, "
            "%%t1, %%live; shr.u32 %%t2, %%live, %%t0; and.b32 %%t1, %%t1, %%t2; and.b32 %%t1, "
            "%%t1, 1; setp.ne.b32 %%pg, %%t1, 0; mov.u32 %%t2, %%laneid; selp.b32 %%t0, %%t0, "
            "%%t2, %%pg; shfl.sync.idx.b32 %s, %s, %%t0, 31, %s;",
            gen_reg(g, C_I).text, g->mask, d.text, a.text, g->mask);
}

void gen_warp(struct gen *g)
{
    static const char *const votes[] = {"all", "any", "uni"}, *const reductions[] = {
                                                                  "add.u32", "add.s32", "min.u32",
                                                                  "min.s32", "max.u32", "max.s32",
                                                                  "and.b32", "or.b32",  "xor.b32"};
    struct name p = gen_reg(g, C_P), q = gen_reg(g, C_P);
    const char *not = gen_chance(g, 30) ? "!" : "";
    switch (gen_random(g, 8)) {
    case 0:
        gen_put(g, "vote.sync.%s.pred %s, %s%s, %s;", votes[gen_random(g, 3)], p.text, not, q.text,
                g->mask);
        break;
    case 1:
        gen_put(g, "vote.sync.ballot.b32 %s, %s%s, %s;", gen_exact(g, 32).text, not, q.text,
                g->mask);
        break;
    case 2:
        gen_put(g, "and.b32 %%t0, %s, 3; match.any.sync.b32 %s, %%t0, %s;", gen_reg(g, C_R).text,
                gen_exact(g, 32).text, g->mask);
        break;
    case 3:
        gen_put(g, "match.all.sync.b%u %s|%s, %s, %s;", 64u, gen_exact(g, 32).text, p.text,
                gen_exact(g, 64).text, g->mask);
        break;
    case 4:
        gen_put(g, "redux.sync.%s %s, %s, %s;", reductions[gen_random(g, 9)], gen_exact(g, 32).text,
                gen_reg(g, gen_chance(g, 50) ? C_R : C_I).text, g->mask);
        break;
    case 5: gen_put(g, "bar.warp.sync %s;", g->mask); break;
    default: shuffle(g);
    }
}
