/* arguments: argument areas. PTX passes arguments through `.param` variables; after inlining
 * most are just names for values, and become registers, one per offset at which they are accessed.
 * The others lie in memory. Functions that are called and not inlined find their arguments at the
 * start of their frame, in the thread's local window, where the caller has put them. */
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/front/flatten.h"

/* Areas of more bytes lie in memory. As registers, structures of kilobytes would be thousands of
 * values that live at once, for which LLVM takes minutes and has no registers. */
enum { MOST_BYTES = 256 };

/* Frames in the local window, and the window of shared memory, begin at multiples of these at
 * least. */
enum { FRAME_ALIGN = 16, SHARED_ALIGN = 128 };

struct area *flat_area_of(struct flattener *f, const struct ptx_operand *o)
{
    return o->var == NULL ? NULL : ptr_map_get(&f->area_of, o->var);
}

/* The register for `bytes` at `offset`; marks the area in_memory when accesses overlap. */
static struct slot *arguments_slot(struct flattener *f, struct area *a, int64_t offset,
                                   uint32_t bytes, uint8_t type)
{
    for (size_t n = 0; n < a->nslots; n++) {
        struct slot *s = &a->slots[n];
        if (s->offset == offset && s->bytes == bytes)
            return s;
        if (offset < s->offset + s->bytes && s->offset < offset + bytes)
            a->in_memory = true;
    }
    a->slots = arena_grow(&f->k->arena, a->slots, a->nslots, &a->slots_cap, sizeof *a->slots);
    a->slots[a->nslots] = (struct slot){
        offset, bytes,
        flat_reg(f->k, arena_printf(&f->k->arena, "%s+%lld", a->var.name, (long long)offset),
                 type)};
    return &a->slots[a->nslots++];
}

/* First look: which areas are accessed how. */
static void survey(struct flattener *f)
{
    struct jkernel *k = f->k;
    for (size_t n = 0; n < f->nareas; n++)
        f->areas[n]->in_memory |= f->areas[n]->var.size > MOST_BYTES;
    for (size_t n = 0; n < k->ninstrs; n++) {
        struct ptx_instr *i = &k->instrs[n];
        if (i->op == PTX_OP_call)
            continue; /* areas of calls keep the slots that their loads and stores give them */
        for (int o = 0; o < i->noperands; o++) {
            struct area *a = flat_area_of(f, &i->operands[o]);
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
                arguments_slot(f, a, i->operands[o].offset + e * (int64_t)bytes, bytes,
                               i->types[0]);
        }
    }
}

/* ld.param / st.param of an area in registers: one move per element. */
static void rewrite_access(struct flattener *f, const struct ptx_instr *i, struct area *a)
{
    struct jkernel *k = f->k;
    bool load = i->op == PTX_OP_ld;
    const struct ptx_operand *mem = &i->operands[load ? 1 : 0], *data = &i->operands[load ? 0 : 1];
    uint32_t bytes = ptx_type_bits(i->types[0]) / 8;
    for (int e = 0; e < i->vec; e++) {
        const struct ptx_operand *v = data->kind == PTX_OPR_VEC ? &data->items[e] : data;
        if (v->kind == PTX_OPR_SINK)
            continue;
        struct slot *s = arguments_slot(f, a, mem->offset + e * (int64_t)bytes, bytes, i->types[0]);
        if (load)
            flat_push_mov(k, i, v->reg, flat_reg_operand(s->reg), i->types[0]);
        else
            flat_push_mov(k, i, s->reg, *v, i->types[0]);
    }
}

/* ---- calls that stay ---- */

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

