/* coverage_forms: which forms of which PTX instructions the compiler takes.
 *
 * For every line of src/ptx/forms.def an instruction is written out with each of its modifiers,
 * types, state spaces and optional operands, parsed, and given to the compiler's own check. What
 * comes out is a line per opcode, tab-separated, that tools/coverage/coverage.py puts into
 * docs/coverage.md:
 *
 *   family  opcode  meaning  all|some|none  what is refused, separated by "; "
 *
 * With --list it prints each instruction that is taken, with its types (key.h), a line each.
 * With --compile everything that the check accepts is compiled as well, and what then fails is
 * printed instead: an instruction must be refused when its module is loaded, never later (K3). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/plugin.h"
#include "key.h"
#include "ptx/forms.h"

enum { MAX_DIMS = 32, MAX_CHOICES = 160, MAX_PRODUCT = 500, MAX_NAMES = 64 };

/* One thing that can be chosen when a form is written out. */
enum dim_kind { DIM_TYPE, DIM_SPACE, DIM_MOD, DIM_OPERAND };

struct dim {
    enum dim_kind kind;
    int index;                  /* of the type, space, group or operand in the form */
    int count;                  /* choices */
    int16_t value[MAX_CHOICES]; /* enumerator, or -1: not written */
    uint32_t parsed[MAX_CHOICES], accepted[MAX_CHOICES];
    char why[MAX_CHOICES][160]; /* the compiler's first words against it */
};

struct form {
    const struct ptx_form *form;
    struct dim dims[MAX_DIMS];
    int ndims;
    int choice[MAX_DIMS]; /* the combination at hand */
    int list;             /* registers in each {...} of a matrix instruction */
    uint32_t parsed, accepted;
    char refusal[160]; /* the first one */
};

/* What an opcode's forms add up to. */
struct verdict {
    char *names[MAX_NAMES]; /* what is refused */
    int nnames;
    uint32_t parsed, accepted;
};

static const struct jit_plugin *compiler;
static bool forms_compile; /* --compile */
static bool list_taken;    /* --list */
static struct {
    char **items;
    size_t count, cap;
} forms_listed;
static int failures; /* accepted but not compiled */
static int forms_compiled;

/* ---- writing an instruction ---- */

static int forms_chosen(const struct form *f, enum dim_kind kind, int index)
{
    for (int d = 0; d < f->ndims; d++)
        if (f->dims[d].kind == kind && f->dims[d].index == index)
            return f->dims[d].value[f->choice[d]];
    return -1;
}

static bool has_mod(const struct form *f, enum ptx_mod mod)
{
    for (int g = 0; g < f->form->ngroups; g++)
        if (forms_chosen(f, DIM_MOD, g) == (int)mod)
            return true;
    return false;
}

/* The type of an operand, as the form's table gives it. */
static enum ptx_type operand_type(const struct form *f, const struct ptx_form_operand *o)
{
    if (o->index < 0)
        return (enum ptx_type)o->type;
    int slot = 0;
    for (int t = 0; t < f->form->ntypes; t++) {
        int type = forms_chosen(f, DIM_TYPE, t);
        if (type >= 0 && slot++ == o->index)
            return (enum ptx_type)type;
    }
    return PTX_NONE;
}

static void forms_reg(struct strbuf *out, unsigned bits, int number)
{
    const char *name = bits == 1    ? "p"
                       : bits <= 8  ? "a"
                       : bits <= 16 ? "h"
                       : bits <= 32 ? "r"
                       : bits <= 64 ? "q"
                                    : "x";
    sb_printf(out, "%%%s%d", name, number);
}

static void forms_list(struct strbuf *out, unsigned bits, int count, int *number)
{
    sb_printf(out, "{");
    for (int k = 0; k < count; k++) {
        sb_printf(out, k ? ", " : "");
        forms_reg(out, bits, (*number)++);
    }
    sb_printf(out, "}");
}

static int forms_vector(const struct form *f)
{
    return has_mod(f, PTX_M_v2) ? 2 : has_mod(f, PTX_M_v4) ? 4 : has_mod(f, PTX_M_v8) ? 8 : 1;
}

