/* cdp_launch: launches of kernels from kernels.
 *
 * clang's code says `configure(grid, block, shared, stream)` and then calls the kernel like a
 * function. The configuration is a thread's own and is used by the next launch, so it becomes
 * registers of the flattened kernel; the call becomes a call of the helper `launch`
 * (exec/cdp_launch.c), with the kernel's address, the configuration and the address in local memory
 * where the arguments lie, laid out as the kernel's parameters are.
 *
 * nvcc's code calls functions of the device runtime, some of which take a dim3 by value: arguments
 * of more than 8 bytes are passed to helpers in rows of 8 bytes (abi/kernel_abi.h), put together
 * here. */
#include <stdlib.h>
#include <string.h>

#include "compiler/front/flatten.h"

const char *const JIT_LAUNCH_CONFIGURE = "__weir_launch_configure";

static struct ptx_instr *push_at(struct jkernel *k, const struct ptx_instr *at, uint16_t op,
                                 int noperands)
{
    struct ptx_instr *i = flat_push(k);
    i->op = op;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands * (size_t)noperands);
    i->noperands = (uint16_t)noperands;
    i->line = at->line;
    i->column = at->column;
    i->loc_file = at->loc_file;
    i->loc_line = at->loc_line;
    return i;
}

static struct ptx_operand immediate(uint64_t value)
{
    return (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = value};
}

static uint8_t cdp_launch_unsigned(uint64_t bytes)
{
    return bytes == 1 ? PTX_U8 : bytes == 2 ? PTX_U16 : bytes == 4 ? PTX_U32 : PTX_U64;
}

/* ---- words of argument areas ---- */

/* A fresh register with `from` (of `bytes` bytes) moved by `shift` bits, to the left if positive.
 */
static int32_t widened(struct flattener *f, const struct ptx_instr *at, int32_t from,
                       uint64_t bytes, int shift)
{
    struct jkernel *k = f->k;
    int32_t bits = flat_reg(k, "bits", cdp_launch_unsigned(bytes)), wide = bits;
    flat_push_mov(k, at, bits, flat_reg_operand(from),
                  bytes == 1   ? PTX_B8
                  : bytes == 2 ? PTX_B16
                  : bytes == 4 ? PTX_B32
                               : PTX_B64);
    if (bytes < 8) {
        wide = flat_reg(k, "wide", PTX_B64);
        struct ptx_instr *i = push_at(k, at, PTX_OP_cvt, 2);
        i->types[0] = PTX_U64;
        i->types[1] = cdp_launch_unsigned(bytes);
        i->ntypes = 2;
        i->operands[0] = flat_reg_operand(wide);
        i->operands[1] = flat_reg_operand(bits);
    }
    if (shift == 0)
        return wide;
    int32_t moved = flat_reg(k, "moved", PTX_B64);
    struct ptx_instr *i = push_at(k, at, shift > 0 ? PTX_OP_shl : PTX_OP_shr, 3);
    i->types[0] = shift > 0 ? PTX_B64 : PTX_U64;
    i->ntypes = 1;
    i->operands[0] = flat_reg_operand(moved);
    i->operands[1] = flat_reg_operand(wide);
    i->operands[2] = immediate((uint64_t)(shift > 0 ? shift : -shift));
    return moved;
}

static int32_t joined(struct flattener *f, const struct ptx_instr *at, int32_t a, int32_t b)
{
    if (a < 0)
        return b;
    int32_t both = flat_reg(f->k, "word", PTX_B64);
    struct ptx_instr *i = push_at(f->k, at, PTX_OP_or, 3);
    i->types[0] = PTX_B64;
    i->ntypes = 1;
    i->operands[0] = flat_reg_operand(both);
    i->operands[1] = flat_reg_operand(a);
    i->operands[2] = flat_reg_operand(b);
    return both;
}

