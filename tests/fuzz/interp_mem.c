/* interp_mem: loads, stores, atomics and conversions of addresses for the interpreter. */
#include "interp_state.h"

#include "../arithmetic/ref.h"

#include <string.h>

uint64_t interp_place(struct machine *m, const struct ptx_var *v)
{
    for (int k = 0; k < m->nplaced; k++)
        if (m->placed[k].var == v)
            return m->placed[k].offset;
    bool shared = v->space == PTX_SPACE_SHARED;
    uint64_t *used = shared ? &m->shared_used : &m->statics_used;
    uint64_t at = (*used + v->align - 1) / v->align * v->align;
    if (m->nplaced == WEIR_COUNT(m->placed) || at + v->size > SHARED_BYTES || v->nrelocs)
        interp_fail(m, NULL, "%s has no memory", v->name);
    *used = at + v->size;
    if (!shared && v->init != NULL)
        memcpy(m->statics + at, v->init, v->size);
    m->placed[m->nplaced++] = (struct placed){v, at};
    return at;
}

/* A variable's address in its own space. */
static uint64_t variable(struct machine *m, struct thread *t, const struct ptx_instr *i,
                         const struct ptx_var *v)
{
    switch (v->space) {
    case PTX_SPACE_SHARED: return interp_place(m, v);
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST: return STATIC_BASE + interp_place(m, v);
    case PTX_SPACE_LOCAL:
        for (int k = 0; k < t->top->code->nvars; k++)
            if (t->top->code->vars[k] == v)
                return t->top->local_base + t->top->code->offset[k];
        break;
    default: break;
    }
    interp_fail(m, i, "the address of %s", v->name);
}

uint64_t interp_address(struct machine *m, struct thread *t, const struct ptx_instr *i,
                        const struct ptx_operand *o)
{
    uint64_t base = 0;
    if (o->kind == PTX_OPR_MEM && o->reg >= 0)
        base = interp_reg(m, t, i, o->reg);
    else if (o->var != NULL)
        base = variable(m, t, i, o->var);
    return base + (uint64_t)o->offset;
}

/* ---- addresses ---- */

/* The bytes at a generic address. */
static uint8_t *generic(struct machine *m, struct thread *t, const struct ptx_instr *i, uint64_t at,
                        unsigned size, bool write)
{
    const struct interp_launch *l = m->l;
    if (at % size != 0)
        interp_fail(m, i, "misaligned address %llx", (unsigned long long)at);
    if (at - SHARED_BASE < m->shared_used && at - SHARED_BASE + size <= m->shared_used)
        return m->shared + (at - SHARED_BASE);
    if (at - LOCAL_BASE < LOCAL_BYTES && at - LOCAL_BASE + size <= LOCAL_BYTES)
        return t->local + (at - LOCAL_BASE);
    if (at - STATIC_BASE < m->statics_used && at - STATIC_BASE + size <= m->statics_used)
        return m->statics + (at - STATIC_BASE);
    for (int k = 0; k < l->nmemory; k++) {
        const struct interp_memory *r = &l->memory[k];
        if (at >= r->address && at - r->address < r->size && at - r->address + size <= r->size) {
            if (write && !r->writable)
                interp_fail(m, i, "writes to memory %d", k);
            return r->bytes + (at - r->address);
        }
    }
    interp_fail(m, i, "address %llx of thread %d is nowhere", (unsigned long long)at, t->index);
}

static uint8_t *parameter(struct machine *m, struct thread *t, const struct ptx_instr *i,
                          const struct ptx_operand *o, unsigned size)
{
    struct frame *f = t->top;
    for (int k = 0; k < f->code->nvars && o->var != NULL; k++)
        if (f->code->vars[k] == o->var && (uint64_t)o->offset + size <= o->var->size)
            return f->area + f->code->offset[k] + o->offset;
    interp_fail(m, i, "a parameter that is not there");
}

static unsigned space_of(const struct ptx_instr *i)
{
    return i->nspaces ? i->spaces[0] : PTX_SPACE_NONE;
}

static uint8_t *checked_address(struct machine *m, struct thread *t, const struct ptx_instr *i,
                                const struct ptx_operand *o, unsigned size, bool write)
{
    unsigned space = space_of(i);
    if (space == PTX_SPACE_PARAM)
        return parameter(m, t, i, o, size);
    uint64_t at = interp_address(m, t, i, o);
    if (space == PTX_SPACE_SHARED)
        at = SHARED_BASE + (uint32_t)at;
    else if (space == PTX_SPACE_LOCAL)
        at = LOCAL_BASE + (uint32_t)at;
    else if (space == PTX_SPACE_NONE && o->reg < 0 && o->var != NULL &&
             o->var->space == PTX_SPACE_SHARED)
        at += SHARED_BASE;
    return generic(m, t, i, at, size, write);
}

static uint64_t get(const uint8_t *p, unsigned size)
{
    uint64_t v = 0;
    memcpy(&v, p, size);
    return v;
}

/* Element n of a register or a vector of them. */
static const struct ptx_operand *item(const struct ptx_operand *o, int n)
{
    return o->kind == PTX_OPR_VEC ? &o->items[n] : o;
}

static void load(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    unsigned type = i->types[0], size = ptx_type_bits(type) / 8;
    const uint8_t *p = checked_address(m, t, i, &i->operands[1], size * i->vec, false);
    for (int n = 0; n < i->vec; n++)
        interp_write(m, t, i, item(&i->operands[0], n), type, get(p + size * (unsigned)n, size));
}