/* How many coordinates the geometry takes. */
static int forms_coordinates(const struct form *f)
{
    static const struct {
        enum ptx_mod mod;
        int count;
    } rows[] = {
        {PTX_M__1d, 1},   {PTX_M__2d, 2},  {PTX_M_a1d, 2},   {PTX_M__3d, 4},
        {PTX_M_a2d, 4},   {PTX_M_cube, 4}, {PTX_M_acube, 4}, {PTX_M__2dms, 4},
        {PTX_M_a2dms, 4}, {PTX_M__4d, 4},  {PTX_M__5d, 5},
    };
    if (has_mod(f, PTX_M_tile__gather4) || has_mod(f, PTX_M_tile__scatter4))
        return 5; /* one of columns and four of rows */
    for (size_t k = 0; k < WEIR_COUNT(rows); k++)
        if (has_mod(f, rows[k].mod))
            return rows[k].mod == PTX_M__3d && f->form->op == PTX_OP_cp ? 3 : rows[k].count;
    return 1;
}

static void forms_memory(struct strbuf *out, const struct form *f, int nth)
{
    int space = f->form->nspaces == 0
                    ? -1
                    : forms_chosen(f, DIM_SPACE, f->form->nspaces == 2 && nth < 2 ? nth : 0);
    switch (space) {
    case PTX_SPACE_GLOBAL: sb_printf(out, "[g_]"); break;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: sb_printf(out, "[s_]"); break;
    case PTX_SPACE_LOCAL: sb_printf(out, "[l_]"); break;
    case PTX_SPACE_CONST: sb_printf(out, "[c_]"); break;
    case PTX_SPACE_PARAM: sb_printf(out, f->form->op == PTX_OP_st ? "[a_]" : "[p_]"); break;
    default: sb_printf(out, "[%%q1]"); break;
    }
}

/* Columns of a warp group's product; 0: none such. */
static int forms_columns(const struct form *f)
{
    unsigned columns = 0;
    for (int g = 0; g < f->form->ngroups && f->form->op == PTX_OP_wgmma; g++)
        if (forms_chosen(f, DIM_MOD, g) >= 0 &&
            sscanf(ptx_mod_name((enum ptx_mod)forms_chosen(f, DIM_MOD, g)), "m64n%u", &columns) ==
                1)
            return (int)columns;
    return 0;
}

/* A matrix product of small elements or with scales (mma's .kind). */
static bool has_kind(const struct form *f)
{
    return has_mod(f, PTX_M_kind__f8f6f4) || has_mod(f, PTX_M_kind__mxf8f6f4) ||
           has_mod(f, PTX_M_kind__mxf4) || has_mod(f, PTX_M_kind__mxf4nvf4);
}

