/* lower: instructions that stand for simpler ones. Addresses in the shared memory of a
 * cluster become generic ones, so that no later pass knows that space; a wait for the cluster is a
 * loop, which gets its polls like any loop that waits for others; stores that tell a barrier object
 * of their bytes are a store and the telling; alloca moves a stack pointer that is a register. On
 * fibers (exec/warps.c) a barrier of the block is an arrival and a wait, which is a loop, too. */
#include <string.h>

#include "abi/texture_instr.h"
#include "compiler/front/flatten.h"

/* The last instruction leaves the list, to come back after others. */
static struct ptx_instr pop(struct jkernel *k) { return k->instrs[--k->ninstrs]; }

/* An instruction without operands yet, with the location of `at` in the source. */
static struct ptx_instr *push(struct jkernel *k, const struct ptx_instr *at, enum ptx_op op,
                              int noperands)
{
    struct ptx_instr *i = flat_push(k);
    i->op = (uint16_t)op;
    i->line = at->line;
    i->column = at->column;
    i->loc_file = at->loc_file;
    i->loc_line = at->loc_line;
    i->noperands = (uint16_t)noperands;
    i->operands = arena_alloc(&k->arena, sizeof *i->operands * (size_t)(noperands ? noperands : 1));
    return i;
}

/* What stands in the brackets of a memory operand, as a value. */
static struct ptx_operand lower_inside(const struct ptx_operand *m)
{
    struct ptx_operand o = *m;
    if (m->reg >= 0) {
        o = flat_reg_operand(m->reg);
    } else if (m->var != NULL) {
        o.kind = PTX_OPR_SYM;
    } else {
        o.kind = PTX_OPR_IMM;
        o.imm = (uint64_t)m->offset;
    }
    return o;
}

/* Makes a memory operand of a state space a generic one. */
static void lower_generic(struct jkernel *k, const struct ptx_instr *at, struct ptx_operand *m,
                          unsigned space)
{
    if (m->kind != PTX_OPR_MEM || space == PTX_SPACE_GENERIC || space == PTX_SPACE_NONE ||
        (space == PTX_SPACE_GLOBAL && m->reg >= 0))
        return;
    int32_t reg = flat_reg(k, "generic", PTX_B64);
    struct ptx_instr *i = push(k, at, PTX_OP_cvta, 2);
    i->types[i->ntypes++] = PTX_U64;
    i->spaces[i->nspaces++] = (uint8_t)space;
    i->operands[0] = flat_reg_operand(reg);
    i->operands[1] = lower_inside(m);
    *m = (struct ptx_operand){
        .kind = PTX_OPR_MEM, .reg = reg, .offset = m->reg >= 0 ? m->offset : 0};
}

static void drop_mod(struct ptx_instr *i, enum ptx_mod m)
{
    int n = 0;
    for (int o = 0; o < i->nmods; o++)
        if (i->mods[o] != m)
            i->mods[n++] = i->mods[o];
    i->nmods = (uint8_t)n;
}

/* barrier.cluster.wait: asks until the answer is yes. */
static void lower_wait(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    int32_t reg = flat_reg(k, "arrived", PTX_PRED), from = (int32_t)k->ninstrs;
    struct ptx_instr *ask = push(k, &i, PTX_OP_barrier, 1);
    struct ptx_operand *ops = ask->operands;
    *ask = i;
    ask->operands = ops;
    ask->noperands = 1;
    ops[0] = flat_reg_operand(reg);
    struct ptx_instr *back = push(k, &i, PTX_OP_bra, 1);
    back->guard = reg;
    back->guard_neg = true;
    back->operands[0] = (struct ptx_operand){.kind = PTX_OPR_LABEL, .reg = -1, .target = from};
}

/* On fibers, a barrier of the block is an arrival, then the question whether the lanes may go on,
 * until the answer is yes; then the votes are counted. These are no PTX: barrier.arrive{.sync} id,
 * count{, vote}; barrier.wait pred, id; barrier.wait.red.op result, id. */
