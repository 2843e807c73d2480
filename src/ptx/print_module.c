/* print_module.c: a module as text. Functions come out without inner blocks: the parser gave every
 * name in a function one spelling of its own. */
#include "base/reserve.h"
#include "ptx/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

static void print_module_linkage(unsigned linkage, struct strbuf *out)
{
    static const char *const words[] = {"", ".visible ", ".extern ", ".weak ", ".common "};
    sb_printf(out, "%s", words[linkage]);
}

static unsigned element_bytes(const struct ptx_var *v)
{
    return ptx_type_bits((enum ptx_type)v->type) / 8;
}

/* Space, alignment, type, name and dimension. */
static void declarator(const struct ptx_var *v, const char *name, struct strbuf *out)
{
    unsigned natural = element_bytes(v) * v->vec;
    uint64_t count = natural > 0 ? v->size / natural : 1;
    sb_printf(out, ".%s ", ptx_space_name((enum ptx_space)v->space));
    if (v->managed)
        sb_printf(out, ".attribute(.managed) ");
    if (v->align != natural && v->type != PTX_PRED)
        sb_printf(out, ".align %u ", v->align);
    if (v->vec > 1)
        sb_printf(out, ".v%d ", v->vec);
    sb_printf(out, ".%s ", ptx_type_name((enum ptx_type)v->type));
    if (v->ptr_space != PTX_SPACE_NONE) {
        sb_printf(out, ".ptr ");
        if (v->ptr_space != PTX_SPACE_GENERIC)
            sb_printf(out, ".%s ", ptx_space_name((enum ptx_space)v->ptr_space));
        if (v->ptr_align != 0)
            sb_printf(out, ".align %u ", v->ptr_align);
    }
    sb_printf(out, "%s", name);
    if (v->unsized)
        sb_append(out, "[]", 2);
    else if (count != 1)
        sb_printf(out, "[%llu]", (unsigned long long)count);
}

static void print_module_reloc(const struct ptx_reloc *r, struct strbuf *out)
{
    const char *name = r->var != NULL ? r->var->name : r->func->name;
    bool masked = r->bytes < 8;
    uint64_t mask = ((UINT64_C(1) << 8 * (r->bytes & 7)) - 1) << 8 * r->shift;
    if (masked)
        sb_printf(out, "0x%llx(", (unsigned long long)mask);
    sb_printf(out, r->generic ? "generic(%s)" : "%s", name);
    if (r->addend != 0)
        sb_printf(out, "+%lld", (long long)r->addend);
    if (masked)
        sb_append(out, ")", 1);
}

static void print_module_element(const struct ptx_var *v, uint64_t k, struct strbuf *out)
{
    unsigned bytes = element_bytes(v);
    uint64_t bits = 0, high = 0;
    memcpy(&bits, v->init + k * bytes, bytes < 8 ? bytes : 8);
    if (bytes == 16)
        memcpy(&high, v->init + k * bytes + 8, 8);
    if (v->type == PTX_F32)
        sb_printf(out, "0f%08X", (uint32_t)bits);
    else if (v->type == PTX_F64)
        sb_printf(out, "0d%016llX", (unsigned long long)bits);
    else if (high != 0)
        sb_printf(out, "%lld", (long long)bits);
    else
        sb_printf(out, bits < 10 ? "%llu" : "0x%llx", (unsigned long long)bits);
}

static void initializer(const struct ptx_var *v, struct strbuf *out)
{
    unsigned bytes = element_bytes(v);
    uint64_t count = v->size / bytes, last = 0;
    int next = 0;
    for (uint64_t k = v->size; k > 0 && last == 0; k--)
        if (v->init[k - 1] != 0)
            last = (k - 1) / bytes;
    for (int k = 0; k < v->nrelocs; k++)
        if (v->relocs[k].at / bytes > last)
            last = v->relocs[k].at / bytes;
    bool braces = count != 1;
    sb_printf(out, braces ? " = {" : " = ");
    for (uint64_t k = 0; k <= last; k++) {
        if (k > 0)
            sb_append(out, ",", 1);
        if (next < v->nrelocs && v->relocs[next].at == k * bytes)
            print_module_reloc(&v->relocs[next++], out);
        else
            print_module_element(v, k, out);
    }
    sb_printf(out, braces ? "}" : "");
}

