/* interp: threads, control flow, calls and arithmetic (see interp.h). */
#include "interp_state.h"

#include "../arithmetic/ref.h"
#include "ptx/forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void interp_fail(struct machine *m, const struct ptx_instr *i, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    diag_set(m->d, i != NULL ? i->line : 0, i != NULL ? i->column : 0, "%s: %s",
             i != NULL ? ptx_op_name(i->op) : "kernel", text);
    longjmp(m->fail, 1);
}

/* ---- what instructions take ---- */

static unsigned twice(unsigned type)
{
    switch (type) {
    case PTX_U16: return PTX_U32;
    case PTX_S16: return PTX_S32;
    case PTX_U32: return PTX_U64;
    case PTX_S32: return PTX_S64;
    default: return type;
    }
}

static bool takes(const struct ptx_form *form, const struct ptx_instr *i, struct instr_info *info)
{
    int n = 0;
    if (!ptx_form_fits(form, i))
        return false;
    for (int k = 0; k < form->noperands && n < i->noperands; k++) {
        const struct ptx_form_operand *o = &form->operands[k];
        if (o->bar && !i->pair)
            continue;
        unsigned type = o->index >= 0 && o->index < i->ntypes ? i->types[o->index] : o->type;
        if (o->kind == 'p' || o->kind == 'q')
            type = PTX_PRED;
        info->operand[n].type = (uint8_t)(o->wide ? twice(type) : type);
        info->operand[n].kind = o->kind;
        info->operand[n++].written = strchr("dDeqvgkY", o->kind) != NULL;
    }
    return n == i->noperands;
}

bool interp_operands(const struct ptx_instr *i, struct instr_info *info)
{
    int count;
    const struct ptx_form *forms = ptx_forms(i->op, &count);
    for (int k = 0; k < count; k++)
        if (takes(&forms[k], i, info))
            return true;
    return false;
}

static void lay_out(struct machine *m, struct code *c, struct ptx_var **vars, int n)
{
    for (int k = 0; k < n; k++) {
        const struct ptx_var *v = vars[k];
        if (v->space != PTX_SPACE_PARAM && v->space != PTX_SPACE_LOCAL)
            continue;
        uint64_t *end = v->space == PTX_SPACE_LOCAL ? &c->local_bytes : &c->area_bytes;
        *end = (*end + v->align - 1) / v->align * v->align;
        c->vars[c->nvars] = v;
        c->offset[c->nvars++] = *end;
        *end += v->size;
    }
    (void)m;
}

struct code *interp_code(struct machine *m, const struct ptx_func *f)
{
    for (struct code *c = m->codes; c != NULL; c = c->next)
        if (c->f == f)
            return c;
    if (!f->has_body)
        interp_fail(m, NULL, "%s has no body", f->name);
    struct code *c = arena_alloc(&m->arena, sizeof *c);
    size_t vars = (size_t)f->nparams + (size_t)f->nrets + (size_t)f->nvars;
    c->f = f;
    c->vars = arena_alloc(&m->arena, (vars + 1) * sizeof *c->vars);
    c->offset = arena_alloc(&m->arena, (vars + 1) * sizeof *c->offset);
    lay_out(m, c, f->params, f->nparams);
    lay_out(m, c, f->rets, f->nrets);
    lay_out(m, c, f->vars, f->nvars);
    c->local_bytes = (c->local_bytes + 15) / 16 * 16;
    c->info = arena_alloc(&m->arena, ((size_t)f->ninstrs + 1) * sizeof *c->info);
    for (int k = 0; k < f->ninstrs; k++)
        if (f->instrs[k].op != PTX_OP_call && !interp_operands(&f->instrs[k], &c->info[k]))
            interp_fail(m, &f->instrs[k], "fits no form");
    c->next = m->codes;
    return m->codes = c;
}

const struct instr_info *interp_info(const struct thread *t, const struct ptx_instr *i)
{
    return &t->top->code->info[i - t->top->code->f->instrs];
}

/* ---- operands ---- */

static unsigned reg_bits(const struct thread *t, int reg)
{
    return ptx_type_bits((enum ptx_type)t->top->code->f->regs[reg].type);
}

uint64_t interp_reg(struct machine *m, const struct thread *t, const struct ptx_instr *i, int reg)
{
    if (!t->top->given[reg])
        interp_fail(m, i, "%s has no value", t->top->code->f->regs[reg].name);
    return t->top->regs[reg];
}

static void set_reg(struct frame *f, int reg, uint64_t value)
{
    f->regs[reg] = value;
    f->given[reg] = true;
}

