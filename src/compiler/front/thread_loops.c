/* thread_loops.c: loops over what the threads of a block share out, in a few trips each.
 *
 * `for (x = threadIdx.x; x < TILE + 4; x += TILE)` fills a tile and what surrounds it: all threads
 * go through once, and some once more. How often each goes follows from its index and from
 * constants alone, so it is computed here, by running the loop's counter for each thread of the
 * block. The trips are then written one after the other, each after a branch that the others take.
 * So the masks of the threads that go on are constants of the warp, where a loop would count them.
 * Registers that nobody reads afterwards have another name in each trip: the analyses know one
 * uniformity for each, and what of its value follows from one instruction alone.
 *
 * Only loops of one short block of loads, stores and arithmetic, whose threads differ in how often
 * they go through: the others have no masks. */
#include <stdlib.h>
#include <string.h>

#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"

enum {
    MOST_TRIPS = 3,
    MOST_BODY = 24,  /* instructions of a loop */
    MOST_ADDED = 96, /* to a kernel */
    MOST_DEPTH = 12, /* of what a counter begins with */
    MOST_THREADS = 1024
};

enum { NOT_OWN = -1 };
enum state { OUTSIDE, UNTOUCHED, KNOWN, UNKNOWN };

struct finder {
    struct jkernel *k;
    int32_t *ndefs, *def; /* of each register: how many instructions write it, one that does */
    uint32_t *targets;    /* how many branches go to each instruction */
    /* of the loop and the thread that are looked at */
    int32_t first, last; /* the branch back is the last */
    uint8_t *state;      /* enum state of each register */
    uint64_t *value;
    uint32_t tid[3];
    /* of each register: 1 + the end of the only loop, of those that are rewritten, which has a
     * value of its own in it; 0: none has, NOT_OWN: it is needed outside */
    int32_t *own;
};

