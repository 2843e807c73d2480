/* Finishing the PTX of launching kernels; see launch_ptx.h. */
#include "weircc/device/ptx/launch_ptx.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/ptx.h"
#include "weircc/source/launches.h"

/* ---- pointers that a launch passes ---- */

/* What a register holds as far as its definitions tell. */
enum pointer {
    POINTER_UNSEEN, /* no definition was looked at yet */
    POINTER_OTHER,
    POINTER_LOCAL, /* every definition gives the address of a local variable */
    POINTER_SHARED,
};

static enum pointer join(enum pointer a, enum pointer b)
{
    if (a == POINTER_UNSEEN || b == POINTER_UNSEEN)
        return a == POINTER_UNSEEN ? b : a;
    return a == b ? a : POINTER_OTHER;
}

static bool is_private(enum pointer p) { return p == POINTER_LOCAL || p == POINTER_SHARED; }

static enum pointer of_space(int space)
{
    return space == PTX_SPACE_LOCAL    ? POINTER_LOCAL
           : space == PTX_SPACE_SHARED ? POINTER_SHARED
                                       : POINTER_OTHER;
}

static enum pointer of_operand(const enum pointer *regs, const struct ptx_operand *o)
{
    if (o->kind == PTX_OPR_REG)
        return regs[o->reg];
    if (o->kind == PTX_OPR_SYM && o->var != NULL)
        return of_space(o->var->space);
    return POINTER_OTHER;
}

/* What the instruction's first operand gets. */
static enum pointer of_result(const enum pointer *regs, const struct ptx_instr *i)
{
    const struct ptx_operand *o = i->operands;
    switch (i->op) {
    case PTX_OP_mov: return of_operand(regs, &o[1]);
    case PTX_OP_cvta: return ptx_has(i, PTX_M_to) ? POINTER_OTHER : of_space(i->spaces[0]);
    case PTX_OP_selp: return join(of_operand(regs, &o[1]), of_operand(regs, &o[2]));
    case PTX_OP_add:
    case PTX_OP_sub: {
        enum pointer a = of_operand(regs, &o[1]), b = of_operand(regs, &o[2]);
        return is_private(a) || a == POINTER_UNSEEN ? a : is_private(b) ? b : join(a, b);
    }
    default: return POINTER_OTHER;
    }
}

/* The registers of a function: from "nothing seen" upwards until nothing changes. */
static enum pointer *read_registers(const struct ptx_func *f)
{
    enum pointer *regs = xcalloc((size_t)f->nregs + 1, sizeof *regs);
    for (bool changed = true; changed;) {
        changed = false;
        for (int k = 0; k < f->ninstrs; k++) {
            const struct ptx_instr *i = &f->instrs[k];
            if (i->noperands < 2 || i->operands[0].kind != PTX_OPR_REG)
                continue;
            enum pointer *to = &regs[i->operands[0].reg], now = join(*to, of_result(regs, i));
            changed = changed || now != *to;
            *to = now;
        }
    }
    return regs;
}

/* A mangled name as the source has it, for the simple kinds of names; others stay as they are. */
static char *plain_name(const char *name)
{
    const char *p = name;
    if (strncmp(p, "_Z", 2) != 0)
        return xstrdup(name);
    p += 2;
    bool nested = *p == 'N';
    p += nested;
    p += *p == 'L';
    struct strbuf sb = {0};
    sb_append(&sb, "", 0);
    while (isdigit((unsigned char)*p) && (nested || sb.count == 0)) {
        char *end;
        long n = strtol(p, &end, 10);
        if (n > (long)strlen(end))
            break;
        bool anonymous = strncmp(end, "_GLOBAL__N_1", 12) == 0;
        sb_printf(&sb, "%s%.*s", sb.count > 0 ? "::" : "", anonymous ? 0 : (int)n, end);
        p = end + n;
    }
    return sb.count > 0 ? sb.items : xstrdup(name);
}