static void lower_block_barrier(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    bool reduces = ptx_has(&i, PTX_M_red), waits = !ptx_has(&i, PTX_M_arrive);
    const struct ptx_operand *from = i.operands + reduces; /* a result comes first */
    int rest = i.noperands - (reduces ? 2 : 0);            /* number, count */
    struct ptx_instr *arrive = push(k, &i, PTX_OP_barrier, reduces ? 3 : 2);
    arrive->mods[arrive->nmods++] = PTX_M_arrive;
    if (waits)
        arrive->mods[arrive->nmods++] = PTX_M_sync;
    arrive->operands[0] = from[0];
    arrive->operands[1] = rest > 1 ? from[1] : (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1};
    if (reduces)
        arrive->operands[2] = i.operands[i.noperands - 1];
    if (!waits)
        return;
    int32_t pass = flat_reg(k, "pass", PTX_PRED), again = (int32_t)k->ninstrs;
    struct ptx_instr *ask = push(k, &i, PTX_OP_barrier, 2);
    ask->mods[ask->nmods++] = PTX_M_wait;
    ask->operands[0] = flat_reg_operand(pass);
    ask->operands[1] = from[0];
    struct ptx_instr *back = push(k, &i, PTX_OP_bra, 1);
    back->guard = pass;
    back->guard_neg = true;
    back->operands[0] = (struct ptx_operand){.kind = PTX_OPR_LABEL, .reg = -1, .target = again};
    if (!reduces)
        return;
    struct ptx_instr *result = push(k, &i, PTX_OP_barrier, 2);
    result->mods[result->nmods++] = PTX_M_wait;
    for (int m = 0; m < i.nmods; m++)
        if (i.mods[m] == PTX_M_red || i.mods[m] == PTX_M_popc || i.mods[m] == PTX_M_and ||
            i.mods[m] == PTX_M_or)
            result->mods[result->nmods++] = i.mods[m];
    result->operands[0] = i.operands[0];
    result->operands[1] = from[0];
}

/* A wait for products of a warp group becomes a barrier of its four warps. */
static bool lower_group_wait(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    if (k->fibers)
        return diag_set(k->diag, i.line, i.column,
                        "wgmma in a kernel whose functions wait at barriers is not supported");
    struct ptx_instr *wait = push(k, &i, PTX_OP_barrier, 2);
    wait->mods[wait->nmods++] = PTX_M_sync;
    wait->mods[wait->nmods++] = PTX_M_wait_group;
    wait->operands[0] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1};
    wait->operands[1] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = 128};
    return true;
}

/* A product of a warp group reads the registers that it writes: they come once more, last. */
static void lower_group_product(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    struct ptx_instr *product = push(k, &i, PTX_OP_wgmma, i.noperands + 1);
    struct ptx_operand *ops = product->operands;
    memcpy(ops, i.operands, sizeof *ops * i.noperands);
    ops[i.noperands] = i.operands[0];
    *product = i;
    product->operands = ops;
    product->noperands++;
}

/* st.async and red.async: the access, then the news of its bytes to the barrier object. */
static void lower_telling(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    struct ptx_operand to = i.operands[0], barrier = i.operands[2];
    lower_generic(k, &i, &to, PTX_SPACE_SHARED_CLUSTER);
    lower_generic(k, &i, &barrier, PTX_SPACE_SHARED_CLUSTER);
    struct ptx_instr *access = push(k, &i, (enum ptx_op)i.op, 2);
    struct ptx_operand *ops = access->operands;
    *access = i;
    access->operands = ops;
    access->noperands = 2;
    access->nspaces = 0;
    drop_mod(access, PTX_M_mbarrier__complete_tx__bytes); /* .async stays, for checks */
    ops[0] = to;
    ops[1] = i.operands[1];
    struct ptx_instr *tell = push(k, &i, PTX_OP_mbarrier, 2);
    tell->types[tell->ntypes++] = PTX_B64;
    tell->mods[tell->nmods++] = PTX_M_complete_tx;
    tell->operands[0] = barrier;
    uint64_t bytes = (uint64_t)ptx_type_bits((enum ptx_type)i.types[0]) / 8 * i.vec;
    tell->operands[1] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = bytes};
}

