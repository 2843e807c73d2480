/* def_use: what each instruction writes and reads, and which are cheap: one table for all passes,
 * so that none can disagree with another. */
#include "compiler/arithmetic/arithmetic.h"
#include "compiler/kernel.h"

int jit_ndst(const struct ptx_instr *i)
{
    struct alu_sig sig;
    switch (i->op) {
    case PTX_OP_st:
    case PTX_OP_red:
    case PTX_OP_sust:
    case PTX_OP_sured:
    case PTX_OP_membar:
    case PTX_OP_fence:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_bra:
    case PTX_OP_brx:
    case PTX_OP_ret:
    case PTX_OP_exit:
    case PTX_OP_trap:
    case PTX_OP_brkpt:
    case PTX_OP_call:
    case PTX_OP_nanosleep:
    case PTX_OP_pmevent:
    case PTX_OP_discard:
    case PTX_OP_applypriority:
    case PTX_OP_griddepcontrol:
    case PTX_OP_stmatrix:
    case PTX_OP_cp:
    case PTX_OP_clusterlaunchcontrol: /* as lowering leaves it */
    case PTX_OP_tensormap: return 0;
    case PTX_OP_mbarrier:
        return ptx_has(i, PTX_M_arrive) || ptx_has(i, PTX_M_arrive_drop) ||
               ptx_has(i, PTX_M_test_wait) || ptx_has(i, PTX_M_try_wait) ||
               ptx_has(i, PTX_M_pending_count);
    case PTX_OP_wgmma: return ptx_has(i, PTX_M_mma_async);
    case PTX_OP_alloca: return 2; /* as flattening leaves it: with the stack pointer */
    case PTX_OP_stacksave: return 1;
    case PTX_OP_stackrestore: return 0;
    case PTX_OP_setmaxnreg: return 0;
    case PTX_OP_wmma: return ptx_has(i, PTX_M_store) ? 0 : 1;
    case PTX_OP_bar:
    case PTX_OP_barrier:
        if (ptx_has(i, PTX_M_cluster)) /* a wait, as flattening leaves it */
            return i->noperands;
        /* on fibers: as flattening leaves it */
        return !ptx_has(i, PTX_M_arrive) && (ptx_has(i, PTX_M_red) || ptx_has(i, PTX_M_wait));
    case PTX_OP_shfl: return i->noperands - (ptx_has(i, PTX_M_sync) ? 4 : 3);
    case PTX_OP_match: return i->noperands - 2;
    case PTX_OP_elect: return i->noperands - 1;
    case PTX_OP_mov: return 1;
    case PTX_OP_tex:
    case PTX_OP_tld4: return i->pair ? 2 : 1;
    default:
        if (alu_signature(i, &sig))
            return sig.ndst; /* flatten has appended the carry flag as an operand */
        return 1;
    }
}

unsigned jit_cheap(const struct ptx_instr *i)
{
    if (ptx_has(i, PTX_M_cc))
        return 0;
    switch (i->op) {
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mul:
    case PTX_OP_and:
    case PTX_OP_or:
    case PTX_OP_shl:
    case PTX_OP_shr: return CHEAP_SCALAR | CHEAP_STEP | CHEAP_SELECT;
    case PTX_OP_fma:
    case PTX_OP_neg:
    case PTX_OP_abs:
    case PTX_OP_xor:
    case PTX_OP_not: return CHEAP_STEP | CHEAP_SELECT;
    case PTX_OP_mad: return CHEAP_SCALAR | CHEAP_SELECT;
    case PTX_OP_cvt:
    case PTX_OP_cvta:
    case PTX_OP_setp: return CHEAP_SCALAR;
    case PTX_OP_mov:
    case PTX_OP_selp:
    case PTX_OP_min:
    case PTX_OP_max: return CHEAP_SELECT;
    default: return 0;
    }
}

static void add_uses(const struct ptx_operand *o, struct jroles *r)
{
    if (o->reg >= 0 && (o->kind == PTX_OPR_REG || o->kind == PTX_OPR_MEM) &&
        r->nuse < (int)WEIR_COUNT(r->use))
        r->use[r->nuse++] = o->reg;
    for (int k = 0; k < o->nitems; k++)
        add_uses(&o->items[k], r);
}

static void add_defs(const struct ptx_operand *o, struct jroles *r)
{
    if (o->kind == PTX_OPR_REG && r->ndef < (int)WEIR_COUNT(r->def))
        r->def[r->ndef++] = o->reg;
    for (int k = 0; k < o->nitems; k++)
        add_defs(&o->items[k], r);
}

bool jit_roles(const struct ptx_instr *i, struct jroles *r)
{
    r->ndef = r->nuse = 0;
    if (i->op == PTX_OP_call) {
        for (int k = 0; k < i->call->nargs; k++)
            add_uses(&i->call->args[k], r);
        if (i->call->func == NULL && i->call->reg >= 0)
            r->use[r->nuse++] = i->call->reg;
        for (int k = 0; k < i->call->nrets; k++)
            add_defs(&i->call->rets[k], r);
        if (i->call->ended != 0)
            r->def[r->ndef++] = i->call->ended - 1;
        if (i->call->unfinished != 0)
            r->def[r->ndef++] = i->call->unfinished - 1;
        return true;
    }
    int ndst = jit_ndst(i);
    for (int k = 0; k < i->noperands; k++) {
        if (k < ndst)
            add_defs(&i->operands[k], r);
        else
            add_uses(&i->operands[k], r);
    }
    return true;
}

bool jit_writes(const struct ptx_instr *i, int32_t reg)
{
    struct jroles r;
    jit_roles(i, &r);
    for (int d = 0; d < r.ndef; d++)
        if (r.def[d] == reg)
            return true;
    return false;
}

bool jit_reads(const struct ptx_instr *i, int32_t reg)
{
    struct jroles r;
    jit_roles(i, &r);
    for (int u = 0; u < r.nuse; u++)
        if (r.use[u] == reg)
            return true;
    return false;
}

bool jit_depends_on_arrival(const struct ptx_instr *i)
{
    if (i->op == PTX_OP_call)
        return i->call->unfinished != 0;
    return i->op == PTX_OP_barrier && ptx_has(i, PTX_M_wait) && !ptx_has(i, PTX_M_cluster);
}

int32_t last_write(const struct jkernel *k, const struct jblock *blk, int32_t before, int32_t reg)
{
    for (int32_t n = before - 1; n >= blk->first; n--)
        if (jit_writes(&k->instrs[n], reg))
            return n;
    return -1;
}
