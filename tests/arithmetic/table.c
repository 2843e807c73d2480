/* table: writes the case table as a module of PTX and a file of operands and results from the
 * reference, for any libcuda to run (run_table.c). Usage: arithmetic_table FILE.ptx FILE.bin
 *
 * A kernel has some dozens of cases, one after the other; thread t of its block takes each case's
 * t-th operands. Registers are untyped ones of the operand's width. */
#include "jit.h"
#include "ref.h"
#include "table_format.h"
#include "text.h"
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *text;
    enum table_measure measure;
    double bound;
    bool says;
};

#define EXACT TABLE_EXACT
#define ULP   TABLE_ULP
#define ABS   TABLE_ABS
#define REL   TABLE_REL
#define LOG   TABLE_LOG
static const struct test_case cases[] = {
#define CASE(text) {text, TABLE_EXACT, 0, false},
#define SAYS(text) {text, TABLE_EXACT, 0, true},
#define NEWER(text)
#define APPROX(text, measure, bound) {text, measure, bound, false},
#include "cases.def"
};

static const char *reg_type(unsigned type)
{
    unsigned bits = ptx_type_bits((enum ptx_type)type);
    return type == PTX_PRED ? "pred"
           : bits <= 8      ? "b32"
           : bits == 16     ? "b16"
           : bits == 32     ? "b32"
                            : "b64";
}

static enum table_kind kind_of(unsigned type)
{
    switch (type) {
    case PTX_F16: return KIND_F16;
    case PTX_BF16: return KIND_BF16;
    case PTX_TF32:
    case PTX_F32: return KIND_F32;
    case PTX_F64: return KIND_F64;
    case PTX_F16X2: return KIND_F16X2;
    case PTX_BF16X2: return KIND_BF16X2;
    default: return KIND_BITS;
    }
}

/* Loads source k of the case's slots into %s<k>. */
static void write_load(FILE *f, unsigned k, unsigned type)
{
    fprintf(f, " .reg .%s %%s%u;\n", reg_type(type), k);
    if (type == PTX_PRED) {
        fprintf(f,
                " .reg .b32 %%w%u; ld.global.b32 %%w%u, [%%in+%u]; setp.ne.b32 %%s%u, %%w%u, 0;\n",
                k, k, k * TABLE_LANES * 8, k, k);
        return;
    }
    fprintf(f, " ld.global.%s %%s%u, [%%in+%u];\n", reg_type(type), k, k * TABLE_LANES * 8);
}

static void write_store(FILE *f, unsigned k, unsigned type)
{
    unsigned at = k * TABLE_LANES * 8, bits = ptx_type_bits((enum ptx_type)type);
    if (type == PTX_PRED)
        fprintf(f,
                " .reg .b32 %%v%u; selp.b32 %%v%u, 1, 0, %%d%u; st.global.b32 [%%out+%u], %%v%u;\n",
                k, k, k, at, k);
    else
        fprintf(f, " st.global.%s [%%out+%u], %%d%u;\n", bits <= 8 ? "b8" : reg_type(type), at, k);
}

/* The text with its operands' names replaced: results by %d<k>, sources by %s<k>. */
static void write_instr(FILE *f, const char *text, const struct text_instr *t,
                        const struct alu_sig *sig)
{
    unsigned first = sig->ndst - sig->carry_out, n = 0;
    size_t op = strcspn(text, " ");
    fprintf(f, " %.*s", (int)op, text);
    for (const char *s = text + op; *s;) {
        size_t gap = strspn(s, " ,|"), name = strcspn(s + gap, " ,|");
        fprintf(f, "%.*s", (int)gap, s);
        s += gap;
        if (name == 0)
            break;
        const char *dot = memchr(s, '.', name);
        if (t->operands[n].kind == PTX_OPR_IMM)
            fprintf(f, "%.*s", (int)name, s);
        else
            fprintf(f, "%s%%%c%u%.*s", *s == '-' ? "-" : "", n < first ? 'd' : 's',
                    n < first ? n : n - first, dot != NULL ? (int)(s + name - dot) : 0,
                    dot != NULL ? dot : "");
        n++;
        s += name;
    }
    fprintf(f, ";\n");
}

static void write_case(FILE *f, const struct test_case *c, const struct text_instr *t,
                       const struct alu_sig *sig, unsigned number)
{
    bool sub = t->instr.op == PTX_OP_sub || t->instr.op == PTX_OP_subc;
    unsigned first = sig->ndst - sig->carry_out;
    fprintf(f, "{ // %s\n", c->text);
    for (unsigned k = 0; k < sig->nsrc; k++)
        if (sig->carry_in || t->operands[first + k].kind != PTX_OPR_IMM)
            if (k + 1 < sig->nsrc || !sig->carry_in)
                write_load(f, k, sig->src[k]);
    for (unsigned k = 0; k < sig->ndst; k++)
        fprintf(f, " .reg .%s %%d%u;\n",
                sig->carry_out && k + 1 == sig->ndst ? "b32" : reg_type(sig->dst[k]), k);
    if (sig->carry_in)
        fprintf(f, " .reg .b32 %%c, %%t; ld.global.b32 %%c, [%%in+%u]; %s;\n",
                (sig->nsrc - 1) * TABLE_LANES * 8,
                sub ? "sub.cc.u32 %t, 0, %c" : "add.cc.u32 %t, %c, -1");
    write_instr(f, c->text, t, sig);
    if (sig->carry_out)
        fprintf(f,
                sub ? " subc.u32 %%d%u, 0, 0; neg.s32 %%d%u, %%d%u;\n" : " addc.u32 %%d%u, 0, 0;\n",
                sig->ndst - 1, sig->ndst - 1, sig->ndst - 1);
    for (unsigned k = 0; k < sig->ndst; k++)
        write_store(f, k, sig->carry_out && k + 1 == sig->ndst ? PTX_B32 : sig->dst[k]);
    fprintf(f, " add.s64 %%in, %%in, %u; add.s64 %%out, %%out, %u;\n}\n",
            TABLE_SLOTS * TABLE_LANES * 8, TABLE_SLOTS * TABLE_LANES * 8);
    (void)number;
}