static uint64_t cut(uint64_t v, unsigned bits)
{
    return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

static int64_t extended(uint64_t v, unsigned type)
{
    unsigned bits = ptx_type_bits((enum ptx_type)type);
    if (bits >= 64 || !ptx_type_is_signed((enum ptx_type)type))
        return (int64_t)cut(v, bits);
    return (int64_t)(cut(v, bits) << (64 - bits)) >> (64 - bits);
}

static bool is_integer(unsigned type)
{
    return type != PTX_PRED && !ptx_type_is_float((enum ptx_type)type) &&
           ptx_type_bits((enum ptx_type)type) >= 16 && ptx_type_bits((enum ptx_type)type) <= 64;
}

static bool has_any(const struct ptx_instr *i)
{
    return ptx_has(i, PTX_M_sat) || ptx_has(i, PTX_M_cc) || ptx_has(i, PTX_M_hi) ||
           ptx_has(i, PTX_M_relu);
}

static bool compare(const struct ptx_instr *i, unsigned type, uint64_t a, uint64_t b, uint64_t *v)
{
    int64_t x = extended(a, type), y = extended(b, type);
    bool is_signed = ptx_type_is_signed((enum ptx_type)type);
    bool less = is_signed ? x < y : cut(a, 64) < cut(b, 64), equal = x == y;
    if (ptx_has(i, PTX_M_lt) || ptx_has(i, PTX_M_lo))
        *v = less;
    else if (ptx_has(i, PTX_M_le) || ptx_has(i, PTX_M_ls))
        *v = less || equal;
    else if (ptx_has(i, PTX_M_gt) || ptx_has(i, PTX_M_hi))
        *v = !less && !equal;
    else if (ptx_has(i, PTX_M_ge) || ptx_has(i, PTX_M_hs))
        *v = !less;
    else if (ptx_has(i, PTX_M_eq) || ptx_has(i, PTX_M_ne))
        *v = equal == ptx_has(i, PTX_M_eq);
    else
        return false;
    return true;
}

static bool value_at(const struct finder *f, const struct ptx_operand *o, int32_t at, int depth,
                     uint64_t *v);

/* What an instruction makes of constants and the thread's index. False: it is not known. */
static bool computed(const struct finder *f, int32_t at, int depth, uint64_t *v)
{
    const struct ptx_instr *i = &f->k->instrs[at];
    uint64_t x[3] = {0, 0, 0};
    int n = i->noperands - 1;
    if (i->guard >= 0 || i->ntypes == 0 || i->pair || n < 1 || n > 3 ||
        i->operands[0].kind != PTX_OPR_REG)
        return false;
    unsigned to = i->types[0], from = i->types[i->ntypes - 1];
    unsigned bits = ptx_type_bits((enum ptx_type)to);
    if (!is_integer(to) || !is_integer(from) || (i->op != PTX_OP_setp && has_any(i)))
        return false;
    for (int o = 0; o < n; o++)
        if (!value_at(f, &i->operands[o + 1], at, depth - 1, &x[o]))
            return false;
    bool wide = ptx_has(i, PTX_M_wide);
    if (i->op == PTX_OP_setp)
        return n == 2 && i->ntypes == 1 && compare(i, to, cut(x[0], bits), cut(x[1], bits), v);
    switch (i->op) {
    case PTX_OP_mov: *v = x[0]; break;
    case PTX_OP_cvt: *v = (uint64_t)extended(x[0], from); break;
    case PTX_OP_add: *v = x[0] + x[1]; break;
    case PTX_OP_sub: *v = x[0] - x[1]; break;
    case PTX_OP_and: *v = x[0] & x[1]; break;
    case PTX_OP_or: *v = x[0] | x[1]; break;
    case PTX_OP_mul:
    case PTX_OP_mad:
        if (wide)
            x[0] = (uint64_t)extended(x[0], to), x[1] = (uint64_t)extended(x[1], to), bits *= 2;
        *v = x[0] * x[1] + x[2];
        break;
    case PTX_OP_shl: *v = x[1] < bits ? x[0] << x[1] : 0; break;
    default: return false;
    }
    *v = cut(*v, bits);
    return bits <= 64 && ptx_type_bits((enum ptx_type)f->k->regs[i->operands[0].reg].type) == bits;
}

/* The instruction before `at` that writes the register, with nothing between to come from or to go
 * to elsewhere; -1: there is none. */
static int32_t written_before(const struct finder *f, int32_t at, int32_t reg)
{
    if (at != f->first && f->targets[at] != 0)
        return -1;
    for (int32_t n = at - 1; n >= 0; n--) {
        const struct ptx_instr *i = &f->k->instrs[n];
        if (i->op == PTX_OP_bra || i->op == PTX_OP_brx || i->op == PTX_OP_exit ||
            i->op == PTX_OP_ret)
            return -1;
        if (jit_writes(i, reg))
            return n;
        if (f->targets[n] != 0)
            return -1;
    }
    return -1;
}

/* An operand of the instruction at `at`, as the thread has it then. */
static bool value_at(const struct finder *f, const struct ptx_operand *o, int32_t at, int depth,
                     uint64_t *v)
{
    if (depth < 0 || o->neg || o->select != 0)
        return false;
    if (o->kind == PTX_OPR_IMM) {
        *v = o->imm;
        return true;
    }
    if (o->kind == PTX_OPR_SREG && o->component < 3) {
        *v = o->sreg == PTX_SR_tid ? f->tid[o->component] : f->k->opt->ntid[o->component];
        return o->sreg == PTX_SR_tid || o->sreg == PTX_SR_ntid;
    }
    if (o->kind != PTX_OPR_REG)
        return false;
    if (f->state[o->reg] == KNOWN && at >= f->first) {
        *v = f->value[o->reg];
        return true;
    }
    if (f->state[o->reg] == UNKNOWN && at >= f->first)
        return false;
    int32_t from = written_before(f, at < f->first ? at : f->first, o->reg);
    if (from < 0 && f->ndefs[o->reg] == 1 && f->state[o->reg] == OUTSIDE)
        from = f->def[o->reg];
    return from >= 0 && computed(f, from, depth - 1, v);
}

/* How often the thread goes through the loop; 0: it is not known, or more often than is any use. */
static int trips_of(struct finder *f)
{
    const struct jkernel *k = f->k;
    for (int32_t n = f->first; n < f->last; n++) {
        struct jroles r;
        jit_roles(&k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++)
            f->state[r.def[d]] = UNTOUCHED;
    }
    for (int trip = 1; trip <= MOST_TRIPS; trip++) {
        for (int32_t n = f->first; n < f->last; n++) {
            struct jroles r;
            uint64_t v = 0;
            jit_roles(&k->instrs[n], &r);
            bool known = r.ndef == 1 && computed(f, n, MOST_DEPTH, &v);
            for (int d = 0; d < r.ndef; d++) {
                f->state[r.def[d]] = known ? KNOWN : UNKNOWN;
                f->value[r.def[d]] = v;
            }
        }
        const struct ptx_instr *back = &k->instrs[f->last];
        if (f->state[back->guard] != KNOWN)
            return 0;
        if ((f->value[back->guard] != 0) == back->guard_neg)
            return trip;
    }
    return 0;
}

/* The registers that the loop writes are no longer looked at. */
static void forget(struct finder *f)
{
    for (int32_t n = f->first; n < f->last; n++) {
        struct jroles r;
        jit_roles(&f->k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++)
            f->state[r.def[d]] = OUTSIDE;
    }
}

/* The most trips of any thread, if they differ; otherwise, or if they are not known, 0. */
static int most_trips(struct finder *f)
{
    const uint32_t *shape = f->k->opt->ntid;
    int most = 0, least = MOST_TRIPS;
    for (f->tid[2] = 0; f->tid[2] < shape[2]; f->tid[2]++)
        for (f->tid[1] = 0; f->tid[1] < shape[1]; f->tid[1]++)
            for (f->tid[0] = 0; f->tid[0] < shape[0]; f->tid[0]++) {
                int trips = trips_of(f);
                forget(f);
                if (trips == 0)
                    return 0;
                most = trips > most ? trips : most;
                least = trips < least ? trips : least;
            }
    return most != least ? most : 0;
}

static bool may_repeat(const struct ptx_instr *i)
{
    struct diag ignored = {0};
    if (i->guard >= 0)
        return false;
    if (i->op == PTX_OP_ld)
        return !jit_is_polling_load(i);
    if (i->op == PTX_OP_st)
        return !ptx_has(i, PTX_M_volatile) && !ptx_has(i, PTX_M_relaxed) &&
               !ptx_has(i, PTX_M_release) && !ptx_has(i, PTX_M_mmio);
    return i->op != PTX_OP_bra && alu_supported(i, &ignored);
}

/* Does the branch at `at` end a loop of one block, entered from above? */
static bool is_loop(struct finder *f, int32_t at)
{
    const struct ptx_instr *i = &f->k->instrs[at];
    if (i->op != PTX_OP_bra || i->guard < 0 || i->operands[0].kind != PTX_OPR_LABEL)
        return false;
    f->first = i->operands[0].target;
    f->last = at;
    if (f->first >= at || f->first == 0 || at - f->first > MOST_BODY || f->targets[f->first] != 1)
        return false;
    bool stores = false;
    for (int32_t n = f->first; n < at; n++) {
        if (!may_repeat(&f->k->instrs[n]) || (n > f->first && f->targets[n] != 0))
            return false;
        stores |= f->k->instrs[n].op == PTX_OP_st;
    }
    return stores && f->targets[at] == 0;
}

static void count(struct finder *f)
{
    struct jkernel *k = f->k;
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        struct jroles r;
        jit_roles(i, &r);
        for (int d = 0; d < r.ndef; d++) {
            f->ndefs[r.def[d]]++;
            f->def[r.def[d]] = (int32_t)n;
        }
        for (int o = 0; o < i->noperands; o++)
            if (i->operands[o].kind == PTX_OPR_LABEL)
                f->targets[i->operands[o].target]++;
        if (i->op == PTX_OP_brx && i->targets != NULL)
            for (int t = 0; t < i->targets->count; t++)
                f->targets[i->targets->index[t]]++;
    }
}