static uint64_t special(struct machine *m, const struct thread *t, const struct ptx_instr *i,
                        const struct ptx_operand *o)
{
    const struct interp_launch *l = m->l;
    unsigned c = o->component;
    uint64_t bit = 1ull << t->lane;
    switch (o->sreg) {
    case PTX_SR_tid: return c < 3 ? t->tid[c] : 0;
    case PTX_SR_ntid: return c < 3 ? l->block[c] : 0;
    case PTX_SR_ctaid: return c < 3 ? m->ctaid[c] : 0;
    case PTX_SR_nctaid: return c < 3 ? l->grid[c] : 0;
    case PTX_SR_laneid: return (uint64_t)t->lane;
    case PTX_SR_lanemask_eq: return bit;
    case PTX_SR_lanemask_lt: return bit - 1;
    case PTX_SR_lanemask_le: return 2 * bit - 1;
    case PTX_SR_lanemask_ge: return -bit & 0xffffffff;
    case PTX_SR_lanemask_gt: return -(2 * bit) & 0xffffffff;
    case PTX_SR_WARP_SZ: return MAX_WARP;
    default: interp_fail(m, i, "special register %s", ptx_sreg_name(o->sreg));
    }
}

static uint64_t symbol(struct machine *m, struct thread *t, const struct ptx_instr *i,
                       const struct ptx_operand *o)
{
    if (o->func != NULL)
        return (uint64_t)(uintptr_t)o->func;
    (void)t;
    return interp_address(m, t, i, o);
}

uint64_t interp_read(struct machine *m, struct thread *t, const struct ptx_instr *i,
                     const struct ptx_operand *o, unsigned type)
{
    uint64_t v = 0;
    switch (o->kind) {
    case PTX_OPR_REG:
        v = interp_reg(m, t, i, o->reg);
        if (o->neg && type == PTX_PRED)
            v = !v;
        break;
    case PTX_OPR_IMM: v = o->imm; break;
    case PTX_OPR_FIMM:
        if (type == PTX_F64 || ptx_type_bits(type) == 64)
            memcpy(&v, &o->fimm, 8);
        else if (ptx_type_bits(type) == 32)
            v = ptx_f32_bits(o->fimm);
        else
            v = format_bits(format_of(type), (quad)o->fimm, RN);
        break;
    case PTX_OPR_SREG: v = special(m, t, i, o); break;
    case PTX_OPR_SYM: v = symbol(m, t, i, o); break;
    default: interp_fail(m, i, "operand of a kind that is not known");
    }
    return type == PTX_NONE ? v : v & ones(ptx_type_bits(type));
}

void interp_write(struct machine *m, struct thread *t, const struct ptx_instr *i,
                  const struct ptx_operand *o, unsigned type, uint64_t value)
{
    if (o->kind == PTX_OPR_SINK)
        return;
    if (o->kind != PTX_OPR_REG)
        interp_fail(m, i, "result that is no register");
    unsigned bits = ptx_type_bits(type), wide = reg_bits(t, o->reg);
    if (type == PTX_NONE || bits > wide)
        bits = wide;
    value &= ones(bits);
    if (bits < wide && ptx_type_is_signed(type))
        value = (uint64_t)sign_extend(value, bits);
    set_reg(t->top, o->reg, value & ones(wide));
}

/* ---- arithmetic ---- */

static void arithmetic(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    const struct instr_info *info = interp_info(t, i);
    uint64_t s[8] = {0}, d[4] = {0};
    int nsrc = 0, ndst = 0;
    for (int k = 0; k < i->noperands; k++) {
        if (info->operand[k].written)
            ndst++;
        else
            s[nsrc++] = interp_read(m, t, i, &i->operands[k], info->operand[k].type);
    }
    if (i->op == PTX_OP_addc || i->op == PTX_OP_subc || i->op == PTX_OP_madc)
        s[nsrc] = t->carry;
    if (!ref_run(i, s, d))
        interp_fail(m, i, "there is no reference");
    for (int k = 0; k < ndst; k++)
        interp_write(m, t, i, &i->operands[k], info->operand[k].type, d[k]);
    if (ptx_has(i, PTX_M_cc))
        t->carry = d[ndst] & 1;
}

