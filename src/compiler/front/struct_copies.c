/* struct_copies: structures that code copies word by word. Compilers write the copy of a structure
 * as loads of all its words and stores of them: an argument handed over by value, a result, a
 * kernel's parameter that is to be indexed. As vectors these are thousands of values that live at
 * once, each gathered from 32 windows and scattered to 32 others. Here the words of a run that go
 * from one variable to another, and are next to each other in both, become one instruction:
 *
 *   cp.local.local [to+offset], [from+offset], bytes      or from .param
 *
 * which is no PTX, and which every lane does by itself (codegen/memory/struct_copy.c). A word is
 * copied where the last one of its run is stored, and no run goes on over a branch, a call or an
 * access that could be of any variable. A register that is stored counts as a word of the variable
 * that it was loaded from, however long ago, while nothing can have written there since, whichever
 * way led here. */
#include <stdlib.h>
#include <string.h>

#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"

enum { MIN_COPY = 16 };       /* bytes worth it */
enum { MAX_LOADS = 1 << 16 }; /* that are remembered */
enum { MAX_SETS = 1 << 26 };  /* bytes of all sets of them */
enum { MAX_STEPS = 16 };      /* between an address and the variable it is one of */

/* Bytes of a variable. */
struct span {
    const struct ptx_var *var;
    int64_t offset, bytes;
};

/* A register that is written once, by a load of a part of a variable. */
struct loaded {
    struct span at;
    int32_t next; /* load of the same variable, -1 */
};

/* Words that go from one variable to another one. */
struct run {
    const struct ptx_var *from, *to;
    int64_t by; /* from offsets to those in `to` */
    struct word {
        int64_t offset, bytes; /* in `to` */
        int32_t store;         /* the instruction */
    } *words;
    size_t count, cap;
    int64_t lo, hi; /* what the words lie between, in `to` */
};

struct copies {
    struct jkernel *k;
    int32_t *ndefs, *def, *uses; /* per register */
    int32_t *holds;              /* per register: index in `loads`, -1 */
    struct ptr_map exposed;      /* variables that accesses by other addresses may reach */
    struct {
        struct loaded *items;
        size_t count, cap;
    } loads;
    struct ptr_map last; /* variable -> its last one of `loads`, from which the others follow */
    uint64_t *open;      /* the loads of `exposed` variables */
    size_t words;        /* of a set of loads */
    uint64_t *valid;     /* the loads whose variables still have what the registers hold */
    uint64_t **enter;    /* per instruction that is jumped to: those that are valid there, whichever
                            way leads there */
    bool changed;        /* one of `enter` has, in this round */
    bool making;         /* rounds are over: copies are made */
    struct {
        struct run *items;
        size_t count, cap;
    } runs;
    bool *gone;              /* per instruction: it is copied by another */
    struct ptx_instr **copy; /* per instruction: what replaces it, NULL: none */
    size_t made;
};

/* Offsets are a program's: any sum of them may be meant. */
static int64_t struct_copies_sum(int64_t a, uint64_t b) { return (int64_t)((uint64_t)a + b); }

static bool overlap(int64_t a, int64_t na, int64_t b, int64_t nb)
{
    return (uint64_t)struct_copies_sum(a, -(uint64_t)b) < (uint64_t)nb ||
           (uint64_t)struct_copies_sum(b, -(uint64_t)a) < (uint64_t)na;
}

/* ---- addresses ---- */