/* Operand q of the form as text; false when the form leaves it out here. */
static bool forms_operand(struct strbuf *out, const struct form *f, int q, int *number, int *nmem)
{
    const struct ptx_form_operand *o = &f->form->operands[q];
    enum ptx_type type = operand_type(f, o);
    unsigned bits = type == PTX_NONE ? 32 : ptx_type_bits(type);
    if (o->wide)
        bits *= 2;
    switch (o->kind) {
    case 'v':
    case 'V':
    case 'W': {
        int n = forms_vector(f);
        if (n > 1)
            forms_list(out, bits, n, number);
        else
            forms_reg(out, bits, (*number)++);
        return true;
    }
    case 'k':
    case 'K': forms_list(out, bits / 2, 2, number); return true;
    case 'g':
    case 'G': {
        if (f->form->op == PTX_OP_cp) { /* im2col: an offset for each axis of an image, or two */
            bool wide = has_mod(f, PTX_M_im2col__w) || has_mod(f, PTX_M_im2col__w__128);
            forms_list(out, bits, wide ? 2 : forms_coordinates(f) - 2, number);
            return true;
        }
        if (f->form->op == PTX_OP_wgmma && o->kind == 'g') {
            int halves = forms_chosen(f, DIM_TYPE, 0) == PTX_F16 ? 2 : 1;
            forms_list(out, 32, forms_columns(f) / 2 / halves, number);
            return true;
        }
        if (f->form->op == PTX_OP_wgmma) { /* the descriptor of A */
            forms_reg(out, 64, (*number)++ % 48);
            return true;
        }
        if (has_kind(f)) { /* of D, A, B, C; then {byte, thread} of scales */
            bool sparse = has_mod(f, PTX_M_sp__ordered_metadata);
            int sums = forms_chosen(f, DIM_TYPE, 0) == PTX_F16 ? 2 : 4;
            if (q > 3)
                sb_printf(out, "{0, 0}");
            else
                forms_list(out, 32, q == 1 ? 4 : q == 2 ? (sparse ? 4 : 2) : sums, number);
            return true;
        }
        bool f64 = f->form->ntypes > 0 && forms_chosen(f, DIM_TYPE, 0) == PTX_F64;
        forms_list(out, type != PTX_NONE ? bits : f64 ? 64 : 32, f->list, number);
        return true;
    }
    case 'p':
    case 'q': forms_reg(out, 1, (*number)++ % 16); return true;
    case 'm': forms_memory(out, f, (*nmem)++); return true;
    case 't': {
        int n = forms_coordinates(f);
        ++*nmem;
        sb_printf(out, "[%%q1, ");
        forms_list(out, 32, n, number);
        sb_printf(out, "]");
        return true;
    }
    case 'h': sb_printf(out, "[%%q1]"); return true;
    case 'i':
        sb_printf(out, "%s",
                  f->form->op == PTX_OP_cp          ? "16"
                  : has_mod(f, PTX_M_cp_fenceproxy) ? "128"
                  : f->form->op == PTX_OP_tensormap ? "0"
                  : f->form->op == PTX_OP_st        ? "0"
                  : has_kind(f)                     ? "0"
                                                    : "1");
        return true;
    case 'l': sb_printf(out, "L0"); return true;
    case 'L': sb_printf(out, "T0"); return true;
    case 'o': { /* what tex.level and tex.grad need; nothing else here takes more */
        int nth = 0;
        for (int k = 0; k < q; k++)
            nth += f->form->operands[k].kind == 'o';
        if (has_mod(f, PTX_M_level) && nth == 0)
            forms_reg(out, 32, (*number)++);
        else if (has_mod(f, PTX_M_grad) && nth < 2)
            forms_list(out, 32, forms_coordinates(f), number);
        else
            return false;
        return true;
    }
    case 'x':
    case 'z':
    default:
        if (f->form->op == PTX_OP_bar || f->form->op == PTX_OP_barrier) {
            if (o->kind == 's' && !has_mod(f, PTX_M_warp)) { /* barrier 1, 32 threads */
                sb_printf(out, q == 0 || !o->optional ? "1" : "32");
                return true;
            }
        }
        forms_reg(out, type == PTX_PRED ? 1 : bits, (*number)++ % 48);
        if (o->kind == 'Y' && f->form->op >= PTX_OP_vabsdiff && f->form->op <= PTX_OP_vsub4) {
            const char *op = ptx_op_name(f->form->op);
            char last = op[strlen(op) - 1];
            sb_printf(out, last == '2' ? ".h10" : last == '4' ? ".b3210" : ".b0");
        }
        return true;
    }
}

/* The instruction's name with all suffixes. */
static void forms_name(struct strbuf *out, const struct form *f)
{
    sb_printf(out, "%s", ptx_op_name(f->form->op));
    for (int g = 0; g < f->form->ngroups; g++)
        if (forms_chosen(f, DIM_MOD, g) >= 0)
            sb_printf(out, ".%s", ptx_mod_name((enum ptx_mod)forms_chosen(f, DIM_MOD, g)));
    for (int s = 0; s < f->form->nspaces; s++)
        if (forms_chosen(f, DIM_SPACE, s) >= 0)
            sb_printf(out, ".%s", ptx_space_name((enum ptx_space)forms_chosen(f, DIM_SPACE, s)));
    for (int t = 0; t < f->form->ntypes; t++)
        if (forms_chosen(f, DIM_TYPE, t) >= 0)
            sb_printf(out, ".%s", ptx_type_name((enum ptx_type)forms_chosen(f, DIM_TYPE, t)));
}

/* A target that has the form. */
static const char *forms_target(const struct form *f)
{
    switch (f->form->target) {
    case PTX_TARGET_100:
    case PTX_TARGET_100AF:
    case PTX_TARGET_10XA:
    case PTX_TARGET_10XAF: return "sm_103a";
    case PTX_TARGET_12XA:
    case PTX_TARGET_12XAF: return "sm_120a";
    default: return "sm_90a";
    }
}

