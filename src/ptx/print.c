/* print.c: instructions as text. Suffixes come in the order they were read in, labels are called
 * $L_<index>, and lists that a label names ($T_, $P_) carry the index of the instruction that uses
 * them: print_module.c writes those lists. */
#include "ptx/names.h"

#include <string.h>

static void print_integer(uint64_t v, struct strbuf *out)
{
    int64_t s = (int64_t)v;
    if (s > INT32_MIN * INT64_C(2) && s < 1000000)
        sb_printf(out, "%lld", (long long)s);
    else
        sb_printf(out, "0x%llx", (unsigned long long)v);
}

static void print_float(const struct ptx_operand *o, struct strbuf *out)
{
    uint64_t bits;
    memcpy(&bits, &o->fimm, sizeof bits);
    if (o->is_f32)
        sb_printf(out, "0f%08X", ptx_f32_bits(o->fimm));
    else
        sb_printf(out, "0d%016llX", (unsigned long long)bits);
}

static void print_sreg(const struct ptx_operand *o, struct strbuf *out)
{
    enum ptx_sreg s = (enum ptx_sreg)o->sreg;
    sb_printf(out, "%%%s", ptx_sreg_name(s));
    if (s == PTX_SR_envreg || s == PTX_SR_pm || s == PTX_SR_pm64)
        sb_printf(out, "%d%s", o->component, s == PTX_SR_pm64 ? "_64" : "");
    else if (ptx_sreg_is_vector(s))
        sb_printf(out, ".%c", "xyzw"[o->component & 3]);
}

static void selection(const struct ptx_operand *o, struct strbuf *out)
{
    if (o->select >= 1 && o->select <= 4)
        sb_printf(out, ".b%d", o->select - 1);
    else if (o->select >= 5 && o->select <= 6)
        sb_printf(out, ".h%d", o->select - 5);
    else if (o->select >= 7)
        sb_printf(out, ".%c%0*llx", o->select == 7 ? 'b' : 'h', o->component,
                  (unsigned long long)o->imm);
}

static void print_symbol(const struct ptx_operand *o, struct strbuf *out)
{
    sb_printf(out, "%s", o->var != NULL ? o->var->name : o->func != NULL ? o->func->name : "?");
    if (o->offset != 0)
        sb_printf(out, "+%lld", (long long)o->offset);
}

static void print_operand(const struct ptx_func *f, const struct ptx_operand *o,
                          struct strbuf *out);

static void print_list(const struct ptx_func *f, const struct ptx_operand *items, int n,
                       struct strbuf *out)
{
    for (int k = 0; k < n; k++) {
        sb_printf(out, "%s", k > 0 ? ", " : "");
        print_operand(f, &items[k], out);
    }
}

static void print_operand(const struct ptx_func *f, const struct ptx_operand *o, struct strbuf *out)
{
    switch (o->kind) {
    case PTX_OPR_REG:
        if (o->neg)
            sb_printf(out, "%c", f->regs[o->reg].type == PTX_PRED ? '!' : '-');
        sb_printf(out, "%s", f->regs[o->reg].name);
        selection(o, out);
        break;
    case PTX_OPR_IMM: print_integer(o->imm, out); break;
    case PTX_OPR_FIMM: print_float(o, out); break;
    case PTX_OPR_SREG: print_sreg(o, out); break;
    case PTX_OPR_SYM: print_symbol(o, out); break;
    case PTX_OPR_MEM:
        sb_append(out, "[", 1);
        if (o->reg >= 0) {
            sb_printf(out, "%s", f->regs[o->reg].name);
            if (o->offset != 0)
                sb_printf(out, "+%lld", (long long)o->offset);
        } else if (o->var != NULL)
            print_symbol(o, out);
        else
            sb_printf(out, "%lld", (long long)o->offset);
        sb_append(out, "]", 1);
        break;
    case PTX_OPR_VEC:
        sb_append(out, "{", 1);
        print_list(f, o->items, o->nitems, out);
        sb_append(out, "}", 1);
        break;
    case PTX_OPR_TEXMEM:
        sb_append(out, "[", 1);
        print_list(f, o->items, o->nitems, out);
        sb_append(out, "]", 1);
        break;
    case PTX_OPR_LABEL: sb_printf(out, "$L_%d", o->target); break;
    default: sb_append(out, "_", 1); break;
    }
}

static void print_name(const struct ptx_instr *i, struct strbuf *out)
{
    int mod = 0, type = 0, space = 0;
    sb_printf(out, "%s", ptx_op_name((enum ptx_op)i->op));
    for (int k = 0; k < i->nmods + i->ntypes + i->nspaces; k++) {
        unsigned kind = i->order >> 2 * k & 3;
        const char *word = kind == 0   ? ptx_mod_name((enum ptx_mod)i->mods[mod++])
                           : kind == 1 ? ptx_type_name((enum ptx_type)i->types[type++])
                                       : ptx_space_name((enum ptx_space)i->spaces[space++]);
        sb_printf(out, ".%s", word);
    }
}

static void print_call(const struct ptx_func *f, const struct ptx_instr *i, struct strbuf *out)
{
    const struct ptx_call *c = i->call;
    sb_append(out, " ", 1);
    if (c->nrets > 0) {
        sb_append(out, "(", 1);
        print_list(f, c->rets, c->nrets, out);
        sb_append(out, "), ", 3);
    }
    sb_printf(out, "%s",
              c->reg >= 0       ? f->regs[c->reg].name
              : c->func != NULL ? c->func->name
                                : "?");
    if (c->nargs > 0 || c->reg >= 0) {
        sb_append(out, ", (", 3);
        print_list(f, c->args, c->nargs, out);
        sb_append(out, ")", 1);
    }
    if (c->reg >= 0)
        sb_printf(out, ", $P_%d", (int)(i - f->instrs));
}

void ptx_print_instr(const struct ptx_func *f, const struct ptx_instr *i, struct strbuf *out)
{
    if (i->guard >= 0)
        sb_printf(out, "@%s%s ", i->guard_neg ? "!" : "", f->regs[i->guard].name);
    print_name(i, out);
    if (i->call != NULL)
        print_call(f, i, out);
    for (int k = 0; k < i->noperands; k++) {
        sb_printf(out, "%s", k == 0 ? " " : k == 1 && i->pair ? "|" : ", ");
        print_operand(f, &i->operands[k], out);
    }
    if (i->targets != NULL)
        sb_printf(out, ", $T_%d", (int)(i - f->instrs));
    sb_append(out, ";", 1);
}
