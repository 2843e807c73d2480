/* test_ptx: the case table as real PTX. Every instruction, written into a kernel with registers of
 * the sizes that its signature names, must pass the parser, come out as the same instruction, and
 * be supported by the emitter: the parser's idea of an instruction and the emitter's are one. */
#include "compiler/arithmetic/arithmetic.h"
#include "text.h"

#include "check.h"

static const struct {
    const char *text, *target;
} cases[] = {
#define CASE(text)                   {text, "sm_90a"},
#define NEWER(text)                  {text, "sm_100a"},
#define APPROX(text, measure, bound) {text, "sm_90a"},
#include "cases.def"
};

/* Registers are untyped, by size: %p predicates, %h 16 bits, %r 32, %rd 64. */
static void put_register(struct strbuf *out, unsigned type, unsigned k)
{
    unsigned bits = ptx_type_bits(type);
    sb_printf(out, "%s%u",
              type == PTX_PRED ? "%p"
              : bits <= 8      ? "%c"
              : bits == 16     ? "%h"
              : bits == 32     ? "%r"
                               : "%rd",
              k);
}

/* The instruction with registers for its operand letters. */
static void put_instr(struct strbuf *out, const char *text, const struct alu_sig *sig)
{
    unsigned k = 0, first = sig->ndst - sig->carry_out;
    size_t n = strcspn(text, " ");
    sb_append(out, text, n);
    sb_printf(out, " ");
    for (text += n; *text;) {
        n = strspn(text, " ,|-");
        sb_append(out, text, n);
        text += n;
        n = strcspn(text, " ,|");
        unsigned type = k < first ? sig->dst[k] : sig->src[k - first];
        size_t letter = strcspn(text, ".,| ");
        if (*text >= '0' && *text <= '9')
            sb_append(out, text, n);
        else {
            put_register(out, type, k);
            sb_append(out, text + letter, n - letter);
        }
        text += n;
        k++;
    }
    sb_printf(out, ";\n");
}

static bool same_operand(const struct ptx_operand *x, const struct ptx_operand *y)
{
    bool lists = x->select >= 7 && y->select >= 7;
    return x->neg == y->neg && (x->select == y->select || lists) && (!lists || x->imm == y->imm) &&
           (x->kind != PTX_OPR_IMM || (uint32_t)x->imm == (uint32_t)y->imm);
}

static bool same_instr(const struct ptx_instr *x, const struct ptx_instr *y)
{
    bool same = x->op == y->op && x->ntypes == y->ntypes && x->nmods == y->nmods &&
                x->noperands == y->noperands;
    for (int k = 0; same && k < x->ntypes; k++)
        same = x->types[k] == y->types[k];
    for (int k = 0; same && k < x->nmods; k++)
        same = ptx_has(y, x->mods[k]);
    for (int k = 0; same && k < x->noperands; k++)
        same =
            x->operands[k].kind == PTX_OPR_FIMM || same_operand(&x->operands[k], &y->operands[k]);
    return same;
}

static void check_case(const char *text, const char *target)
{
    struct text_instr want;
    struct alu_sig sig;
    struct diag d = {.text = ""};
    struct strbuf ptx = {0};
    CHECK(text_read(text, &want));
    if (!check_count(alu_signature(&want.instr, &sig)))
        return;
    sb_printf(&ptx,
              ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k()\n{\n"
              ".reg .pred %%p<9>;\n.reg .b8 %%c<9>;\n.reg .b16 %%h<9>;\n.reg .b32 %%r<9>;\n"
              ".reg .b64 %%rd<9>;\n",
              target);
    put_instr(&ptx, text, &sig);
    sb_printf(&ptx, "ret;\n}\n");
    struct ptx_module *m = ptx_parse(ptx.items, ptx.count, &d);
    if (!check_count(m != NULL && m->nfuncs == 1 && m->funcs[0]->ninstrs == 2))
        printf("%s: %s\n%s", text, d.text, strstr(ptx.items, ".reg .b64"));
    else {
        const struct ptx_instr *i = &m->funcs[0]->instrs[0];
        if (!check_count(same_instr(i, &want.instr)))
            printf("%s: parsed as another instruction\n", text);
        if (!check_count(alu_supported(i, &d)))
            printf("%s: %s\n", text, d.text);
    }
    ptx_free(m);
    sb_free(&ptx);
}

int main(void)
{
    for (size_t k = 0; k < WEIR_COUNT(cases); k++)
        check_case(cases[k].text, cases[k].target);
    return check_done();
}