/* Loads `bytes` at `offset` of an area that lies in memory. */
static int32_t cdp_launch_loaded(struct flattener *f, const struct ptx_instr *at, struct area *a,
                                 uint64_t offset, uint64_t bytes)
{
    int32_t reg = flat_reg(f->k, "piece", cdp_launch_unsigned(bytes));
    struct ptx_instr *i = push_at(f->k, at, PTX_OP_ld, 2);
    a->var.space = PTX_SPACE_LOCAL;
    i->types[0] = cdp_launch_unsigned(bytes);
    i->ntypes = 1;
    i->spaces[0] = PTX_SPACE_LOCAL;
    i->nspaces = 1;
    i->operands[0] = flat_reg_operand(reg);
    i->operands[1] = (struct ptx_operand){
        .kind = PTX_OPR_MEM, .reg = -1, .var = &a->var, .offset = (int64_t)offset};
    return reg;
}

/* Up to 8 bytes at `offset` of an area that is `size` bytes long, as a 64-bit value. */
static struct ptx_operand cdp_launch_word(struct flattener *f, const struct ptx_instr *at,
                                          struct area *a, uint64_t offset, uint64_t size)
{
    int32_t word = -1;
    uint64_t end = size - offset < 8 ? size : offset + 8;
    if (a->in_memory) {
        uint64_t piece = a->var.align >= 4 ? 4 : 1;
        for (uint64_t o = offset; o < end; o += piece) {
            piece = end - o < piece ? 1 : piece;
            int32_t part = cdp_launch_loaded(f, at, a, o, piece);
            word = joined(f, at, word, widened(f, at, part, piece, (int)(o - offset) * 8));
        }
    } else {
        for (size_t n = 0; n < a->nslots; n++) {
            struct slot s = a->slots[n];
            if ((uint64_t)s.offset < end && (uint64_t)s.offset + s.bytes > offset)
                word =
                    joined(f, at, word,
                           widened(f, at, s.reg, s.bytes, (int)(s.offset - (int64_t)offset) * 8));
        }
    }
    return word < 0 ? immediate(0) : flat_reg_operand(word);
}

bool flat_helper_operands(struct flattener *f, struct ptx_instr *call)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = call->call;
    int rows = 0;
    for (int n = 0; n < c->nargs; n++) {
        struct area *a = flat_area_of(f, &c->args[n]);
        rows += a == NULL ? 1 : (int)((a->var.size + 7) / 8) + (a->var.size == 0);
    }
    struct ptx_operand *ops = arena_alloc(&k->arena, sizeof *ops * (size_t)(rows + 1));
    int count = 0;
    for (int n = 0; n < c->nargs; n++) {
        struct area *a = flat_area_of(f, &c->args[n]);
        if (a == NULL) {
            ops[count++] = c->args[n];
        } else if (!a->in_memory && a->nslots == 1 && a->slots[0].offset == 0 &&
                   a->slots[0].bytes == a->var.size) {
            ops[count++] = flat_reg_operand(a->slots[0].reg);
        } else {
            uint64_t size = a->var.size ? a->var.size : ptx_type_bits(a->var.type) / 8;
            for (uint64_t at = 0; at < size; at += 8)
                ops[count++] = cdp_launch_word(f, call, a, at, size);
        }
    }
    struct ptx_call *copy = arena_alloc(&k->arena, sizeof *copy);
    *copy = *c;
    copy->args = ops;
    copy->nargs = count;
    call->call = copy;
    return true;
}

/* ---- configuration and launch ---- */

bool flat_launches(const struct jkernel *k)
{
    return ptx_find_func(k->entry->module, JIT_LAUNCH_CONFIGURE) != NULL;
}

static uint8_t config_type(int n) { return n < 6 ? PTX_B32 : PTX_B64; }

/* The registers of the configuration, as operands. */
struct ptx_operand *flat_launch_config(struct flattener *f)
{
    static const char *const names[FLAT_CONFIG] = {"grid.x",  "grid.y",  "grid.z", "block.x",
                                                   "block.y", "block.z", "shared", "stream"};
    struct jkernel *k = f->k;
    if (f->config[0] == 0)
        for (int n = 0; n < FLAT_CONFIG; n++)
            f->config[n] = flat_reg(k, names[n], config_type(n)) + 1;
    struct ptx_operand *ops = arena_alloc(&k->arena, sizeof *ops * FLAT_CONFIG);
    for (int n = 0; n < FLAT_CONFIG; n++)
        ops[n] = flat_reg_operand(f->config[n] - 1);
    return ops;
}

