/* text: reads the case table's instructions (see text.h). */
#include "text.h"

#include <stdlib.h>
#include <string.h>

static bool same(const char *name, const char *s, size_t n)
{
    return name != NULL && strlen(name) == n && !memcmp(name, s, n);
}

static bool suffix(struct ptx_instr *i, const char *s, size_t n)
{
    for (unsigned k = 1; k < PTX_TYPE_COUNT; k++)
        if (same(ptx_type_name(k), s, n))
            return i->types[i->ntypes++] = (uint8_t)k, true;
    for (unsigned k = 1; k < PTX_M_COUNT; k++)
        if (same(ptx_mod_name(k), s, n))
            return i->mods[i->nmods++] = (uint16_t)k, true;
    return false;
}

/* A part selector after the operand's dot. */
static void select_part(struct ptx_operand *o, const char *s, size_t n)
{
    if (n == 2) {
        o->select = (uint8_t)(s[0] == 'b' ? 1 + s[1] - '0' : 5 + s[1] - '0');
        return;
    }
    o->select = 7;
    o->imm = strtoull(s + 1, NULL, 16);
}

static void operand(struct ptx_operand *o, const char *s, size_t n)
{
    o->kind = PTX_OPR_REG;
    if ((*s >= '0' && *s <= '9') || (*s == '-' && s[1] >= '0' && s[1] <= '9')) {
        o->kind = PTX_OPR_IMM;
        o->imm = strtoull(s, NULL, 0);
        return;
    }
    if (*s == '-')
        o->neg = true, s++, n--;
    const char *dot = memchr(s, '.', n);
    if (dot != NULL)
        select_part(o, dot + 1, n - (size_t)(dot + 1 - s));
}

bool text_read(const char *text, struct text_instr *out)
{
    memset(out, 0, sizeof *out);
    struct ptx_instr *i = &out->instr;
    i->guard = -1;
    i->vec = 1;
    i->operands = out->operands;
    size_t n = strcspn(text, ". ");
    unsigned op = 0;
    while (op < PTX_OP_COUNT && !same(ptx_op_name(op), text, n))
        op++;
    if (op == PTX_OP_COUNT)
        return false;
    i->op = (uint16_t)op;
    for (text += n; *text == '.'; text += n) {
        n = strcspn(++text, ". ");
        if (!suffix(i, text, n))
            return false;
    }
    while (*text) {
        text += strspn(text, " ,|");
        n = strcspn(text, " ,|");
        if (n) {
            out->uniform[i->noperands] = *text == 'u';
            operand(&out->operands[i->noperands++], text, n);
        }
        text += n;
    }
    return true;
}

bool text_beyond_gpu(const struct ptx_instr *i)
{
    if (i->op == PTX_OP_set)
        return i->types[0] == PTX_F16 && i->types[1] == PTX_BF16;
    if (i->op != PTX_OP_cvt || i->ntypes != 2)
        return false;
    unsigned to = i->types[0], from = i->types[1];
    unsigned to_bits = ptx_type_bits((enum ptx_type)to),
             from_bits = ptx_type_bits((enum ptx_type)from);
    if (to == PTX_TF32)
        return ptx_has(i, PTX_M_satfinite);
    if (to == PTX_BF16 || from == PTX_BF16)
        return to_bits == 8 || from_bits == 8;
    if (!ptx_has(i, PTX_M_sat) || ptx_type_is_float((enum ptx_type)to) ||
        ptx_type_is_float((enum ptx_type)from))
        return false;
    bool to_signed = ptx_type_is_signed((enum ptx_type)to);
    bool from_signed = ptx_type_is_signed((enum ptx_type)from);
    if (to_signed == from_signed)
        return to_bits >= from_bits;
    return to_signed && to_bits > from_bits;
}