/* The variable that a memory operand names, directly or through registers; false: not known. */
static bool struct_copies_find(const struct copies *c, const struct ptx_operand *o, struct span *at)
{
    int32_t reg = o->reg;
    at->offset = o->offset;
    at->var = o->var;
    for (int step = 0; reg >= 0; step++) {
        if (step == MAX_STEPS || c->ndefs[reg] != 1)
            return false;
        const struct ptx_instr *i = &c->k->instrs[c->def[reg]];
        if (i->noperands < 2)
            return false;
        const struct ptx_operand *from = &i->operands[1];
        if (i->op == PTX_OP_add && i->noperands == 3 && i->operands[2].kind == PTX_OPR_IMM &&
            ptx_type_bits((enum ptx_type)i->types[0]) == 64 && !ptx_has(i, PTX_M_cc))
            at->offset = struct_copies_sum(at->offset, i->operands[2].imm);
        else if ((i->op != PTX_OP_mov && i->op != PTX_OP_cvta) || i->noperands != 2)
            return false;
        if (from->kind == PTX_OPR_SYM && from->var != NULL) {
            at->offset = struct_copies_sum(at->offset, (uint64_t)from->offset);
            at->var = from->var;
            break;
        }
        if (from->kind != PTX_OPR_REG)
            return false;
        reg = from->reg;
    }
    return at->var != NULL;
}

static unsigned struct_copies_space(const struct ptx_instr *i)
{
    return i->nspaces > 0 && i->spaces[0] != PTX_SPACE_NONE ? i->spaces[0] : PTX_SPACE_GENERIC;
}

static const struct ptx_operand *item(const struct ptx_operand *o, int n)
{
    return o->kind == PTX_OPR_VEC ? &o->items[n] : o;
}

static bool is_plain(const struct ptx_instr *i)
{
    static const enum ptx_mod order[] = {PTX_M_volatile, PTX_M_relaxed, PTX_M_acquire,
                                         PTX_M_release, PTX_M_mmio};
    for (size_t n = 0; n < WEIR_COUNT(order); n++)
        if (ptx_has(i, order[n]))
            return false;
    return i->ntypes == 1;
}

/* ---- runs ---- */

