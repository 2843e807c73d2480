/* flatten: a PTX function and all it calls become one flat list of instructions.
 *
 * Calls of functions with a body are inlined (the argument areas of PTX, `.param` variables, become
 * registers, one per offset at which they are accessed), so that barriers, warp operations and
 * shape analysis see through them. A predicated instruction becomes a branch around the plain one:
 * then masks and frontiers are the only form of divergence that later passes know. Calls that
 * cannot be inlined (extern functions, recursion, function pointers) stay calls whose arguments and
 * results are registers. */
#include "jit/alu.h"
#include "jit/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INLINE_DEPTH = 64, MAX_INSTRS = 400000 };

/* ---- a small map from pointers to pointers ------------------------------------------------- */

struct map {
    const void **keys;
    void **values;
    size_t cap, count;
};

static size_t map_slot_(const struct map *m, const void *key)
{
    size_t i = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20 & (m->cap - 1);
    while (m->keys[i] != NULL && m->keys[i] != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

static void *map_get_(const struct map *m, const void *key)
{
    return m->cap == 0 ? NULL : m->values[map_slot_(m, key)];
}

static void map_put_(struct map *m, const void *key, void *value)
{
    if (m->count * 2 >= m->cap) {
        struct map old = *m;
        m->cap = old.cap ? old.cap * 2 : 64;
        m->keys = xcalloc(m->cap, sizeof *m->keys);
        m->values = xcalloc(m->cap, sizeof *m->values);
        for (size_t i = 0; i < old.cap; i++)
            if (old.keys[i] != NULL) {
                size_t s = map_slot_(m, old.keys[i]);
                m->keys[s] = old.keys[i];
                m->values[s] = old.values[i];
            }
        free(old.keys);
        free(old.values);
    }
    size_t s = map_slot_(m, key);
    m->count += m->keys[s] == NULL;
    m->keys[s] = key;
    m->values[s] = value;
}

static void map_free_(struct map *m)
{
    free(m->keys);
    free(m->values);
}

/* ---- state --------------------------------------------------------------------------------- */

/* One access pattern of an argument area: `bytes` at `offset`, kept in a register. */
struct slot {
    int64_t offset;
    uint32_t bytes;
    int32_t reg;
};

/* An argument area of one activation (a clone of the PTX variable). */
struct area {
    struct ptx_var var; /* the clone that rewritten operands name */
    struct slot *slots;
    size_t nslots, slots_cap;
    bool in_memory;     /* its address is taken, or accesses overlap: a .local variable instead */
};

/* One activation of a function being flattened. */
struct activation {
    const struct ptx_func *func;
    struct activation *caller;
    int32_t reg_base;
    struct map vars;        /* the function's .param and .local variables -> clones */
    int32_t *new_index;     /* instruction index -> flattened index, ninstrs + 1 entries */
    int32_t fixup_first;    /* flattened instructions of this activation start here */
};

struct flattener {
    struct jkernel *k;
    struct map area_of;     /* clone ptx_var* -> struct area* */
    struct area **areas;
    size_t nareas, areas_cap;
    int32_t cc;             /* the carry flag's register, -1 until used */
    int depth;
};

static int32_t new_reg_(struct jkernel *k, const char *name, uint8_t type)
{
    k->regs = arena_grow(&k->arena, k->regs, k->nregs, &k->regs_cap, sizeof *k->regs);
    k->regs[k->nregs] = (struct jreg){.name = name, .type = type, .def = -1};
    return (int32_t)k->nregs++;
}

static struct ptx_instr *push_(struct jkernel *k)
{
    k->instrs = arena_grow(&k->arena, k->instrs, k->ninstrs, &k->instrs_cap, sizeof *k->instrs);
    struct ptx_instr *i = &k->instrs[k->ninstrs++];
    memset(i, 0, sizeof *i);
    i->guard = -1;
    i->vec = 1;
    return i;
}

static struct ptx_operand reg_operand_(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPR_REG, .reg = reg};
}

static struct area *new_area_(struct flattener *f, const struct ptx_var *from)
{
    struct area *a = arena_alloc(&f->k->arena, sizeof *a);
    a->var = *from;
    a->var.space = PTX_SPACE_PARAM;
    f->areas = arena_grow(&f->k->arena, f->areas, f->nareas, &f->areas_cap, sizeof(struct area *));
    f->areas[f->nareas++] = a;
    map_put_(&f->area_of, &a->var, a);
    return a;
}

/* The clone that stands for variable `v` in this activation. Kernel parameters, module-scope
 * variables and .shared variables (which are static) stand for themselves. */
static struct ptx_var *var_of_(struct flattener *f, struct activation *act, struct ptx_var *v)
{
    if (v == NULL || v->scope == NULL || v->scope != act->func)
        return v;
    if (v->space != PTX_SPACE_PARAM && v->space != PTX_SPACE_LOCAL)
        return v;
    struct ptx_var *clone = map_get_(&act->vars, v);
    if (clone != NULL)
        return clone;
    if (v->space == PTX_SPACE_LOCAL) {
        clone = arena_alloc(&f->k->arena, sizeof *clone);
        *clone = *v;
    } else {
        clone = &new_area_(f, v)->var;
    }
    map_put_(&act->vars, v, clone);
    return clone;
}

static void remap_operand_(struct flattener *f, struct activation *act, struct ptx_operand *o)
{
    if (o->reg >= 0)
        o->reg += act->reg_base;
    o->var = var_of_(f, act, o->var);
    if (o->nitems > 0) {
        struct ptx_operand *items = arena_alloc(&f->k->arena, sizeof *items * (size_t)o->nitems);
        memcpy(items, o->items, sizeof *items * (size_t)o->nitems);
        for (int n = 0; n < o->nitems; n++)
            remap_operand_(f, act, &items[n]);
        o->items = items;
    }
}

static struct ptx_operand *remap_operands_(struct flattener *f, struct activation *act,
                                           const struct ptx_operand *from, int count)
{
    if (count == 0)
        return NULL;
    struct ptx_operand *to = arena_alloc(&f->k->arena, sizeof *to * (size_t)count);
    memcpy(to, from, sizeof *to * (size_t)count);
    for (int n = 0; n < count; n++) {
        if (to[n].kind != PTX_OPR_REG && to[n].kind != PTX_OPR_MEM)
            to[n].reg = -1;
        remap_operand_(f, act, &to[n]);
    }
    return to;
}

static bool is_active_(const struct activation *act, const struct ptx_func *func)
{
    for (; act != NULL; act = act->caller)
        if (act->func == func)
            return true;
    return false;
}

/* mov dst, src of the register's own type. */
static void push_mov_(struct jkernel *k, const struct ptx_instr *at, int32_t dst,
                      struct ptx_operand src, uint8_t type)
{
    struct ptx_instr *i = push_(k);
    i->op = PTX_OP_mov;
    i->types[0] = type;
    i->ntypes = 1;
    i->operands = arena_alloc(&k->arena, 2 * sizeof *i->operands);
    i->noperands = 2;
    i->operands[0] = reg_operand_(dst);
    i->operands[1] = src;
    i->line = at->line;
    i->column = at->column;
    i->loc_file = at->loc_file;
    i->loc_line = at->loc_line;
}

/* A branch to an instruction of the same activation (`target` as the function numbers them), or,
 * with target -1, to be patched by the caller. */
static struct ptx_instr *push_branch_(struct jkernel *k, const struct ptx_instr *at, int32_t guard,
                                      bool neg, int32_t target)
{
    struct ptx_instr *i = push_(k);
    i->op = PTX_OP_bra;
    i->guard = guard;
    i->guard_neg = neg;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands);
    i->noperands = 1;
    i->operands[0] = (struct ptx_operand){.kind = PTX_OPR_LABEL, .reg = -1, .target = target};
    i->line = at->line;
    i->column = at->column;
    i->loc_file = at->loc_file;
    i->loc_line = at->loc_line;
    return i;
}

