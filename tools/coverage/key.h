/* key: what of an instruction a test must have: its opcode and types, and for operations that are
 * named by modifiers (atomics, what warps and blocks do together) these as well. */
#ifndef WEIR_COVERAGE_KEY_H
#define WEIR_COVERAGE_KEY_H

#include "ptx/forms.h"

static inline bool key_needs_mods(unsigned op)
{
    switch (op) {
    case PTX_OP_atom:
    case PTX_OP_red:
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_bar:
    case PTX_OP_barrier:
    case PTX_OP_testp:
    case PTX_OP_prmt: return true;
    default: return false;
    }
}

/* Appends the modifier that is written of a group that the form cannot be without. */
static inline void key_group(const struct ptx_form_group *g, const struct ptx_instr *i,
                             struct strbuf *out)
{
    for (int k = 0; k < i->nmods && !g->optional; k++)
        if (g->set[i->mods[k] / 64] >> i->mods[k] % 64 & 1)
            sb_printf(out, ".%s", ptx_mod_name((enum ptx_mod)i->mods[k]));
}

/* Appends "atom.add.u32". */
static inline void key_write(const struct ptx_instr *i, struct strbuf *out)
{
    int count;
    const struct ptx_form *forms = ptx_forms((enum ptx_op)i->op, &count);
    sb_printf(out, "%s", ptx_op_name((enum ptx_op)i->op));
    for (int n = 0; n < count && key_needs_mods(i->op); n++) {
        if (!ptx_form_fits(&forms[n], i))
            continue;
        for (int g = 0; g < forms[n].ngroups; g++)
            key_group(&forms[n].groups[g], i, out);
        break;
    }
    for (int t = 0; t < i->ntypes; t++)
        sb_printf(out, ".%s", ptx_type_name((enum ptx_type)i->types[t]));
}

#endif
