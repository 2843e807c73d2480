/* gen_grids: kernels of grids of two dimensions, as image filters, stencils and products of
 * matrices are, for the generator.
 *
 * Their threads have nothing to do with each other, blocks are small and many, and much is decided
 * by indices, parameters and numbers of blocks: guards at the edges, loops over rows and columns,
 * the same test again and again, networks that sort. It is what front/joined_blocks.c,
 * front/whole_blocks.c, front/unswitching.c, analysis/row_versions.c and the passes after them look
 * for, and what gen.c's kernels, all of which begin with a vote and have shared memory, never are.
 *
 * A thread reads `in` and `work`, which nobody writes here, and writes elements of `out` of its
 * own: `out` is planes of a word for each thread, in one order for each plane. Floats are made of
 * small integers, so that none is infinite. */
#include "gen_state.h"

#include <stdio.h>
#include <string.h>

enum { WORDS_KEPT = 5, FLOATS_KEPT = 3, MOST_COUNT = 8, MOST_DEEP = 3, TEXT = 24 };

/* Planes of out. */
enum { ROWS = 0, COLUMNS = 16, MIRRORED = 24, PAIRS = 32, BYTES = 48, RESULTS = 60, STREAM = 72 };
enum { PLANES = 8 }; /* of each */

struct grid {
    struct gen *g;
    int words, wides, preds, floats; /* registers of one value each so far */
    int deep, loops, leave_to[MOST_DEEP], again_at[MOST_DEEP];
    uint32_t columns, rows; /* of threads */
    bool fixed;             /* the width of the grid is a constant */
    bool local;             /* threads have an array */
    bool plain;             /* all is rows, and nothing that is read decides */
};

struct text {
    char s[TEXT];
};

static struct text text_of(const char *format, int n)
{
    struct text t;
    snprintf(t.s, sizeof t.s, format, n);
    return t;
}

static struct text new_word(struct grid *k) { return text_of("%%w%d", k->words++); }

static struct text new_wide(struct grid *k) { return text_of("%%q%d", k->wides++); }

static struct text new_pred(struct grid *k) { return text_of("%%p%d", k->preds++); }

static struct text new_float(struct grid *k) { return text_of("%%f%d", k->floats++); }

static struct text kept_word(struct grid *k)
{
    return text_of("%%v%d", (int)gen_random(k->g, WORDS_KEPT));
}

static struct text kept_float(struct grid *k)
{
    return text_of("%%a%d", (int)gen_random(k->g, FLOATS_KEPT));
}