/* st.async and red.async that no barrier object is told of: what they do is visible when they have
 * released what came before them, as any such store or reduction is. */
static void lower_released(struct ptx_instr *i)
{
    drop_mod(i, PTX_M_async);
    drop_mod(i, PTX_M_mmio);
}

/* clusterlaunchcontrol.try_cancel [response], [barrier]: generic addresses. */
static void lower_try_cancel(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    unsigned space = i.nspaces > 0 ? i.spaces[0] : PTX_SPACE_GENERIC;
    lower_generic(k, &i, &i.operands[0], space);
    lower_generic(k, &i, &i.operands[1], space);
    i.nspaces = 0;
    *flat_push(k) = i;
}

/* mov.bN {low, high}, from. */
static void push_parts(struct jkernel *k, const struct ptx_instr *at, unsigned type, int32_t low,
                       int32_t high, int32_t from)
{
    struct ptx_instr *mov = push(k, at, PTX_OP_mov, 2);
    struct ptx_operand *items = arena_alloc(&k->arena, 2 * sizeof *items);
    items[0] = flat_reg_operand(low);
    items[1] = flat_reg_operand(high);
    mov->types[mov->ntypes++] = (uint8_t)type;
    mov->operands[0] =
        (struct ptx_operand){.kind = PTX_OPR_VEC, .reg = -1, .items = items, .nitems = 2};
    mov->operands[1] = flat_reg_operand(from);
}

/* clusterlaunchcontrol.query_cancel: a response is the first block's index, three words, and a
 * fourth that is not 0 if there is one (abi/kernel_abi.h). */
static void lower_query_cancel(struct jkernel *k)
{
    static const uint16_t parts[3] = {PTX_M_get_first_ctaid__x, PTX_M_get_first_ctaid__y,
                                      PTX_M_get_first_ctaid__z};
    struct ptx_instr i = pop(k);
    int32_t half[2], word[4];
    for (int n = 0; n < 2; n++)
        half[n] = flat_reg(k, "response", PTX_B64);
    for (int n = 0; n < 4; n++)
        word[n] = flat_reg(k, "response", PTX_B32);
    push_parts(k, &i, PTX_B128, half[0], half[1], i.operands[1].reg);
    push_parts(k, &i, PTX_B64, word[0], word[1], half[0]);
    push_parts(k, &i, PTX_B64, word[2], word[3], half[1]);
    if (ptx_has(&i, PTX_M_is_canceled)) {
        if (i.operands[0].kind != PTX_OPR_REG)
            return;
        struct ptx_instr *compare = push(k, &i, PTX_OP_setp, 3);
        compare->types[compare->ntypes++] = PTX_U32;
        compare->vec = 1;
        compare->mods[compare->nmods++] = PTX_M_ne;
        compare->operands[0] = i.operands[0];
        compare->operands[1] = flat_reg_operand(word[3]);
        compare->operands[2] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1};
        return;
    }
    for (int n = 0; n < 3; n++) {
        const struct ptx_operand *to = &i.operands[0];
        if (to->kind == PTX_OPR_VEC)
            to = &to->items[n];
        else if (!ptx_has(&i, parts[n]))
            continue;
        if (to->kind == PTX_OPR_REG)
            flat_push_mov(k, &i, to->reg, flat_reg_operand(word[n]), PTX_B32);
    }
    if (i.operands[0].kind == PTX_OPR_VEC && i.operands[0].items[3].kind == PTX_OPR_REG)
        flat_push_mov(k, &i, i.operands[0].items[3].reg,
                      (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1}, PTX_B32);
}

/* [map, {coordinates}]: where the map is named, the register gets its generic address. */
static void lower_map(struct jkernel *k, const struct ptx_instr *at, struct ptx_operand *o)
{
    struct ptx_operand *map = &o->items[0];
    if (map->kind != PTX_OPR_SYM || map->var == NULL)
        return;
    struct ptx_operand m = *map;
    m.kind = PTX_OPR_MEM;
    lower_generic(k, at, &m, map->var->space);
    struct ptx_operand *items = arena_alloc(&k->arena, (size_t)o->nitems * sizeof *items);
    memcpy(items, o->items, (size_t)o->nitems * sizeof *items);
    items[0] = flat_reg_operand(m.reg);
    o->items = items;
}

