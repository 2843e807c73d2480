/* Listing what a host half holds; see host_records.h. */
#include "weircc/ccbin/host_records.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "runtime/program/offload.h"
#include "weircc/ccbin/host_text.h"
#include "weircc/objects/fatbin.h"
#include "weircc/files/files.h"

/* A kernel or variable of the PTX. */
struct symbol {
    char *host;                    /* its name on the host */
    const char *device;            /* its name in PTX */
    const struct ptx_func *kernel; /* or */
    const struct ptx_var *variable;
    bool defined;  /* the host half has it */
    bool shadow;   /* of a variable: it is the device's there, too; clang takes constants of the
                      host to the device by itself */
    char *key;     /* of a kernel: the name of its stub's variable */
    bool has_stub; /* the host half has that */
};

struct symbols {
    struct symbol *items;
    size_t count, cap;
};

/* ---- names ---- */

/* clang gives what is static in relocatable code a name of its own, <name>__static__<file>, and
 * kernels <name>__intern__<file>. */
static size_t plain_length(const char *name)
{
    static const char *const marks[] = {"__static__", "__intern__"};
    for (size_t i = 0; i < WEIR_COUNT(marks); i++) {
        const char *at = strstr(name, marks[i]);
        if (at != NULL && at != name)
            return (size_t)(at - name);
    }
    return strlen(name);
}

/* The mangled name of the variable in a kernel's stub. */
static char *key_of(const char *kernel)
{
    static const char key[] = HOST_TEXT_KEY;
    return strncmp(kernel, "_Z", 2) == 0
               ? xprintf("_ZZ%sE%zu%s", kernel + 2, sizeof key - 1, key)
               : xprintf("_ZZ%zu%sE%zu%s", strlen(kernel), kernel, sizeof key - 1, key);
}

/* The end of such a name. */
static bool is_key(const char *name, size_t n)
{
    char *end = xprintf("E%zu%s", sizeof HOST_TEXT_KEY - 1, HOST_TEXT_KEY);
    size_t m = strlen(end);
    bool is = n > m && memcmp(name + n - m, end, m) == 0;
    free(end);
    return is;
}

/* A texture or surface variable of --legacy-api: a reference on the device. */
static bool is_reference(const struct ptx_var *v)
{
    return v->type == PTX_TEXREF || v->type == PTX_SURFREF;
}

static void add_symbols(struct symbols *s, const struct ptx_module *m)
{
    for (int32_t i = 0; i < m->nfuncs; i++) {
        const struct ptx_func *f = m->funcs[i];
        if (!f->is_entry || !f->has_body)
            continue;
        char *host = xprintf("%.*s", (int)plain_length(f->name), f->name);
        struct symbol one = {.host = host, .device = f->name, .kernel = f, .key = key_of(host)};
        vec_push(s, one);
    }
    for (int32_t i = 0; i < m->nvars; i++) {
        const struct ptx_var *v = m->vars[i];
        if ((v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST) ||
            v->linkage == PTX_LINK_EXTERN || (v->size == 0 && !is_reference(v)))
            continue;
        struct symbol one = {.host = xprintf("%.*s", (int)plain_length(v->name), v->name),
                             .device = v->name,
                             .variable = v,
                             .shadow = is_reference(v)};
        vec_push(s, one);
    }
}

static void free_symbols(struct symbols *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->items[i].host);
        free(s->items[i].key);
    }
    free(s->items);
}

/* Names that are looked up: of symbols and of their stubs' variables. */
struct name {
    const char *text;
    struct symbol *symbol;
};

struct names {
    struct name *items;
    size_t count, cap;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static void sort_names(struct names *n, struct symbols *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct name own = {s->items[i].host, &s->items[i]};
        struct name key = {s->items[i].key, &s->items[i]};
        vec_push(n, own);
        if (key.text != NULL)
            vec_push(n, key);
    }
    if (n->count > 0)
        qsort(n->items, n->count, sizeof *n->items, compare_names);
}