static void store(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    unsigned type = i->types[0], size = ptx_type_bits(type) / 8;
    uint8_t *p = checked_address(m, t, i, &i->operands[0], size * i->vec, true);
    for (int n = 0; n < i->vec; n++) {
        uint64_t v = interp_read(m, t, i, item(&i->operands[1], n), type);
        memcpy(p + size * (unsigned)n, &v, size);
    }
}

/* ---- atomics ---- */

static uint64_t float_add(const struct format *f, bool ftz, uint64_t a, uint64_t b)
{
    if (ftz)
        a = flush(f, a), b = flush(f, b);
    uint64_t r = format_bits(f, format_value(f, a) + format_value(f, b), RN);
    return ftz ? flush(f, r) : r;
}

/* min and max of halves: the number if one is NaN, -0 below +0. */
static uint64_t float_bound(const struct format *f, bool min, uint64_t a, uint64_t b)
{
    quad x = format_value(f, a), y = format_value(f, b);
    if (is_nan(x) && is_nan(y))
        return format_nan(f);
    if (is_nan(x) || is_nan(y))
        return is_nan(x) ? b : a;
    if (x == y)
        return min ? a | b : a & b;
    return (x < y) == min ? a : b;
}

static uint64_t float_atomic(const struct ptx_instr *i, unsigned type, bool global, uint64_t old,
                             uint64_t b)
{
    const struct format *f = format_of(type);
    if (type == PTX_F16X2 || type == PTX_BF16X2) {
        unsigned half = type == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        return float_atomic(i, half, global, old & 0xffff, b & 0xffff) |
               float_atomic(i, half, global, old >> 16, b >> 16) << 16;
    }
    if (ptx_has(i, PTX_M_min) || ptx_has(i, PTX_M_max))
        return float_bound(f, ptx_has(i, PTX_M_min), old, b);
    return float_add(f, type == PTX_F32 && global, old, b);
}

uint64_t interp_atomic(struct machine *m, const struct ptx_instr *i, unsigned type, bool global,
                       uint64_t old, uint64_t b, uint64_t c)
{
    unsigned bits = ptx_type_bits(type);
    int64_t so = sign_extend(old, bits), sb = sign_extend(b, bits);
    bool sg = ptx_type_is_signed(type), less = sg ? so < sb : old < b;
    if (ptx_type_is_float(type))
        return float_atomic(i, type, global, old, b);
    for (int k = 0; k < i->nmods; k++) {
        switch (i->mods[k]) {
        case PTX_M_and: return old & b;
        case PTX_M_or: return old | b;
        case PTX_M_xor: return old ^ b;
        case PTX_M_exch: return b;
        case PTX_M_cas: return old == b ? c : old;
        case PTX_M_add: return (old + b) & ones(bits);
        case PTX_M_inc: return old >= b ? 0 : old + 1;
        case PTX_M_dec: return old == 0 || old > b ? b : old - 1;
        case PTX_M_min: return less ? old : b;
        case PTX_M_max: return less ? b : old;
        default: break;
        }
    }
    interp_fail(m, i, "no operation");
}

static void atomic(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    bool red = i->op == PTX_OP_red;
    unsigned type = i->types[0], size = ptx_type_bits(type) / 8;
    const struct ptx_operand *address = &i->operands[red ? 0 : 1], *b = address + 1, *c = b + 1;
    bool cas = ptx_has(i, PTX_M_cas);
    if (ptx_type_bits(type) > 64)
        interp_fail(m, i, "128 bits");
    uint8_t *p = checked_address(m, t, i, address, size * i->vec, true);
    bool global =
        space_of(i) != PTX_SPACE_SHARED && !(p >= m->shared && p < m->shared + SHARED_BYTES);
    uint64_t old[8];
    for (int n = 0; n < i->vec; n++) {
        old[n] = get(p + size * (unsigned)n, size);
        uint64_t v =
            interp_atomic(m, i, type, global, old[n], interp_read(m, t, i, item(b, n), type),
                          cas ? interp_read(m, t, i, c, type) : 0);
        memcpy(p + size * (unsigned)n, &v, size);
    }
    for (int n = 0; n < i->vec && !red; n++)
        interp_write(m, t, i, item(&i->operands[0], n), type, old[n]);
}

/* ---- addresses ---- */

static uint64_t base_of(unsigned space)
{
    return space == PTX_SPACE_SHARED ? SHARED_BASE : space == PTX_SPACE_LOCAL ? LOCAL_BASE : 0;
}

static void convert(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    uint64_t v = interp_read(m, t, i, &i->operands[1], i->types[0]), base = base_of(i->spaces[0]);
    v = ptx_has(i, PTX_M_to) ? v - base : v + base;
    interp_write(m, t, i, &i->operands[0], i->types[0], v);
}

static void is_space(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    uint64_t v = interp_read(m, t, i, &i->operands[1], PTX_B64);
    unsigned space = v - SHARED_BASE < SHARED_BYTES ? PTX_SPACE_SHARED
                     : v - LOCAL_BASE < LOCAL_BYTES ? PTX_SPACE_LOCAL
                                                    : PTX_SPACE_GLOBAL;
    interp_write(m, t, i, &i->operands[0], PTX_PRED, space == i->spaces[0]);
}

bool interp_memory_op(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_ld:
    case PTX_OP_ldu: load(m, t, i); return true;
    case PTX_OP_st: store(m, t, i); return true;
    case PTX_OP_atom:
    case PTX_OP_red: atomic(m, t, i); return true;
    case PTX_OP_cvta: convert(m, t, i); return true;
    case PTX_OP_isspacep: is_space(m, t, i); return true;
    default: return false;
    }
}