static int by_offset(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The words first .. end - 1 of a run, which are neighbours, become one copy. */
static void struct_copies_copy(struct copies *c, const struct run *r, size_t first, size_t end)
{
    struct jkernel *k = c->k;
    int32_t last = -1;
    for (size_t n = first; n < end; n++) {
        const struct ptx_instr *st = &k->instrs[r->words[n].store];
        last = r->words[n].store > last ? r->words[n].store : last;
        c->gone[r->words[n].store] = true;
        for (int e = 0; e < st->vec; e++)
            c->uses[item(&st->operands[1], e)->reg]--;
    }
    int64_t to = r->words[first].offset;
    struct ptx_instr *cp = arena_alloc(&k->arena, sizeof *cp);
    *cp = k->instrs[last];
    cp->op = PTX_OP_cp;
    cp->vec = 1;
    cp->ntypes = 1;
    cp->types[0] = PTX_B8;
    cp->nspaces = 2;
    cp->spaces[0] = PTX_SPACE_LOCAL;
    cp->spaces[1] = r->from->space;
    cp->nmods = 0;
    cp->noperands = 3;
    cp->operands = arena_alloc(&k->arena, 3 * sizeof *cp->operands);
    cp->operands[0] = (struct ptx_operand){
        .kind = PTX_OPR_MEM, .reg = -1, .var = (struct ptx_var *)r->to, .offset = to};
    cp->operands[1] = (struct ptx_operand){.kind = PTX_OPR_MEM,
                                           .reg = -1,
                                           .var = (struct ptx_var *)r->from,
                                           .offset = struct_copies_sum(to, -(uint64_t)r->by)};
    cp->operands[2] = (struct ptx_operand){
        .kind = PTX_OPR_IMM,
        .reg = -1,
        .imm = (uint64_t)(r->words[end - 1].offset + r->words[end - 1].bytes - to)};
    c->copy[last] = cp;
    c->made++;
}

/* No more words join the run. */
static void struct_copies_close(struct copies *c, size_t at)
{
    struct run *r = &c->runs.items[at];
    qsort(r->words, r->count, sizeof *r->words, by_offset);
    for (size_t first = 0, end; first < r->count; first = end) {
        int64_t next = r->words[first].offset + r->words[first].bytes;
        for (end = first + 1; end < r->count && r->words[end].offset == next; end++)
            next += r->words[end].bytes;
        if (next - r->words[first].offset >= MIN_COPY && end - first > 1)
            struct_copies_copy(c, r, first, end);
    }
    free(r->words);
    *r = c->runs.items[--c->runs.count];
}

static void close_all(struct copies *c)
{
    while (c->runs.count > 0)
        struct_copies_close(c, c->runs.count - 1);
}

/* Does the run have a word in these bytes of `to` (`shift` 0) or of `from`? */
static bool touches(const struct run *r, const struct span *at, int64_t shift)
{
    int64_t offset = struct_copies_sum(at->offset, (uint64_t)shift);
    if (!overlap(offset, at->bytes, r->lo, r->hi - r->lo))
        return false;
    for (size_t n = 0; n < r->count; n++)
        if (overlap(offset, at->bytes, r->words[n].offset, r->words[n].bytes))
            return true;
    return false;
}

/* Bytes of a variable are read, or written. */
static void struct_copies_access(struct copies *c, const struct span *at, bool writes)
{
    for (size_t n = c->runs.count; n-- > 0;) {
        const struct run *r = &c->runs.items[n];
        if ((r->to == at->var && touches(r, at, 0)) ||
            (writes && r->from == at->var && touches(r, at, r->by)))
            struct_copies_close(c, n);
    }
    const struct loaded *l = writes ? ptr_map_get(&c->last, at->var) : NULL;
    for (; l != NULL; l = l->next < 0 ? NULL : &c->loads.items[l->next])
        if (overlap(l->at.offset, l->at.bytes, at->offset, at->bytes))
            bit_clear(c->valid, (int32_t)(l - c->loads.items));
}

/* Bytes of any variable that others reach are read, or written. */
static void access_any(struct copies *c, bool writes)
{
    close_all(c);
    if (writes)
        bit_subtract(c->valid, c->open, (int32_t)c->loads.count);
}

static void join(struct copies *c, const struct span *from, const struct span *to, int32_t store)
{
    int64_t by = struct_copies_sum(to->offset, -(uint64_t)from->offset);
    struct run *r = NULL;
    for (size_t n = 0; n < c->runs.count && r == NULL; n++) {
        struct run *s = &c->runs.items[n];
        if (s->from == from->var && s->to == to->var && s->by == by)
            r = s;
    }
    if (r == NULL) {
        vec_push(&c->runs,
                 ((struct run){from->var, to->var, by, NULL, 0, 0, INT64_MAX, INT64_MIN}));
        r = &c->runs.items[c->runs.count - 1];
    }
    struct {
        struct word *items;
        size_t count, cap;
    } words = {r->words, r->count, r->cap};
    vec_push(&words, ((struct word){to->offset, to->bytes, store}));
    r->words = words.items;
    r->count = words.count;
    r->cap = words.cap;
    r->lo = to->offset < r->lo ? to->offset : r->lo;
    r->hi = to->offset + to->bytes > r->hi ? to->offset + to->bytes : r->hi;
}

/* ---- instructions ---- */

static bool is_ours(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_LOCAL || v->space == PTX_SPACE_PARAM;
}

static void struct_copies_load(struct copies *c, int32_t at)
{
    const struct ptx_instr *i = &c->k->instrs[at];
    unsigned space = struct_copies_space(i);
    struct span s;
    if (!struct_copies_find(c, &i->operands[1], &s) || !is_ours(s.var)) {
        if (space == PTX_SPACE_LOCAL || space == PTX_SPACE_GENERIC)
            access_any(c, false);
        return;
    }
    s.bytes = ptx_type_bits((enum ptx_type)i->types[0]) / 8 * i->vec;
    struct_copies_access(c, &s, false);
    for (int e = 0; e < i->vec; e++) {
        const struct ptx_operand *o = item(&i->operands[0], e);
        if (o->kind == PTX_OPR_REG && c->holds[o->reg] >= 0)
            bit_set(c->valid, c->holds[o->reg]);
    }
}

/* Is everything that instruction `st` stores held in memory, at *from? */
static bool is_held(const struct copies *c, const struct ptx_instr *st, const struct span *to,
                    struct span *from)
{
    int64_t bytes = to->bytes / st->vec;
    for (int e = 0; e < st->vec; e++) {
        const struct ptx_operand *o = item(&st->operands[1], e);
        int32_t n = o->kind == PTX_OPR_REG ? c->holds[o->reg] : -1;
        if (n < 0 || !bit_get(c->valid, n))
            return false;
        const struct loaded *l = &c->loads.items[n];
        if (l->at.bytes != bytes || l->at.var == to->var)
            return false;
        if (e == 0)
            *from = l->at;
        else if (l->at.var != from->var || l->at.offset != from->offset + e * bytes)
            return false;
    }
    return true;
}

static void struct_copies_store(struct copies *c, int32_t at)
{
    const struct ptx_instr *i = &c->k->instrs[at];
    unsigned space = struct_copies_space(i);
    struct span to, from;
    if (!struct_copies_find(c, &i->operands[0], &to) || to.var->space != PTX_SPACE_LOCAL) {
        if (space == PTX_SPACE_LOCAL || space == PTX_SPACE_GENERIC)
            access_any(c, true);
        return;
    }
    to.bytes = (int64_t)ptx_type_bits((enum ptx_type)i->types[0]) / 8 * i->vec;
    struct_copies_access(c, &to, true);
    if (c->making && to.bytes > 0 && is_held(c, i, &to, &from))
        join(c, &from, &to, at);
}

/* What is valid here is so at an instruction that is jumped to, if it is by all other ways. */
static void struct_copies_enter(struct copies *c, int32_t to)
{
    c->changed |= bit_intersect(c->enter[to], c->valid, (int32_t)c->loads.count);
}

static void struct_copies_branch(struct copies *c, const struct ptx_instr *i)
{
    for (int o = 0; o < i->noperands; o++)
        if (i->operands[o].kind == PTX_OPR_LABEL)
            struct_copies_enter(c, i->operands[o].target);
    for (int t = 0; i->op == PTX_OP_brx && i->targets != NULL && t < i->targets->count; t++)
        struct_copies_enter(c, i->targets->index[t]);
    if (i->guard < 0) /* nothing comes from here to the next one */
        memset(c->valid, 0xff, c->words * sizeof *c->valid);
}

static void struct_copies_instr(struct copies *c, int32_t at)
{
    const struct ptx_instr *i = &c->k->instrs[at];
    struct diag ignored = {0};
    bool plain = (i->op == PTX_OP_ld || i->op == PTX_OP_st) && is_plain(i);
    if (plain && i->op == PTX_OP_ld)
        struct_copies_load(c, at);
    else if (plain)
        struct_copies_store(c, at);
    else if (i->op == PTX_OP_bra || i->op == PTX_OP_brx || i->op == PTX_OP_exit) {
        close_all(c);
        struct_copies_branch(c, i);
    } else if (i->op != PTX_OP_mov && i->op != PTX_OP_cvta &&
               (i->op == PTX_OP_call || !alu_supported(i, &ignored)))
        access_any(c, true);
}

static void struct_copies_round(struct copies *c)
{
    memset(c->valid, 0, c->words * sizeof *c->valid);
    for (size_t n = 0; n < c->k->ninstrs; n++) {
        if (c->enter[n] != NULL) {
            close_all(c);
            struct_copies_enter(c, (int32_t)n);
            memcpy(c->valid, c->enter[n], c->words * sizeof *c->valid);
        }
        struct_copies_instr(c, (int32_t)n);
    }
    close_all(c);
}

/* ---- the look before ---- */

static size_t add_target(struct copies *c, int32_t at)
{
    if (c->enter[at] != NULL)
        return 0;
    c->enter[at] = xmalloc(c->words * sizeof **c->enter);
    memset(c->enter[at], 0xff, c->words * sizeof **c->enter);
    return c->words * sizeof **c->enter;
}

/* False: there are too many. */
static bool find_targets(struct copies *c)
{
    size_t count = 0;
    for (size_t n = 0; n < c->k->ninstrs && count < MAX_SETS; n++) {
        const struct ptx_instr *i = &c->k->instrs[n];
        for (int o = 0; o < i->noperands; o++)
            if (i->operands[o].kind == PTX_OPR_LABEL)
                count += add_target(c, i->operands[o].target);
        for (int t = 0; i->op == PTX_OP_brx && i->targets != NULL && t < i->targets->count; t++)
            count += add_target(c, i->targets->index[t]);
    }
    return count < MAX_SETS;
}

/* A use of an address other than to access what it is the address of, or to make another one of
 * which the same is known. */
static void expose(struct copies *c, const struct ptx_instr *i, const struct ptx_operand *o)
{
    struct span s, next;
    struct ptx_operand result = i->noperands > 0 ? i->operands[0] : *o;
    bool names = o->kind == PTX_OPR_SYM || o->kind == PTX_OPR_REG || o->kind == PTX_OPR_MEM;
    for (int n = 0; n < o->nitems; n++)
        expose(c, i, &o->items[n]);
    if (!names || (o->reg < 0 && o->var == NULL) || !struct_copies_find(c, o, &s) ||
        !is_ours(s.var))
        return;
    if (o->kind == PTX_OPR_MEM && (i->op == PTX_OP_ld || i->op == PTX_OP_st) && is_plain(i))
        return;
    result.offset = 0;
    result.var = NULL;
    bool follows = i->op == PTX_OP_mov || i->op == PTX_OP_add || i->op == PTX_OP_cvta;
    if (!follows || result.kind != PTX_OPR_REG || !struct_copies_find(c, &result, &next) ||
        next.var != s.var)
        ptr_map_put(&c->exposed, s.var, (void *)s.var);
}

static void find_exposed(struct copies *c)
{
    struct jkernel *k = c->k;
    ptr_map_put(&c->exposed, &k->outgoing, &k->outgoing);
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        for (int o = 0; o < i->noperands; o++)
            if (o >= jit_ndst(i))
                expose(c, i, &i->operands[o]);
        for (int a = 0; i->op == PTX_OP_call && a < i->call->nargs; a++)
            expose(c, i, &i->call->args[a]);
        for (int r = 0; i->op == PTX_OP_call && r < i->call->nrets; r++)
            expose(c, i, &i->call->rets[r]);
    }
}