static const char *one_of(struct grid *k, const char *const *list, size_t count)
{
    return list[gen_random(k->g, (uint32_t)count)];
}
#define ONE_OF(k, ...)                                                                             \
    one_of(k, (const char *const[]){__VA_ARGS__},                                                  \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- indices ---- */

static uint32_t threads(const struct grid *k) { return k->columns * k->rows; }

static struct text width(struct grid *k)
{
    return k->fixed ? text_of("%d", (int)k->columns) : text_of("%%columns", 0);
}

/* The counter of a loop that is open, or a small number. */
static struct text counter(struct grid *k)
{
    return k->loops > 0 && gen_chance(k->g, 80)
               ? text_of("%%count%d", (int)gen_random(k->g, (uint32_t)k->loops))
               : text_of("%d", (int)gen_random(k->g, MOST_COUNT));
}

/* Something signed along x or y, beside the thread's own place, kept within the grid. */
static struct text beside(struct grid *k, char along)
{
    struct text a = new_word(k), b = new_word(k), c = new_word(k), n = counter(k);
    uint32_t last = (along == 'x' ? k->columns : k->rows) - 1;
    if (gen_chance(k->g, 50))
        gen_put(k->g, "add.s32 %s, %%%c, %s; add.s32 %s, %s, -%u;", a.s, along, n.s, a.s, a.s,
                gen_random(k->g, 5));
    else
        gen_put(k->g, "sub.s32 %s, %%%c, %s;", a.s, along, n.s);
    if (gen_chance(k->g, 70))
        gen_put(k->g, "max.s32 %s, %s, 0; min.s32 %s, %s, %u;", b.s, a.s, c.s, b.s, last);
    else
        gen_put(k->g, "abs.s32 %s, %s; min.u32 %s, %s, %u;", b.s, a.s, c.s, b.s, last);
    return c;
}

/* What a thread's place is in rows of another length: quotient and remainder. */
static struct text folded(struct grid *k)
{
    static const uint32_t lengths[] = {8, 16, 24, 32, 10, 64, 5, 48};
    struct text q = new_word(k), r = new_word(k), i = new_word(k);
    uint32_t n = lengths[gen_random(k->g, WEIR_COUNT(lengths))];
    struct text by = gen_chance(k->g, 30) ? text_of("%%n", 0) : text_of("%d", (int)n);
    gen_put(k->g, "div.u32 %s, %%place, %s;", q.s, by.s);
    if (gen_chance(k->g, 50))
        gen_put(k->g, "rem.u32 %s, %%place, %s;", r.s, by.s);
    else
        gen_put(k->g, "mul.lo.u32 %s, %s, %s; sub.u32 %s, %%place, %s;", r.s, q.s, by.s, r.s, r.s);
    if (gen_chance(k->g, 50))
        gen_put(k->g, "mad.lo.u32 %s, %s, %u, %s;", i.s, r.s, 1 + gen_random(k->g, 4), q.s);
    else
        gen_put(k->g, "mad.lo.u32 %s, %s, %u, %s;", i.s, q.s, 1 + gen_random(k->g, 40), r.s);
    return i;
}

/* The number of an element below `most`; all that is not by itself below it is made so. */
static struct text element(struct grid *k, uint32_t most)
{
    struct text i = new_word(k), w = width(k), c = counter(k), a, b;
    bool safe = (k->rows + 5) * k->columns + 64 <= most && MOST_COUNT * k->columns <= most &&
                (k->columns + MOST_COUNT) * (k->rows + MOST_COUNT) <= most;
    switch (gen_random(k->g, k->plain ? 4 : 11)) {
    case 0: gen_put(k->g, "add.u32 %s, %%place, %u;", i.s, gen_random(k->g, 64)); break;
    case 1:
        a = new_word(k);
        gen_put(k->g, "add.u32 %s, %%y, %u; mad.lo.s32 %s, %s, %s, %%x;", a.s, gen_random(k->g, 5),
                i.s, a.s, w.s);
        break;
    case 2: gen_put(k->g, "mad.lo.s32 %s, %s, %s, %%x;", i.s, c.s, w.s); break;
    case 3: gen_put(k->g, "mad.lo.s32 %s, %%y, %u, %s;", i.s, (unsigned)MOST_COUNT, c.s); break;
    case 4:
        a = new_word(k);
        gen_put(k->g, "sub.s32 %s, %s, %%x; mad.lo.s32 %s, %%y, %s, %s;", a.s, w.s, i.s, w.s, a.s);
        break;
    case 5: gen_put(k->g, "mad.lo.s32 %s, %%x, %u, %%y;", i.s, k->rows); break;
    case 6:
    case 7:
        a = beside(k, 'x'), b = beside(k, 'y');
        gen_put(k->g, "mad.lo.s32 %s, %s, %s, %s;", i.s, b.s, w.s, a.s);
        break;
    case 8: gen_put(k->g, "add.u32 %s, %s, %s;", i.s, kept_word(k).s, c.s), safe = false; break;
    default: i = folded(k), safe = false;
    }
    if (safe)
        return i;
    a = new_word(k);
    if (gen_chance(k->g, 50))
        gen_put(k->g, "min.u32 %s, %s, %u;", a.s, i.s, most - 1);
    else
        gen_put(k->g, "and.b32 %s, %s, %u;", a.s, i.s, (1u << (31 - __builtin_clz(most))) - 1);
    return a;
}

/* base + index * bytes */
static struct text address(struct grid *k, const char *base, struct text index, unsigned bytes)
{
    struct text a = new_wide(k), b = new_wide(k);
    if (bytes == 1 || gen_chance(k->g, 40))
        gen_put(k->g, "cvt.u64.u32 %s, %s; mul.lo.s64 %s, %s, %u;", a.s, index.s, a.s, a.s, bytes);
    else
        gen_put(k->g, "mul.wide.%c32 %s, %s, %u;", "us"[gen_random(k->g, 2)], a.s, index.s, bytes);
    gen_put(k->g, "add.s64 %s, %s, %s;", b.s, base, a.s);
    return b;
}

/* ---- values ---- */

struct source {
    const char *type;
    unsigned bytes;
};

static struct source any_source(struct grid *k)
{
    static const struct source sources[] = {{"u8", 1},  {"s8", 1},  {"u16", 2}, {"s16", 2},
                                            {"u32", 4}, {"u32", 4}, {"b32", 4}};
    return sources[gen_random(k->g, WEIR_COUNT(sources))];
}

static struct text read_at(struct grid *k, struct source s, struct text at, const char *guard)
{
    struct text v = new_word(k);
    if (*guard)
        gen_put(k->g, "mov.b32 %s, %u;", v.s, gen_random(k->g, 9));
    gen_put(k->g, "%sld.global%s.%s %s, [%s];", guard, ONE_OF(k, "", "", ".nc"), s.type, v.s, at.s);
    return v;
}

static struct text read_element(struct grid *k)
{
    bool in = gen_chance(k->g, 50);
    struct source s = any_source(k);
    uint32_t bytes = in ? GEN_IN_BYTES : GEN_ATOMIC_BYTES + threads(k) * GEN_OWN_BYTES;
    struct text at = address(k, in ? "%in" : "%work", element(k, bytes / s.bytes), s.bytes), p;
    char guard[TEXT + 4] = "";
    if (gen_chance(k->g, 15)) {
        p = new_pred(k);
        gen_put(k->g, "setp.lt.u32 %s, %%%c, %u;", p.s, "xy"[gen_random(k->g, 2)],
                gen_random(k->g, k->columns));
        snprintf(guard, sizeof guard, "@%s%s ", ONE_OF(k, "", "!"), p.s);
    }
    return read_at(k, s, at, guard);
}

static struct text small_float(struct grid *k, struct text word)
{
    struct text a = new_word(k), f = new_float(k);
    gen_put(k->g, "and.b32 %s, %s, 255; cvt.rn.f32.u32 %s, %s;", a.s, word.s, f.s, a.s);
    return f;
}

static void add_up(struct grid *k, struct text word)
{
    struct text v = kept_word(k), a = kept_float(k), f;
    switch (gen_random(k->g, 8)) {
    case 0: gen_put(k->g, "add.u32 %s, %s, %s;", v.s, v.s, word.s); break;
    case 1: gen_put(k->g, "xor.b32 %s, %s, %s;", v.s, v.s, word.s); break;
    case 2:
        gen_put(k->g, "mad.lo.s32 %s, %s, %u, %s;", v.s, v.s, gen_random(k->g, 9), word.s);
        break;
    case 3:
        gen_put(k->g, "%s %s, %s, %s;", ONE_OF(k, "min.u32", "max.s32", "max.u32", "sub.s32"), v.s,
                word.s, kept_word(k).s);
        break;
    case 4:
    case 5:
        f = small_float(k, word);
        gen_put(k->g, "fma.rn.f32 %s, %s, %s, %s;", a.s, f.s,
                ONE_OF(k, "0f3F000000", "0f3FC00000", "0fBF800000"), a.s);
        break;
    case 6:
        f = small_float(k, word);
        gen_put(k->g, "%s %s, %s, %s;", ONE_OF(k, "add.rn.f32", "min.f32", "max.f32", "sub.rn.f32"),
                a.s, a.s, f.s);
        break;
    default:
        gen_put(k->g, "mul.rn.f32 %s, %s, 0f3F000000; add.u32 %s, %s, %s;", a.s, a.s, v.s, word.s,
                v.s);
    }
}

/* ---- conditions ---- */

/* One for the whole block: of a parameter, or of its number. */
static struct text common_condition(struct grid *k)
{
    struct text p = new_pred(k), a = new_word(k);
    switch (gen_random(k->g, 4)) {
    case 0:
        gen_put(k->g, "and.b32 %s, %%n, %u; setp.eq.s32 %s, %s, 0;", a.s, 1u << gen_random(k->g, 3),
                p.s, a.s);
        break;
    case 1: gen_put(k->g, "setp.%s.s32 %s, %%n, 20;", ONE_OF(k, "gt", "le", "ne"), p.s); break;
    default:
        gen_put(k->g, "mov.u32 %s, %%ctaid.%c; and.b32 %s, %s, 1; setp.ne.u32 %s, %s, 0;", a.s,
                "xy"[gen_random(k->g, 2)], a.s, a.s, p.s, a.s);
    }
    return p;
}

static struct text any_condition(struct grid *k)
{
    struct text p = new_pred(k), a = new_word(k);
    char along = "xy"[gen_random(k->g, 2)];
    switch (gen_random(k->g, k->plain ? 3 : 6)) {
    case 0: return common_condition(k);
    case 1:
        gen_put(k->g, "setp.%s.%c32 %s, %%%c, %u;", ONE_OF(k, "lt", "ge", "gt", "le"),
                "us"[gen_random(k->g, 2)], p.s, along,
                gen_random(k->g, along == 'x' ? k->columns : k->rows));
        break;
    case 2: gen_put(k->g, "setp.lt.s32 %s, %%%c, %%n;", p.s, along); break;
    case 3:
        gen_put(k->g, "setp.%s.f32 %s, %s, %s;", ONE_OF(k, "lt", "ge"), p.s, kept_float(k).s,
                kept_float(k).s);
        break;
    case 4:
        gen_put(k->g, "mov.u32 %s, %%tid.%c; setp.%s.s32 %s, %s, %u;", a.s, along,
                ONE_OF(k, "lt", "eq", "ne"), p.s, a.s, gen_random(k->g, 8));
        break;
    default:
        gen_put(k->g, "and.b32 %s, %s, %u; setp.eq.s32 %s, %s, 0;", a.s, kept_word(k).s,
                1 + gen_random(k->g, 7), p.s, a.s);
    }
    return p;
}

/* ---- statements ---- */

static void body(struct grid *k, int most);

static void fork_paths(struct grid *k)
{
    int label = k->g->labels;
    bool two = gen_chance(k->g, 50);
    k->g->labels += 2;
    struct text p = gen_chance(k->g, 40) ? common_condition(k) : any_condition(k);
    gen_put(k->g, "@%s%s bra L%d;", ONE_OF(k, "", "!"), p.s, label);
    body(k, 3);
    if (two)
        gen_put(k->g, "bra L%d;", label + 1);
    gen_put(k->g, "L%d:", label);
    if (two) {
        body(k, 3);
        gen_put(k->g, "L%d:", label + 1);
    }
}

/* How often a loop runs, at most MOST_COUNT times. */
static struct text trips(struct grid *k)
{
    struct text n = new_word(k);
    switch (gen_random(k->g, k->plain ? 4 : 6)) {
    case 0: gen_put(k->g, "and.b32 %s, %%n, 7;", n.s); break;
    case 4: gen_put(k->g, "and.b32 %s, %s, 7;", n.s, kept_word(k).s); break;
    case 5: gen_put(k->g, "and.b32 %s, %%%c, 3;", n.s, "xy"[gen_random(k->g, 2)]); break;
    case 1: gen_put(k->g, "mov.u32 %s, %%ctaid.y; and.b32 %s, %s, 3;", n.s, n.s, n.s); break;
    default: return text_of("%d", 1 + (int)gen_random(k->g, MOST_COUNT));
    }
    return n;
}

static void repeat(struct grid *k)
{
    int at = k->loops, again = k->g->labels, next = again + 1, end = again + 2;
    struct text n = trips(k), p = new_pred(k), q = new_pred(k);
    bool tested = n.s[0] == '%' || gen_chance(k->g, 50);
    k->g->labels += 3;
    gen_put(k->g, "mov.b32 %%count%d, 0;", at);
    if (tested)
        gen_put(k->g, "setp.le.s32 %s, %s, 0; @%s bra L%d;", p.s, n.s, p.s, end);
    gen_put(k->g, "L%d:", again);
    k->leave_to[at] = end, k->again_at[at] = next;
    k->loops++;
    body(k, 4);
    if (gen_chance(k->g, 40))
        gen_put(k->g, "@%s bra L%d;", any_condition(k).s, gen_chance(k->g, 50) ? end : next);
    if (gen_chance(k->g, 50))
        body(k, 2);
    k->loops--;
    gen_put(k->g, "L%d: add.s32 %%count%d, %%count%d, 1; setp.lt.s32 %s, %%count%d, %s;", next, at,
            at, q.s, at, n.s);
    gen_put(k->g, "@%s bra L%d; L%d:", q.s, again, end);
}

/* The same test in each turn of what was a loop, for the address or for the value. */
static void tests(struct grid *k)
{
    struct source s = {"u32", 4};
    struct text p = common_condition(k);
    uint32_t words = (GEN_ATOMIC_BYTES + threads(k) * GEN_OWN_BYTES) / 4;
    struct text one = address(k, "%work", element(k, words - 64), 4);
    struct text other = address(k, "%work", element(k, words - 64), 4);
    for (int n = 2 + (int)gen_random(k->g, 4); n > 0; n--) {
        struct text at = text_of("%%at%d", (int)gen_random(k->g, 3));
        int label = k->g->labels;
        unsigned step = gen_random(k->g, 64) * 4;
        k->g->labels += 2;
        gen_put(k->g, "@%s bra L%d; add.s64 %s, %s, %u;", p.s, label, at.s, one.s, step);
        if (gen_chance(k->g, 25))
            add_up(k, read_element(k));
        gen_put(k->g, "bra L%d; L%d: add.s64 %s, %s, %u; L%d:", label + 1, label, at.s, other.s,
                gen_chance(k->g, 50) ? step : gen_random(k->g, 64) * 4, label + 1);
        add_up(k, read_at(k, s, at, ""));
    }
}

/* A network that sorts, written in one of the ways in which compilers do. */
static void sorted(struct grid *k)
{
    int count = 3 + (int)gen_random(k->g, 4);
    bool floats = gen_chance(k->g, 40), choose = gen_chance(k->g, 50);
    const char *type = floats ? "f32" : ONE_OF(k, "u32", "s32");
    struct text v[8];
    for (int n = 0; n < count; n++) {
        v[n] = read_element(k);
        if (floats)
            v[n] = small_float(k, v[n]);
    }
    for (int a = 0; a < count; a++) {
        for (int b = a + 1; b < count; b++) {
            struct text low = floats ? new_float(k) : new_word(k);
            struct text high = floats ? new_float(k) : new_word(k);
            if (choose) {
                struct text p = new_pred(k);
                const char *bits = floats ? "f32" : "b32";
                gen_put(k->g, "setp.%s.%s %s, %s, %s;", ONE_OF(k, "lt", "le"), type, p.s, v[a].s,
                        v[b].s);
                gen_put(k->g, "selp.%s %s, %s, %s, %s; selp.%s %s, %s, %s, %s;", bits, low.s,
                        v[a].s, v[b].s, p.s, bits, high.s, v[b].s, v[a].s, p.s);
            } else {
                gen_put(k->g, "min.%s %s, %s, %s; max.%s %s, %s, %s;", type, low.s, v[a].s, v[b].s,
                        type, high.s, v[a].s, v[b].s);
            }
            v[a] = low, v[b] = high;
        }
    }
    struct text middle = v[gen_random(k->g, (uint32_t)count)], bits = new_word(k);
    if (floats)
        gen_put(k->g, "cvt.rzi.u32.f32 %s, %s;", bits.s, middle.s);
    add_up(k, floats ? bits : middle);
}

/* A sum over a row and a column, as in a product of matrices. */
static void product(struct grid *k)
{
    struct source s = any_source(k);
    struct text a = new_word(k), b = new_word(k), n = trips(k), p = new_pred(k);
    struct text first = kept_float(k), at[2];
    int again = k->g->labels++, end = k->g->labels++;
    uint32_t words = gen_chance(k->g, 50) ? MOST_COUNT : k->columns;
    gen_put(k->g, "mov.b32 %s, 0; setp.lt.s32 %s, %s, 1; @%s bra L%d; L%d:", a.s, p.s, n.s, p.s,
            end, again);
    gen_put(k->g, "mad.lo.s32 %s, %%y, %u, %s;", b.s, words, a.s);
    at[0] = address(k, "%work", b, s.bytes);
    b = new_word(k);
    gen_put(k->g, "mad.lo.s32 %s, %s, %s, %%x;", b.s, a.s, width(k).s);
    at[1] = address(k, "%work", b, s.bytes);
    struct text one = small_float(k, read_at(k, s, at[0], ""));
    struct text other = small_float(k, read_at(k, s, at[1], ""));
    gen_put(k->g, "mul.rn.f32 %s, %s, 0f3C000000; fma.rn.f32 %s, %s, %s, %s;", one.s, one.s,
            first.s, one.s, other.s, first.s);
    if (gen_chance(k->g, 30))
        add_up(k, read_element(k));
    gen_put(k->g, "add.s32 %s, %s, 1; setp.lt.s32 %s, %s, %s; @%s bra L%d; L%d:", a.s, a.s, p.s,
            a.s, n.s, p.s, again, end);
}

/* The address of this thread's element of a plane; `bytes` of each element. */
static struct text own(struct grid *k, int planes, unsigned bytes)
{
    struct text i = new_word(k), j = new_word(k), a;
    uint32_t plane = (uint32_t)planes;
    if (planes == COLUMNS)
        gen_put(k->g, "mad.lo.u32 %s, %%x, %u, %%y;", i.s, k->rows);
    else if (planes == MIRRORED)
        gen_put(k->g, "sub.s32 %s, %u, %%x; mad.lo.s32 %s, %%y, %s, %s;", i.s, k->columns - 1, i.s,
                width(k).s, i.s);
    else
        gen_put(k->g, "mov.b32 %s, %%place;", i.s);
    if (planes == STREAM) {
        struct text c = counter(k), row = new_word(k);
        gen_put(k->g, "mul.lo.u32 %s, %s, %u; add.u32 %s, %s, %s;", row.s, c.s, threads(k), j.s,
                row.s, i.s);
        i = j;
    } else if (planes != PAIRS && planes != BYTES) {
        plane += gen_random(k->g, PLANES);
    }
    a = address(k, "%out", i, bytes);
    struct text b = new_wide(k);
    gen_put(k->g, "add.s64 %s, %s, %u;", b.s, a.s, plane * threads(k) * 4);
    return b;
}

static void write_own(struct grid *k)
{
    static const int planes[] = {ROWS, ROWS, COLUMNS, MIRRORED, PAIRS, BYTES, STREAM, STREAM};
    int p = planes[gen_random(k->g, WEIR_COUNT(planes))];
    struct text at = own(k, p, p == PAIRS ? 8 : p == BYTES ? 1 : 4), v = kept_word(k);
    char guard[TEXT + 4] = "";
    if (gen_chance(k->g, 20))
        snprintf(guard, sizeof guard, "@%s%s ", ONE_OF(k, "", "!"), any_condition(k).s);
    if (gen_chance(k->g, 30)) {
        struct source s = {p == BYTES ? "u8" : "u32", 4};
        gen_put(k->g, "xor.b32 %s, %s, %s;", v.s, v.s, read_at(k, s, at, "").s);
    }
    if (p == PAIRS)
        gen_put(k->g, "%sst.global.v2.b32 [%s], {%s, %s};", guard, at.s, v.s, kept_word(k).s);
    else
        gen_put(k->g, "%sst.global.%s [%s], %s;", guard, p == BYTES ? "u8" : "b32", at.s, v.s);
}

static void use_local(struct grid *k)
{
    struct text i = new_word(k), v = kept_word(k), w = kept_word(k), r = new_word(k);
    gen_put(k->g, "and.b32 %s, %s, 15; shl.b32 %s, %s, 2; add.u32 %s, %s, %%mine;", i.s,
            gen_chance(k->g, 50) ? w.s : counter(k).s, i.s, i.s, i.s, i.s);
    gen_put(k->g, "ld.local.u32 %s, [%s]; add.u32 %s, %s, %s; st.local.u32 [%s], %s;", r.s, i.s,
            v.s, v.s, r.s, i.s, v.s);
}

static void leave_early(struct grid *k)
{
    if (k->loops > 0 && gen_chance(k->g, 80)) {
        int n = (int)gen_random(k->g, (uint32_t)k->loops);
        gen_put(k->g, "@%s bra L%d;", any_condition(k).s,
                gen_chance(k->g, 50) ? k->leave_to[n] : k->again_at[n]);
    } else if (gen_chance(k->g, 30)) {
        gen_put(k->g, "@%s %s;", any_condition(k).s, ONE_OF(k, "ret", "exit"));
    }
}

static void statement(struct grid *k)
{
    bool deep = k->deep > 3;
    switch (gen_random(k->g, 16)) {
    case 0:
    case 1:
        if (!deep)
            fork_paths(k);
        return;
    case 2:
    case 3:
        if (!deep && k->loops < MOST_DEEP)
            repeat(k);
        return;
    case 4:
        if (gen_chance(k->g, k->plain ? 40 : 100))
            tests(k);
        return;
    case 5:
        if (gen_chance(k->g, 30))
            sorted(k);
        else if (!deep)
            product(k);
        return;
    case 6:
    case 7: write_own(k); return;
    case 8:
        if (k->local)
            use_local(k);
        return;
    case 9: leave_early(k); return;
    default: add_up(k, read_element(k));
    }
}

static void body(struct grid *k, int most)
{
    k->deep++;
    for (int n = 1 + (int)gen_random(k->g, (uint32_t)most); n > 0 && k->g->budget > 0; n--) {
        k->g->budget--;
        statement(k);
    }
    k->deep--;
}

/* ---- kernels ---- */

/* %x or %y: the block's number times its width, and the thread's in it, as compilers write it. */
static void index_along(struct grid *k, char along, uint32_t block)
{
    struct text b = new_word(k), t = new_word(k), w = new_word(k), first = new_word(k);
    bool power = (block & (block - 1)) == 0, fixed = gen_chance(k->g, 50);
    gen_put(k->g, "mov.u32 %s, %%ctaid.%c; mov.u32 %s, %%tid.%c;", b.s, along, t.s, along);
    if (!fixed)
        gen_put(k->g, "mov.u32 %s, %%ntid.%c;", w.s, along);
    else
        snprintf(w.s, sizeof w.s, "%u", block);
    switch (gen_random(k->g, 3)) {
    case 0:
        gen_put(k->g, "mul.lo.s32 %s, %s, %s; add.s32 %%%c, %s, %s;", first.s, b.s, w.s, along,
                first.s, t.s);
        break;
    case 1:
        if (power) {
            gen_put(k->g, "shl.b32 %s, %s, %d; %s %%%c, %s, %s;", first.s, b.s,
                    __builtin_ctz(block), ONE_OF(k, "or.b32", "add.s32"), along, first.s, t.s);
            break;
        }
        /* fall through */
    default: gen_put(k->g, "mad.lo.s32 %%%c, %s, %s, %s;", along, b.s, w.s, t.s);
    }
}

/* What indices are compared with: a constant, a parameter, or of the block's number. */
static struct text limit(struct grid *k, char along)
{
    uint32_t n = along == 'x' ? k->columns : k->rows;
    struct text a = new_word(k);
    switch (gen_random(k->g, 5)) {
    case 0: gen_put(k->g, "add.s32 %s, %%n, %u;", a.s, gen_random(k->g, n)); return a;
    case 1: gen_put(k->g, "sub.s32 %s, %u, %%n;", a.s, n); return a;
    case 2:
        gen_put(k->g, "mov.u32 %s, %%ctaid.%c; sub.s32 %s, %u, %s;", a.s, along == 'x' ? 'y' : 'x',
                a.s, n, a.s);
        return a;
    default: return text_of("%d", (int)(n - gen_random(k->g, n < 6 ? n : 6)));
    }
}

static struct text outside(struct grid *k, char along)
{
    struct text p = new_pred(k);
    char sign = "us"[gen_random(k->g, 2)];
    if (gen_chance(k->g, 25))
        gen_put(k->g, "setp.lt.%c32 %s, %%%c, %u;", sign, p.s, along, gen_random(k->g, 3));
    else if (gen_chance(k->g, 15))
        gen_put(k->g, "setp.le.%c32 %s, %s, %%%c;", sign, p.s, limit(k, along).s, along);
    else
        gen_put(k->g, "setp.%s.%c32 %s, %%%c, %s;", ONE_OF(k, "ge", "ge", "gt"), sign, p.s, along,
                limit(k, along).s);
    return p;
}

/* Threads at the edges of the grid leave. */
static void guards(struct grid *k)
{
    for (int n = (int)gen_random(k->g, 4); n > 0; n--) {
        struct text p = outside(k, 'x'), q = outside(k, 'y'), both = new_pred(k);
        switch (gen_random(k->g, 4)) {
        case 0: gen_put(k->g, "@%s %s;", p.s, ONE_OF(k, "ret", "exit", "bra LEAVE")); break;
        case 1: gen_put(k->g, "@%s bra LEAVE;", q.s); break;
        default:
            gen_put(k->g, "or.pred %s, %s, %s; @%s %s;", both.s, p.s, q.s, both.s,
                    ONE_OF(k, "ret", "exit", "bra LEAVE"));
        }
    }
}

static void begin(struct grid *k)
{
    struct gen *g = k->g;
    gen_put(g, "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u64 %%work, [work]; "
               "ld.param.u32 %%n, [n]; mov.u32 %%mine, mine;");
    index_along(k, 'x', g->shape.block[0]);
    index_along(k, 'y', g->shape.block[1]);
    gen_put(g,
            "mov.u32 %%t0, %%nctaid.x; mul.lo.u32 %%columns, %%t0, %u; "
            "mad.lo.s32 %%place, %%y, %s, %%x;",
            g->shape.block[0], width(k).s);
    if (gen_chance(g, 75))
        guards(k);
    for (int n = 0; n < 16 && k->local; n++)
        gen_put(g, "st.local.u32 [mine+%d], %d;", n * 4, n * 3);
    for (int n = 0; n < WORDS_KEPT; n++)
        gen_put(g, "mad.lo.u32 %%v%d, %s, %u, %u;", n,
                ONE_OF(k, "%place", "%x", "%y", "%n", "%place"), gen_random(g, 9),
                gen_random(g, 99));
    for (int n = 0; n < FLOATS_KEPT; n++)
        gen_put(g, "cvt.rn.f32.u32 %%a%d, %s;", n, ONE_OF(k, "%x", "%y", "%n"));
}

static void end(struct grid *k)
{
    struct gen *g = k->g;
    struct text at = address(k, "%out", text_of("%%place", 0), 4);
    for (int n = 0; n < WORDS_KEPT + FLOATS_KEPT; n++)
        gen_put(g, "st.global.b32 [%s+%u], %%%c%d;", at.s, (RESULTS + (unsigned)n) * threads(k) * 4,
                n < WORDS_KEPT ? 'v' : 'a', n < WORDS_KEPT ? n : n - WORDS_KEPT);
    gen_put(g, "LEAVE: ret;");
}

static void choose_grid(struct gen *g)
{
    static const uint8_t blocks[][2] = {{8, 8},  {16, 2}, {16, 4}, {16, 16}, {8, 4},  {4, 8},
                                        {16, 1}, {8, 1},  {24, 3}, {33, 1},  {4, 16}, {16, 6},
                                        {32, 4}, {48, 1}, {64, 2}, {8, 16},  {2, 8},  {20, 2}};
    /* whose warps lack lanes: neighbouring blocks are joined whatever the kernel does */
    static const uint8_t narrow[][2] = {{16, 1}, {8, 1}, {8, 2}, {8, 3}};
    const uint8_t *b = gen_chance(g, 40) ? narrow[gen_random(g, WEIR_COUNT(narrow))]
                                         : blocks[gen_random(g, WEIR_COUNT(blocks))];
    uint32_t across = 1u << gen_random(g, 6), size = (uint32_t)b[0] * b[1];
    if (gen_chance(g, 15))
        across += gen_random(g, across) + 1;
    while (across * b[0] > 512)
        across /= 2;
    uint32_t down = 1 + 31 / across;
    while (down > 1 && across * down > 16 && across * down * size > 3072)
        down--;
    g->threads = size;
    memcpy(g->shape.block, (uint32_t[]){b[0], b[1], 1}, sizeof g->shape.block);
    memcpy(g->shape.grid, (uint32_t[]){across, down, 1}, sizeof g->shape.grid);
}

void gen_grids(uint64_t seed, struct strbuf *out, struct gen_shape *shape)
{
    struct strbuf text = {0};
    struct gen g = {.out = &text, .state = seed * 0x9e6c63d0876a9a47ull};
    choose_grid(&g);
    *shape = g.shape;
    bool plain = gen_chance(&g, 55);
    g.budget =
        plain ? 1 + (int)gen_random(&g, 7) : 4 + (int)gen_random(&g, gen_chance(&g, 70) ? 9 : 28);
    struct grid k = {.g = &g,
                     .columns = shape->block[0] * shape->grid[0],
                     .rows = shape->block[1] * shape->grid[1],
                     .fixed = gen_chance(&g, 50),
                     .local = !plain && gen_chance(&g, 20),
                     .plain = plain};
    begin(&k);
    if (plain && gen_chance(&g, 60))
        product(&k);
    while (g.budget > 0)
        body(&k, 6);
    end(&k);
    sb_printf(out,
              "// seed %llu block %u %u %u grid %u %u %u\n.version 8.0\n.target sm_80\n"
              ".address_size 64\n"
              ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 work, .param "
              ".u32 n)\n{\n",
              (unsigned long long)seed, shape->block[0], shape->block[1], shape->block[2],
              shape->grid[0], shape->grid[1], shape->grid[2]);
    sb_printf(out,
              ".local .align 16 .b8 mine[64];\n.reg .b64 %%in, %%out, %%work, %%at<3>, %%q<%d>;\n"
              ".reg .b32 %%n, %%t0, %%mine, %%columns, %%x, %%y, %%place, %%v<%d>, %%count<%d>, "
              "%%w<%d>;\n.reg .f32 %%a<%d>, %%f<%d>;\n.reg .pred %%p<%d>;\n",
              k.wides + 1, WORDS_KEPT, MOST_DEEP, k.words + 1, FLOATS_KEPT, k.floats + 1,
              k.preds + 1);
    sb_append(out, text.items, text.count);
    sb_printf(out, "}\n");
    sb_free(&text);
}