static void print_module_variable(const struct ptx_var *v, const char *indent, struct strbuf *out)
{
    sb_printf(out, "%s", indent);
    print_module_linkage(v->linkage, out);
    declarator(v, v->name, out);
    if (v->init != NULL)
        initializer(v, out);
    sb_append(out, ";\n", 2);
}

/* ---- function headers ---- */

static void print_module_params(struct ptx_var *const *params, int n, bool anonymous,
                                struct strbuf *out)
{
    sb_append(out, "(", 1);
    for (int k = 0; k < n; k++) {
        sb_printf(out, "%s", k > 0 ? ", " : "");
        declarator(params[k], anonymous ? "_" : params[k]->name, out);
    }
    sb_append(out, ")", 1);
}

static void triple(const char *name, const uint32_t v[3], struct strbuf *out)
{
    if (v[0] != 0 || v[1] != 0 || v[2] != 0)
        sb_printf(out, "\n.%s %u, %u, %u", name, v[0], v[1], v[2]);
}

static void single(const char *name, uint32_t v, struct strbuf *out)
{
    if (v != 0)
        sb_printf(out, "\n.%s %u", name, v);
}

static void header(const struct ptx_func *f, struct strbuf *out)
{
    print_module_linkage(f->linkage, out);
    sb_printf(out, f->is_entry ? ".entry " : ".func ");
    if (f->nrets > 0) {
        print_module_params(f->rets, f->nrets, false, out);
        sb_append(out, " ", 1);
    }
    sb_printf(out, "%s", f->name);
    print_module_params(f->params, f->nparams, false, out);
    triple("maxntid", f->maxntid, out);
    triple("reqntid", f->reqntid, out);
    triple("reqnctapercluster", f->reqnctapercluster, out);
    single("minnctapersm", f->minnctapersm, out);
    single("maxnreg", f->maxnreg, out);
    single("maxclusterrank", f->maxclusterrank, out);
    if (f->explicit_cluster)
        sb_printf(out, "\n.explicitcluster");
    if (f->noreturn)
        sb_printf(out, "\n.noreturn");
    for (int n = 0; n < PTX_NPRAGMAS; n++)
        if (f->pragmas >> n & 1)
            sb_printf(out, "\n.pragma \"%s\";", ptx_pragma_name(n));
}

/* ---- registers ---- */

/* How many registers from `first` on are prefix0, prefix1 … of one type. */
static int32_t print_module_run(const struct ptx_func *f, int32_t first, size_t *prefix)
{
    const char *name = f->regs[first].name;
    size_t n = strlen(name);
    if (n < 2 || name[n - 1] != '0' || (name[n - 2] >= '0' && name[n - 2] <= '9'))
        return 1;
    *prefix = n - 1;
    int32_t k = 1;
    for (; first + k < f->nregs && f->regs[first + k].type == f->regs[first].type; k++) {
        const char *other = f->regs[first + k].name;
        char *end;
        if (strncmp(other, name, n - 1) != 0 || other[n - 1] < '1' || other[n - 1] > '9' ||
            strtol(other + n - 1, &end, 10) != k || *end != '\0')
            break;
    }
    return k;
}