bool flat_configure(struct flattener *f, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    struct ptx_instr call = *src;
    flat_helper_operands(f, &call);
    if (call.call->nargs != FLAT_CONFIG)
        return diag_set(k->diag, src->line, src->column,
                        "%s takes the grid, the block, the bytes of shared memory and the stream",
                        JIT_LAUNCH_CONFIGURE);
    const struct ptx_operand *to = flat_launch_config(f);
    for (int n = 0; n < FLAT_CONFIG; n++)
        flat_push_mov(k, src, to[n].reg, call.call->args[n], config_type(n));
    return true;
}

static struct ptx_func launch = {.name = "launch"};

bool flat_launch(struct flattener *f, const struct ptx_instr *src)
{
    struct jkernel *k = f->k;
    const struct ptx_call *c = src->call;
    struct ptx_func *kernel = c->func;
    if (c->nargs != kernel->nparams || c->nrets != 0)
        return diag_set(k->diag, src->line, src->column,
                        "launch of %s with %d arguments and %d results; it has %d and none",
                        kernel->name, c->nargs, c->nrets, kernel->nparams);
    uint64_t *offsets = arena_alloc(&k->arena, sizeof *offsets * (size_t)(kernel->nparams + 1));
    uint64_t bytes = jit_frame_layout(kernel, offsets);
    if (f->launch_area == NULL) {
        f->launch_area = arena_alloc(&k->arena, sizeof *f->launch_area);
        *f->launch_area = (struct ptx_var){.name = "launch",
                                           .space = PTX_SPACE_LOCAL,
                                           .type = PTX_B8,
                                           .align = 16,
                                           .size = 16,
                                           .index = -1};
    }
    if (bytes > f->launch_area->size)
        f->launch_area->size = bytes;
    for (int n = 0; n < c->nargs; n++)
        flat_transfer(f, src, f->launch_area, false, &c->args[n], kernel->params[n], offsets[n]);
    struct ptx_instr *i = push_at(k, src, PTX_OP_call, 0);
    i->call = arena_alloc(&k->arena, sizeof *i->call);
    i->call->func = &launch;
    i->call->reg = -1;
    i->call->nargs = FLAT_CONFIG + 2;
    i->call->args = arena_alloc(&k->arena, sizeof *i->call->args * (FLAT_CONFIG + 2));
    i->call->args[0] = (struct ptx_operand){.kind = PTX_OPR_SYM, .reg = -1, .func = kernel};
    memcpy(&i->call->args[1], flat_launch_config(f), sizeof *i->call->args * FLAT_CONFIG);
    i->call->args[FLAT_CONFIG + 1] =
        (struct ptx_operand){.kind = PTX_OPR_SYM, .reg = -1, .var = f->launch_area};
    return true;
}

/* ---- launches in the arguments of launches ---- */

/* `a<<<...>>>(f())` configures, then calls f, which may launch itself before a is launched: each
 * configuration that is still to be used needs registers of its own. How many there are is followed
 * along the ways through the flat code.
 *
 * Where ways with different numbers meet, the longer one has left an argument without its launch (a
 * statement expression with `continue` in it, say): what it has configured is not used any more,
 * and the lower number counts. */

enum { DEPTH_MAX = 8, UNSEEN = 255 };

struct depths {
    struct flattener *f;
    uint8_t *before; /* by instruction: configurations that are not yet used */
    int32_t
        *todo; /* instructions whose successors are to be looked at, as often as they get less */
    size_t count;
    int deepest;
};

static bool is_configure(const struct depths *d, size_t n)
{
    const struct ptx_instr *i = &d->f->k->instrs[n];
    return i->op == PTX_OP_mov && i->operands[0].kind == PTX_OPR_REG &&
           i->operands[0].reg == d->f->config[0] - 1;
}

static bool is_launch(const struct ptx_instr *i)
{
    return i->op == PTX_OP_call && i->call->func == &launch;
}

/* A call through a pointer that may launch a kernel: where something is configured, it does. (Void
 * functions that look like such a kernel and are called in its arguments are taken for it, which
 * makes a difference only if those launch more after that.) */