/* Operands of lane n: pairs of edges first, as far as the lanes reach, in a mixed order. */
static void make_sources(const struct text_instr *t, const struct alu_sig *sig, unsigned n,
                         uint64_t *s)
{
    unsigned first = sig->ndst - sig->carry_out;
    for (unsigned k = 0; k < sig->nsrc; k++) {
        unsigned edges = edge_count(sig->src[k]);
        bool edge = n < 2 * edges || random_bits() % 2;
        s[k] = value_of(sig->src[k], !edge    ? 1000000
                                     : k == 0 ? n % edges
                                              : (unsigned)(random_bits() % edges));
        const struct ptx_operand *o = &t->operands[first + k];
        if (o->kind == PTX_OPR_IMM && (k + 1 < sig->nsrc || !sig->carry_in))
            s[k] = o->imm;
    }
}

/* Sines of angles beyond a turn, for which a GPU promises less (2^-14.7). */
static bool coarse(const struct ptx_instr *i, uint64_t bits)
{
    uint32_t w = (uint32_t)bits & 0x7fffffff;
    return (i->op == PTX_OP_sin || i->op == PTX_OP_cos) && w > 0x40490fdb && w < 0x7f800000;
}

static bool write_data(FILE *f, const struct test_case *c, const struct text_instr *t,
                       const struct alu_sig *sig, unsigned kernel, unsigned number)
{
    static uint64_t source[TABLE_SLOTS][TABLE_LANES], want[TABLE_SLOTS][TABLE_LANES];
    struct table_case h = {.kernel = kernel,
                           .number = number,
                           .sources = sig->nsrc,
                           .results = sig->ndst,
                           .measure = c->measure,
                           .says = c->says,
                           .bound = c->bound};
    snprintf(h.text, sizeof h.text, "%s", c->text);
    for (unsigned k = 0; k < sig->ndst; k++)
        h.kind[k] = kind_of(sig->dst[k]);
    uint64_t s[ALU_MAX_SRC + 1] = {0}, shared[ALU_MAX_SRC] = {0};
    for (unsigned l = 0; l < TABLE_LANES; l++) {
        uint64_t d[ALU_MAX_DST + 1] = {0};
        long double exact = 0;
        make_sources(t, sig, l, s);
        for (unsigned k = 0; k < sig->nsrc; k++) {
            if (t->uniform[sig->ndst - sig->carry_out + k])
                s[k] = l == 0 ? (shared[k] = s[k]) : shared[k];
            source[k][l] = s[k];
        }
        if (c->measure == TABLE_EXACT) {
            if (!ref_run(&t->instr, s, d))
                return false;
        } else {
            double v = ref_approx(&t->instr, s, &exact) && !coarse(&t->instr, s[0])
                           ? (double)exact
                           : 0x1.23456789p-1000;
            memcpy(d, &v, 8); /* that one: anything goes */
        }
        for (unsigned k = 0; k < sig->ndst; k++)
            want[k][l] = d[k];
    }
    fwrite(&h, sizeof h, 1, f);
    fwrite(source, sizeof source[0], sig->nsrc, f);
    fwrite(want, sizeof want[0], sig->ndst, f);
    return true;
}

int main(int argc, char **argv)
{
    FILE *ptx = argc > 2 ? fopen(argv[1], "w") : NULL,
         *bin = argc > 2 ? fopen(argv[2], "wb") : NULL;
    struct table_header h = {TABLE_MAGIC, 0};
    if (ptx == NULL || bin == NULL)
        return 1;
    fprintf(ptx, ".version 8.8\n.target sm_90a\n.address_size 64\n");
    fwrite(&h, sizeof h, 1, bin);
    for (size_t n = 0; n < WEIR_COUNT(cases); n++) {
        struct text_instr t;
        struct alu_sig sig;
        if (!text_read(cases[n].text, &t) || !alu_signature(&t.instr, &sig))
            return 1;
        if (text_beyond_gpu(&t.instr))
            continue;
        unsigned kernel = h.cases / TABLE_GROUP, number = h.cases % TABLE_GROUP;
        if (!write_data(bin, &cases[n], &t, &sig, kernel, number))
            continue;
        if (number == 0)
            fprintf(
                ptx,
                "%s.visible .entry case_%u(.param .u64 in, .param .u64 out)\n{\n"
                " .reg .b64 %%in, %%out; .reg .b32 %%thread; .reg .b64 %%at;\n"
                " ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; mov.u32 %%thread, %%tid.x;\n"
                " mul.wide.u32 %%at, %%thread, 8; add.s64 %%in, %%in, %%at; add.s64 %%out, %%out, "
                "%%at;\n",
                kernel ? "ret;\n}\n" : "", kernel);
        write_case(ptx, &cases[n], &t, &sig, number);
        h.cases++;
    }
    fprintf(ptx, "ret;\n}\n");
    rewind(bin);
    fwrite(&h, sizeof h, 1, bin);
    return fclose(ptx) != 0 || fclose(bin) != 0;
}
