/* gen: whole kernels, their functions and control flow, for the generator (see gen.h). */
#include "gen_state.h"

#include "../arithmetic/values.h"

#include <stdio.h>
#include <string.h>

/* ---- random numbers and text ---- */

uint64_t gen_bits(struct gen *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

uint32_t gen_random(struct gen *g, uint32_t below)
{
    return below ? (uint32_t)((gen_bits(g) >> 32) % below) : 0;
}

void gen_put(struct gen *g, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    /* an instruction or a label a line, so that lines can be left out one by one */
    for (char *s = line; *s;) {
        s += strspn(s, " \n");
        size_t n = strcspn(s, ";:\n");
        while (s[n] == ':' && s[n + 1] == ':')
            n += 2 + strcspn(s + n + 2, ";:\n");
        n += s[n] == ';' || s[n] == ':';
        if (n)
            sb_printf(g->out, "%.*s\n", (int)n, s);
        s += n;
    }
}

/* ---- statements ---- */

static void statements(struct gen *g, int most);

/* Writes nested statements with what holds there, and puts things back as they were. */
static void nested(struct gen *g, bool together, bool uniform, const char *mask, int most)
{
    struct gen outer = *g;
    g->together = together && outer.together;
    g->uniform = uniform && outer.uniform;
    if (mask != NULL)
        snprintf(g->mask, sizeof g->mask, "%s", mask);
    g->depth++;
    statements(g, most);
    g->depth--;
    g->together = outer.together && (!g->left || outer.left);
    g->uniform = outer.uniform;
    memcpy(g->mask, outer.mask, sizeof g->mask);
}

/* A condition that all threads of the block share, in %pg. */
static void uniform_condition(struct gen *g)
{
    static const char *const compare[] = {"eq", "ne", "lt", "ge"};
    gen_put(g, "mov.u32 %%t0, %s; setp.%s.s32 %%pg, %%t0, %u;",
            gen_chance(g, 50) ? "%ctaid.x" : "%n", compare[gen_random(g, 4)], gen_random(g, 3));
}

static void branch(struct gen *g)
{
    int label = g->labels;
    bool two = gen_chance(g, 50), uniform = gen_chance(g, 15) && !g->function;
    char mask[16] = "", rest[16] = "", p[24] = "%pg";
    g->labels += 2;
    if (uniform) {
        uniform_condition(g);
    } else {
        snprintf(p, sizeof p, "%s", gen_condition(g).text);
        if (g->together && g->depth < 4 && gen_chance(g, 60)) {
            snprintf(mask, sizeof mask, "%%mask%d", g->depth);
            snprintf(rest, sizeof rest, "%%rest%d", g->depth);
            gen_put(g, "vote.sync.ballot.b32 %s, %s, %s; not.b32 %s, %s; and.b32 %s, %s, %s;", mask,
                    p, g->mask, rest, mask, rest, rest, g->mask);
        }
    }
    gen_put(g, "@!%s bra%s L%d;", p, uniform && gen_chance(g, 50) ? ".uni" : "", label);
    nested(g, uniform || *mask, uniform, *mask ? mask : NULL, 4);
    if (two)
        gen_put(g, "bra L%d;", label + 1);
    gen_put(g, "L%d:", label);
    if (two) {
        nested(g, uniform || *mask, uniform, *rest ? rest : NULL, 4);
        gen_put(g, "L%d:", label + 1);
    }
}

/* %bound<n> := how often the loop is run. True: the same for the whole block. */
static bool bound(struct gen *g, int n)
{
    switch (gen_random(g, 6)) {
    case 5: /* the same for two, four or eight neighbours */
        if (!g->function) {
            gen_put(g, "mov.u32 %%t0, %%tid.x; shr.u32 %%t0, %%t0, %u; mul.lo.s32 %%t0, %%t0, %u;",
                    1 + gen_random(g, 3), 1 + 2 * gen_random(g, 4));
            gen_put(g, "and.b32 %%bound%d, %%t0, %u;", n, gen_chance(g, 50) ? 3 : 7);
            return false;
        }
        /* fall through */
    case 0:
    case 1: gen_put(g, "mov.b32 %%bound%d, %u;", n, 1 + gen_random(g, 6)); return true;
    case 2: gen_put(g, "and.b32 %%bound%d, %s, 7;", n, gen_reg(g, C_R).text); return false;
    case 3:
        if (!g->function) {
            gen_put(g, "and.b32 %%bound%d, %%n, 3;", n);
            return true;
        }
        /* fall through */
    default:
        gen_put(g, "and.b32 %%bound%d, %s, %u;", n, gen_reg(g, C_I).text,
                gen_chance(g, 50) ? 3 : 7);
        return false;
    }
}

static void loop(struct gen *g)
{
    int n = g->loops, again = g->labels, next = again + 1, end = again + 2;
    bool uniform = bound(g, n), first = gen_chance(g, 60), down = gen_chance(g, 30);
    g->labels += 3;
    if (!first && !uniform)
        gen_put(g, "max.u32 %%bound%d, %%bound%d, 1;", n, n);
    if (down)
        gen_put(g, "mov.b32 %%count%d, %%bound%d;", n, n);
    else
        gen_put(g, "mov.b32 %%count%d, 0;", n);
    gen_put(g, "L%d:", again);
    if (first && !down)
        gen_put(g, "setp.ge.s32 %%pg, %%count%d, %%bound%d; @%%pg bra L%d;", n, n, end);
    else if (first)
        gen_put(g, "setp.le.s32 %%pg, %%count%d, 0; @%%pg bra L%d;", n, end);
    g->break_to[n] = uniform ? -1 : end;
    g->continue_to[n] = uniform ? -1 : next;
    g->loops++;
    if (gen_chance(g, 50))
        gen_put(g, "add.s32 %s, %s, %%count%d;", gen_reg(g, C_I).text, gen_reg(g, C_I).text, n);
    nested(g, uniform, uniform, NULL, 5);
    g->loops--;
    if (gen_chance(g, 60)) {
        struct name i = gen_reg(g, gen_chance(g, 70) ? C_I : C_A);
        gen_put(g, "add.s%d %s, %s, %u;", i.text[1] == 'a' ? 64 : 32, i.text, i.text,
                1 + gen_random(g, 33));
    }
    gen_put(g, "L%d: add.s32 %%count%d, %%count%d, %d;", next, n, n, down ? -1 : 1);
    if (first)
        gen_put(g, "bra L%d;", again);
    else if (down)
        gen_put(g, "setp.gt.s32 %%pg, %%count%d, 0; @%%pg bra L%d;", n, again);
    else
        gen_put(g, "setp.lt.s32 %%pg, %%count%d, %%bound%d; @%%pg bra L%d;", n, n, again);
    gen_put(g, "L%d:", end);
}

/* A switch by brx.idx, with cases that fall through. */
static void choice(struct gen *g)
{
    int cases = 2 + (int)gen_random(g, 3), first = g->labels, end = first + cases;
    g->labels += cases + 1;
    if (gen_chance(g, 50))
        gen_put(g, "rem.u32 %%t0, %s, %d;", gen_reg(g, C_R).text, cases);
    else
        gen_put(g, "min.u32 %%t0, %s, %d;", gen_reg(g, C_I).text, cases - 1);
    sb_printf(g->out, "ways%d: .branchtargets", first);
    for (int k = 0; k < cases; k++)
        sb_printf(g->out, "%s L%d", k ? "," : "", first + k);
    sb_printf(g->out, ";\n");
    gen_put(g, "brx.idx %%t0, ways%d;", first);
    for (int k = 0; k < cases; k++) {
        gen_put(g, "L%d:", first + k);
        nested(g, false, false, NULL, 3);
        if (gen_chance(g, 65))
            gen_put(g, "bra L%d;", end);
    }
    gen_put(g, "L%d:", end);
}

/* Fuel for blocks that branch to each other, different for each thread. */
static void fuel(struct gen *g, int n)
{
    gen_put(g, "and.b32 %%bound%d, %s, 7;", n, gen_reg(g, gen_chance(g, 50) ? C_I : C_R).text);
}

/* Basic blocks with the labels first .. first + blocks - 1 that branch to each other as they like,
 * until the fuel is spent. */
static void tangle(struct gen *g, int first, int blocks, int end)
{
    int n = g->loops;
    fuel(g, n);
    g->break_to[n] = end;
    g->continue_to[n] = first + (int)gen_random(g, (uint32_t)blocks);
    g->loops++;
    if (gen_chance(g, 40))
        gen_put(g, "@%s bra L%d;", gen_condition(g).text,
                first + (int)gen_random(g, (uint32_t)blocks));
    for (int k = 0; k < blocks; k++) {
        gen_put(g,
                "L%d: add.s32 %%bound%d, %%bound%d, -1; setp.lt.s32 %%pg, %%bound%d, 0; @%%pg bra "
                "L%d;",
                first + k, n, n, n, end);
        nested(g, false, false, NULL, 2);
        struct name p = gen_condition(g);
        gen_put(g, "@%s%s bra L%d;", gen_chance(g, 30) ? "!" : "", p.text,
                first + (int)gen_random(g, (uint32_t)blocks));
        if (gen_chance(g, 30))
            gen_put(g, "bra L%d;", first + (int)gen_random(g, (uint32_t)blocks));
    }
    g->loops--;
}

static void soup(struct gen *g)
{
    int blocks = 2 + (int)gen_random(g, 3), first = g->labels, end = first + blocks;
    g->labels += blocks + 1;
    tangle(g, first, blocks, end);
    gen_put(g, "L%d:", end);
}

static void barrier(struct gen *g);

/* What all threads of the mask, or of the block, do together. */
static void meeting(struct gen *g)
{
    if (g->uniform && gen_chance(g, 40))
        barrier(g);
    else
        gen_warp(g);
}

/* Such blocks, which threads leave at different times, each by its own path, to meet the others,
 * and enter again where each likes. They meet equally often. */
static void meetings(struct gen *g)
{
    int blocks = 2 + (int)gen_random(g, 3), first = g->labels, n = g->loops;
    int meet = first + blocks, other = meet + 1, met = meet + 2, end = meet + 3;
    bool two = gen_chance(g, 40);
    g->labels += blocks + 4;
    gen_put(g, "mov.b32 %%count%d, %u;", n, 1 + gen_random(g, 4));
    tangle(g, first, blocks, meet);
    gen_put(g, "L%d:", meet);
    if (two)
        gen_put(g, "and.b32 %%t0, %%count%d, 1; setp.eq.s32 %%pg, %%t0, 0; @%%pg bra L%d;", n,
                other);
    meeting(g);
    if (two) {
        gen_put(g, "bra L%d;", met);
        gen_put(g, "L%d:", other);
        meeting(g);
        gen_put(g, "L%d:", met);
    }
    gen_put(g, "add.s32 %%count%d, %%count%d, -1; setp.le.s32 %%pg, %%count%d, 0; @%%pg bra L%d;",
            n, n, n, end);
    fuel(g, n);
    for (int k = 0; k < 2; k++)
        gen_put(g, "@%s bra L%d;", gen_condition(g).text,
                first + (int)gen_random(g, (uint32_t)blocks));
    gen_put(g, "bra L%d;", first + (int)gen_random(g, (uint32_t)blocks));
    gen_put(g, "L%d:", end);
}

/* Leaves a loop, the function or the kernel, if a condition holds. */
static void leave(struct gen *g)
{
    int n = g->loops - 1;
    if (n >= 0 && gen_chance(g, 80)) {
        n -= n > 0 && gen_chance(g, 25); /* of the outer one */
        int to = gen_chance(g, 60) ? g->break_to[n] : g->continue_to[n];
        for (int k = n; k < g->loops; k++)
            if (g->break_to[k] < 0)
                return;
        gen_put(g, "@%s bra L%d;", gen_condition(g).text, to);
        return;
    }
    if (g->function) {
        gen_put(g, "@%s bra RETURN;", gen_condition(g).text);
        return;
    }
    for (int k = 0; k < g->loops; k++)
        if (g->break_to[k] < 0) /* its barriers and warp operations come again */
            return;
    if (!gen_chance(g, 15))
        return;
    g->left = true;
    g->together = false;
    gen_put(g, "@%s %s;", gen_condition(g).text, gen_chance(g, 50) ? "exit" : "ret");
}

static void call(struct gen *g)
{
    int f = g->recursive && gen_chance(g, 40) ? g->functions
            : g->functions                    ? (int)gen_random(g, (uint32_t)g->functions)
                                              : -1;
    if (f < 0)
        return;
    int other = g->functions ? (int)gen_random(g, (uint32_t)g->functions) : f;
    bool self = f == g->functions, through = !self && gen_chance(g, 20);
    int skip = g->labels++;
    if (self)
        gen_put(g, "setp.le.s32 %%pg, %%depth, 0; @%%pg bra L%d;", skip);
    struct name r = gen_reg(g, C_R), p = gen_reg(g, C_P);
    sb_printf(g->out,
              "{\n.param .b64 A;\n.param .b32 B;\n.param .b32 C;\n.param .b32 D;\n.param .b32 "
              "R;\n");
    gen_put(g, "st.param.b64 [A], %%in; st.param.b32 [B], %s; st.param.b32 [C], %s;",
            gen_reg(g, C_R).text, gen_reg(g, C_I).text);
    if (self)
        gen_put(g, "add.s32 %%t0, %%depth, -1; st.param.b32 [D], %%t0;");
    else
        gen_put(g, "and.b32 %%t0, %s, 3; st.param.b32 [D], %%t0;", gen_reg(g, C_I).text);
    if (through) {
        gen_put(g, "mov.u64 %%at, f%d; mov.u64 %%at2, f%d; selp.b64 %%at, %%at, %%at2, %s;", f,
                other, p.text);
        sb_printf(g->out,
                  "kind%d: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _, "
                  ".param .b32 _, .param .b32 _);\n",
                  skip);
        gen_put(g, "call (R), %%at, (A, B, C, D), kind%d;", skip);
    } else {
        gen_put(g, "call (R), f%d, (A, B, C, D);", f);
    }
    gen_put(g, "ld.param.b32 %s, [R];", r.text);
    sb_printf(g->out, "}\n");
    gen_put(g, "L%d:", skip);
}

static void barrier(struct gen *g)
{
    struct name p = gen_reg(g, C_P), q = gen_reg(g, C_P);
    switch (gen_random(g, 8)) {
    case 0: gen_put(g, "bar.red.popc.u32 %s, 0, %s;", gen_exact(g, 32).text, q.text); break;
    case 1:
        gen_put(g, "bar.red.%s.pred %s, 0, %s;", gen_chance(g, 50) ? "and" : "or", p.text, q.text);
        break;
    case 2: gen_put(g, "barrier.sync %u;", gen_random(g, 4)); break;
    default: gen_put(g, "bar.sync 0;");
    }
}

enum kind {
    ARITHMETIC,
    INDEX,
    READ,
    OWN,
    LOCAL,
    ATOMIC,
    WARP,
    BRANCH,
    LOOP,
    CHOICE,
    CALL,
    BARRIER,
    CARRY,
    FIX,
    SOUP,
    LEAVE,
    KINDS
};

static void statement(struct gen *g)
{
    int total = 0, k = 0;
    char text[32] = "";
    for (int n = 0; n < KINDS; n++)
        total += g->weights[n];
    for (int at = (int)gen_random(g, (uint32_t)total); at >= g->weights[k]; k++)
        at -= g->weights[k];
    bool deep = g->depth >= 4;
    switch ((enum kind)k) {
    case INDEX: gen_index(g); return;
    case READ: gen_read(g); return;
    case OWN:
        if (!g->function)
            gen_own(g);
        return;
    case LOCAL: gen_local(g); return;
    case ATOMIC:
        if (!g->function)
            gen_atomic(g);
        return;
    case WARP:
        if (g->together)
            gen_warp(g);
        return;
    case BRANCH:
        if (!deep)
            branch(g);
        return;
    case LOOP:
        if (!deep && g->loops < 2)
            loop(g);
        return;
    case CHOICE:
        if (!deep)
            choice(g);
        return;
    case CALL: call(g); return;
    case BARRIER:
        if (g->uniform) {
            barrier(g);
            /* inside a loop or a branch what is owned must stay as it is for the next iteration */
            if (g->depth == 0)
                gen_regions(g);
        }
        return;
    case CARRY: gen_carry(g); return;
    case FIX: gen_fix_random(g); return;
    case SOUP:
        if (!deep && g->loops < 2 && g->together && gen_chance(g, 85))
            meetings(g);
        else if (!deep && g->loops < 2)
            soup(g);
        return;
    case LEAVE: leave(g); return;
    default:
        if (gen_chance(g, 12))
            snprintf(text, sizeof text, "@%s%s ", gen_chance(g, 40) ? "!" : "",
                     gen_reg(g, C_P).text);
        gen_arithmetic(g, text);
    }
}

static void statements(struct gen *g, int most)
{
    for (int n = 1 + (int)gen_random(g, (uint32_t)most); n > 0 && g->budget > 0; n--) {
        g->budget--;
        statement(g);
    }
}

/* ---- bodies ---- */

static void declare(struct gen *g)
{
    for (int c = 0; c < CLASSES; c++)
        if (g->count[c])
            sb_printf(g->out, ".reg .%s %%%s<%d>;\n", gen_classes[c].declared,
                      gen_classes[c].prefix, gen_classes[c].limit);
    sb_printf(g->out,
              ".reg .pred %%pg, %%nan0, %%nan1;\n.reg .b16 %%half0, %%half1;\n"
              ".reg .b32 %%t0, %%t1, %%t2, %%thread, %%global, %%n, %%live, %%sbase, "
              "%%satomic, %%own0, %%own1, %%depth, %%junk32;\n"
              ".reg .b32 %%mask<5>, %%rest<5>, %%bound<4>, %%count<4>;\n"
              ".reg .b64 %%at, %%at2, %%in, %%out, %%work, %%mywork, %%sgeneric, %%junk64;\n"
              ".reg .f32 %%fl32, %%junkf32;\n.reg .f64 %%fl64, %%junkf64;\n");
}

static void thread_number(struct gen *g)
{
    gen_put(g,
            "mov.u32 %%t0, %%tid.y; mov.u32 %%t1, %%ntid.x; mov.u32 %%thread, %%tid.x; mad.lo.u32 "
            "%%thread, %%t0, %%t1, %%thread;");
    if (g->shape.block[2] > 1)
        gen_put(g, "mov.u32 %%t0, %%tid.z; mov.u32 %%t2, %%ntid.y; mul.lo.u32 %%t1, %%t1, %%t2; "
                   "mad.lo.u32 %%thread, %%t0, %%t1, %%thread;");
    gen_put(g,
            "mov.u32 %%t0, %%ctaid.y; mov.u32 %%t1, %%nctaid.x; mov.u32 %%t2, %%ctaid.x; "
            "mad.lo.u32 %%t2, %%t0, %%t1, %%t2; mad.lo.u32 %%global, %%t2, %u, %%thread;",
            g->threads);
}

/* An index that counts with the threads; in tiny kernels it mostly passes the end of some width. */
static void first_index(struct gen *g, int n)
{
    static const uint32_t ends[] = {1 << 7, 1 << 8, 1 << 15, 1 << 16, 1u << 31, 0};
    uint32_t step = gen_random(g, 5), begin = (uint32_t)gen_offset(g);
    if (g->tiny && gen_chance(g, 60))
        begin = ends[gen_random(g, WEIR_COUNT(ends))] - gen_random(g, step * 32 + 1);
    gen_put(g, "mad.lo.s32 %%i%d, %%thread, %u, %d;", n, step, (int)begin);
}

/* Every register gets a value: from memory, the same for all, or counting with the threads. */
static void fill(struct gen *g)
{
    static const char *const loads[CLASSES] = {
        [C_H] = "b16", [C_R] = "b32", [C_U] = "u32", [C_S] = "s32", [C_D] = "b64", [C_L] = "s64",
        [C_F] = "f32", [C_X] = "f64", [C_G] = "b16", [C_Q] = "b32", [C_B] = "b16", [C_C] = "b32"};
    gen_put(g, "mov.u32 %%t0, %%ctaid.x; add.u32 %%t0, %%t0, %%thread; mul.wide.u32 %%at, %%t0, 8; "
               "add.s64 %%at, %%in, %%at;");
    for (int c = 0; c < CLASSES; c++) {
        for (int n = 0; n < g->count[c]; n++) {
            const char *p = gen_classes[c].prefix;
            if (c == C_P)
                gen_put(g, "and.b32 %%t0, %%thread, %u; setp.%s.u32 %%p%d, %%t0, 0;",
                        1u << gen_random(g, 6), gen_chance(g, 50) ? "eq" : "ne", n);
            else if (c == C_I)
                first_index(g, n);
            else if (c == C_A)
                gen_put(g, "mul.wide.u32 %%a%d, %%thread, %u;", n, 1 + gen_random(g, 8));
            else
                gen_put(g, "ld.global.%s %%%s%d, [%%%s+%u];", loads[c], p, n,
                        gen_chance(g, 85) ? "at" : "in", gen_random(g, 900) * 8);
        }
    }
    for (int n = 0; n < 64 && !g->tiny; n += 16)
        gen_put(g, "st.local.v2.b64 [mine+%d], {%%d0, %%d1};", n);
}

static void function(struct gen *g, int index)
{
    struct gen outer = *g;
    g->function = true;
    g->functions = index;
    g->recursive = gen_chance(g, 40);
    g->budget = 4 + (int)gen_random(g, 10);
    g->together = g->uniform = false;
    for (int c = 0; c < CLASSES; c++)
        g->count[c] = c == C_D || c == C_R ? 4 : g->count[c] < 2 ? g->count[c] : 2;
    sb_printf(g->out,
              ".func (.param .b32 RP) f%d(.param .b64 AP, .param .b32 BP, .param .b32 CP, .param "
              ".b32 DP)\n{\n",
              index);
    declare(g);
    sb_printf(g->out, ".local .align 16 .b8 mine[64];\n");
    gen_put(g, "ld.param.b64 %%in, [AP]; ld.param.b32 %%depth, [DP];");
    thread_number(g);
    fill(g);
    gen_put(g, "ld.param.b32 %%r0, [BP]; ld.param.b32 %%i0, [CP];");
    statements(g, 12);
    gen_put(g,
            "RETURN: xor.b32 %%t0, %%r0, %%r1; add.u32 %%t0, %%t0, %%i0; st.param.b32 [RP], %%t0; "
            "ret;");
    sb_printf(g->out, "}\n");
    int labels = g->labels;
    uint64_t state = g->state;
    *g = outer;
    g->labels = labels;
    g->state = state;
}

static void store_all(struct gen *g)
{
    int slot = 0;
    uint32_t threads = g->threads * g->shape.grid[0] * g->shape.grid[1] * g->shape.grid[2];
    /* a row of memory for each register, in which threads lie side by side, or one for each thread
     */
    bool columns = g->tiny || gen_chance(g, 80);
    unsigned step = columns ? threads * 8 : 8;
    if (!g->left && !g->tiny) {
        gen_put(g, "bar.sync 0; and.b32 %%t0, %%thread, 63; mad.lo.u32 %%t0, %%t0, 8, %%satomic; "
                   "ld.shared.b64 %%junk64, [%%t0];");
    } else {
        gen_put(g, "mov.b64 %%junk64, 1;");
    }
    gen_put(g,
            "mul.wide.u32 %%mywork, %%global, %u; add.s64 %%mywork, %%out, %%mywork; mul.wide.u32 "
            "%%sgeneric, %%global, %u; add.s64 %%sgeneric, %%out, %%sgeneric; mul.wide.u32 %%at, "
            "%%global, %u; add.s64 %%at, %%out, %%at; st.global.b64 [%%at], %%junk64;",
            columns ? 4 : GEN_SLOTS * 8, columns ? 2 : GEN_SLOTS * 8, columns ? 8 : GEN_SLOTS * 8);
    for (int c = 0; c < CLASSES; c++) {
        for (int n = 0; n < g->count[c]; n++) {
            const struct class_info *k = &gen_classes[c];
            unsigned bits = ptx_type_bits((enum ptx_type)k->type), at = (unsigned)++slot * step;
            const char *fixed = bits == 16 ? "%h0" : bits <= 32 ? "%t0" : "%at2";
            const char *base = bits == 16 ? "%sgeneric" : bits <= 32 ? "%mywork" : "%at";
            if (c == C_P)
                gen_put(g, "selp.b32 %%t0, 1, 0, %%p%d; st.global.b32 [%s+%u], %%t0;", n, base, at);
            else if (!k->loose)
                gen_put(g, "st.global.b%u [%s+%u], %%%s%d;", bits, base, at, k->prefix, n);
            else {
                gen_fix(g, (enum class)c, n, fixed);
                gen_put(g, "st.global.b%u [%s+%u], %s;", bits, base, at, fixed);
            }
        }
    }
}

/* Shared memory has no value before it is written. */
static void begin_shared(struct gen *g)
{
    gen_put(g,
            "mad.lo.u32 %%t0, %%thread, %d, %%sbase; st.shared.v2.b64 [%%t0], {%%d0, %%d1}; "
            "st.shared.v2.b64 [%%t0+16], {%%d1, %%d0};",
            GEN_OWN_BYTES);
    for (uint32_t first = 0; first < 64; first += g->threads)
        gen_put(g,
                "add.u32 %%t0, %%thread, %u; setp.lt.u32 %%pg, %%t0, 64; mad.lo.u32 %%t0, %%t0, 8, "
                "%%satomic; @%%pg st.shared.b64 [%%t0], 5;",
                first);
    gen_put(g, "bar.sync 0;");
    gen_regions(g);
}

static void kernel(struct gen *g)
{
    sb_printf(g->out,
              ".visible .entry kernel(.param .u64 in, .param .u64 out, .param .u64 work, .param "
              ".u32 n)\n");
    if (gen_chance(g, 30))
        sb_printf(g->out, ".%s %u, %u, %u\n", gen_chance(g, 50) ? "reqntid" : "maxntid",
                  g->shape.block[0], g->shape.block[1], g->shape.block[2]);
    sb_printf(g->out, "{\n");
    declare(g);
    sb_printf(g->out,
              ".local .align 16 .b8 mine[64];\n.shared .align 16 .b8 block[%u];\n"
              ".shared .align 16 .b8 sums[512];\n",
              g->threads * GEN_OWN_BYTES);
    gen_put(g, "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u64 %%work, [work]; "
               "ld.param.u32 %%n, [n];");
    if (gen_chance(g, 70))
        gen_put(g, "cvta.to.global.u64 %%in, %%in; cvta.to.global.u64 %%out, %%out;");
    thread_number(g);
    gen_put(g,
            "setp.eq.u32 %%pg, %%thread, %%thread; vote.sync.ballot.b32 %%live, %%pg, 0xffffffff; "
            "mov.u32 %%sbase, block; mov.u32 %%satomic, sums; mov.u32 %%depth, 2;");
    gen_put(g,
            "sub.u32 %%t0, %%global, %%thread; mul.wide.u32 %%mywork, %%t0, %d; add.s64 %%mywork, "
            "%%mywork, %%work; add.s64 %%mywork, %%mywork, %d; cvt.u64.u32 %%sgeneric, %%sbase; "
            "cvta.shared.u64 %%sgeneric, %%sgeneric;",
            GEN_OWN_BYTES, GEN_ATOMIC_BYTES);
    fill(g);
    if (!g->tiny)
        begin_shared(g);
    statements(g, 2 * g->budget);
    while (g->budget > 0)
        statements(g, 4);
    store_all(g);
    gen_put(g, "ret;");
    sb_printf(g->out, "}\n");
}

/* ---- everything ---- */

static void choose_shape(struct gen *g)
{
    static const uint16_t blocks[][3] = {
        {32, 1, 1}, {64, 1, 1},  {128, 1, 1}, {256, 1, 1}, {16, 16, 1}, {8, 8, 1},  {33, 1, 1},
        {1, 1, 1},  {7, 5, 3},   {100, 1, 1}, {32, 4, 1},  {16, 2, 2},  {24, 4, 1}, {48, 2, 1},
        {4, 4, 4},  {96, 1, 1},  {12, 12, 1}, {31, 1, 1},  {64, 2, 1},  {16, 4, 1}, {8, 4, 2},
        {8, 3, 1},  {128, 2, 1}, {2, 2, 2},   {20, 3, 1},  {32, 1, 3},  {8, 1, 1},  {16, 1, 1},
        {4, 1, 1},  {2, 1, 1},   {12, 1, 1},  {8, 1, 3},   {16, 3, 1}};
    const uint16_t *b = blocks[gen_random(g, WEIR_COUNT(blocks))];
    uint16_t any[3] = {(uint16_t)(1 + gen_random(g, 40)), (uint16_t)(1 + gen_random(g, 3)),
                       (uint16_t)(1 + gen_random(g, 2))};
    if (gen_random(g, 3) == 0)
        b = any;
    g->threads = 1;
    for (int k = 0; k < 3; k++) {
        g->shape.block[k] = b[k];
        g->shape.grid[k] = k < 2 ? 1 + gen_random(g, 2) : 1;
        g->threads *= b[k];
    }
}

/* What this kernel has much of. */
static void choose_style(struct gen *g)
{
    static const int fast_path[KINDS] = {
        [ARITHMETIC] = 24, [INDEX] = 16, [READ] = 10, [OWN] = 10,   [LOCAL] = 3, [ATOMIC] = 4,
        [WARP] = 6,        [BRANCH] = 9, [LOOP] = 6,  [CHOICE] = 2, [CALL] = 3,  [BARRIER] = 3,
        [CARRY] = 1,       [FIX] = 3,    [SOUP] = 2,  [LEAVE] = 5};
    for (int k = 0; k < KINDS; k++)
        g->weights[k] = gen_chance(g, 20) ? fast_path[k] * (int)gen_random(g, 4) : fast_path[k];
    g->weights[INDEX]++;
    /* much about indices and little else: what the analysis of shapes knows, and cheap to compile
     */
    bool plain = gen_chance(g, 40);
    if (plain) {
        g->weights[INDEX] *= 4;
        g->weights[ARITHMETIC] /= 8;
        g->weights[CHOICE] = g->weights[CARRY] = g->weights[FIX] = 1;
    }
    g->tiny = plain && gen_chance(g, 60);
    for (int k = 0; k < KINDS && g->tiny; k++)
        g->weights[k] = k == INDEX ? 50 : k == READ ? 2 : k == BRANCH || k == LOOP;
    /* or about who waits for whom */
    bool tangled = !plain && gen_chance(g, 30);
    if (tangled) {
        static const int waits[KINDS] = {
            [ARITHMETIC] = 10, [INDEX] = 4, [READ] = 2,    [OWN] = 2,   [WARP] = 10, [BRANCH] = 6,
            [LOOP] = 4,        [CALL] = 1,  [BARRIER] = 2, [SOUP] = 16, [LEAVE] = 4};
        memcpy(g->weights, waits, sizeof waits);
    }
    /* most kernels are small: compiling takes nearly all of the time */
    bool small = tangled || gen_chance(g, 75);
    for (int c = 0; c < CLASSES; c++) {
        int most = small ? (gen_classes[c].most + 2) / 3 : gen_classes[c].most;
        g->count[c] = most - (int)gen_random(g, (uint32_t)(most + 1) / 2);
        if (plain && gen_classes[c].loose)
            g->count[c] = c == C_F || c == C_X;
        else if (c >= C_G && gen_chance(g, 70))
            g->count[c] = 0;
    }
    g->count[C_R] = g->count[C_R] < 4 ? 4 : g->count[C_R];
    g->count[C_H] = g->count[C_H] < 2 ? 2 : g->count[C_H];
    g->count[C_D] = g->count[C_D] < 2 ? 2 : g->count[C_D];
    g->count[C_I] = plain ? 5 : g->count[C_I] < 3 ? 3 : g->count[C_I];
    g->count[C_A] = plain ? 3 : g->count[C_A] < 2 ? 2 : g->count[C_A];
    g->count[C_P] = g->count[C_P] < 3 ? 3 : g->count[C_P];
    if (g->tiny) {
        static const uint8_t count[CLASSES] = {
            [C_P] = 3, [C_H] = 4, [C_R] = 4, [C_D] = 2, [C_I] = 4, [C_A] = 3, [C_F] = 1, [C_X] = 1};
        for (int c = 0; c < CLASSES; c++)
            g->count[c] = count[c];
        g->budget = 30 + (int)gen_random(g, 30);
        return;
    }
    g->budget = 8 + (int)gen_random(g, small ? 22 : gen_chance(g, 25) ? 90 : 35);
}

void gen_kernel(uint64_t seed, struct strbuf *out, struct gen_shape *shape)
{
    struct strbuf text = {0};
    struct gen g = {
        .out = &text, .state = seed * 0x2545f4914f6cdd1dull, .together = true, .uniform = true};
    strcpy(g.mask, "0xffffffff");
    g.regions[0] = (struct region){READ_ONLY, true, "%sgeneric", "%own0"};
    g.regions[1] = (struct region){READ_ONLY, false, "%mywork", "%own1"};
    choose_shape(&g);
    choose_style(&g);
    if (g.tiny && gen_chance(&g, 60)) { /* where thread numbers are affine in most ways */
        g.threads = g.shape.block[0] = 32u << gen_random(&g, 3);
        g.shape.block[1] = g.shape.block[2] = 1;
    }
    *shape = g.shape;
    const uint32_t *b = g.shape.block, *n = g.shape.grid;
    sb_printf(g.out, "// seed %llu block %u %u %u grid %u %u %u\n", (unsigned long long)seed, b[0],
              b[1], b[2], n[0], n[1], n[2]);
    sb_printf(g.out, ".version 8.8\n.target sm_90a\n.address_size 64\n");
    sb_printf(g.out, ".const .align 4 .b32 constants[64] = {");
    for (int k = 0; k < 64; k++)
        sb_printf(g.out, "%s%u", k ? ", " : "", (uint32_t)gen_bits(&g) >> gen_random(&g, 32));
    sb_printf(g.out, "};\n.global .align 4 .b32 numbers[64] = {");
    for (int k = 0; k < 64; k++)
        sb_printf(g.out, "%s%u", k ? ", " : "", (uint32_t)gen_bits(&g) >> gen_random(&g, 32));
    sb_printf(g.out, "};\n");
    int functions = gen_chance(&g, 50) && !g.tiny ? (int)gen_random(&g, 4) : 0;
    for (int k = 0; k < functions; k++)
        function(&g, k);
    g.functions = functions;
    kernel(&g);
    if (gen_chance(&g, 90))
        gen_names(text.items, out);
    else
        sb_append(out, text.items, text.count);
    sb_free(&text);
}

uint64_t gen_out_bytes(const struct gen_shape *s)
{
    return (uint64_t)s->grid[0] * s->grid[1] * s->grid[2] * s->block[0] * s->block[1] *
           s->block[2] * GEN_SLOTS * 8;
}

uint64_t gen_work_bytes(const struct gen_shape *s)
{
    return GEN_ATOMIC_BYTES + (uint64_t)s->grid[0] * s->grid[1] * s->grid[2] * s->block[0] *
                                  s->block[1] * s->block[2] * GEN_OWN_BYTES;
}

uint32_t gen_fill(uint64_t seed, uint8_t *in, uint8_t *work, uint64_t work_bytes)
{
    static const uint8_t types[] = {PTX_F32, PTX_F64, PTX_F16, PTX_U32, PTX_S32, PTX_U64, PTX_U16};
    struct gen g = {.state = seed ^ 0x5851f42d4c957f2dull};
    for (int k = 0; k < GEN_IN_BYTES; k += 8) {
        uint64_t v = gen_bits(&g), n = gen_random(&g, 8);
        if (n < 5) {
            unsigned type = types[gen_random(&g, sizeof types)], bits = ptx_type_bits(type);
            v = 0;
            for (unsigned at = 0; at < 64; at += bits)
                v |= value_of(type, gen_random(&g, edge_count(type))) << at;
        } else if (n < 7) {
            v = (uint64_t)gen_random(&g, 100) << 32 | gen_random(&g, 100);
        }
        memcpy(in + k, &v, 8);
    }
    for (uint64_t k = 0; k < work_bytes; k++)
        work[k] = (uint8_t)gen_bits(&g);
    memset(work + 448, 0, 64); /* sums of floats start at zero */
    return 3 + gen_random(&g, 60);
}