static bool flatten_func_(struct flattener *f, struct activation *act);

/* Binds one argument or result of an inlined call. */
static bool bind_(struct flattener *f, struct activation *caller, struct activation *callee,
                  const struct ptx_instr *call, struct ptx_var *formal, int32_t formal_reg,
                  const struct ptx_operand *actual, bool is_ret)
{
    struct jkernel *k = f->k;
    bool area = actual->kind == PTX_OPR_SYM && actual->var != NULL &&
                actual->var->space == PTX_SPACE_PARAM;
    if (formal_reg >= 0) { /* register-style formal */
        int32_t reg = callee->reg_base + formal_reg;
        if (is_ret)
            return true; /* moved after the body */
        if (area)
            return diag_set(k->diag, call->line, call->column,
                            "call: a .param area passed for a .reg parameter is not supported");
        push_mov_(k, call, reg, *actual, k->regs[reg].type);
        return true;
    }
    if (area) {
        map_put_(&callee->vars, formal, actual->var);
        return true;
    }
    /* a register or constant passed for a .param formal: an area of its own, stored before */
    struct area *a = new_area_(f, formal);
    map_put_(&callee->vars, formal, &a->var);
    if (!is_ret) {
        struct ptx_instr *st = push_(k);
        st->op = PTX_OP_st;
        st->types[0] = formal->type;
        st->ntypes = 1;
        st->spaces[0] = PTX_SPACE_PARAM;
        st->nspaces = 1;
        st->operands = arena_alloc(&k->arena, 2 * sizeof *st->operands);
        st->noperands = 2;
        st->operands[0] = (struct ptx_operand){.kind = PTX_OPR_MEM, .reg = -1, .var = &a->var};
        st->operands[1] = *actual;
        st->line = call->line;
        st->column = call->column;
    }
    return true;
}

