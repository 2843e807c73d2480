/* table: finds the form of an instruction, derives its signature from it, and runs its
 * emitter. Everything that is not in a table is refused here, by name. */
#include "compiler/arithmetic/table.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const struct alu_form *forms;
    const size_t *count;
} families[] = {
    {alu_int_forms, &alu_int_nforms},     {alu_bit_forms, &alu_bit_nforms},
    {alu_float_forms, &alu_float_nforms}, {alu_approx_forms, &alu_approx_nforms},
    {alu_cmp_forms, &alu_cmp_nforms},     {alu_cvt_forms, &alu_cvt_nforms},
    {alu_video_forms, &alu_video_nforms},
};

static bool mods_allowed(const struct ptx_instr *i, const uint16_t *allowed)
{
    for (int k = 0; k < i->nmods; k++) {
        const uint16_t *m = allowed;
        while (*m && *m != i->mods[k])
            m++;
        if (!*m)
            return false;
    }
    return true;
}

static unsigned type_at(const struct ptx_instr *i, unsigned k)
{
    return k < i->ntypes ? i->types[k] : PTX_NONE;
}

static const struct alu_form *find_form(const struct ptx_instr *i, const char **why)
{
    *why = "is not supported";
    for (size_t r = 0; r < WEIR_COUNT(families); r++) {
        for (size_t k = 0; k < *families[r].count; k++) {
            const struct alu_form *f = &families[r].forms[k];
            if (f->op != i->op)
                continue;
            if (!(f->types >> type_at(i, 0) & 1) ||
                (f->second ? !(f->second >> type_at(i, 1) & 1) : i->ntypes > 1)) {
                if (**why == 'i')
                    *why = "is not defined, or not supported, for these types";
                continue;
            }
            if (!mods_allowed(i, f->mods)) {
                *why = "has a modifier that is not supported with these types";
                continue;
            }
            return f;
        }
    }
    return NULL;
}

static enum ptx_type operand_type(const struct ptx_instr *i, char letter)
{
    switch (letter) {
    case 't': return type_at(i, 0);
    case 'u': return type_at(i, 1);
    case 'w': return ptx_has(i, PTX_M_wide) ? ptx_type_widened(type_at(i, 0)) : type_at(i, 0);
    case 'p': return PTX_PRED;
    case 'i': return PTX_U32;
    case 's': return PTX_S32;
    case 'b': return PTX_B32;
    case 'h': return PTX_B16;
    default: return PTX_F32;
    }
}

/* Reads "dst:src?optional" against the number of operands that the instruction has. */
static bool signature_of(const struct ptx_instr *i, const struct alu_form *f, struct alu_sig *sig,
                         const char **why)
{
    const char *colon = strchr(f->operands, ':'), *question = strchr(colon, '?');
    unsigned sources = (unsigned)strlen(colon + 1) - (question != NULL);
    unsigned least = question != NULL ? (unsigned)(question - colon - 1) : sources;
    bool second_result = false, carry_out = ptx_has(i, PTX_M_cc);
    bool carry_in = i->op == PTX_OP_addc || i->op == PTX_OP_subc || i->op == PTX_OP_madc;
    unsigned results = 0, operands = i->noperands;
    for (const char *p = f->operands; p < colon; p++)
        *p == '|' ? (void)(second_result = true) : (void)results++;
    memset(sig, 0, sizeof *sig);
    /* The boolean operand of setp and its kin is there when .and/.or/.xor is; so is lop3's. */
    if (question != NULL)
        sources = ptx_has(i, PTX_M_and) || ptx_has(i, PTX_M_or) || ptx_has(i, PTX_M_xor) ||
                          (!second_result && operands == results + sources)
                      ? sources
                      : least;
    if (second_result && operands == results - 1 + sources)
        results--;
    if (operands != results + sources && operands != results + sources + carry_in + carry_out) {
        *why = "has the wrong number of operands";
        return false;
    }
    for (const char *p = f->operands; sig->ndst < results; p++)
        if (*p != '|')
            sig->dst[sig->ndst++] = operand_type(i, *p);
    for (const char *p = colon + 1; sig->nsrc < sources; p++)
        if (*p != '?')
            sig->src[sig->nsrc++] = operand_type(i, *p);
    sig->carry_in = carry_in;
    sig->carry_out = carry_out;
    if (carry_in)
        sig->src[sig->nsrc++] = PTX_PRED;
    if (carry_out)
        sig->dst[sig->ndst++] = PTX_PRED;
    sig->pointer_first = sig->ndst;
    return true;
}

static bool signature(const struct ptx_instr *i, struct alu_sig *sig, const struct alu_form **form,
                      const char **why)
{
    *form = find_form(i, why);
    if (*form == NULL)
        return false;
    return i->op == PTX_OP_cvt ? alu_cvt_signature(i, sig, why) : signature_of(i, *form, sig, why);
}

/* The instruction's name with types and modifiers, not necessarily in the order written. */
static void describe(const struct ptx_instr *i, char *out, size_t size)
{
    int n = snprintf(out, size, "%s", ptx_op_name(i->op));
    for (int k = 0; k < i->nmods && n < (int)size; k++)
        n += snprintf(out + n, size - n, ".%s", ptx_mod_name(i->mods[k]));
    for (int k = 0; k < i->ntypes && n < (int)size; k++)
        n += snprintf(out + n, size - n, ".%s", ptx_type_name(i->types[k]));
}

bool alu_supported(const struct ptx_instr *i, struct diag *d)
{
    struct alu_sig sig;
    const struct alu_form *form;
    const char *why;
    if (signature(i, &sig, &form, &why))
        return true;
    char name[160];
    describe(i, name, sizeof name);
    return diag_set(d, i->line, i->column, "%s %s", name, why);
}

bool alu_signature(const struct ptx_instr *i, struct alu_sig *sig)
{
    const struct alu_form *form;
    const char *why;
    return signature(i, sig, &form, &why);
}

bool alu_emit(struct alu *a, const struct ptx_instr *i, const LLVMValueRef *src, LLVMValueRef *dst)
{
    struct alu_sig sig;
    const struct alu_form *form;
    const char *why;
    if (!signature(i, &sig, &form, &why))
        return false;
    struct builder e = {.a = a, .i = i, .s = src, .d = dst, .t = type_at(i, 0), .u = type_at(i, 1)};
    form->emit(&e);
    return true;
}