/* One element to or from memory of the frame: arguments that are handed over, or an area. */
static void push_access(struct flattener *f, const struct ptx_instr *at, struct ptx_var *memory,
                        bool load, struct ptx_operand value, uint64_t offset, uint8_t type)
{
    struct jkernel *k = f->k;
    struct ptx_instr *i = flat_push(k);
    struct ptx_operand mem = {
        .kind = PTX_OPR_MEM, .reg = -1, .var = memory, .offset = (int64_t)offset};
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

void flat_transfer(struct flattener *f, const struct ptx_instr *at, struct ptx_var *memory,
                   bool load, const struct ptx_operand *o, const struct ptx_var *formal,
                   uint64_t offset)
{
    struct jkernel *k = f->k;
    struct area *a = flat_area_of(f, o);
    if (a == NULL) {
        push_access(f, at, memory, load, *o, offset, formal->type);
        return;
    }
    if (!a->in_memory) {
        for (size_t n = 0; n < a->nslots; n++) {
            const struct slot *s = &a->slots[n];
            push_access(f, at, memory, load, flat_reg_operand(s->reg), offset + (uint64_t)s->offset,
                        jit_bits_type(s->bytes * 8));
        }
        return;
    }
    /* memory to memory, in pieces as wide as the alignment allows */
    uint64_t piece = formal->align >= 8 ? 8 : formal->align >= 4 ? 4 : 1;
    a->var.space = PTX_SPACE_LOCAL;
    for (uint64_t done = 0; done < formal->size; done += piece) {
        uint64_t bytes = formal->size - done < piece ? 1 : piece;
        int32_t temp = flat_reg(k, "copy", jit_bits_type(bytes * 8));
        struct ptx_operand value = flat_reg_operand(temp);
        if (load)
            push_access(f, at, memory, true, value, offset + done, jit_bits_type(bytes * 8));
        push_access(f, at, &a->var, !load, value, done, jit_bits_type(bytes * 8));
        if (!load)
            push_access(f, at, memory, false, value, offset + done, jit_bits_type(bytes * 8));
        if (bytes == 1 && piece != 1)
            done -= piece - 1;
    }
}

/* A call of a function of the module: arguments into the outgoing area, results out of it. */
static bool lower_call(struct flattener *f, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = src->call;
    const struct ptx_func *formal = c->func != NULL    ? c->func
                                    : c->proto != NULL ? c->proto
                                                       : c->candidates[0];
    if (c->nargs != formal->nparams || c->nrets != formal->nrets)
        return diag_set(k->diag, src->line, src->column,
                        "call with %d arguments and %d results; %s has %d and %d", c->nargs,
                        c->nrets, formal->name, formal->nparams, formal->nrets);
    uint64_t *offsets =
        arena_alloc(&k->arena, sizeof *offsets * (size_t)(formal->nparams + formal->nrets + 1));
    jit_frame_layout(formal, offsets);
    for (int n = 0; n < c->nargs; n++)
        flat_transfer(f, src, &k->outgoing, false, &c->args[n], formal->params[n], offsets[n]);
    struct ptx_instr *i = flat_push(k);
    *i = *src;
    i->call = arena_alloc(&k->arena, sizeof *i->call);
    *i->call = *c;
    i->call->nargs = i->call->nrets = 0;
    if (c->func == NULL && c->nrets == 0 && flat_launches(k)) { /* it may be a kernel */
        i->call->args = flat_launch_config(f);
        i->call->nargs = FLAT_CONFIG;
    }
    for (int n = 0; n < c->nrets; n++)
        flat_transfer(f, src, &k->outgoing, true, &c->rets[n], formal->rets[n],
                      offsets[formal->nparams + n]);
    return true;
}

/* The arguments of a function that is compiled on its own lie at the start of its frame. */
void flat_add_formals(struct flattener *f, struct activation *act)
{
    struct jkernel *k = f->k;
    const struct ptx_func *func = act->func;
    for (int n = 0; n < func->nparams + func->nrets; n++) {
        bool is_ret = n >= func->nparams;
        struct ptx_var *v = is_ret ? func->rets[n - func->nparams] : func->params[n];
        struct area *a = flat_area(f, v);
        a->in_memory = true;
        a->var.space = PTX_SPACE_LOCAL;
        ptr_map_put(&act->vars, v, &a->var);
        k->locals = arena_grow(&k->arena, k->locals, k->nlocals, &k->locals_cap, sizeof *k->locals);
        uint64_t align = v->align ? v->align : 1;
        k->local_bytes = round_up(k->local_bytes, align);
        k->locals[k->nlocals++] = (struct jvar){&a->var, k->local_bytes};
        k->local_bytes += v->size;
        int32_t reg = is_ret ? (func->ret_regs != NULL ? func->ret_regs[n - func->nparams] : -1)
                             : (func->param_regs != NULL ? func->param_regs[n] : -1);
        if (reg < 0 || is_ret)
            continue;
        push_access(f, &(struct ptx_instr){.line = func->line}, &a->var, true,
                    flat_reg_operand(reg), 0, v->type);
    }
}

/* Register-style results go to the frame at the end. */
void flat_store_results(struct flattener *f, struct activation *act)
{
    const struct ptx_func *func = act->func;
    for (int n = 0; n < func->nrets; n++) {
        if (func->ret_regs == NULL || func->ret_regs[n] < 0)
            continue;
        push_access(f, &(struct ptx_instr){.line = func->line},
                    ptr_map_get(&act->vars, func->rets[n]), false,
                    flat_reg_operand(func->ret_regs[n]), 0, func->rets[n]->type);
    }
}

static bool is_symbol_of(const struct ptx_instr *i, const struct ptx_func *f)
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
            if (is_symbol_of(&m->funcs[n]->instrs[k], f))
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

/* Results of a function that nobody defines are the areas' registers. */
static bool rewrite_results(struct flattener *f, const struct ptx_instr *at)
{
    const struct ptx_call *c = at->call;
    for (int n = 0; n < c->nrets; n++) {
        struct area *a = flat_area_of(f, &c->rets[n]);
        if (a == NULL)
            continue;
        uint8_t type = c->func->rets[n]->type;
        uint32_t bytes = (uint32_t)(a->var.size ? a->var.size : ptx_type_bits(type) / 8);
        if (a->in_memory || a->nslots > 1 || bytes > 8)
            return diag_set(f->k->diag, at->line, at->column,
                            "call of %s: a result of %u bytes is not supported", c->func->name,
                            bytes);
        struct slot *s = a->nslots ? &a->slots[0] : arguments_slot(f, a, 0, bytes, type);
        c->rets[n] = flat_reg_operand(s->reg);
    }
    return true;
}

static bool is_value(const struct ptx_operand *o)
{
    return (o->kind == PTX_OPR_REG && o->offset == 0) || o->kind == PTX_OPR_IMM ||
           o->kind == PTX_OPR_FIMM;
}

/* A call of a device math function that is one instruction (clang writes `max(x, 0)` as a call of
 * __nv_max) becomes that instruction, which the analyses know. */
static bool rewrite_as_instruction(struct flattener *f, const struct ptx_instr *call)
{
    const struct ptx_call *c = call->call;
    struct ptx_instr made;
    struct ptx_operand ops[4];
    if (c->nrets != 1 || c->rets[0].kind != PTX_OPR_REG ||
        !alu_math_instruction(c->func->name, ops, &made) || c->nargs != made.noperands - 1)
        return false;
    ops[0] = c->rets[0];
    for (int n = 0; n < c->nargs; n++) {
        if (!is_value(&c->args[n]))
            return false;
        ops[1 + n] = c->args[n];
    }
    struct ptx_instr *i = flat_push(f->k);
    *i = made;
    i->guard = call->guard;
    i->guard_neg = call->guard_neg;
    i->line = call->line;
    i->column = call->column;
    i->loc_file = call->loc_file;
    i->loc_line = call->loc_line;
    i->loc_column = call->loc_column;
    i->loc_inlined_at = call->loc_inlined_at;
    i->operands = arena_alloc(&f->k->arena, made.noperands * sizeof *ops);
    memcpy(i->operands, ops, made.noperands * sizeof *ops);
    return true;
}

/* A call that was not inlined. */
static bool rewrite_call(struct flattener *f, struct ptx_instr *i)
{
    const struct ptx_func *func = i->call->func;
    if (func != NULL && func->is_entry)
        return flat_launch(f, i);
    if (func == NULL || func->has_body)
        return lower_call(f, i);
    if (strcmp(func->name, JIT_LAUNCH_CONFIGURE) == 0)
        return flat_configure(f, i);
    if (!rewrite_results(f, i) || !flat_helper_operands(f, i))
        return false;
    if (!rewrite_as_instruction(f, i))
        *flat_push(f->k) = *i;
    return true;
}

void flat_retarget(struct jkernel *k, const int32_t *moved)
{
    for (size_t n = 0; n < k->ninstrs; n++) {
        struct ptx_instr *i = &k->instrs[n];
        for (int o = 0; o < i->noperands; o++)
            if (i->operands[o].kind == PTX_OPR_LABEL)
                i->operands[o].target = moved[i->operands[o].target];
        if (i->op == PTX_OP_brx && i->targets != NULL)
            for (int t = 0; t < i->targets->count; t++)
                i->targets->index[t] = moved[i->targets->index[t]];
    }
}

struct rebuilt flat_rebuild(struct jkernel *k)
{
    struct rebuilt r = {.old = k->instrs, .count = k->ninstrs};
    r.moved = xmalloc(sizeof *r.moved * (r.count + 1));
    k->instrs = NULL;
    k->ninstrs = k->instrs_cap = 0;
    return r;
}

void flat_rebuilt(struct jkernel *k, struct rebuilt *r)
{
    r->moved[r->count] = (int32_t)k->ninstrs;
    flat_retarget(k, r->moved);
    free(r->moved);
}

bool flat_lower_areas(struct flattener *f)
{
    struct jkernel *k = f->k;
    survey(f);
    struct rebuilt list = flat_rebuild(k);
    bool ok = true;
    for (size_t n = 0; ok && n < list.count; n++) {
        struct ptx_instr *i = &list.old[n];
        list.moved[n] = (int32_t)k->ninstrs;
        if (i->op == PTX_OP_call) {
            ok = rewrite_call(f, i);
            continue;
        }
        struct area *a = NULL;
        for (int o = 0; o < i->noperands && a == NULL; o++)
            a = flat_area_of(f, &i->operands[o]);
        if (a == NULL) {
            *flat_push(k) = *i;
        } else if (!a->in_memory) {
            rewrite_access(f, i, a);
        } else {
            /* the area is a .local variable now */
            a->var.space = PTX_SPACE_LOCAL;
            struct ptx_instr *copy = flat_push(k);
            *copy = *i;
            if (copy->nspaces > 0 && copy->spaces[0] == PTX_SPACE_PARAM)
                copy->spaces[0] = PTX_SPACE_LOCAL;
        }
    }
    if (ok)
        flat_rebuilt(k, &list);
    else
        free(list.moved);
    return ok;
}

/* ---- .shared and .local windows ---- */

/* Sums of sizes stop here: far beyond every limit, and no rounding up of them overflows. */
static const uint64_t MOST_TOGETHER = UINT64_C(1) << 60;

static void add_variable(struct jkernel *k, struct jvar **list, size_t *count, size_t *cap,
                         uint64_t *bytes, const struct ptx_var *v)
{
    for (size_t n = 0; n < *count; n++)
        if ((*list)[n].var == v)
            return;
    *list = arena_grow(&k->arena, *list, *count, cap, sizeof **list);
    uint64_t align = v->align ? v->align : 1;
    uint64_t offset = round_up(*bytes, align);
    if (v->unsized)
        offset = UINT64_MAX; /* dynamic: allocated after all static ones */
    else if (__builtin_add_overflow(offset, v->size, bytes) || *bytes > MOST_TOGETHER)
        *bytes = MOST_TOGETHER;
    (*list)[(*count)++] = (struct jvar){v, offset};
}

static void add_shared_variable(struct jkernel *k, const struct ptx_operand *o)
{
    if (o->var != NULL && o->var->space == PTX_SPACE_SHARED) {
        add_variable(k, &k->shared, &k->nshared, &k->shared_cap, &k->shared_bytes, o->var);
        if (o->var->unsized && o->var->align > k->dynamic_align)
            k->dynamic_align = o->var->align;
    }
    for (int n = 0; n < o->nitems; n++)
        add_shared_variable(k, &o->items[n]);
}

/* Those of a function that the kernel calls. */
static void add_function_variables(struct jkernel *k, const struct ptx_func *f)
{
    for (int n = 0; n < f->ninstrs; n++) {
        const struct ptx_instr *i = &f->instrs[n];
        for (int o = 0; o < i->noperands; o++)
            add_shared_variable(k, &i->operands[o]);
        for (int o = 0; i->op == PTX_OP_call && o < i->call->nargs; o++)
            add_shared_variable(k, &i->call->args[o]);
    }
}

/* What a function declares takes memory though nothing uses it, as in a GPU's kernels; what the
 * module declares does not. */
static void add_declared(struct jkernel *k, const struct ptx_func *f)
{
    for (int n = 0; n < f->nvars; n++)
        if (f->vars[n]->space == PTX_SPACE_SHARED && !f->vars[n]->unsized)
            add_variable(k, &k->shared, &k->nshared, &k->shared_cap, &k->shared_bytes, f->vars[n]);
}

void flat_declared(struct jkernel *k, const struct ptx_func *f)
{
    bool declares = false;
    for (int n = 0; n < f->nvars; n++)
        declares |= f->vars[n]->space == PTX_SPACE_SHARED;
    for (size_t n = 0; declares && n < k->nshared_owners; n++)
        declares = k->shared_owners[n] != f;
    if (!declares)
        return;
    k->shared_owners = arena_grow(&k->arena, k->shared_owners, k->nshared_owners,
                                  &k->shared_owners_cap, sizeof(struct ptx_func *));
    k->shared_owners[k->nshared_owners++] = f;
}

static void add_operand_variables(struct jkernel *k, const struct ptx_operand *o)
{
    add_shared_variable(k, o);
    if (o->var != NULL && o->var->space == PTX_SPACE_LOCAL)
        add_variable(k, &k->locals, &k->nlocals, &k->locals_cap, &k->local_bytes, o->var);
    for (int n = 0; n < o->nitems; n++)
        add_operand_variables(k, &o->items[n]);
}

static void raise_align(uint64_t *most, uint64_t align)
{
    if (align > *most)
        *most = align;
}

static void raise_to_variables(uint64_t *most, struct ptx_var *const *vars, int32_t count)
{
    for (int32_t n = 0; n < count; n++)
        if (vars[n]->space == PTX_SPACE_LOCAL || vars[n]->space == PTX_SPACE_PARAM)
            raise_align(most, vars[n]->align);
}

/* The strictest alignment in the frame of any function of the module that a kernel may call,
 * alloca's included: frames follow upon each other, whoever calls whom. */
static uint64_t frames_align(const struct ptx_module *m)
{
    uint64_t most = FRAME_ALIGN;
    for (int32_t n = 0; n < m->nfuncs; n++) {
        const struct ptx_func *f = m->funcs[n];
        if (f->is_entry)
            continue;
        raise_to_variables(&most, f->vars, f->nvars);
        raise_to_variables(&most, f->params, f->nparams);
        raise_to_variables(&most, f->rets, f->nrets);
        for (int32_t i = 0; i < f->ninstrs; i++)
            if (f->instrs[i].op == PTX_OP_alloca && f->instrs[i].noperands > 2)
                raise_align(&most, f->instrs[i].operands[2].imm);
    }
    return most;
}

/* Descriptors of products of warp groups hold 18 bits of a shared address. A GPU's window of shared
 * memory begins where those are zero in generic addresses, too, and kernels take the one for the
 * other. */
static const uint64_t DESCRIBED_ALIGN = (uint64_t)1 << 18;

static bool any_wgmma(const struct ptx_instr *instrs, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (instrs[n].op == PTX_OP_wgmma)
            return true;
    return false;
}

/* Whether a kernel makes such products, or a function of its module that it may call. */
static bool has_wgmma(const struct jkernel *k)
{
    const struct ptx_module *m = k->entry->module;
    bool found = any_wgmma(k->instrs, k->ninstrs);
    for (int32_t n = 0; k->has_calls && !found && n < m->nfuncs; n++)
        found =
            !m->funcs[n]->is_entry && any_wgmma(m->funcs[n]->instrs, (size_t)m->funcs[n]->ninstrs);
    return found;
}

/* Where the windows must begin, so that offsets that are aligned in them are aligned addresses. */
static void find_alignments(struct jkernel *k)
{
    k->local_align = k->has_calls || k->is_function ? frames_align(k->entry->module) : FRAME_ALIGN;
    k->shared_align = SHARED_ALIGN;
    for (size_t n = 0; n < k->ninstrs; n++)
        if (k->instrs[n].op == PTX_OP_alloca) /* as lowered */
            raise_align(&k->local_align, k->instrs[n].operands[3].imm);
    for (size_t n = 0; n < k->nlocals; n++)
        raise_align(&k->local_align, k->locals[n].var->align);
    for (size_t n = 0; n < k->nshared; n++)
        raise_align(&k->shared_align, k->shared[n].var->align);
    if (has_wgmma(k))
        raise_align(&k->shared_align, DESCRIBED_ALIGN);
}

void flat_layout_variables(struct jkernel *k)
{
    k->dynamic_align = 16;
    for (size_t n = 0; n < k->ninstrs; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        for (int o = 0; o < i->noperands; o++)
            add_operand_variables(k, &i->operands[o]);
        for (int o = 0; i->op == PTX_OP_call && o < i->call->nargs; o++)
            add_operand_variables(k, &i->call->args[o]);
    }
    if (k->has_calls && k->entry->is_entry)
        flat_each_callee(k, add_function_variables);
    for (size_t n = 0; k->entry->is_entry && n < k->nshared_owners; n++)
        add_declared(k, k->shared_owners[n]);
    if (k->has_calls && k->entry->is_entry)
        flat_each_callee(k, add_declared);
    find_alignments(k);
    uint64_t dynamic = round_up(k->shared_bytes, k->dynamic_align);
    for (size_t n = 0; n < k->nshared; n++)
        if (k->shared[n].offset == UINT64_MAX) {
            k->shared[n].offset = dynamic;
            k->shared_bytes = dynamic;
        }
    k->local_bytes = round_up(k->local_bytes, k->local_align);
    for (size_t n = 0; n < k->nlocals; n++)
        if (k->locals[n].var == &k->outgoing)
            k->locals[n].offset = k->local_bytes;
}

static int64_t offset_of(const struct jvar *list, size_t count, const struct ptx_var *v)
{
    for (size_t n = 0; n < count; n++)
        if (list[n].var == v)
            return (int64_t)list[n].offset;
    return -1;
}

int64_t jkernel_shared_offset(const struct jkernel *k, const struct ptx_var *v)
{
    const struct jkernel *from = k->layout != NULL ? k->layout : k;
    return offset_of(from->shared, from->nshared, v);
}

int64_t jkernel_local_offset(const struct jkernel *k, const struct ptx_var *v)
{
    return offset_of(k->locals, k->nlocals, v);
}