static bool inline_call_(struct flattener *f, struct activation *act, const struct ptx_instr *call,
                         struct ptx_func *func)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = call->call;
    if (c->nargs != func->nparams || c->nrets != func->nrets)
        return diag_set(k->diag, call->line, call->column,
                        "call of %s with %d arguments and %d results; it has %d and %d", func->name,
                        c->nargs, c->nrets, func->nparams, func->nrets);
    struct activation callee = {.func = func, .caller = act, .reg_base = (int32_t)k->nregs};
    for (int n = 0; n < func->nregs; n++)
        new_reg_(k, func->regs[n].name, func->regs[n].type);
    bool ok = true;
    for (int n = 0; ok && n < c->nargs; n++)
        ok = bind_(f, act, &callee, call, func->params[n], func->param_regs ? func->param_regs[n] : -1,
                   &c->args[n], false);
    for (int n = 0; ok && n < c->nrets; n++)
        ok = bind_(f, act, &callee, call, func->rets[n], func->ret_regs ? func->ret_regs[n] : -1,
                   &c->rets[n], true);
    ok = ok && flatten_func_(f, &callee);
    for (int n = 0; ok && n < c->nrets; n++) {
        const struct ptx_operand *to = &c->rets[n];
        if (to->kind != PTX_OPR_REG)
            continue;
        if (func->ret_regs && func->ret_regs[n] >= 0) {
            int32_t from = callee.reg_base + func->ret_regs[n];
            push_mov_(k, call, to->reg, reg_operand_(from), k->regs[to->reg].type);
        } else {
            struct ptx_var *v = map_get_(&callee.vars, func->rets[n]);
            struct ptx_instr *ld = push_(k);
            ld->op = PTX_OP_ld;
            ld->types[0] = func->rets[n]->type;
            ld->ntypes = 1;
            ld->spaces[0] = PTX_SPACE_PARAM;
            ld->nspaces = 1;
            ld->operands = arena_alloc(&k->arena, 2 * sizeof *ld->operands);
            ld->noperands = 2;
            ld->operands[0] = reg_operand_(to->reg);
            ld->operands[1] = (struct ptx_operand){.kind = PTX_OPR_MEM, .reg = -1, .var = v};
            ld->line = call->line;
        }
    }
    map_free_(&callee.vars);
    return ok;
}

static bool copy_call_(struct flattener *f, struct activation *act, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = src->call;
    struct ptx_func *func = c->func;
    while (func != NULL && func->alias_of != NULL)
        func = func->alias_of;
    struct ptx_call *copy = arena_alloc(&k->arena, sizeof *copy);
    *copy = *c;
    copy->func = func;
    copy->args = remap_operands_(f, act, c->args, c->nargs);
    copy->rets = remap_operands_(f, act, c->rets, c->nrets);
    if (c->func == NULL)
        copy->reg = c->reg + act->reg_base;
    struct ptx_instr as = *src;
    as.call = copy;
    as.guard = -1;
    if (func != NULL && func->has_body && !is_active_(act, func)) {
        if (++f->depth > MAX_INLINE_DEPTH)
            return diag_set(k->diag, src->line, src->column, "calls nest deeper than %d",
                            MAX_INLINE_DEPTH);
        bool ok = inline_call_(f, act, &as, func);
        f->depth--;
        return ok;
    }
    if (func == NULL && c->proto == NULL && c->ncandidates == 0)
        return diag_set(k->diag, src->line, src->column,
                        "a call through a register needs a .callprototype or .calltargets");
    k->has_calls |= func == NULL || func->has_body;
    *push_(k) = as;
    return true;
}

/* Guarded by an ordinary predicate, an instruction that is no branch goes under a branch around. */
static bool needs_branch_(const struct ptx_instr *i)
{
    return i->guard >= 0 && i->op != PTX_OP_bra;
}

/* An access of a parameter by a register that holds its address. Where a function does so its
 * parameters become .local variables (kernels' do not), so the access is to that space. */
static bool goes_through_param_pointer_(const struct ptx_instr *i)
{
    if ((i->op != PTX_OP_ld && i->op != PTX_OP_st) || i->nspaces == 0 ||
        i->spaces[0] != PTX_SPACE_PARAM)
        return false;
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_ld ? 1 : 0];
    return at->kind == PTX_OPR_MEM && at->reg >= 0;
}