static bool may_launch(const struct depths *d, const struct ptx_instr *i)
{
    const struct ptx_call *c = i->call;
    if (i->op != PTX_OP_call || c->func != NULL || c->nargs != FLAT_CONFIG)
        return false;
    const struct ptx_module *m = d->f->k->entry->module;
    for (int n = 0; n < (c->proto != NULL ? m->nfuncs : c->ncandidates); n++) {
        const struct ptx_func *f = c->proto != NULL ? m->funcs[n] : c->candidates[n];
        if (f->is_entry && (c->proto == NULL || jit_same_prototype(f, c->proto)))
            return true;
    }
    return false;
}

static void cdp_launch_reach(struct depths *d, size_t n, uint8_t depth)
{
    if (n >= d->f->k->ninstrs || d->before[n] <= depth)
        return;
    d->before[n] = depth;
    d->todo[d->count++] = (int32_t)n;
}

/* The instruction that configures what cannot be kept, NULL: there is none. */
static const struct ptx_instr *follow(struct depths *d)
{
    const struct jkernel *k = d->f->k;
    cdp_launch_reach(d, 0, 0);
    while (d->count > 0) {
        size_t n = (size_t)d->todo[--d->count];
        const struct ptx_instr *i = &k->instrs[n];
        uint8_t depth = d->before[n];
        if (is_configure(d, n))
            depth++;
        else if (depth > 0 && (is_launch(i) || may_launch(d, i)))
            depth--;
        if (depth > d->deepest)
            d->deepest = depth;
        if (depth > DEPTH_MAX)
            return i;
        if (i->op == PTX_OP_bra)
            cdp_launch_reach(d, (size_t)i->operands[0].target, depth);
        for (int t = 0; i->op == PTX_OP_brx && i->targets != NULL && t < i->targets->count; t++)
            cdp_launch_reach(d, (size_t)i->targets->index[t], depth);
        bool falls =
            i->op != PTX_OP_exit && i->op != PTX_OP_brx && (i->op != PTX_OP_bra || i->guard >= 0);
        if (falls)
            cdp_launch_reach(d, n + 1, depth);
    }
    return NULL;
}

/* Notes which calls through pointers are launches: no kernel is no function's fault there. */
static void mark_launches(struct depths *d)
{
    struct jkernel *k = d->f->k;
    for (size_t n = 0; n < k->ninstrs; n++)
        if (d->before[n] != UNSEEN && d->before[n] > 0 && may_launch(d, &k->instrs[n]))
            k->instrs[n].call->configured = true;
}

/* Configurations at depth 1 and deeper get registers of their own. */
static void separate(struct depths *d)
{
    struct jkernel *k = d->f->k;
    int32_t regs[DEPTH_MAX][FLAT_CONFIG];
    for (int depth = 1; depth < d->deepest; depth++)
        for (int c = 0; c < FLAT_CONFIG; c++)
            regs[depth][c] = flat_reg(k, "nested", config_type(c));
    for (size_t n = 0; n < k->ninstrs; n++) {
        if (d->before[n] == UNSEEN)
            continue;
        if (d->before[n] > 0 && is_configure(d, n))
            for (int c = 0; c < FLAT_CONFIG; c++)
                k->instrs[n + (size_t)c].operands[0].reg = regs[d->before[n]][c];
        bool direct = is_launch(&k->instrs[n]);
        if (d->before[n] > 1 && (direct || may_launch(d, &k->instrs[n])))
            for (int c = 0; c < FLAT_CONFIG; c++)
                k->instrs[n].call->args[c + direct] = flat_reg_operand(regs[d->before[n] - 1][c]);
    }
}

bool flat_separate_launches(struct flattener *f)
{
    if (f->config[0] == 0)
        return true;
    size_t n = f->k->ninstrs;
    struct depths d = {
        .f = f, .before = xmalloc(n), .todo = xmalloc((DEPTH_MAX + 2) * n * sizeof *d.todo)};
    memset(d.before, UNSEEN, n);
    const struct ptx_instr *deep = follow(&d);
    if (deep == NULL && d.deepest > 1)
        separate(&d);
    mark_launches(&d);
    free(d.before);
    free(d.todo);
    return deep == NULL ||
           diag_set(f->k->diag, deep->line, deep->column,
                    "launches in the arguments of launches, more than %d in each other", DEPTH_MAX);
}