/* A copy whose operands may be changed by themselves. */
static struct ptx_instr cloned(struct jkernel *k, const struct ptx_instr *i)
{
    struct ptx_instr copy = *i;
    copy.operands = arena_alloc(&k->arena, sizeof *copy.operands * ((size_t)i->noperands + 1));
    for (int o = 0; o < i->noperands; o++) {
        struct ptx_operand *to = &copy.operands[o];
        *to = i->operands[o];
        if (to->nitems == 0)
            continue;
        to->items = arena_alloc(&k->arena, sizeof *to->items * (size_t)to->nitems);
        memcpy(to->items, i->operands[o].items, sizeof *to->items * (size_t)to->nitems);
    }
    return copy;
}

/* Is a register that instruction n, outside of the loop, reads given a value just before? */
static bool is_given(const struct finder *f, int32_t n, int32_t reg)
{
    int32_t from = written_before(f, n, reg);
    return from >= 0 && f->k->instrs[from].guard < 0;
}

/* The loop at hand is rewritten: which registers have values of their own in it? Those whose values
 * from inside are read outside by nobody: each instruction there that reads one has another value
 * before itself. */
static void find_own(struct finder *f)
{
    const struct jkernel *k = f->k;
    struct jroles r;
    for (int32_t n = f->first; n < f->last; n++) {
        jit_roles(&k->instrs[n], &r);
        for (int d = 0; d < r.ndef; d++) {
            int32_t *own = &f->own[r.def[d]];
            *own = *own == 0 || *own == f->last + 1 ? f->last + 1 : NOT_OWN;
        }
    }
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++) {
        if (n >= f->first && n <= f->last)
            continue;
        jit_roles(&k->instrs[n], &r);
        for (int u = 0; u < r.nuse; u++)
            if (f->own[r.use[u]] == f->last + 1 && !is_given(f, n, r.use[u]))
                f->own[r.use[u]] = NOT_OWN;
        int32_t guard = k->instrs[n].guard;
        if (guard >= 0 && f->own[guard] == f->last + 1 && !is_given(f, n, guard))
            f->own[guard] = NOT_OWN;
    }
}