/* All memory operands become generic: the first of the space that is written first and so on; what
 * is after those (a barrier object) lies in the cluster's shared memory. */
static void lower_addresses(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    int nth = 0;
    for (int o = 0; o < i.noperands; o++) {
        if (i.operands[o].kind == PTX_OPR_TEXMEM) {
            lower_map(k, &i, &i.operands[o]);
            nth++;
        }
        if (i.operands[o].kind != PTX_OPR_MEM)
            continue;
        unsigned space = nth < i.nspaces ? i.spaces[nth]
                         : nth == 0      ? PTX_SPACE_GENERIC
                                         : PTX_SPACE_SHARED_CLUSTER;
        lower_generic(k, &i, &i.operands[o], space);
        nth++;
    }
    i.nspaces = 0;
    *flat_push(k) = i;
}

/* cvt.rs d, {a, b, e, f}, random: the four become operands of their own. */
static void lower_four(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    struct ptx_instr *cvt = push(k, &i, PTX_OP_cvt, 6);
    struct ptx_operand *ops = cvt->operands;
    *cvt = i;
    cvt->operands = ops;
    cvt->noperands = 6;
    ops[0] = i.operands[0];
    memcpy(&ops[1], i.operands[1].items, 4 * sizeof *ops);
    ops[5] = i.operands[2];
}

/* to = from op value */
static void push_constant(struct jkernel *k, const struct ptx_instr *at, enum ptx_op op,
                          unsigned type, struct ptx_operand to, struct ptx_operand from,
                          uint64_t value)
{
    struct ptx_instr *i = push(k, at, op, 3);
    i->types[i->ntypes++] = (uint8_t)type;
    i->operands[0] = to;
    i->operands[1] = from;
    i->operands[2] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = value};
}

/* bfe of an unsigned number between two constants: a shift and a mask, of which the analyses know
 * what lanes and warps share. Compilers write `threadIdx.x / 8 % 8` so. */
static void lower_field(struct jkernel *k)
{
    const struct ptx_instr *last = &k->instrs[k->ninstrs - 1];
    unsigned type = last->types[0], bits = ptx_type_bits((enum ptx_type)type);
    const struct ptx_operand *at = &last->operands[2], *count = &last->operands[3];
    if (ptx_type_is_signed((enum ptx_type)type) || last->operands[0].kind != PTX_OPR_REG ||
        at->kind != PTX_OPR_IMM || count->kind != PTX_OPR_IMM)
        return;
    unsigned first = at->imm & 255, length = count->imm & 255;
    if (first >= bits || length == 0)
        return;
    struct ptx_instr i = pop(k);
    unsigned plain = bits == 64 ? PTX_B64 : PTX_B32;
    struct ptx_operand from = i.operands[1], to = i.operands[0];
    bool masked = first + length < bits;
    if (first > 0 || !masked) {
        struct ptx_operand shifted = masked ? flat_reg_operand(flat_reg(k, "field", plain)) : to;
        push_constant(k, &i, PTX_OP_shr, type, shifted, from, first);
        from = shifted;
    }
    if (masked)
        push_constant(k, &i, PTX_OP_and, plain, to, from, ((uint64_t)1 << length) - 1);
}

int32_t flat_stack(struct flattener *f)
{
    if (f->sp < 0)
        f->sp = flat_reg(f->k, "stack", PTX_B64);
    return f->sp;
}

/* alloca d, size, align; the stack pointer is a second result and a last source. */
static void lower_alloca(struct flattener *f)
{
    struct jkernel *k = f->k;
    struct ptx_instr i = pop(k);
    int32_t sp = flat_stack(f);
    struct ptx_instr *a = push(k, &i, PTX_OP_alloca, 5);
    struct ptx_operand *ops = a->operands;
    *a = i;
    a->operands = ops;
    a->noperands = 5;
    ops[0] = i.operands[0];
    ops[1] = flat_reg_operand(sp);
    ops[2] = i.operands[1];
    ops[3] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = 8};
    if (i.noperands > 2)
        ops[3] = i.operands[2];
    ops[4] = flat_reg_operand(sp);
}