static void print_module_registers(const struct ptx_func *f, struct strbuf *out)
{
    for (int32_t i = 0; i < f->nregs;) {
        const char *name = f->regs[i].name, *dot = strchr(name, '.');
        size_t prefix = 0;
        int32_t n = 1;
        if (ptx_func_has_param(f, i)) {
            i++;
            continue;
        }
        const char *type = ptx_type_name((enum ptx_type)f->regs[i].type);
        if (dot != NULL) { /* a vector's parts follow each other */
            size_t base = (size_t)(dot - name) + 1;
            while (i + n < f->nregs && n < 4 && strncmp(f->regs[i + n].name, name, base) == 0 &&
                   f->regs[i + n].name[base] != 'x')
                n++;
            sb_printf(out, "\t.reg .v%d .%s %.*s;\n", n, type, (int)(dot - name), name);
        } else if ((n = print_module_run(f, i, &prefix)) > 1)
            sb_printf(out, "\t.reg .%s %.*s<%d>;\n", type, (int)prefix, name, n);
        else
            sb_printf(out, "\t.reg .%s %s;\n", type, name);
        i += n;
    }
}

/* ---- bodies ---- */

static void prototype(const struct ptx_instr *i, int index, struct strbuf *out)
{
    const struct ptx_call *c = i->call;
    sb_printf(out, "\t$P_%d: ", index);
    if (c->proto == NULL) {
        sb_printf(out, ".calltargets ");
        for (int k = 0; k < c->ncandidates; k++)
            sb_printf(out, "%s%s", k > 0 ? ", " : "", c->candidates[k]->name);
    } else {
        sb_printf(out, ".callprototype ");
        if (c->proto->nrets > 0)
            print_module_params(c->proto->rets, c->proto->nrets, true, out);
        sb_printf(out, " _ ");
        print_module_params(c->proto->params, c->proto->nparams, true, out);
        if (c->proto->noreturn)
            sb_printf(out, " .noreturn");
    }
    sb_append(out, ";\n", 2);
}

/* A call site of inlined code, with the call sites that one was inlined at. Records
 * only ever point to earlier ones. */
static void print_module_inlined(const struct ptx_module *m, int32_t index, struct strbuf *out)
{
    const struct ptx_loc *at = &m->locs[index - 1];
    if (at->inlined_at == 0)
        return;
    const struct ptx_loc *outer = &m->locs[at->inlined_at - 1];
    print_module_inlined(m, at->inlined_at, out);
    sb_printf(out, "\t.loc %d %d %d, inlined_at %d %d %d\n", at->file, at->line, at->column,
              outer->file, outer->line, outer->column);
}

static void print_module_location(const struct ptx_func *f, const struct ptx_instr *i,
                                  struct strbuf *out)
{
    if (i->loc_inlined_at != 0)
        print_module_inlined(f->module, i->loc_inlined_at, out);
    sb_printf(out, "\t.loc %d %d %d", i->loc_file, i->loc_line, i->loc_column);
    if (i->loc_inlined_at != 0) {
        const struct ptx_loc *at = &f->module->locs[i->loc_inlined_at - 1];
        sb_printf(out, ", inlined_at %d %d %d", at->file, at->line, at->column);
    }
    sb_append(out, "\n", 1);
}

/* Marks the instructions that something jumps to. */
static bool *print_module_labels(const struct ptx_func *f)
{
    bool *labels = xcalloc((size_t)f->ninstrs + 1, sizeof *labels);
    for (int32_t n = 0; n < f->ninstrs; n++) {
        const struct ptx_instr *i = &f->instrs[n];
        for (int k = 0; k < i->noperands; k++)
            if (i->operands[k].kind == PTX_OPR_LABEL)
                labels[i->operands[k].target] = true;
        for (int32_t k = 0; i->targets != NULL && k < i->targets->count; k++)
            labels[i->targets->index[k]] = true;
    }
    return labels;
}