static void forms_write(struct strbuf *out, const struct form *f)
{
    int number = 2, nmem = 0;
    bool first = true;
    sb_printf(out,
              ".version 9.0\n.target %s\n.address_size 64\n"
              ".global .align 16 .b8 g_[64];\n.const .align 16 .b8 c_[64];\n"
              ".func f_() { ret; }\n.func f1_(.param .align 16 .b8 x[64]) { ret; }\n"
              ".visible .entry k(.param .align 16 .b8 p_[64])\n{\n"
              ".reg .pred %%p<16>;\n.reg .b8 %%a<48>;\n.reg .b16 %%h<48>;\n.reg .b32 %%r<48>;\n"
              ".reg .b64 %%q<48>;\n.reg .b128 %%x<48>;\n"
              ".shared .align 16 .b8 s_[64];\n.local .align 16 .b8 l_[64];\n"
              ".param .align 16 .b8 a_[64];\nmov.u64 %%q1, g_;\n",
              forms_target(f));
    if (f->form->op == PTX_OP_brx)
        sb_printf(out, "T0: .branchtargets L0;\n");
    forms_name(out, f);
    if (f->form->op == PTX_OP_call)
        sb_printf(out, " f_");
    for (int q = 0; q < f->form->noperands; q++) {
        const struct ptx_form_operand *o = &f->form->operands[q];
        if (o->optional && o->kind != 'o' && forms_chosen(f, DIM_OPERAND, q) < 0)
            continue;
        struct strbuf text = {0};
        if (forms_operand(&text, f, q, &number, &nmem))
            sb_printf(out, "%s%s", first ? " " : o->bar ? "|" : ", ", text.items);
        first = false;
        sb_free(&text);
    }
    sb_printf(out, ";\nL0:\n");
    if (f->form->op == PTX_OP_st)
        sb_printf(out, "call f1_, (a_);\n");
    sb_printf(out, "ret;\n}\n");
}

/* ---- asking ---- */

static void compile_one(const struct form *f, const struct ptx_module *m)
{
    struct jit_options options = {.ntid = {32, 1, 1}};
    struct jit_object object = {0};
    struct diag d = {0};
    forms_compiled++;
    if (compiler->compile(ptx_find_func(m, "k"), &options, &object, &d)) {
        free(object.data);
        return;
    }
    struct strbuf name = {0};
    forms_name(&name, f);
    printf("accepted but not compiled: %s: %s\n", name.items, d.text);
    sb_free(&name);
    failures++;
}

/* Prints the instruction's key if it has not been printed yet. */
static void list_once(const struct form *f, const struct ptx_module *m)
{
    const struct ptx_func *k = ptx_find_func(m, "k");
    const struct ptx_instr *i = NULL;
    for (int n = 0; n < k->ninstrs; n++)
        if (k->instrs[n].op == f->form->op && (f->form->op != PTX_OP_mov || n > 0) && i == NULL)
            i = &k->instrs[n];
    struct strbuf text = {0};
    if (i == NULL)
        return;
    key_write(i, &text);
    for (size_t n = 0; n < forms_listed.count; n++)
        if (strcmp(forms_listed.items[n], text.items) == 0) {
            sb_free(&text);
            return;
        }
    printf("%s\n", text.items);
    vec_push(&forms_listed, text.items);
}

enum answer { NOT_PTX, REFUSED, ACCEPTED };

static enum answer ask_once(const struct form *f, struct diag *d)
{
    struct strbuf text = {0};
    forms_write(&text, f);
    struct ptx_module *m = ptx_parse(text.items, text.count, d);
    enum answer answer = m == NULL ? NOT_PTX : compiler->check(m, d) ? ACCEPTED : REFUSED;
    if (getenv("COVERAGE_TRACE") != NULL && answer == NOT_PTX)
        fprintf(stderr, "%s\n%s\n", d->text, text.items);
    if (answer == ACCEPTED && list_taken)
        list_once(f, m);
    if (answer == ACCEPTED && forms_compile) {
        bool news = false; /* each choice of each form once */
        for (int k = 0; k < f->ndims; k++)
            news |= f->dims[k].accepted[f->choice[k]] == 0;
        if (news || f->accepted == 0)
            compile_one(f, m);
    }
    if (m != NULL)
        ptx_free(m);
    sb_free(&text);
    return answer;
}