/* istypep: which kind of description does the address lead to? */
static void lower_istypep(struct jkernel *k)
{
    struct ptx_instr i = pop(k);
    uint32_t tag = i.types[0] == PTX_TEXREF    ? TEXTURE_TAG
                   : i.types[0] == PTX_SURFREF ? SURFACE_TAG
                                               : SAMPLER_TAG;
    int32_t reg = flat_reg(k, "tag", PTX_B32);
    struct ptx_instr *load = push(k, &i, PTX_OP_ld, 2);
    load->types[load->ntypes++] = PTX_U32;
    load->vec = 1;
    load->operands[0] = flat_reg_operand(reg);
    load->operands[1] = (struct ptx_operand){.kind = PTX_OPR_MEM, .reg = i.operands[1].reg};
    struct ptx_instr *compare = push(k, &i, PTX_OP_setp, 3);
    compare->types[compare->ntypes++] = PTX_U32;
    compare->vec = 1;
    compare->mods[compare->nmods++] = PTX_M_eq;
    compare->operands[0] = i.operands[0];
    compare->operands[1] = flat_reg_operand(reg);
    compare->operands[2] = (struct ptx_operand){.kind = PTX_OPR_IMM, .reg = -1, .imm = tag};
}

bool flat_lower(struct flattener *f)
{
    struct jkernel *k = f->k;
    struct ptx_instr *i = &k->instrs[k->ninstrs - 1];
    bool cluster = false;
    for (int n = 0; n < i->nspaces; n++)
        cluster |= i->spaces[n] == PTX_SPACE_SHARED_CLUSTER;
    switch (i->op) {
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (ptx_has(i, PTX_M_cluster) && ptx_has(i, PTX_M_wait))
            lower_wait(k);
        else if (k->fibers && !ptx_has(i, PTX_M_cluster) && !ptx_has(i, PTX_M_warp))
            lower_block_barrier(k);
        return true;
    case PTX_OP_st:
    case PTX_OP_red:
        if (ptx_has(i, PTX_M_bulk)) { /* is emitted with the copies */
            i->op = PTX_OP_cp;
            lower_addresses(k);
        } else if (ptx_has(i, PTX_M_mbarrier__complete_tx__bytes))
            lower_telling(k);
        else if (ptx_has(i, PTX_M_async))
            lower_released(i);
        else if (cluster)
            lower_addresses(k);
        return true;
    case PTX_OP_clusterlaunchcontrol:
        if (ptx_has(i, PTX_M_try_cancel))
            lower_try_cancel(k);
        else
            lower_query_cancel(k);
        return true;
    case PTX_OP_cvt:
        if (i->operands[1].kind == PTX_OPR_VEC)
            lower_four(k);
        return true;
    case PTX_OP_bfe: lower_field(k); return true;
    case PTX_OP_wgmma:
        if (ptx_has(i, PTX_M_wait_group))
            return lower_group_wait(k);
        if (ptx_has(i, PTX_M_mma_async))
            lower_group_product(k);
        return true;
    case PTX_OP_cp:
        if (ptx_has(i, PTX_M_bulk))
            lower_addresses(k);
        return true;
    case PTX_OP_tensormap: lower_addresses(k); return true;
    case PTX_OP_ld:
    case PTX_OP_atom:
    case PTX_OP_mbarrier:
        if (cluster)
            lower_addresses(k);
        return true;
    case PTX_OP_alloca: lower_alloca(f); return true;
    case PTX_OP_istypep: lower_istypep(k); return true;
    case PTX_OP_stacksave: {
        struct ptx_instr at = pop(k);
        flat_push_mov(k, &at, at.operands[0].reg, flat_reg_operand(flat_stack(f)), at.types[0]);
        return true;
    }
    case PTX_OP_stackrestore: {
        struct ptx_instr at = pop(k);
        flat_push_mov(k, &at, flat_stack(f), at.operands[0], at.types[0]);
        return true;
    }
    default: return true;
    }
}