static void print_module_body(const struct ptx_func *f, struct strbuf *out)
{
    struct ptx_loc last = {0};
    bool *labels = print_module_labels(f);
    sb_append(out, "\n{\n", 3);
    print_module_registers(f, out);
    for (int32_t k = 0; k < f->nvars; k++)
        print_module_variable(f->vars[k], "\t", out);
    for (int32_t n = 0; n < f->ninstrs; n++) {
        const struct ptx_instr *i = &f->instrs[n];
        struct ptx_loc loc = {i->loc_file, i->loc_line, i->loc_column, i->loc_inlined_at};
        if (labels[n])
            sb_printf(out, "$L_%d:\n", n);
        if (memcmp(&loc, &last, sizeof loc) != 0)
            print_module_location(f, i, out);
        last = loc;
        if (i->call != NULL && i->call->reg >= 0)
            prototype(i, n, out);
        if (i->targets != NULL) {
            sb_printf(out, "\t$T_%d: .branchtargets ", n);
            for (int32_t k = 0; k < i->targets->count; k++)
                sb_printf(out, "%s$L_%d", k > 0 ? ", " : "", i->targets->index[k]);
            sb_append(out, ";\n", 2);
        }
        sb_append(out, "\t", 1);
        ptx_print_instr(f, i, out);
        sb_append(out, "\n", 1);
    }
    if (labels[f->ninstrs])
        sb_printf(out, "$L_%d:\n", f->ninstrs);
    sb_append(out, "}\n", 2);
    free(labels);
}

/* ---- the module ---- */

/* Does anything refer to a function before its definition? Then all are declared first. */
static bool wants_declarations(const struct ptx_module *m)
{
    for (int32_t k = 0; k < m->nvars; k++)
        for (int32_t r = 0; r < m->vars[k]->nrelocs; r++)
            if (m->vars[k]->relocs[r].func != NULL)
                return true;
    for (int32_t k = 0; k < m->nfuncs; k++)
        for (int32_t n = 0; n < m->funcs[k]->ninstrs; n++) {
            const struct ptx_instr *i = &m->funcs[k]->instrs[n];
            if (i->call != NULL && i->call->func != NULL && i->call->func->has_body &&
                i->call->func->line >= m->funcs[k]->line)
                return true;
            for (int o = 0; o < i->noperands; o++)
                if (i->operands[o].func != NULL)
                    return true;
        }
    return false;
}

void ptx_print(const struct ptx_module *m, struct strbuf *out)
{
    sb_printf(out, ".version %d.%d\n.target sm_%d", m->version_major, m->version_minor,
              m->target_sm);
    if (m->target_suffix != 0)
        sb_append(out, &m->target_suffix, 1);
    sb_printf(out, "%s\n.address_size %d\n\n", m->debug ? ", debug" : "", m->address_bits);
    for (int32_t k = 0; k < m->nfiles; k++)
        if (m->files[k] != NULL)
            sb_printf(out, ".file %d \"%s\"\n", k, m->files[k]);
    bool declared = wants_declarations(m);
    for (int32_t k = 0; declared && k < m->nfuncs; k++) {
        header(m->funcs[k], out);
        sb_append(out, ";\n", 2);
    }
    for (int32_t k = 0; k < m->nvars; k++)
        print_module_variable(m->vars[k], "", out);
    for (int32_t k = 0; k < m->nfuncs; k++) {
        if (declared && !m->funcs[k]->has_body)
            continue;
        header(m->funcs[k], out);
        if (m->funcs[k]->has_body)
            print_module_body(m->funcs[k], out);
        else
            sb_append(out, ";\n", 2);
    }
    for (int32_t k = 0; k < m->nfuncs; k++)
        if (m->funcs[k]->alias_of != NULL)
            sb_printf(out, ".alias %s, %s;\n", m->funcs[k]->name, m->funcs[k]->alias_of->name);
}

struct print_call {
    const struct ptx_module *m;
    struct strbuf *out;
};

static void print_module(void *arg)
{
    struct print_call *c = arg;
    ptx_print(c->m, c->out);
}

bool ptx_print_guarded(const struct ptx_module *m, struct strbuf *out)
{
    struct print_call call = {m, out};
    bool fine = memory_guarded(print_module, &call);
    if (!fine)
        sb_free(out);
    return fine;
}