/* As ask_once; with more registers in the lists of matrix instructions when one is not taken. */
static enum answer ask(struct form *f, struct diag *d)
{
    bool lists = false;
    for (int q = 0; q < f->form->noperands; q++)
        lists |= f->form->operands[q].kind == 'g' || f->form->operands[q].kind == 'G';
    f->list = 1;
    enum answer best = ask_once(f, d);
    while (lists && best != ACCEPTED && f->list < 8) {
        struct diag other = {0};
        f->list *= 2;
        enum answer answer = ask_once(f, &other);
        if (answer > best) {
            best = answer;
            *d = other;
        }
    }
    return best;
}

static void try(struct form *f)
{
    struct diag d = {0};
    enum answer answer = ask(f, &d);
    if (answer == NOT_PTX)
        return;
    f->parsed++;
    f->accepted += answer == ACCEPTED;
    if (answer == REFUSED &&
        f->refusal[0] == 0) { /* without the location, which is of no interest */
        const char *where = strstr(d.text, " (in ");
        int length = where != NULL && where - d.text < 150 ? (int)(where - d.text) : 150;
        snprintf(f->refusal, sizeof f->refusal, "%.*s", length, d.text);
    }
    for (int k = 0; k < f->ndims; k++) {
        struct dim *dim = &f->dims[k];
        int c = f->choice[k];
        dim->parsed[c]++;
        dim->accepted[c] += answer == ACCEPTED;
        if (answer == REFUSED && dim->why[c][0] == 0)
            snprintf(dim->why[c], sizeof dim->why[c], "%.150s", d.text);
    }
}

/* ---- the combinations of a form ---- */

static struct dim *add_dim(struct form *f, enum dim_kind kind, int index, bool optional)
{
    if (f->ndims == MAX_DIMS)
        abort();
    struct dim *dim = &f->dims[f->ndims++];
    dim->kind = kind;
    dim->index = index;
    if (optional)
        dim->value[dim->count++] = -1;
    return dim;
}

static void forms_open(struct form *f, const struct ptx_form *form)
{
    f->form = form;
    for (int t = 0; t < form->ntypes; t++) {
        struct dim *dim = add_dim(f, DIM_TYPE, t, form->type_optional[t]);
        for (int v = 0; v < 64; v++)
            if (form->types[t] >> v & 1)
                dim->value[dim->count++] = (int16_t)v;
    }
    for (int s = 0; s < form->nspaces; s++) {
        struct dim *dim = add_dim(f, DIM_SPACE, s, form->space_optional[s]);
        for (int v = 0; v < 16; v++)
            if (form->spaces[s] >> v & 1)
                dim->value[dim->count++] = (int16_t)v;
    }
    for (int g = 0; g < form->ngroups; g++) {
        struct dim *dim = add_dim(f, DIM_MOD, g, form->groups[g].optional);
        for (int v = 1; v < PTX_M_COUNT && dim->count < MAX_CHOICES; v++)
            if (form->groups[g].set[v / 64] >> v % 64 & 1)
                dim->value[dim->count++] = (int16_t)v;
    }
    for (int q = 0; q < form->noperands; q++)
        if (form->operands[q].optional && form->operands[q].kind != 'o')
            add_dim(f, DIM_OPERAND, q, true)->value[1] = 1, f->dims[f->ndims - 1].count = 2;
}

/* All combinations of the dimensions from k on. */
static void forms_all(struct form *f, int k)
{
    if (k == f->ndims) {
        try(f);
        return;
    }
    for (f->choice[k] = 0; f->choice[k] < f->dims[k].count; f->choice[k]++)
        forms_all(f, k + 1);
    f->choice[k] = 0;
}

/* Too many to try all: every combination of types, with one other choice changed at a time. */
static void some(struct form *f, int k)
{
    if (k < f->ndims && f->dims[k].kind == DIM_TYPE) {
        for (f->choice[k] = 0; f->choice[k] < f->dims[k].count; f->choice[k]++)
            some(f, k + 1);
        f->choice[k] = 0;
        return;
    }
    try(f);
    for (int n = k; n < f->ndims; n++) {
        for (f->choice[n] = 1; f->choice[n] < f->dims[n].count; f->choice[n]++)
            try(f);
        f->choice[n] = 0;
    }
}