static struct name *find_name(const struct names *n, const char *text, size_t length)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *other = n->items[middle].text;
        int order = strncmp(text, other, length);
        if (order == 0)
            order = other[length] == '\0' ? 0 : -1;
        if (order == 0)
            return &n->items[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- the assembler text ---- */

struct scanner {
    struct symbols symbols;
    struct names names;
    bool rdc;
    struct strbuf *out;
    struct diag *d;
};

/* The numbers that stand after a label, as the compiler writes them. Returns how many. */
static size_t read_numbers(const char *p, uint64_t *numbers, size_t most)
{
    static const char *const words[] = {".quad", ".8byte", ".xword", ".dword"};
    static const char *const zeros[] = {".zero", ".skip", ".space"};
    size_t count = 0;
    while (*p != '\0') {
        p += strspn(p, " \t");
        size_t n = strcspn(p, " \t\n");
        bool word = false, zero = false;
        for (size_t i = 0; i < WEIR_COUNT(words); i++)
            word = word || (strlen(words[i]) == n && strncmp(p, words[i], n) == 0);
        for (size_t i = 0; i < WEIR_COUNT(zeros); i++)
            zero = zero || (strlen(zeros[i]) == n && strncmp(p, zeros[i], n) == 0);
        uint64_t value = strtoull(p + n, NULL, 0);
        if (word && count < most)
            numbers[count++] = value;
        for (uint64_t k = 0; zero && k < value / 8 && count < most; k++)
            numbers[count++] = 0;
        if (!word && !zero)
            break;
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return count;
}

/* Whether a stub's parameters are those of its kernel. */
static bool check_sizes(struct scanner *s, const struct symbol *symbol, const char *after)
{
    enum { MOST = 1025 };
    uint64_t *sizes = xcalloc(MOST, sizeof *sizes);
    const struct ptx_func *f = symbol->kernel;
    size_t count = read_numbers(after, sizes, MOST);
    bool same =
        count == (size_t)f->nparams + 1; /* the list begins with a 1, so as not to be all 0 */
    for (int32_t i = 0; same && i < f->nparams; i++)
        same = sizes[i + 1] == f->params[i]->size;
    free(sizes);
    return same || diag_set(s->d, 0, 0,
                            "--host-frontend=ccbin: the parameters of kernel '%s' have other sizes "
                            "for the host compiler than for clang, which compiled the device code",
                            symbol->host);
}

/* A label: "name:" at the beginning of a line. */
static bool read_label(struct scanner *s, const char *line, size_t n, const char *after)
{
    struct name *found = find_name(&s->names, line, n);
    if (found == NULL)
        return !is_key(line, n) ||
               diag_set(s->d, 0, 0,
                        "--host-frontend=ccbin: the host compiler has a kernel that clang's device "
                        "code has not, with the variable '%.*s': the two see different sources "
                        "(#ifdef __clang__), or name a lambda differently",
                        (int)n, line);
    if (found->text == found->symbol->key) {
        found->symbol->has_stub = true;
        return check_sizes(s, found->symbol, after);
    }
    found->symbol->defined = true;
    return true;
}

/* The name that a directive is about, NULL when the line has another. */
static struct name *name_of_directive(const struct scanner *s, const char *line,
                                      const char *directive)
{
    const char *p = line + strspn(line, " \t");
    size_t n = strlen(directive);
    if (strncmp(p, directive, n) != 0 || !isspace((unsigned char)p[n]))
        return NULL;
    p += n + strspn(p + n, " \t");
    return find_name(&s->names, p, strcspn(p, " ,\t\n"));
}

/* Whether a line makes a variable of the device global. As nvcc's, one of code that is not
 * relocatable is its file's own: several files may have one of the same name. */
static bool is_left_out(const struct scanner *s, const char *line)
{
    const struct name *found = s->rdc ? NULL : name_of_directive(s, line, ".globl");
    return found != NULL && found->symbol->shadow;
}

static void read_directive(struct scanner *s, const char *line)
{
    struct name *found = name_of_directive(s, line, ".comm"); /* all zeros: it may have no label */
    if (found != NULL)
        found->symbol->defined = true;
}

/* Finds the variables that host_text.h has marked. */
static void find_shadows(struct scanner *s, const char *text)
{
    static const char mark[] = ".internal";
    for (const char *p = text; (p = strstr(p, mark)) != NULL; p += sizeof mark - 1) {
        struct name *found = name_of_directive(s, p, mark);
        if (found != NULL && found->symbol->variable != NULL)
            found->symbol->shadow = true;
    }
}

static bool read_assembler(struct scanner *s, const char *text)
{
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        const char *next = p + n + (p[n] == '\n');
        size_t label = isspace((unsigned char)*p) ? 0 : strcspn(p, ": \t\n");
        if (label > 0 && p[label] == ':' && !read_label(s, p, label, next))
            return false;
        if (label == 0)
            read_directive(s, p);
        if (!is_left_out(s, p))
            sb_append(s->out, p, (size_t)(next - p));
        p = next;
    }
    return true;
}

/* ---- records ---- */

static int flags_of(const struct ptx_var *v)
{
    if (v == NULL)
        return 0;
    return v->type == PTX_TEXREF         ? OFFLOAD_TEXTURE
           : v->type == PTX_SURFREF      ? OFFLOAD_SURFACE
           : v->space == PTX_SPACE_CONST ? OFFLOAD_CONSTANT
                                         : 0;
}

static void write_record(struct scanner *s, const char *address, const struct symbol *symbol,
                         size_t number)
{
    const struct ptx_var *v = symbol->variable;
    sb_printf(s->out,
              "\t.quad\t%s\n\t.quad\t.Lweir_name%zu\n\t.quad\t%llu\n\t.long\t%d\n\t.long\t0\n",
              address, number,
              v == NULL     ? 0ull
              : v->size > 0 ? (unsigned long long)v->size
                            : 8ull,
              flags_of(v));
}

static void write_records(struct scanner *s)
{
    for (size_t i = 0; i < s->symbols.count; i++) {
        const struct symbol *one = &s->symbols.items[i];
        if (one->defined)
            write_record(s, one->host, one, i);
        if (one->has_stub)
            write_record(s, one->key, one, i);
    }
}

static void write_names(struct scanner *s)
{
    sb_printf(s->out, "\t.section\t.rodata.weir_names,\"a\",@progbits\n");
    for (size_t i = 0; i < s->symbols.count; i++)
        if (s->symbols.items[i].defined || s->symbols.items[i].has_stub)
            sb_printf(s->out, ".Lweir_name%zu:\n\t.asciz\t\"%s\"\n", i, s->symbols.items[i].device);
}

/* The fat binary itself, not the name of its file: the text may outlive that (-cuda). */
static void write_fatbin(struct scanner *s, const unsigned char *bytes, size_t size)
{
    sb_printf(s->out, "\t.section\t.nv_fatbin,\"a\",@progbits\n\t.balign\t8\n.Lweir_fatbin:");
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        sb_printf(s->out, "%s%#llx", i % 64 == 0 ? "\n\t.quad\t" : ",", (unsigned long long)word);
    }
    sb_append(s->out, "\n", 1);
}