static bool flatten_func_(struct flattener *f, struct activation *act)
{
    struct jkernel *k = f->k;
    const struct ptx_func *func = act->func;
    act->new_index = xmalloc(sizeof *act->new_index * ((size_t)func->ninstrs + 1));
    act->fixup_first = (int32_t)k->ninstrs;
    /* branches made here, whose targets are this function's own instruction indices */
    struct {
        int32_t *items;
        size_t count, cap;
    } fix = {0};
    bool ok = true;
    for (int n = 0; ok && n < func->ninstrs; n++) {
        const struct ptx_instr *src = &func->instrs[n];
        act->new_index[n] = (int32_t)k->ninstrs;
        if (k->ninstrs > MAX_INSTRS)
            ok = diag_set(k->diag, src->line, src->column, "the kernel is too large once inlined");
        int32_t skip = -1;
        if (needs_branch_(src)) {
            skip = (int32_t)k->ninstrs;
            push_branch_(k, src, src->guard + act->reg_base, !src->guard_neg, -1);
        }
        if (src->op == PTX_OP_ret) {
            vec_push(&fix, (int32_t)k->ninstrs);
            push_branch_(k, src, -1, false, func->ninstrs);
        } else if (src->op == PTX_OP_call) {
            ok = copy_call_(f, act, src);
        } else {
            struct ptx_operand *ops = remap_operands_(f, act, src->operands, src->noperands);
            struct ptx_instr *i = push_(k);
            *i = *src;
            i->operands = ops;
            if (!func->is_entry && goes_through_param_pointer_(src))
                i->spaces[0] = PTX_SPACE_LOCAL;
            if (src->op == PTX_OP_bra || src->op == PTX_OP_brx) {
                vec_push(&fix, (int32_t)k->ninstrs - 1);
                if (i->guard >= 0)
                    i->guard = skip >= 0 ? -1 : i->guard + act->reg_base;
                if (i->targets != NULL) {
                    struct ptx_targets *t = arena_alloc(&k->arena, sizeof *t);
                    t->count = i->targets->count;
                    t->index = arena_alloc(&k->arena, sizeof *t->index * (size_t)t->count);
                    memcpy(t->index, i->targets->index, sizeof *t->index * (size_t)t->count);
                    i->targets = t;
                }
            } else {
                i->guard = -1;
            }
        }
        if (skip >= 0)
            k->instrs[skip].operands[0].target = (int32_t)k->ninstrs;
    }
    act->new_index[func->ninstrs] = (int32_t)k->ninstrs;
    for (size_t n = 0; ok && n < fix.count; n++) {
        struct ptx_instr *i = &k->instrs[fix.items[n]];
        for (int o = 0; o < i->noperands; o++)
            if (i->operands[o].kind == PTX_OPR_LABEL)
                i->operands[o].target = act->new_index[i->operands[o].target];
        if (i->targets != NULL)
            for (int t = 0; t < i->targets->count; t++)
                i->targets->index[t] = act->new_index[i->targets->index[t]];
    }
    free(fix.items);
    free(act->new_index);
    return ok;
}

/* ---- argument areas become registers -------------------------------------------------------- */

static struct area *area_of_operand_(struct flattener *f, const struct ptx_operand *o)
{
    return o->var == NULL ? NULL : map_get_(&f->area_of, o->var);
}

/* The register for `bytes` at `offset`; marks the area in_memory when accesses overlap. */
static struct slot *slot_(struct flattener *f, struct area *a, int64_t offset, uint32_t bytes,
                          uint8_t type)
{
    for (size_t n = 0; n < a->nslots; n++) {
        struct slot *s = &a->slots[n];
        if (s->offset == offset && s->bytes == bytes)
            return s;
        if (offset < s->offset + s->bytes && s->offset < offset + bytes)
            a->in_memory = true;
    }
    a->slots = arena_grow(&f->k->arena, a->slots, a->nslots, &a->slots_cap, sizeof *a->slots);
    a->slots[a->nslots] =
        (struct slot){offset, bytes, new_reg_(f->k, arena_printf(&f->k->arena, "%s+%lld", a->var.name,
                                                                 (long long)offset),
                                              type)};
    return &a->slots[a->nslots++];
}

/* First look: which areas are accessed how. */
static void survey_(struct flattener *f)
{
    struct jkernel *k = f->k;
    for (size_t n = 0; n < k->ninstrs; n++) {
        struct ptx_instr *i = &k->instrs[n];
        if (i->op == PTX_OP_call)
            continue; /* areas of calls keep the slots that their loads and stores give them */
        for (int o = 0; o < i->noperands; o++) {
            struct area *a = area_of_operand_(f, &i->operands[o]);
            if (a == NULL)
                continue;
            bool access = i->operands[o].kind == PTX_OPR_MEM && i->operands[o].reg < 0 &&
                          (i->op == PTX_OP_ld || i->op == PTX_OP_st);
            if (!access) {
                a->in_memory = true;
                continue;
            }
            uint32_t bytes = ptx_type_bits(i->types[0]) / 8;
            for (int e = 0; e < i->vec; e++)
                slot_(f, a, i->operands[o].offset + e * (int64_t)bytes, bytes, i->types[0]);
        }
    }
}