/* ---- what it adds up to ---- */

static void add_name(struct verdict *v, char *name)
{
    for (int n = 0; n < v->nnames; n++)
        if (strcmp(v->names[n], name) == 0) {
            free(name);
            return;
        }
    if (v->nnames < MAX_NAMES)
        v->names[v->nnames++] = name;
    else
        free(name);
}

/* A form in short: its opcode and what it cannot be written without. */
static char *form_name(const struct ptx_form *form)
{
    struct strbuf s = {0};
    sb_printf(&s, "`%s", ptx_op_name(form->op));
    for (int g = 0; g < form->ngroups; g++)
        if (!form->groups[g].optional)
            sb_printf(&s, ".%.*s", form->groups[g].length, form->groups[g].text);
    sb_printf(&s, "`");
    for (char *c = s.items; *c; c++) /* a bar would end the table's cell */
        *c = *c == '|' ? '/' : *c;
    return s.items;
}

static void judge(struct verdict *v, struct form *f)
{
    v->parsed += f->parsed;
    v->accepted += f->accepted;
    if (f->parsed == 0 || f->accepted == f->parsed)
        return;
    if (f->accepted == 0) {
        add_name(v, form_name(f->form));
        return;
    }
    bool explained = false;
    for (int k = 0; k < f->ndims; k++) {
        struct dim *dim = &f->dims[k];
        for (int c = 0; c < dim->count; c++) {
            if (dim->parsed[c] == 0 || dim->accepted[c] > 0)
                continue;
            explained = true;
            int value = dim->value[c];
            if (value < 0 || dim->kind == DIM_OPERAND)
                add_name(v, xstrdup(dim->why[c]));
            else
                add_name(v,
                         xprintf("`.%s`", dim->kind == DIM_MOD ? ptx_mod_name((enum ptx_mod)value)
                                          : dim->kind == DIM_TYPE
                                              ? ptx_type_name((enum ptx_type)value)
                                              : ptx_space_name((enum ptx_space)value)));
        }
    }
    if (!explained)
        add_name(v, xprintf("some combinations, the first: %s", f->refusal));
}

static void opcode(enum ptx_op op, const char *family, const char *summary)
{
    int count;
    const struct ptx_form *forms = ptx_forms(op, &count);
    struct verdict v = {0};
    struct form *f = xmalloc(sizeof *f);
    for (int n = 0; n < count; n++) {
        memset(f, 0, sizeof *f);
        forms_open(f, &forms[n]);
        double product = 1;
        for (int k = 0; k < f->ndims; k++)
            product *= f->dims[k].count;
        /* Compiling takes a thousand times as long as asking: not every combination then. */
        if (product <= MAX_PRODUCT && !forms_compile)
            forms_all(f, 0);
        else
            some(f, 0);
        if (f->parsed == 0) {
            struct strbuf text = {0};
            memset(f->choice, 0, sizeof f->choice);
            forms_write(&text, f);
            fprintf(stderr, "coverage_forms: no instruction could be written for %s, e.g.\n%s",
                    ptx_op_name(op), text.items);
            sb_free(&text);
            failures++;
        }
        judge(&v, f);
    }
    free(f);
    if (!forms_compile && !list_taken) {
        const char *state = v.accepted == v.parsed ? "all" : v.accepted == 0 ? "none" : "some";
        printf("%s\t%s\t%s\t%s\t", family, ptx_op_name(op), summary, state);
        for (int n = 0; n < v.nnames && v.accepted > 0; n++)
            printf("%s%s", n ? "; " : "", v.names[n]);
        printf("\n");
    }
    for (int n = 0; n < v.nnames; n++)
        free(v.names[n]);
}

int main(int argc, char **argv)
{
    forms_compile = argc > 1 && strcmp(argv[1], "--compile") == 0;
    list_taken = argc > 1 && strcmp(argv[1], "--list") == 0;
    compiler = weir_jit_plugin();
#define PTX_OPCODE(name, family, summary) opcode(PTX_OP_##name, #family, summary);
#include "ptx/ops.def"
#undef PTX_OPCODE
    if (forms_compile)
        printf("%d instructions compiled, %d failed\n", forms_compiled, failures);
    return failures != 0;
}