static void find_loads(struct copies *c)
{
    struct jkernel *k = c->k;
    for (size_t n = 0; n < k->ninstrs && c->loads.count < MAX_LOADS; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        struct span s;
        if (i->op != PTX_OP_ld || !is_plain(i) || !struct_copies_find(c, &i->operands[1], &s) ||
            !is_ours(s.var))
            continue;
        s.bytes = ptx_type_bits((enum ptx_type)i->types[0]) / 8;
        for (int e = 0; e < i->vec; e++, s.offset += s.bytes) {
            const struct ptx_operand *o = item(&i->operands[0], e);
            if (o->kind != PTX_OPR_REG || c->ndefs[o->reg] != 1 || s.bytes == 0)
                continue;
            c->holds[o->reg] = (int32_t)c->loads.count;
            vec_push(&c->loads, ((struct loaded){s, -1}));
        }
    }
    c->words = (size_t)bit_words((int32_t)c->loads.count);
    c->valid = xcalloc(c->words + 1, sizeof *c->valid);
    c->open = xcalloc(c->words + 1, sizeof *c->open);
}

/* The loads by their variables. */
static void sort_loads(struct copies *c)
{
    for (size_t n = 0; n < c->loads.count; n++) {
        struct loaded *l = &c->loads.items[n], *last = ptr_map_get(&c->last, l->at.var);
        l->next = last != NULL ? (int32_t)(last - c->loads.items) : -1;
        ptr_map_put(&c->last, l->at.var, l);
        if (ptr_map_get(&c->exposed, l->at.var) != NULL)
            bit_set(c->open, (int32_t)n);
    }
}