/* ld.param / st.param of an area in registers: one move per element. */
static void rewrite_access_(struct flattener *f, const struct ptx_instr *i, struct area *a)
{
    struct jkernel *k = f->k;
    bool load = i->op == PTX_OP_ld;
    const struct ptx_operand *mem = &i->operands[load ? 1 : 0], *data = &i->operands[load ? 0 : 1];
    uint32_t bytes = ptx_type_bits(i->types[0]) / 8;
    for (int e = 0; e < i->vec; e++) {
        const struct ptx_operand *v = data->kind == PTX_OPR_VEC ? &data->items[e] : data;
        if (v->kind == PTX_OPR_SINK)
            continue;
        struct slot *s = slot_(f, a, mem->offset + e * (int64_t)bytes, bytes, i->types[0]);
        if (load)
            push_mov_(k, i, v->reg, reg_operand_(s->reg), i->types[0]);
        else
            push_mov_(k, i, s->reg, *v, i->types[0]);
    }
}

/* ---- calls that stay -------------------------------------------------------------------------- */

uint64_t jit_frame_layout(const struct ptx_func *f, uint64_t *offsets)
{
    uint64_t at = 0;
    for (int n = 0; n < f->nparams + f->nrets; n++) {
        const struct ptx_var *v = n < f->nparams ? f->params[n] : f->rets[n - f->nparams];
        uint64_t align = v->align ? v->align : 1;
        at = (at + align - 1) / align * align;
        if (offsets != NULL)
            offsets[n] = at;
        at += v->size;
    }
    return at;
}

/* One element to or from the outgoing area. */
static void push_outgoing_(struct flattener *f, const struct ptx_instr *at, bool load,
                           struct ptx_operand value, uint64_t offset, uint8_t type)
{
    struct jkernel *k = f->k;
    struct ptx_instr *i = push_(k);
    struct ptx_operand mem = {.kind = PTX_OPR_MEM, .reg = -1, .var = &k->outgoing,
                              .offset = (int64_t)offset};
    i->op = load ? PTX_OP_ld : PTX_OP_st;
    i->types[0] = type;
    i->ntypes = 1;
    i->spaces[0] = PTX_SPACE_LOCAL;
    i->nspaces = 1;
    i->operands = arena_alloc(&k->arena, 2 * sizeof *i->operands);
    i->noperands = 2;
    i->operands[0] = load ? value : mem;
    i->operands[1] = load ? mem : value;
    i->line = at->line;
    i->column = at->column;
    i->loc_file = at->loc_file;
    i->loc_line = at->loc_line;
}

static uint8_t bits_type_(uint64_t bytes)
{
    return bytes == 1 ? PTX_B8 : bytes == 2 ? PTX_B16 : bytes == 4 ? PTX_B32 : PTX_B64;
}

/* Moves one argument or result between where the caller has it and the outgoing area. */
static void transfer_(struct flattener *f, const struct ptx_instr *at, bool load,
                      const struct ptx_operand *o, const struct ptx_var *formal, uint64_t offset)
{
    struct jkernel *k = f->k;
    struct area *a = area_of_operand_(f, o);
    if (a == NULL) {
        push_outgoing_(f, at, load, *o, offset, formal->type);
        return;
    }
    if (!a->in_memory) {
        for (size_t n = 0; n < a->nslots; n++) {
            const struct slot *s = &a->slots[n];
            push_outgoing_(f, at, load, reg_operand_(s->reg), offset + (uint64_t)s->offset,
                           bits_type_(s->bytes));
        }
        return;
    }
    /* memory to memory, in pieces as wide as the alignment allows */
    uint64_t piece = formal->align >= 8 ? 8 : formal->align >= 4 ? 4 : 1;
    a->var.space = PTX_SPACE_LOCAL;
    for (uint64_t done = 0; done < formal->size; done += piece) {
        uint64_t bytes = formal->size - done < piece ? 1 : piece;
        int32_t temp = new_reg_(k, "copy", bits_type_(bytes));
        struct ptx_operand value = reg_operand_(temp);
        if (load)
            push_outgoing_(f, at, true, value, offset + done, bits_type_(bytes));
        struct ptx_instr *i = push_(k);
        *i = (struct ptx_instr){.op = load ? PTX_OP_st : PTX_OP_ld, .ntypes = 1, .nspaces = 1,
                                .vec = 1, .guard = -1, .noperands = 2, .line = at->line};
        i->types[0] = bits_type_(bytes);
        i->spaces[0] = PTX_SPACE_LOCAL;
        i->operands = arena_alloc(&k->arena, 2 * sizeof *i->operands);
        struct ptx_operand mem = {.kind = PTX_OPR_MEM, .reg = -1, .var = &a->var,
                                  .offset = (int64_t)done};
        i->operands[0] = load ? mem : value;
        i->operands[1] = load ? value : mem;
        if (!load)
            push_outgoing_(f, at, false, value, offset + done, bits_type_(bytes));
        if (bytes == 1 && piece != 1)
            done -= piece - 1;
    }
}

