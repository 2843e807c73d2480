/* kept_indices: a thread's index that a register holds until a loop counts with it has a register
 * of its own.
 *
 *   mov.u32 %r, %tid.y;  ...  LOOP: ...  add.s32 %r, %r, 16;
 *
 * Compilers let the counter of a loop have the register of what it begins with, where nothing needs
 * that afterwards. But all that the program makes of the index before the loop is then made of a
 * register that is written twice: the analyses do not know what it is in each thread, and after
 * each barrier it is loaded again in place of being computed. So what can only read the index has
 * another register, which nothing else writes. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "compiler/front/flatten.h"

enum { MOST_INSTRUCTIONS = 20000, MOST_KEPT = 16 };

/* An index, which instruction `at` moves to a register. */
struct kept {
    int32_t at, reg, name; /* and its new register */
    uint64_t *others;      /* instructions that may read what others have written there */
};

static bool is_index_move(const struct ptx_instr *i)
{
    return i->op == PTX_OP_mov && i->guard < 0 && i->noperands == 2 && i->ntypes == 1 &&
           i->operands[0].kind == PTX_OPR_REG && i->operands[1].kind == PTX_OPR_SREG &&
           (i->operands[1].sreg == PTX_SR_tid || i->operands[1].sreg == PTX_SR_ctaid ||
            i->operands[1].sreg == PTX_SR_laneid);
}

static bool ends_stretch(const struct ptx_instr *i)
{
    return i->op == PTX_OP_bra || i->op == PTX_OP_brx || i->op == PTX_OP_exit ||
           i->op == PTX_OP_ret;
}

/* ---- what can be reached ---- */

struct search {
    const struct jkernel *k;
    uint64_t *seen;
    int32_t *stack, top;
};

static void search_add(struct search *s, int32_t n)
{
    if (n >= (int32_t)s->k->ninstrs || bit_get(s->seen, n))
        return;
    bit_set(s->seen, n);
    s->stack[s->top++] = n;
}

/* What may run after instruction n. */
static void add_next(struct search *s, int32_t n)
{
    const struct ptx_instr *i = &s->k->instrs[n];
    if (i->op == PTX_OP_bra)
        search_add(s, i->operands[0].target);
    for (int t = 0; i->op == PTX_OP_brx && i->targets != NULL && t < i->targets->count; t++)
        search_add(s, i->targets->index[t]);
    if (i->guard >= 0 || !ends_stretch(i))
        search_add(s, n + 1);
}

/* Finds what may read the register after instructions other than its move; false: nothing else
 * writes it, or nothing reads the index alone. */
static bool find_others(const struct jkernel *k, struct kept *x, int32_t *stack)
{
    struct search s = {.k = k, .seen = x->others, .stack = stack};
    bool written = false, alone = false;
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++)
        if (n != x->at && jit_writes(&k->instrs[n], x->reg)) {
            written = true;
            add_next(&s, n);
        }
    while (s.top > 0)
        add_next(&s, s.stack[--s.top]);
    for (int32_t n = 0; written && n < (int32_t)k->ninstrs && !alone; n++)
        alone = !bit_get(x->others, n) && !jit_writes(&k->instrs[n], x->reg) &&
                jit_reads(&k->instrs[n], x->reg);
    return written && alone;
}

/* Moves of indices before the first branch and the first place to which one leads; how many. */
static int find_kept(const struct jkernel *k, struct kept *kept)
{
    uint64_t *targets = xcalloc(bit_bytes((int32_t)k->ninstrs + 1), 1);
    int32_t *stack = xmalloc(sizeof *stack * (k->ninstrs + 1));
    struct search all = {.k = k, .seen = targets, .stack = stack};
    int count = 0;
    for (int32_t n = 0; n < (int32_t)k->ninstrs; n++)
        if (ends_stretch(&k->instrs[n]))
            add_next(&all, n);
    for (int32_t n = 0; n < (int32_t)k->ninstrs && count < MOST_KEPT; n++) {
        const struct ptx_instr *i = &k->instrs[n];
        if (bit_get(targets, n) || ends_stretch(i))
            break;
        if (!is_index_move(i))
            continue;
        struct kept x = {.at = n, .reg = i->operands[0].reg};
        x.others = xcalloc(bit_bytes((int32_t)k->ninstrs), 1);
        if (find_others(k, &x, stack))
            kept[count++] = x;
        else
            free(x.others);
    }
    free(stack);
    free(targets);
    return count;
}

void flat_kept_indices(struct jkernel *k)
{
    struct kept kept[MOST_KEPT];
    if (k->is_function || k->fibers || k->ninstrs > MOST_INSTRUCTIONS)
        return;
    int count = find_kept(k, kept);
    if (count == 0)
        return;
    for (int x = 0; x < count; x++)
        kept[x].name = flat_reg(k, "", k->regs[kept[x].reg].type);
    struct rebuilt list = flat_rebuild(k);
    for (int32_t n = 0; n < (int32_t)list.count; n++) {
        struct ptx_instr i = list.old[n];
        list.moved[n] = (int32_t)k->ninstrs;
        for (int x = 0; x < count; x++) {
            if (n == kept[x].at)
                flat_push_mov(k, &i, kept[x].name, i.operands[1], i.types[0]);
            else if (!bit_get(kept[x].others, n) && !jit_writes(&i, kept[x].reg) &&
                     jit_reads(&i, kept[x].reg))
                flat_rename(k, &i, kept[x].reg, kept[x].name);
        }
        *flat_push(k) = i;
    }
    flat_rebuilt(k, &list);
    for (int x = 0; x < count; x++)
        free(kept[x].others);
}