/* Could anything be copied at all? */
static bool any_local_store(const struct jkernel *k)
{
    for (size_t n = 0; n < k->ninstrs; n++)
        if (k->instrs[n].op == PTX_OP_st && k->instrs[n].nspaces > 0 &&
            k->instrs[n].spaces[0] == PTX_SPACE_LOCAL)
            return true;
    return false;
}

static void struct_copies_count(struct copies *c)
{
    struct jkernel *k = c->k;
    struct jroles r;
    for (size_t n = 0; n < k->ninstrs; n++) {
        jit_roles(&k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++) {
            c->ndefs[r.def[d]]++;
            c->def[r.def[d]] = (int32_t)n;
        }
        for (int u = 0; u < r.nuse; u++)
            c->uses[r.use[u]]++;
        if (k->instrs[n].guard >= 0)
            c->uses[k->instrs[n].guard]++;
    }
}

/* Is it a load of words that are only copied? */
static bool is_idle(const struct copies *c, size_t n)
{
    const struct ptx_instr *i = &c->k->instrs[n];
    if (i->op != PTX_OP_ld || !is_plain(i))
        return false;
    for (int e = 0; e < i->vec; e++) {
        const struct ptx_operand *o = item(&i->operands[0], e);
        if (o->kind != PTX_OPR_REG || c->holds[o->reg] < 0 || c->uses[o->reg] != 0)
            return false;
    }
    return true;
}