/* The names of registers in the trip that is being written. */
struct names {
    struct jkernel *k;
    const int32_t *own;
    int32_t loop; /* 1 + its end */
    int32_t *name;
};

static void rename_operand(const struct names *w, struct ptx_operand *o)
{
    if (o->reg >= 0 && (o->kind == PTX_OPR_REG || o->kind == PTX_OPR_MEM))
        o->reg = w->name[o->reg];
    for (int e = 0; e < o->nitems; e++)
        rename_operand(w, &o->items[e]);
}

/* A register that an operand writes gets a new name. */
static void rename_written(struct names *w, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_REG && w->own[o->reg] == w->loop) {
        const struct jreg from = w->k->regs[o->reg];
        w->name[o->reg] = flat_reg(w->k, from.name, from.type);
    }
    for (int e = 0; e < o->nitems; e++)
        rename_written(w, &o->items[e]);
}

/* One instruction of a trip. */
static struct ptx_instr *push_named(struct names *w, const struct ptx_instr *i)
{
    struct ptx_instr copy = cloned(w->k, i);
    int ndst = jit_ndst(i);
    for (int o = ndst; o < copy.noperands; o++)
        rename_operand(w, &copy.operands[o]);
    for (int o = 0; o < ndst && o < copy.noperands; o++)
        rename_written(w, &i->operands[o]);
    for (int o = 0; o < ndst && o < copy.noperands; o++)
        rename_operand(w, &copy.operands[o]);
    if (copy.guard >= 0)
        copy.guard = w->name[copy.guard];
    struct ptx_instr *to = flat_push(w->k);
    *to = copy;
    return to;
}

/* The trips of the loop that instruction n ends; the first is in the list by now. */
static void push_trips(struct jkernel *k, const struct ptx_instr *old, int32_t n, int trips,
                       const int32_t *own, int32_t nregs)
{
    int32_t first = old[n].operands[0].target;
    struct names w = {.k = k, .own = own, .loop = n + 1};
    w.name = xmalloc(sizeof *w.name * ((size_t)nregs + 1));
    for (int32_t r = 0; r < nregs; r++)
        w.name[r] = r;
    k->ninstrs -= (size_t)(n - first);
    for (int trip = 1; trip <= trips; trip++) {
        if (trip > 1) {
            struct ptx_instr *leave = push_named(&w, &old[n]);
            leave->guard_neg = !leave->guard_neg;
            leave->operands[0].target = n + 1;
        }
        for (int32_t from = first; from < n; from++)
            push_named(&w, &old[from])->trip = trip > 1 && from == first;
    }
    free(w.name);
}

/* The list with trips[n] trips, one after the other, of the loop that instruction n ends. */
static void rewrite(struct jkernel *k, const uint8_t *trips, const int32_t *own)
{
    int32_t nregs = (int32_t)k->nregs;
    struct rebuilt list = flat_rebuild(k);
    for (size_t n = 0; n < list.count; n++) {
        list.moved[n] = (int32_t)k->ninstrs;
        if (trips[n] == 0)
            *flat_push(k) = list.old[n];
        else
            push_trips(k, list.old, (int32_t)n, trips[n], own, nregs);
    }
    flat_rebuilt(k, &list);
}

void flat_thread_loops(struct jkernel *k)
{
    const uint32_t *shape = k->opt->ntid;
    uint64_t threads = (uint64_t)shape[0] * shape[1] * shape[2];
    if (threads == 0 || threads > MOST_THREADS || k->is_function || k->fibers ||
        k->opt->checked != 0)
        return;
    struct finder f = {.k = k,
                       .ndefs = xcalloc(k->nregs + 1, sizeof *f.ndefs),
                       .def = xcalloc(k->nregs + 1, sizeof *f.def),
                       .targets = xcalloc(k->ninstrs + 1, sizeof *f.targets),
                       .state = xcalloc(k->nregs + 1, sizeof *f.state),
                       .value = xcalloc(k->nregs + 1, sizeof *f.value),
                       .own = xcalloc(k->nregs + 1, sizeof *f.own)};
    uint8_t *trips = xcalloc(k->ninstrs + 1, sizeof *trips);
    int32_t added = 0;
    count(&f);
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++) {
        if (!is_loop(&f, n))
            continue;
        int most = most_trips(&f);
        int32_t more = most < 2 ? 0 : (most - 1) * (f.last - f.first + 1);
        if (more == 0 || added + more > MOST_ADDED)
            continue;
        added += more;
        trips[n] = (uint8_t)most;
        find_own(&f);
    }
    if (added != 0)
        rewrite(k, trips, f.own);
    free(f.ndefs);
    free(f.def);
    free(f.targets);
    free(f.state);
    free(f.value);
    free(f.own);
    free(trips);
}