/* What the runtime is given for the fat binary, and the table. */
static void write_table(struct scanner *s)
{
    sb_printf(s->out,
              "\t.section\t.nvFatBinSegment,\"aw\",@progbits\n\t.balign\t8\n"
              "__weir_host_wrapper:\n\t.long\t%#x\n\t.long\t1\n\t.quad\t.Lweir_fatbin\n\t.quad\t0\n"
              "\t.section\t.data.rel.ro.weir_entries,\"aw\",@progbits\n\t.balign\t8\n"
              "__weir_host_entries:\n",
              (unsigned)FAT_WRAPPER_MAGIC);
    write_records(s);
    sb_printf(s->out, "__weir_host_entries_end:\n\t.quad\t0\n");
}

bool host_records_add(const char *assembler, const char *ptx, const void *fatbin, size_t size,
                      struct strbuf *out, struct diag *d)
{
    bool rdc = fatbin == NULL;
    struct scanner s = {.rdc = rdc, .out = out, .d = d};
    struct ptx_module *m = ptx_parse(ptx, strlen(ptx), d);
    if (m == NULL)
        return false;
    add_symbols(&s.symbols, m);
    sort_names(&s.names, &s.symbols);
    sb_append(out, "", 0);
    find_shadows(&s, assembler);
    bool ok = read_assembler(&s, assembler);
    if (ok && rdc) {
        sb_printf(out, "\t.section\tcuda_offloading_entries,\"aw\",@progbits\n\t.balign\t8\n");
        write_records(&s);
    } else if (ok) {
        write_fatbin(&s, fatbin, size);
        write_table(&s);
    }
    if (ok)
        write_names(&s);
    free_symbols(&s.symbols);
    free(s.names.items);
    ptx_free(m);
    return ok;
}

bool host_records_add_file(const char *fatbin, const char *assembler, bool rdc, struct diag *d)
{
    size_t size = 0;
    char *ptx = fatbin_read_ptx(fatbin, d);
    char *text = ptx != NULL ? file_read(assembler, NULL, d) : NULL;
    char *bytes = text != NULL ? file_read(fatbin, &size, d) : NULL;
    struct strbuf out = {0};
    bool ok = bytes != NULL && host_records_add(text, ptx, rdc ? NULL : bytes, size, &out, d) &&
              file_write(assembler, out.items, out.count, d);
    sb_free(&out);
    free(bytes);
    free(text);
    free(ptx);
    return ok;
}