/* The list without what is gone, with the copies. */
static void rewrite(struct copies *c)
{
    struct jkernel *k = c->k;
    int32_t *moved = xmalloc(sizeof *moved * (k->ninstrs + 1));
    size_t to = 0;
    for (size_t n = 0; n < k->ninstrs; n++) {
        moved[n] = (int32_t)to;
        if (c->copy[n] != NULL)
            k->instrs[to++] = *c->copy[n];
        else if (!c->gone[n] && !is_idle(c, n))
            k->instrs[to++] = k->instrs[n];
    }
    moved[k->ninstrs] = (int32_t)to;
    k->ninstrs = to;
    flat_retarget(k, moved);
    free(moved);
}

static void close_copies(struct copies *c)
{
    free(c->ndefs);
    free(c->def);
    free(c->uses);
    free(c->holds);
    free(c->valid);
    free(c->open);
    free(c->enter);
    free(c->gone);
    free(c->copy);
    free(c->loads.items);
    free(c->runs.items);
    ptr_map_free(&c->exposed);
    ptr_map_free(&c->last);
}

void flat_copies(struct jkernel *k)
{
    if (!any_local_store(k))
        return;
    size_t ninstrs = k->ninstrs;
    struct copies c = {.k = k,
                       .ndefs = xcalloc(k->nregs + 1, sizeof(int32_t)),
                       .def = xcalloc(k->nregs + 1, sizeof(int32_t)),
                       .uses = xcalloc(k->nregs + 1, sizeof(int32_t)),
                       .holds = xcalloc(k->nregs + 1, sizeof(int32_t)),
                       .enter = xcalloc(ninstrs + 1, sizeof(uint64_t *)),
                       .gone = xcalloc(ninstrs, sizeof(bool)),
                       .copy = xcalloc(ninstrs, sizeof(struct ptx_instr *))};
    memset(c.holds, 0xff, k->nregs * sizeof *c.holds);
    struct_copies_count(&c);
    find_loads(&c);
    if (c.loads.count > 0 && find_targets(&c)) {
        find_exposed(&c);
        sort_loads(&c);
        do {
            c.changed = false;
            struct_copies_round(&c);
        } while (c.changed);
        c.making = true;
        struct_copies_round(&c);
    }
    for (size_t n = 0; n <= ninstrs; n++)
        free(c.enter[n]);
    if (c.made > 0)
        rewrite(&c);
    close_copies(&c);
}