/* A call of a function of the module: arguments into the outgoing area, results out of it. */
static bool lower_call_(struct flattener *f, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = src->call;
    const struct ptx_func *formal = c->func ? c->func : c->proto ? c->proto : c->candidates[0];
    if (c->nargs != formal->nparams || c->nrets != formal->nrets)
        return diag_set(k->diag, src->line, src->column,
                        "call with %d arguments and %d results; %s has %d and %d", c->nargs,
                        c->nrets, formal->name, formal->nparams, formal->nrets);
    uint64_t *offsets = arena_alloc(
        &k->arena, sizeof *offsets * (size_t)(formal->nparams + formal->nrets + 1));
    jit_frame_layout(formal, offsets);
    for (int n = 0; n < c->nargs; n++)
        transfer_(f, src, false, &c->args[n], formal->params[n], offsets[n]);
    struct ptx_instr *i = push_(k);
    *i = *src;
    i->call = arena_alloc(&k->arena, sizeof *i->call);
    *i->call = *c;
    i->call->nargs = i->call->nrets = 0;
    for (int n = 0; n < c->nrets; n++)
        transfer_(f, src, true, &c->rets[n], formal->rets[n], offsets[formal->nparams + n]);
    return true;
}

/* The arguments of a function that is compiled on its own lie at the start of its frame. */
static void place_formals_(struct flattener *f, struct activation *act)
{
    struct jkernel *k = f->k;
    const struct ptx_func *func = act->func;
    for (int n = 0; n < func->nparams + func->nrets; n++) {
        bool is_ret = n >= func->nparams;
        struct ptx_var *v = is_ret ? func->rets[n - func->nparams] : func->params[n];
        struct area *a = new_area_(f, v);
        a->in_memory = true;
        a->var.space = PTX_SPACE_LOCAL;
        map_put_(&act->vars, v, &a->var);
        k->locals = arena_grow(&k->arena, k->locals, k->nlocals, &k->locals_cap, sizeof *k->locals);
        uint64_t align = v->align ? v->align : 1;
        k->local_bytes = (k->local_bytes + align - 1) / align * align;
        k->locals[k->nlocals++] = (struct jvar){&a->var, k->local_bytes};
        k->local_bytes += v->size;
        int32_t reg = is_ret ? (func->ret_regs ? func->ret_regs[n - func->nparams] : -1)
                             : (func->param_regs ? func->param_regs[n] : -1);
        if (reg < 0 || is_ret)
            continue;
        struct ptx_instr *ld = push_(k);
        *ld = (struct ptx_instr){.op = PTX_OP_ld, .ntypes = 1, .nspaces = 1, .vec = 1, .guard = -1,
                                 .noperands = 2, .line = func->line};
        ld->types[0] = v->type;
        ld->spaces[0] = PTX_SPACE_LOCAL;
        ld->operands = arena_alloc(&k->arena, 2 * sizeof *ld->operands);
        ld->operands[0] = reg_operand_(reg);
        ld->operands[1] = (struct ptx_operand){.kind = PTX_OPR_MEM, .reg = -1, .var = &a->var};
    }
}

/* Register-style results go to the frame at the end. */
static void store_results_(struct flattener *f, struct activation *act)
{
    const struct ptx_func *func = act->func;
    for (int n = 0; n < func->nrets; n++) {
        if (func->ret_regs == NULL || func->ret_regs[n] < 0)
            continue;
        struct ptx_instr *st = push_(f->k);
        *st = (struct ptx_instr){.op = PTX_OP_st, .ntypes = 1, .nspaces = 1, .vec = 1, .guard = -1,
                                 .noperands = 2, .line = func->line};
        st->types[0] = func->rets[n]->type;
        st->spaces[0] = PTX_SPACE_LOCAL;
        st->operands = arena_alloc(&f->k->arena, 2 * sizeof *st->operands);
        st->operands[0] = (struct ptx_operand){.kind = PTX_OPR_MEM, .reg = -1,
                                               .var = map_get_(&act->vars, func->rets[n])};
        st->operands[1] = reg_operand_(func->ret_regs[n]);
    }
}

static bool is_symbol_of_(const struct ptx_instr *i, const struct ptx_func *f)
{
    for (int o = 0; o < i->noperands; o++)
        if (i->operands[o].kind == PTX_OPR_SYM && i->operands[o].func == f)
            return true;
    return false;
}

bool jit_address_taken(const struct ptx_module *m, const struct ptx_func *f)
{
    for (int n = 0; n < m->nvars; n++)
        for (int r = 0; r < m->vars[n]->nrelocs; r++)
            if (m->vars[n]->relocs[r].func == f)
                return true;
    for (int n = 0; n < m->nfuncs; n++)
        for (int k = 0; k < m->funcs[n]->ninstrs; k++)
            if (is_symbol_of_(&m->funcs[n]->instrs[k], f))
                return true;
    return false;
}