/* A file as the user would name it: relative where it is below the working directory. */
static const char *short_path(const char *path)
{
    char cwd[PATH_MAX];
    if (getcwd(cwd, sizeof cwd) == NULL)
        return path;
    size_t n = strlen(cwd);
    return strncmp(path, cwd, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void warn(const struct ptx_func *f, const struct ptx_instr *call, int argument,
                 enum pointer kind, struct strbuf *warnings)
{
    const struct ptx_module *m = f->module;
    const char *file =
        call->loc_file > 0 && call->loc_file < m->nfiles ? m->files[call->loc_file] : NULL;
    char *kernel = plain_name(call->call->func != NULL ? call->call->func->name : "");
    if (file != NULL)
        sb_printf(warnings, "%s:%d:%d: ", short_path(file), call->loc_line, call->loc_column);
    sb_printf(warnings,
              "warning: a pointer to %s memory is passed to the launch of a kernel%s%s%s "
              "(argument %d): the child grid cannot use it\n",
              kind == POINTER_LOCAL ? "local" : "shared", *kernel != '\0' ? ", '" : "", kernel,
              *kernel != '\0' ? "'" : "", argument + 1);
    free(kernel);
}

/* What was stored into the parameter areas of the call at index k. */
static void check_arguments(const struct ptx_func *f, int k, const enum pointer *regs,
                            struct strbuf *warnings)
{
    const struct ptx_call *call = f->instrs[k].call;
    for (int a = 0; a < call->nargs; a++) {
        if (call->args[a].kind == PTX_OPR_REG) {
            if (is_private(regs[call->args[a].reg]))
                warn(f, &f->instrs[k], a, regs[call->args[a].reg], warnings);
            continue;
        }
        for (int j = k - 1; j >= 0 && f->instrs[j].op != PTX_OP_call; j--) {
            const struct ptx_instr *i = &f->instrs[j];
            if (i->op == PTX_OP_st && i->spaces[0] == PTX_SPACE_PARAM &&
                i->operands[0].kind == PTX_OPR_MEM && i->operands[0].var == call->args[a].var &&
                i->operands[1].kind == PTX_OPR_REG && is_private(regs[i->operands[1].reg]))
                warn(f, &f->instrs[k], a, regs[i->operands[1].reg], warnings);
        }
    }
}

static void check_function(const struct ptx_func *f, struct strbuf *warnings)
{
    bool configured = false;
    enum pointer *regs = NULL;
    for (int k = 0; k < f->ninstrs; k++) {
        const struct ptx_call *call = f->instrs[k].op == PTX_OP_call ? f->instrs[k].call : NULL;
        if (call == NULL)
            continue;
        const struct ptx_func *to = call->func;
        if (to != NULL ? to->is_entry || (configured && !to->has_body) : configured) {
            if (regs == NULL)
                regs = read_registers(f);
            check_arguments(f, k, regs, warnings);
        }
        configured = to != NULL && strcmp(to->name, "__weir_launch_configure") == 0;
    }
    free(regs);
}

/* ---- the names of static kernels ---- */

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* What clang appends to the names of static kernels: learnt from the one that launches_rewrite
 * added. NULL when it is not there. */
static const struct ptx_func *find_model(const struct ptx_module *m, const char **suffix)
{
    for (int i = 0; i < m->nfuncs; i++) {
        const char *at = strstr(m->funcs[i]->name, LAUNCH_STATIC_KERNEL "v");
        if (m->funcs[i]->is_entry && at != NULL) {
            *suffix = at + strlen(LAUNCH_STATIC_KERNEL "v");
            return m->funcs[i];
        }
    }
    return NULL;
}

struct edit {
    const struct ptx_module *m;
    const struct ptx_func *model; /* the kernel to leave out */
    const char *suffix;
    bool keep_lines;
    struct strbuf *out;
};

/* The static kernel of this name. */
static bool is_static_kernel(const struct edit *e, const char *name)
{
    const struct ptx_func *f = ptx_find_func(e->m, name);
    return f != NULL && f->is_entry && f->linkage == PTX_LINK_LOCAL;
}

/* Copies one line, with static kernels' names completed, and these made visible. */
static void edit_line(struct edit *e, const char *line, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t k = i;
        if (line[i] == '"') { /* a file name */
            for (k++; k < n && line[k] != '"'; k++)
                continue;
            k += k < n;
        } else {
            while (k < n && is_word(line[k]))
                k++;
        }
        if (k == i)
            k++;
        sb_append(e->out, line + i, k - i);
        if (is_word(line[i]) && k - i > 2) {
            char *name = xprintf("%.*s", (int)(k - i), line + i);
            if (is_static_kernel(e, name))
                sb_append(e->out, e->suffix, strlen(e->suffix));
            free(name);
        }
        i = k;
    }
}

static bool starts(const char *line, const char *word)
{
    line += strspn(line, " \t");
    return strncmp(line, word, strlen(word)) == 0;
}

static bool names_model(const struct edit *e, const char *line, size_t n)
{
    return memmem(line, n, e->model->name, strlen(e->model->name)) != NULL;
}

/* The line with which the kernel begins that is left out. */
static bool is_model(const struct edit *e, const char *line, size_t n)
{
    return e->model != NULL && names_model(e, line, n) &&
           (starts(line, ".visible .entry ") || starts(line, ".weak .entry "));
}

/* A line that is there for line directives alone. */
static bool is_for_lines(const char *line)
{
    static const char *const words[] = {".loc\t", ".file\t", ".section\t.debug_loc\t{\t}",
                                        "$L__tmp"};
    for (size_t i = 0; i < WEIR_COUNT(words); i++)
        if (starts(line, words[i]))
            return true;
    return false;
}

/* Copies an access of the stack by its generic address, %SP, as one by its local address, %SPL:
 * clang passes structs that way, and to the device it makes a great difference. False: it is none.
 */
static bool edit_stack_access(struct edit *e, const char *line, size_t n)
{
    if (!starts(line, "ld.") && !starts(line, "st."))
        return false;
    const char *type = strchr(line, '.') + 1;
    const char *base = memmem(line, n, "[%SP", 4);
    if (base == NULL || (base[4] != '+' && base[4] != ']') || strchr("usfbv", *type) == NULL ||
        !isdigit((unsigned char)type[1]))
        return false;
    sb_printf(e->out, "%.*slocal.%.*s[%%SPL%.*s", (int)(type - line), line, (int)(base - type),
              type, (int)(line + n - base - 4), base + 4);
    return true;
}

static void edit_text(struct edit *e, const char *ptx)
{
    bool leaving_out = false;
    for (const char *line = ptx, *next; *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        next = line + n;
        leaving_out = leaving_out || is_model(e, line, n);
        if (leaving_out) { /* its declaration ends with a line ";", its body with "}" */
            leaving_out = *line != '}' && *line != ';';
            continue;
        }
        if (is_for_lines(line) && !e->keep_lines)
            continue;
        if (e->model != NULL && starts(line, "//") && names_model(e, line, n))
            continue;
        if (starts(line, ".entry "))
            sb_append(e->out, ".visible ", 9);
        if (!edit_stack_access(e, line, n))
            edit_line(e, line, n);
    }
}

bool launch_ptx_finish(const char *ptx, bool keep_lines, struct strbuf *out,
                       struct strbuf *warnings, struct diag *d)
{
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), d);
    if (m == NULL)
        return false;
    struct edit e = {.m = m, .suffix = "", .keep_lines = keep_lines, .out = out};
    e.model = find_model(m, &e.suffix);
    sb_append(out, "", 0);
    for (int i = 0; i < m->nfuncs; i++)
        check_function(m->funcs[i], warnings);
    edit_text(&e, ptx);
    ptx_free(m);
    return true;
}