static void move(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    struct ptx_operand *d = &i->operands[0], *s = &i->operands[1];
    unsigned type = i->types[0], bits = ptx_type_bits(type);
    uint64_t v = 0;
    if (s->kind == PTX_OPR_VEC)
        for (int k = 0; k < s->nitems; k++)
            v |= interp_read(m, t, i, &s->items[k], PTX_NONE)
                 << (bits / (unsigned)s->nitems * (unsigned)k);
    else
        v = interp_read(m, t, i, s, type);
    if (d->kind != PTX_OPR_VEC) {
        interp_write(m, t, i, d, type, v);
        return;
    }
    unsigned part = bits / (unsigned)d->nitems;
    for (int k = 0; k < d->nitems; k++)
        if (d->items[k].kind != PTX_OPR_SINK)
            set_reg(t->top, d->items[k].reg, v >> (part * (unsigned)k) & ones(part));
}

/* ---- control flow ---- */

static struct frame *new_frame(struct machine *m, struct code *c, struct frame *up)
{
    struct frame *f = xcalloc(1, sizeof *f);
    f->code = c;
    f->up = up;
    f->regs = xcalloc((size_t)c->f->nregs + 1, 8);
    f->given = xcalloc((size_t)c->f->nregs + 1, sizeof *f->given);
    f->area = xcalloc(c->area_bytes + 16, 1);
    f->local_base = up != NULL ? up->local_base + up->code->local_bytes : 0;
    (void)m;
    return f;
}

static void pop(struct thread *t)
{
    struct frame *f = t->top;
    t->top = f->up;
    free(f->regs);
    free(f->given);
    free(f->area);
    free(f);
}

static uint8_t *argument(struct machine *m, struct frame *f, const struct ptx_var *v)
{
    for (int k = 0; k < f->code->nvars; k++)
        if (f->code->vars[k] == v)
            return f->area + f->code->offset[k];
    interp_fail(m, NULL, "an argument is nowhere");
}

static void pass(struct machine *m, struct thread *t, const struct ptx_instr *i, struct frame *to,
                 const struct ptx_operand *arg, const struct ptx_var *param, int reg)
{
    if (param->space != PTX_SPACE_PARAM) {
        set_reg(to, reg, interp_read(m, t, i, arg, param->type));
        return;
    }
    if (arg->kind == PTX_OPR_SYM) {
        if (arg->var->size != param->size)
            interp_fail(m, i, "an argument has another size");
        memcpy(argument(m, to, param), argument(m, t->top, arg->var), param->size);
        return;
    }
    uint64_t v = interp_read(m, t, i, arg, param->type);
    memcpy(argument(m, to, param), &v, param->size);
}

static void call(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    const struct ptx_call *c = i->call;
    const struct ptx_func *f =
        c->func != NULL ? c->func : (const struct ptx_func *)(uintptr_t)interp_reg(m, t, i, c->reg);
    struct frame *to = new_frame(m, interp_code(m, f), t->top);
    if (c->nargs != f->nparams || c->nrets != f->nrets)
        interp_fail(m, i, "another prototype");
    if (to->local_base + to->code->local_bytes > LOCAL_BYTES)
        interp_fail(m, i, "the stack is full");
    for (int k = 0; k < c->nargs; k++)
        pass(m, t, i, to, &c->args[k], f->params[k], f->param_regs != NULL ? f->param_regs[k] : -1);
    t->top->call = c;
    t->top = to;
}

static void leave(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    struct frame *f = t->top, *up = f->up;
    if (up == NULL) {
        t->wait = EXITED;
        pop(t);
        return;
    }
    for (int k = 0; k < up->call->nrets; k++) {
        const struct ptx_operand *r = &up->call->rets[k];
        const struct ptx_var *v = f->code->f->rets[k];
        if (r->kind == PTX_OPR_SYM)
            memcpy(argument(m, up, r->var), argument(m, f, v), v->size);
        else
            interp_fail(m, i, "a result in a register");
    }
    pop(t);
    (void)i;
}

/* Everything but memory and what threads do together. */
static void step(struct machine *m, struct thread *t, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    switch (i->op) {
    case PTX_OP_bra: t->top->pc = o[0].target; break;
    case PTX_OP_brx: {
        uint64_t n = interp_read(m, t, i, &o[0], PTX_U32);
        if (n >= (uint64_t)i->targets->count)
            interp_fail(m, i, "index %llu is out of range", (unsigned long long)n);
        t->top->pc = i->targets->index[n];
        break;
    }
    case PTX_OP_call: call(m, t, i); break;
    case PTX_OP_ret: leave(m, t, i); break;
    case PTX_OP_exit:
        while (t->top != NULL)
            pop(t);
        t->wait = EXITED;
        break;
    case PTX_OP_mov: move(m, t, i); break;
    case PTX_OP_membar:
    case PTX_OP_fence:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_applypriority:
    case PTX_OP_pmevent:
    case PTX_OP_griddepcontrol:
    case PTX_OP_nanosleep: break;
    case PTX_OP_createpolicy: interp_write(m, t, i, &o[0], PTX_B64, 0); break;
    default:
        if (!interp_memory_op(m, t, i))
            arithmetic(m, t, i);
    }
}