bool jit_same_prototype(const struct ptx_func *a, const struct ptx_func *b)
{
    if (a->nparams != b->nparams || a->nrets != b->nrets)
        return false;
    for (int n = 0; n < a->nparams; n++)
        if (a->params[n]->size != b->params[n]->size)
            return false;
    for (int n = 0; n < a->nrets; n++)
        if (a->rets[n]->size != b->rets[n]->size)
            return false;
    return true;
}

/* Call of a function that nobody defines: its arguments and results are the areas' registers. */
static bool rewrite_call_operands_(struct flattener *f, const struct ptx_instr *at,
                                   struct ptx_operand *ops, int count, struct ptx_var **formals)
{
    for (int n = 0; n < count; n++) {
        struct area *a = area_of_operand_(f, &ops[n]);
        if (a == NULL)
            continue;
        uint8_t type = formals != NULL ? formals[n]->type : a->var.type;
        uint32_t bytes = (uint32_t)(a->var.size ? a->var.size : ptx_type_bits(type) / 8);
        if (a->in_memory || a->nslots > 1 || bytes > 8)
            return diag_set(f->k->diag, at->line, at->column,
                            "call of %s: an argument of %u bytes is not supported",
                            at->call->func ? at->call->func->name : "a pointer", bytes);
        struct slot *s = a->nslots ? &a->slots[0] : slot_(f, a, 0, bytes, type);
        ops[n] = reg_operand_(s->reg);
    }
    return true;
}

static bool lower_areas_(struct flattener *f)
{
    struct jkernel *k = f->k;
    survey_(f);
    struct ptx_instr *old = k->instrs;
    size_t nold = k->ninstrs;
    int32_t *moved = xmalloc(sizeof *moved * (nold + 1));
    k->instrs = NULL;
    k->ninstrs = k->instrs_cap = 0;
    bool ok = true;
    for (size_t n = 0; ok && n < nold; n++) {
        struct ptx_instr *i = &old[n];
        moved[n] = (int32_t)k->ninstrs;
        if (i->op == PTX_OP_call) {
            struct ptx_func *func = i->call->func;
            if (func == NULL || func->has_body) {
                ok = lower_call_(f, i);
                continue;
            }
            ok = rewrite_call_operands_(f, i, i->call->args, i->call->nargs,
                                        func ? func->params : NULL) &&
                 rewrite_call_operands_(f, i, i->call->rets, i->call->nrets,
                                        func ? func->rets : NULL);
            *push_(k) = *i;
            continue;
        }
        struct area *a = NULL;
        for (int o = 0; o < i->noperands && a == NULL; o++)
            a = area_of_operand_(f, &i->operands[o]);
        if (a == NULL) {
            *push_(k) = *i;
        } else if (!a->in_memory) {
            rewrite_access_(f, i, a);
        } else {
            /* the area is a .local variable now */
            a->var.space = PTX_SPACE_LOCAL;
            struct ptx_instr *copy = push_(k);
            *copy = *i;
            if (copy->nspaces > 0 && copy->spaces[0] == PTX_SPACE_PARAM)
                copy->spaces[0] = PTX_SPACE_LOCAL;
        }
    }
    moved[nold] = (int32_t)k->ninstrs;
    for (size_t n = 0; ok && n < k->ninstrs; n++) {
        struct ptx_instr *i = &k->instrs[n];
        for (int o = 0; o < i->noperands; o++)
            if (i->operands[o].kind == PTX_OPR_LABEL)
                i->operands[o].target = moved[i->operands[o].target];
        if (i->op == PTX_OP_brx && i->targets != NULL)
            for (int t = 0; t < i->targets->count; t++)
                i->targets->index[t] = moved[i->targets->index[t]];
    }
    free(moved);
    return ok;
}

/* ---- .shared and .local windows ------------------------------------------------------------- */

static void place_(struct jkernel *k, struct jvar **list, size_t *count, size_t *cap,
                   uint64_t *bytes, const struct ptx_var *v)
{
    for (size_t n = 0; n < *count; n++)
        if ((*list)[n].var == v)
            return;
    *list = arena_grow(&k->arena, *list, *count, cap, sizeof **list);
    uint64_t align = v->align ? v->align : 1;
    uint64_t offset = (*bytes + align - 1) / align * align;
    if (v->unsized)
        offset = UINT64_MAX; /* dynamic: placed after all static ones */
    else
        *bytes = offset + v->size;
    (*list)[(*count)++] = (struct jvar){v, offset};
}

