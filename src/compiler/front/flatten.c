/* flatten: a PTX function and all it calls become one flat list of instructions.
 *
 * Calls of functions with a body are inlined (the argument areas of PTX, `.param` variables, become
 * registers, one per offset at which they are accessed), so that barriers, warp operations and
 * uniformity see through them. A predicated instruction becomes a branch around the plain one:
 * then masks and frontiers are the only form of divergence that later passes know. Calls that
 * cannot be inlined (extern functions, recursion, function pointers), or that would make too much
 * of the kernel (kept_calls.c), stay calls whose arguments and results are registers. */
#include "compiler/front/flatten.h"
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/passes.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INLINE_DEPTH = 64, MAX_INSTRS = 400000 };

/* ---- a small map from pointers to pointers ---- */

static size_t flatten_slot_of(const struct ptr_map *m, const void *key)
{
    size_t i = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20 & (m->cap - 1);
    while (m->keys[i] != NULL && m->keys[i] != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

void *ptr_map_get(const struct ptr_map *m, const void *key)
{
    return m->cap == 0 ? NULL : m->values[flatten_slot_of(m, key)];
}

void ptr_map_put(struct ptr_map *m, const void *key, void *value)
{
    if (m->count * 2 >= m->cap) {
        struct ptr_map old = *m;
        m->cap = old.cap ? old.cap * 2 : 64;
        m->keys = xcalloc(m->cap, sizeof *m->keys);
        m->values = xcalloc(m->cap, sizeof *m->values);
        for (size_t i = 0; i < old.cap; i++)
            if (old.keys[i] != NULL) {
                size_t s = flatten_slot_of(m, old.keys[i]);
                m->keys[s] = old.keys[i];
                m->values[s] = old.values[i];
            }
        free(old.keys);
        free(old.values);
    }
    size_t s = flatten_slot_of(m, key);
    m->count += m->keys[s] == NULL;
    m->keys[s] = key;
    m->values[s] = value;
}

void ptr_map_free(struct ptr_map *m)
{
    free(m->keys);
    free(m->values);
}
int32_t flat_reg(struct jkernel *k, const char *name, uint8_t type)
{
    k->regs = arena_grow(&k->arena, k->regs, k->nregs, &k->regs_cap, sizeof *k->regs);
    k->regs[k->nregs] = (struct jreg){.name = name, .type = type, .def = -1};
    return (int32_t)k->nregs++;
}

struct ptx_instr *flat_push(struct jkernel *k)
{
    k->instrs = arena_grow(&k->arena, k->instrs, k->ninstrs, &k->instrs_cap, sizeof *k->instrs);
    struct ptx_instr *i = &k->instrs[k->ninstrs++];
    memset(i, 0, sizeof *i);
    i->guard = -1;
    i->vec = 1;
    return i;
}

struct ptx_operand flat_reg_operand(int32_t reg)
{
    return (struct ptx_operand){.kind = PTX_OPR_REG, .reg = reg};
}

struct area *flat_area(struct flattener *f, const struct ptx_var *from)
{
    struct area *a = arena_alloc(&f->k->arena, sizeof *a);
    a->var = *from;
    a->var.space = PTX_SPACE_PARAM;
    f->areas = arena_grow(&f->k->arena, f->areas, f->nareas, &f->areas_cap, sizeof(struct area *));
    f->areas[f->nareas++] = a;
    ptr_map_put(&f->area_of, &a->var, a);
    return a;
}

/* The clone that stands for variable `v` in this activation. Kernel parameters, module-scope
 * variables and .shared variables (which are static) stand for themselves. */
static struct ptx_var *var_of(struct flattener *f, struct activation *act, struct ptx_var *v)
{
    if (v == NULL || v->scope == NULL || v->scope != act->func)
        return v;
    if (v->space != PTX_SPACE_PARAM && v->space != PTX_SPACE_LOCAL)
        return v;
    struct ptx_var *clone = ptr_map_get(&act->vars, v);
    if (clone != NULL)
        return clone;
    if (v->space == PTX_SPACE_LOCAL) {
        clone = arena_alloc(&f->k->arena, sizeof *clone);
        *clone = *v;
    } else {
        clone = &flat_area(f, v)->var;
    }
    ptr_map_put(&act->vars, v, clone);
    return clone;
}

static void remap_operand(struct flattener *f, struct activation *act, struct ptx_operand *o)
{
    if (o->reg >= 0)
        o->reg += act->reg_base;
    o->var = var_of(f, act, o->var);
    if (o->nitems > 0) {
        struct ptx_operand *items = arena_alloc(&f->k->arena, sizeof *items * (size_t)o->nitems);
        memcpy(items, o->items, sizeof *items * (size_t)o->nitems);
        for (int n = 0; n < o->nitems; n++)
            remap_operand(f, act, &items[n]);
        o->items = items;
    }
}

static struct ptx_operand *remap_operands(struct flattener *f, struct activation *act,
                                          const struct ptx_operand *from, int count)
{
    if (count == 0)
        return NULL;
    struct ptx_operand *to = arena_alloc(&f->k->arena, sizeof *to * (size_t)count);
    memcpy(to, from, sizeof *to * (size_t)count);
    for (int n = 0; n < count; n++) {
        if (to[n].kind != PTX_OPR_REG && to[n].kind != PTX_OPR_MEM)
            to[n].reg = -1;
        remap_operand(f, act, &to[n]);
    }
    return to;
}

static bool is_active(const struct activation *act, const struct ptx_func *func)
{
    for (; act != NULL; act = act->caller)
        if (act->func == func)
            return true;
    return false;
}

/* mov dst, src of the register's own type. */
void flat_push_mov(struct jkernel *k, const struct ptx_instr *at, int32_t dst,
                   struct ptx_operand src, uint8_t type)
{
    struct ptx_instr *i = flat_push(k);
    i->op = PTX_OP_mov;
    i->types[0] = type;
    i->ntypes = 1;
    i->operands = arena_alloc(&k->arena, 2 * sizeof *i->operands);
    i->noperands = 2;
    i->operands[0] = flat_reg_operand(dst);
    i->operands[1] = src;
    i->line = at->line;
    i->column = at->column;
    i->loc_file = at->loc_file;
    i->loc_line = at->loc_line;
}

struct ptx_operand *flat_renamed(struct jkernel *k, const struct ptx_operand *from, int count,
                                 const int32_t *name)
{
    struct ptx_operand *ops = arena_alloc(&k->arena, sizeof *ops * ((size_t)count + 1));
    for (int o = 0; o < count; o++) {
        ops[o] = from[o];
        if (name != NULL && ops[o].reg >= 0 &&
            (ops[o].kind == PTX_OPR_REG || ops[o].kind == PTX_OPR_MEM))
            ops[o].reg = name[ops[o].reg];
        if (ops[o].nitems > 0)
            ops[o].items = flat_renamed(k, ops[o].items, ops[o].nitems, name);
    }
    return ops;
}

struct ptx_instr *flat_push_branch(struct jkernel *k, const struct ptx_instr *at, int32_t guard,
                                   bool neg, int32_t target)
{
    struct ptx_instr *i = flat_push(k);
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

static bool flatten_func(struct flattener *f, struct activation *act);

/* Binds one argument or result of an inlined call. */
static bool flatten_bind(struct flattener *f, struct activation *caller, struct activation *callee,
                         const struct ptx_instr *call, struct ptx_var *formal, int32_t formal_reg,
                         const struct ptx_operand *actual, bool is_ret)
{
    struct jkernel *k = f->k;
    bool area =
        actual->kind == PTX_OPR_SYM && actual->var != NULL && actual->var->space == PTX_SPACE_PARAM;
    if (formal_reg >= 0) { /* register-style formal */
        int32_t reg = callee->reg_base + formal_reg;
        if (is_ret)
            return true; /* moved after the body */
        if (area)
            return diag_set(k->diag, call->line, call->column,
                            "call: a .param area passed for a .reg parameter is not supported");
        flat_push_mov(k, call, reg, *actual, k->regs[reg].type);
        return true;
    }
    if (area) {
        ptr_map_put(&callee->vars, formal, actual->var);
        return true;
    }
    /* a register or constant passed for a .param formal: an area of its own, stored before */
    struct area *a = flat_area(f, formal);
    ptr_map_put(&callee->vars, formal, &a->var);
    if (!is_ret) {
        struct ptx_instr *st = flat_push(k);
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

static bool inline_call(struct flattener *f, struct activation *act, const struct ptx_instr *call,
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
        flat_reg(k, func->regs[n].name, func->regs[n].type);
    bool ok = true;
    int32_t sp = -1;
    if (f->sp >= 0) { /* what the callee allocates goes when it returns */
        sp = flat_reg(k, "stack", PTX_B64);
        flat_push_mov(k, call, sp, flat_reg_operand(f->sp), PTX_B64);
    }
    for (int n = 0; ok && n < c->nargs; n++)
        ok = flatten_bind(f, act, &callee, call, func->params[n],
                          func->param_regs != NULL ? func->param_regs[n] : -1, &c->args[n], false);
    for (int n = 0; ok && n < c->nrets; n++)
        ok = flatten_bind(f, act, &callee, call, func->rets[n],
                          func->ret_regs != NULL ? func->ret_regs[n] : -1, &c->rets[n], true);
    ok = ok && flatten_func(f, &callee);
    if (ok && sp >= 0)
        flat_push_mov(k, call, f->sp, flat_reg_operand(sp), PTX_B64);
    for (int n = 0; ok && n < c->nrets; n++) {
        const struct ptx_operand *to = &c->rets[n];
        if (to->kind != PTX_OPR_REG)
            continue;
        if (func->ret_regs != NULL && func->ret_regs[n] >= 0) {
            int32_t from = callee.reg_base + func->ret_regs[n];
            flat_push_mov(k, call, to->reg, flat_reg_operand(from), k->regs[to->reg].type);
        } else {
            struct ptx_var *v = ptr_map_get(&callee.vars, func->rets[n]);
            struct ptx_instr *ld = flat_push(k);
            ld->op = PTX_OP_ld;
            ld->types[0] = func->rets[n]->type;
            ld->ntypes = 1;
            ld->spaces[0] = PTX_SPACE_PARAM;
            ld->nspaces = 1;
            ld->operands = arena_alloc(&k->arena, 2 * sizeof *ld->operands);
            ld->noperands = 2;
            ld->operands[0] = flat_reg_operand(to->reg);
            ld->operands[1] = (struct ptx_operand){.kind = PTX_OPR_MEM, .reg = -1, .var = v};
            ld->line = call->line;
        }
    }
    ptr_map_free(&callee.vars);
    return ok;
}

/* May a function of the module that is called, and not inlined, end threads? An exit after a trap
 * (how compilers mark what is never reached) does not. */
static bool may_end_threads(struct flattener *f)
{
    const struct ptx_module *m = f->k->entry->module;
    if (f->ends_threads >= 0)
        return f->ends_threads;
    f->ends_threads = 0;
    for (int n = 0; n < m->nfuncs && !f->ends_threads; n++) {
        const struct ptx_func *func = m->funcs[n];
        bool dead = false;
        for (int i = 0; i < func->ninstrs && !func->is_entry; i++) {
            unsigned op = func->instrs[i].op;
            dead = op == PTX_OP_trap || (dead && op == PTX_OP_exit);
            f->ends_threads |= op == PTX_OP_exit && !dead;
        }
    }
    return f->ends_threads;
}

/* Reads or writes how much alloca has taken where functions that are called find it. */
static void push_stack(struct flattener *f, uint16_t op)
{
    int32_t sp = flat_stack(f);
    struct ptx_instr *i = flat_push(f->k);
    i->op = op;
    i->types[0] = PTX_U64;
    i->ntypes = 1;
    i->operands = arena_alloc(&f->k->arena, sizeof *i->operands);
    i->operands[0] = flat_reg_operand(sp);
    i->noperands = 1;
}

/* A call of a function that is not inlined; threads that it has ended exit after it. */
static void push_call(struct flattener *f, const struct ptx_instr *call, struct ptx_call *c)
{
    struct jkernel *k = f->k;
    if (f->allocates)
        push_stack(f, PTX_OP_stackrestore);
    if (!may_end_threads(f)) {
        *flat_push(k) = *call;
        return;
    }
    int32_t ended = flat_reg(k, "ended", PTX_PRED);
    c->ended = 1 + ended;
    *flat_push(k) = *call;
    flat_push_branch(k, call, ended, true, (int32_t)k->ninstrs + 2);
    struct ptx_instr *i = flat_push(k);
    i->op = PTX_OP_exit;
    i->line = call->line;
    i->column = call->column;
    i->loc_file = call->loc_file;
    i->loc_line = call->loc_line;
}

static bool copy_call(struct flattener *f, struct activation *act, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = src->call;
    struct ptx_func *func = c->func;
    while (func != NULL && func->alias_of != NULL)
        func = func->alias_of;
    struct ptx_call *copy = arena_alloc(&k->arena, sizeof *copy);
    *copy = *c;
    copy->func = func;
    copy->args = remap_operands(f, act, c->args, c->nargs);
    copy->rets = remap_operands(f, act, c->rets, c->nrets);
    if (c->func == NULL)
        copy->reg = c->reg + act->reg_base;
    struct ptx_instr as = *src;
    as.call = copy;
    as.guard = -1;
    if (func != NULL && func->is_entry) { /* a launch */
        *flat_push(k) = as;
        return true;
    }
    if (func != NULL && func->has_body && !is_active(act, func) &&
        ptr_map_get(&f->kept, func) == NULL) {
        if (++f->depth > MAX_INLINE_DEPTH)
            return diag_set(k->diag, src->line, src->column, "calls nest deeper than %d",
                            MAX_INLINE_DEPTH);
        bool ok = inline_call(f, act, &as, func);
        f->depth--;
        return ok;
    }
    if (func == NULL && c->proto == NULL && c->ncandidates == 0)
        return diag_set(k->diag, src->line, src->column,
                        "a call through a register needs a .callprototype or .calltargets");
    k->has_calls |= func == NULL || func->has_body;
    if (func == NULL || func->has_body)
        push_call(f, &as, copy);
    else
        *flat_push(k) = as;
    return true;
}

/* Is it so cheap that lanes for which it is not meant may do it, too, and keep what they had? */
static bool is_cheap(const struct ptx_instr *i)
{
    for (int o = 0; o < i->noperands; o++)
        if (i->operands[o].kind != PTX_OPR_REG && i->operands[o].kind != PTX_OPR_IMM &&
            i->operands[o].kind != PTX_OPR_FIMM)
            return false;
    return jit_cheap(i) & CHEAP_SELECT && jit_ndst(i) == 1 && !i->pair;
}

/* A guarded instruction that is cheap: without the guard into another register, of which the guard
 * selects. A branch around it would be ten times the code, masks included. */
static bool select_guarded(struct flattener *f, struct activation *act, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    if (src->guard < 0 || !is_cheap(src))
        return false;
    int32_t to = src->operands[0].reg + act->reg_base;
    uint8_t type = k->regs[to].type;
    unsigned bits = ptx_type_bits((enum ptx_type)type);
    if (type == PTX_PRED || (bits != 16 && bits != 32 && bits != 64))
        return false;
    struct ptx_operand was = flat_reg_operand(to),
                       is = flat_reg_operand(flat_reg(k, "guarded", type));
    struct ptx_operand *ops = remap_operands(f, act, src->operands, src->noperands);
    struct ptx_instr *i = flat_push(k);
    *i = *src;
    i->guard = -1;
    i->operands = ops;
    i->operands[0] = is;
    i = flat_push(k);
    *i = (struct ptx_instr){.op = PTX_OP_selp,
                            .ntypes = 1,
                            .vec = 1,
                            .guard = -1,
                            .noperands = 4,
                            .line = src->line,
                            .column = src->column,
                            .loc_file = src->loc_file,
                            .loc_line = src->loc_line,
                            .loc_column = src->loc_column,
                            .loc_inlined_at = src->loc_inlined_at};
    i->types[0] = jit_bits_type(bits);
    i->operands = arena_alloc(&k->arena, 4 * sizeof *i->operands);
    i->operands[0] = was;
    i->operands[1] = src->guard_neg ? was : is;
    i->operands[2] = src->guard_neg ? is : was;
    i->operands[3] = flat_reg_operand(src->guard + act->reg_base);
    return true;
}

/* Guarded by an ordinary predicate, an instruction that is no branch goes under a branch around. */
static bool needs_branch(const struct ptx_instr *i) { return i->guard >= 0 && i->op != PTX_OP_bra; }

/* An access of a parameter by a register that holds its address. Where a function does so its
 * parameters become .local variables (kernels' do not), so the access is to that space. */
static bool goes_through_param_pointer(const struct ptx_instr *i)
{
    if ((i->op != PTX_OP_ld && i->op != PTX_OP_st) || i->nspaces == 0 ||
        i->spaces[0] != PTX_SPACE_PARAM)
        return false;
    const struct ptx_operand *at = &i->operands[i->op == PTX_OP_ld ? 1 : 0];
    return at->kind == PTX_OPR_MEM && at->reg >= 0;
}

static bool flatten_func(struct flattener *f, struct activation *act)
{
    struct jkernel *k = f->k;
    const struct ptx_func *func = act->func;
    act->new_index = xmalloc(sizeof *act->new_index * ((size_t)func->ninstrs + 1));
    /* branches made here, whose targets are this function's own instruction indices */
    struct {
        int32_t *items;
        size_t count, cap;
    } fix = {0};
    bool ok = true;
    flat_declared(k, func);
    for (int n = 0; ok && n < func->ninstrs; n++) {
        const struct ptx_instr *src = &func->instrs[n];
        act->new_index[n] = (int32_t)k->ninstrs;
        if (k->ninstrs > MAX_INSTRS)
            ok = diag_set(k->diag, src->line, src->column,
                          "%s has more than %d instructions once what it calls is inlined",
                          k->entry->name, MAX_INSTRS);
        int32_t skip = -1;
        if (select_guarded(f, act, src))
            continue;
        if (needs_branch(src)) {
            skip = (int32_t)k->ninstrs;
            flat_push_branch(k, src, src->guard + act->reg_base, !src->guard_neg, -1);
        }
        if (src->op == PTX_OP_ret) {
            vec_push(&fix, (int32_t)k->ninstrs);
            flat_push_branch(k, src, -1, false, func->ninstrs);
        } else if (src->op == PTX_OP_call) {
            ok = copy_call(f, act, src);
        } else {
            struct ptx_operand *ops = remap_operands(f, act, src->operands, src->noperands);
            struct ptx_instr *i = flat_push(k);
            *i = *src;
            i->operands = ops;
            if (!func->is_entry && goes_through_param_pointer(src))
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
                ok = flat_lower(f);
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

/* ---- the carry flag ---- */

/* CC.CF becomes a register: appended as a source or destination operand where arithmetic.h says so.
 */
static void add_carry(struct flattener *f)
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
            f->cc = flat_reg(k, "CC.CF", PTX_PRED);
        struct ptx_operand *ops = arena_alloc(&k->arena, sizeof *ops * (size_t)(i->noperands + 2));
        int count = 0, ndst = sig.ndst - sig.carry_out;
        for (int o = 0; o < ndst; o++)
            ops[count++] = i->operands[o];
        if (sig.carry_out)
            ops[count++] = flat_reg_operand(f->cc);
        for (int o = ndst; o < i->noperands; o++)
            ops[count++] = i->operands[o];
        if (sig.carry_in)
            ops[count++] = flat_reg_operand(f->cc);
        i->operands = ops;
        i->noperands = (uint16_t)count;
    }
}

/* Does any function of the module use alloca or its stack? */
static bool allocates(const struct ptx_module *m)
{
    for (int f = 0; f < m->nfuncs; f++)
        for (int n = 0; n < m->funcs[f]->ninstrs; n++) {
            unsigned op = m->funcs[f]->instrs[n].op;
            if (op == PTX_OP_alloca || op == PTX_OP_stacksave || op == PTX_OP_stackrestore)
                return true;
        }
    return false;
}

static struct ptx_operand *renamed(struct jkernel *k, const struct ptx_operand *from, int count,
                                   int32_t reg, int32_t to)
{
    struct ptx_operand *ops = arena_alloc(&k->arena, sizeof *ops * (size_t)(count + 1));
    for (int o = 0; o < count; o++) {
        ops[o] = from[o];
        if (ops[o].reg == reg && (ops[o].kind == PTX_OPR_REG || ops[o].kind == PTX_OPR_MEM))
            ops[o].reg = to;
        if (ops[o].nitems > 0)
            ops[o].items = renamed(k, ops[o].items, ops[o].nitems, reg, to);
    }
    return ops;
}

void flat_rename(struct jkernel *k, struct ptx_instr *i, int32_t reg, int32_t to)
{
    i->operands = renamed(k, i->operands, i->noperands, reg, to);
    if (i->call == NULL)
        return;
    struct ptx_call *call = arena_alloc(&k->arena, sizeof *call);
    *call = *i->call;
    call->args = renamed(k, call->args, call->nargs, reg, to);
    call->rets = renamed(k, call->rets, call->nrets, reg, to);
    call->reg = call->func == NULL && call->reg == reg ? to : call->reg;
    i->call = call;
}

/* A kernel with alloca needs a stack for its threads though it calls nothing. */
static void want_stack(struct jkernel *k)
{
    for (size_t n = 0; n < k->ninstrs; n++)
        k->has_calls |= k->instrs[n].op == PTX_OP_alloca;
}

bool flat_once(struct jkernel *k)
{
    struct flattener f = {.k = k, .cc = -1, .sp = -1, .ends_threads = -1};
    struct activation act = {.func = k->entry};
    for (int n = 0; n < k->entry->nregs; n++)
        flat_reg(k, k->entry->regs[n].name, k->entry->regs[n].type);
    /* kernel parameters stand for themselves */
    k->outgoing = (struct ptx_var){
        .name = "call", .space = PTX_SPACE_LOCAL, .type = PTX_B8, .align = 16, .index = -1};
    bool formals = !k->entry->is_entry; /* a kernel on fibers has parameters as kernels do */
    if (formals)
        flat_add_formals(&f, &act);
    for (int n = 0; !formals && n < k->entry->nparams; n++)
        ptr_map_put(&act.vars, k->entry->params[n], k->entry->params[n]);
    f.allocates = allocates(k->entry->module);
    if (!f.allocates)
        flat_keep_calls(k->entry, &f.kept);
    else if (formals)
        push_stack(&f, PTX_OP_stacksave);
    else
        flat_push_mov(k, &(struct ptx_instr){0}, flat_stack(&f),
                      (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1}, PTX_B64);
    bool ok = flatten_func(&f, &act);
    want_stack(k);
    if (ok && formals)
        flat_store_results(&f, &act);
    if (ok) {
        struct ptx_instr *end = flat_push(k);
        end->op = PTX_OP_exit;
        if (k->is_function) { /* an operand tells the return from exits of threads */
            end->operands = arena_alloc(&k->arena, sizeof *end->operands);
            end->operands[0] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1};
            end->noperands = 1;
        }
        ok = flat_lower_areas(&f) && flat_separate_launches(&f);
    }
    if (ok) {
        add_carry(&f);
        flat_spinning_calls(k);
        flat_copies(k);
        flat_copied_constants(k);
        flat_kept_indices(k);
        flat_layout_variables(k);
        flat_join_blocks(k);
        flat_whole_blocks(k);
        flat_unswitch(k);
        flat_thread_loops(k);
    }
    ptr_map_free(&act.vars);
    ptr_map_free(&f.area_of);
    bool counts = ok && f.kept.count > 0 && k->entry->is_entry;
    ptr_map_free(&f.kept);
    return counts ? flat_count_frames(k) : ok;
}

bool pass_flatten(struct jkernel *k)
{
    if (!flat_once(k))
        return false;
    if (k->fibers || k->is_function || !k->waits_in_calls)
        return true;
    /* now that its calls are known it turns out that it must run on fibers */
    struct jkernel fresh = {.entry = k->entry,
                            .opt = k->opt,
                            .diag = k->diag,
                            .is_function = true,
                            .fibers = true,
                            .nwarps = k->nwarps,
                            .full_warps = k->full_warps,
                            .lanes = k->lanes,
                            .seg_min = k->seg_min};
    jkernel_free(k);
    *k = fresh;
    return flat_once(k);
}