/* Runs a thread until it ends or waits. */
static bool run_thread(struct machine *m, struct thread *t)
{
    bool moved = false;
    while (t->wait == RUNS) {
        const struct ptx_func *f = t->top->code->f;
        if (t->top->pc >= f->ninstrs) {
            leave(m, t, NULL);
            moved = true;
            continue;
        }
        const struct ptx_instr *i = &f->instrs[t->top->pc++];
        moved = true;
        if (++m->l->taken > m->l->steps)
            interp_fail(m, i, "does not end within %llu steps", (unsigned long long)m->l->steps);
        if (i->guard >= 0 && (interp_reg(m, t, i, i->guard) != 0) == i->guard_neg)
            continue;
        if (interp_is_warp_op(i) || interp_is_barrier(i)) {
            t->wait = interp_is_barrier(i) ? AT_BARRIER : AT_WARP;
            t->at = i;
        } else {
            step(m, t, i);
        }
    }
    return moved;
}

/* ---- blocks ---- */

static void start_block(struct machine *m, struct code *c)
{
    const struct interp_launch *l = m->l;
    memset(m->shared, 0, SHARED_BYTES);
    for (int k = 0; k < m->nthreads; k++) {
        struct thread *t = &m->threads[k];
        uint8_t *local = t->local;
        memset(local, 0, LOCAL_BYTES);
        *t = (struct thread){.local = local, .index = k, .lane = k % 32, .warp = k / 32};
        t->tid[0] = (uint32_t)k % l->block[0];
        t->tid[1] = (uint32_t)k / l->block[0] % l->block[1];
        t->tid[2] = (uint32_t)k / (l->block[0] * l->block[1]);
        t->top = new_frame(m, c, NULL);
        for (int p = 0; p < c->f->nparams; p++)
            memcpy(argument(m, t->top, c->f->params[p]), &l->params[p], c->f->params[p]->size);
    }
}

static void run_block(struct machine *m, struct code *c)
{
    start_block(m, c);
    for (;;) {
        bool moved = false, left = false;
        for (int k = 0; k < m->nthreads; k++)
            moved |= run_thread(m, &m->threads[m->l->backwards ? m->nthreads - 1 - k : k]);
        for (int first = 0; first < m->nthreads; first += 32)
            moved |= interp_warp(m, first);
        moved |= interp_barrier(m);
        for (int k = 0; k < m->nthreads; k++)
            left |= m->threads[k].wait != EXITED;
        if (!left)
            return;
        if (!moved)
            for (int k = 0; k < m->nthreads; k++)
                if (m->threads[k].wait != EXITED)
                    interp_fail(m, m->threads[k].at, "threads wait for ever");
    }
}

bool interp_run(const struct ptx_func *entry, struct interp_launch *l, struct diag *d)
{
    struct machine m = {.l = l, .d = d};
    m.nthreads = (int)(l->block[0] * l->block[1] * l->block[2]);
    m.threads = xcalloc((size_t)m.nthreads, sizeof *m.threads);
    for (int k = 0; k < m.nthreads; k++)
        m.threads[k].local = xcalloc(LOCAL_BYTES, 1);
    m.shared = xcalloc(SHARED_BYTES, 1);
    m.statics = xcalloc(SHARED_BYTES, 1);
    l->taken = 0;
    bool good = false;
    if (setjmp(m.fail) == 0) {
        struct code *c = interp_code(&m, entry);
        for (uint32_t z = 0; z < l->grid[2]; z++)
            for (uint32_t y = 0; y < l->grid[1]; y++)
                for (uint32_t x = 0; x < l->grid[0]; x++) {
                    m.ctaid[0] = x, m.ctaid[1] = y, m.ctaid[2] = z;
                    run_block(&m, c);
                }
        good = true;
    }
    for (int k = 0; k < m.nthreads; k++) {
        while (m.threads[k].top != NULL)
            pop(&m.threads[k]);
        free(m.threads[k].local);
    }
    free(m.threads);
    free(m.shared);
    free(m.statics);
    arena_free(&m.arena);
    return good;
}