static void place_operand_(struct jkernel *k, const struct ptx_operand *o)
{
    if (o->var != NULL && o->var->space == PTX_SPACE_SHARED) {
        place_(k, &k->shared, &k->nshared, &k->shared_cap, &k->shared_bytes, o->var);
        if (o->var->unsized && o->var->align > k->dynamic_align)
            k->dynamic_align = o->var->align;
    }
    if (o->var != NULL && o->var->space == PTX_SPACE_LOCAL)
        place_(k, &k->locals, &k->nlocals, &k->locals_cap, &k->local_bytes, o->var);
    for (int n = 0; n < o->nitems; n++)
        place_operand_(k, &o->items[n]);
}

static void place_variables_(struct jkernel *k)
{
    k->dynamic_align = 16;
    for (size_t n = 0; n < k->ninstrs; n++)
        for (int o = 0; o < k->instrs[n].noperands; o++)
            place_operand_(k, &k->instrs[n].operands[o]);
    uint64_t dynamic = (k->shared_bytes + k->dynamic_align - 1) / k->dynamic_align * k->dynamic_align;
    for (size_t n = 0; n < k->nshared; n++)
        if (k->shared[n].offset == UINT64_MAX) {
            k->shared[n].offset = dynamic;
            k->shared_bytes = dynamic;
        }
    k->local_bytes = (k->local_bytes + 15) & ~(uint64_t)15;
    for (size_t n = 0; n < k->nlocals; n++)
        if (k->locals[n].var == &k->outgoing)
            k->locals[n].offset = k->local_bytes;
}

static int64_t offset_of_(const struct jvar *list, size_t count, const struct ptx_var *v)
{
    for (size_t n = 0; n < count; n++)
        if (list[n].var == v)
            return (int64_t)list[n].offset;
    return -1;
}

int64_t jkernel_shared_offset(const struct jkernel *k, const struct ptx_var *v)
{
    return offset_of_(k->shared, k->nshared, v);
}

int64_t jkernel_local_offset(const struct jkernel *k, const struct ptx_var *v)
{
    return offset_of_(k->locals, k->nlocals, v);
}

/* ---- the carry flag -------------------------------------------------------------------------- */

/* CC.CF becomes a register: appended as a source or destination operand where alu.h says so. */
static void add_carry_(struct flattener *f)
{
    struct jkernel *k = f->k;
    for (size_t n = 0; n < k->ninstrs; n++) {
        struct ptx_instr *i = &k->instrs[n];
        struct alu_sig sig;
        bool cc = ptx_has(i, PTX_M_cc);
        if (!cc && i->op != PTX_OP_addc && i->op != PTX_OP_subc && i->op != PTX_OP_madc)
            continue;
        if (!alu_signature(i, &sig))
            continue;
        if (f->cc < 0)
            f->cc = new_reg_(k, "CC.CF", PTX_PRED);
        struct ptx_operand *ops =
            arena_alloc(&k->arena, sizeof *ops * (size_t)(i->noperands + 2));
        int count = 0, ndst = sig.ndst - sig.carry_out;
        for (int o = 0; o < ndst; o++)
            ops[count++] = i->operands[o];
        if (sig.carry_out)
            ops[count++] = reg_operand_(f->cc);
        for (int o = ndst; o < i->noperands; o++)
            ops[count++] = i->operands[o];
        if (sig.carry_in)
            ops[count++] = reg_operand_(f->cc);
        i->operands = ops;
        i->noperands = (uint16_t)count;
    }
}

bool pass_flatten(struct jkernel *k)
{
    struct flattener f = {.k = k, .cc = -1};
    struct activation act = {.func = k->entry};
    for (int n = 0; n < k->entry->nregs; n++)
        new_reg_(k, k->entry->regs[n].name, k->entry->regs[n].type);
    /* kernel parameters stand for themselves */
    k->outgoing = (struct ptx_var){.name = "call", .space = PTX_SPACE_LOCAL, .type = PTX_B8,
                                   .align = 16, .index = -1};
    if (k->is_function)
        place_formals_(&f, &act);
    for (int n = 0; !k->is_function && n < k->entry->nparams; n++)
        map_put_(&act.vars, k->entry->params[n], k->entry->params[n]);
    bool ok = flatten_func_(&f, &act);
    if (ok && k->is_function) {
        for (size_t n = 0; ok && n < k->ninstrs; n++)
            if (k->instrs[n].op == PTX_OP_exit)
                ok = diag_set(k->diag, k->instrs[n].line, k->instrs[n].column,
                              "exit in %s, which is recursive or called through a pointer, is not "
                              "supported", k->entry->name);
        store_results_(&f, &act);
    }
    if (ok) {
        struct ptx_instr *end = push_(k);
        end->op = PTX_OP_exit;
        ok = lower_areas_(&f);
    }
    if (ok) {
        add_carry_(&f);
        place_variables_(k);
    }
    map_free_(&act.vars);
    map_free_(&f.area_of);
    return ok;
}
