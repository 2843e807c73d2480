/* Writing the device part of relocatable objects; see rdc_asm.h. */
#include "weircc/objects/rdc_asm.h"

#include "ptx/ptx.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/objects/fatbin.h"

/* ---- the linkage of a module ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (is_word(p[n]))
        n++;
    return n;
}

static bool word_is(const char *p, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(p, word, n) == 0;
}

/* From after a linkage directive to the declared name; NULL when what is declared is no function
 * and no variable of the module (dynamic shared memory is ".extern .shared"). */
static const char *find_name(const char *p, size_t *length)
{
    bool linked = false;
    while (true) {
        p = ptx_skip_space(p);
        if (*p == '.') {
            size_t n = word_length(++p);
            linked = linked || word_is(p, n, "func") || word_is(p, n, "entry") ||
                     word_is(p, n, "global") || word_is(p, n, "const");
            bool align = word_is(p, n, "align");
            p += n;
            if (align) {
                p = ptx_skip_space(p);
                p += word_length(p);
            }
        } else if (*p == '(') { /* a result, or the value of an attribute */
            const char *end = strchr(p, ')');
            if (end == NULL)
                return NULL;
            p = end + 1;
        } else {
            *length = word_length(p);
            return linked && *length > 0 ? p : NULL;
        }
    }
}

void ptx_visit_symbols(const char *ptx,
                       void (*visit)(void *self, const char *name, enum device_linkage linkage),
                       void *self)
{
    static const struct {
        const char *word;
        enum device_linkage linkage;
    } directives[] = {{"extern", DEVICE_EXTERN}, {"visible", DEVICE_GLOBAL}, {"weak", DEVICE_WEAK}};
    for (const char *p = ptx_skip_space(ptx); *p != '\0'; p = ptx_skip_space(p)) {
        if (*p == '"') { /* a file name of debug information */
            p += 1 + strcspn(p + 1, "\"\n");
            p += *p == '"';
            continue;
        }
        size_t n = *p == '.' ? word_length(p + 1) : word_length(p);
        for (size_t i = 0; *p == '.' && i < WEIR_COUNT(directives); i++) {
            size_t length;
            const char *name;
            if (word_is(p + 1, n, directives[i].word) &&
                (name = find_name(p + 1 + n, &length)) != NULL) {
                char *copy = xprintf("%.*s", (int)length, name);
                visit(self, copy, directives[i].linkage);
                free(copy);
            }
        }
        p += n > 0 ? n + (*p == '.') : 1;
    }
}

/* ---- assembler ---- */

/* The file being written, what the module defines, and what of that is written already: PTX may
 * declare what it defines. */
struct symbols {
    FILE *f;
    struct names {
        char **items;
        size_t count, cap;
    } defined, written;
};

static bool has_name(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

/* clang gives a static variable a name of its own, <name>__static__<file>, but may have referred to
 * it by the plain name before: that extern is none. */
static bool is_static_here(const struct symbols *s, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < s->defined.count; i++)
        if (strncmp(s->defined.items[i], name, n) == 0 &&
            strncmp(s->defined.items[i] + n, "__static__", 10) == 0)
            return true;
    return false;
}

static void record_definition(void *self, const char *name, enum device_linkage linkage)
{
    struct symbols *s = self;
    if (linkage != DEVICE_EXTERN)
        vec_push(&s->defined, xstrdup(name));
}

static void write_symbol(void *self, const char *name, enum device_linkage linkage)
{
    struct symbols *s = self;
    FILE *f = s->f;
    if (has_name(&s->written, name) ||
        (linkage == DEVICE_EXTERN && (ptx_device_supplies(name) || is_static_here(s, name))))
        return;
    if (linkage != DEVICE_EXTERN)
        vec_push(&s->written, xstrdup(name));
    fprintf(f, ".hidden \"__weir_device.%s\"\n", name);
    if (linkage == DEVICE_EXTERN) {
        fprintf(f, ".reloc ., R_X86_64_NONE, \"__weir_device.%s\"\n", name);
        return;
    }
    fprintf(f, ".%s \"__weir_device.%s\"\n", linkage == DEVICE_WEAK ? "weak" : "globl", name);
    fprintf(f, "\"__weir_device.%s\":\n", name);
}

/* A file name as a string of the assembler. */
static void write_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

bool rdc_asm_write(const char *fatbin_path, const char *asm_path, struct diag *d)
{
    char *ptx = fatbin_read_ptx(fatbin_path, d);
    if (ptx == NULL)
        return false;
    FILE *f = fopen(asm_path, "w");
    if (f == NULL) {
        free(ptx);
        return diag_set(d, 0, 0, "Cannot write '%s': %s", asm_path, strerror(errno));
    }
    fputs(".pushsection weir_rdc,\"a\",@progbits\n.balign 8\n.incbin ", f);
    write_string(f, fatbin_path);
    fputs("\n.balign 8\n.popsection\n", f);
    /* An empty section, whose relocations make references. */
    fputs(".pushsection .rodata.weir_device_link,\"a\",@progbits\n"
          ".hidden __cudaWeirDeviceLink\n"
          ".reloc ., R_X86_64_NONE, __cudaWeirDeviceLink\n",
          f);
    struct symbols symbols = {.f = f};
    ptx_visit_symbols(ptx, record_definition, &symbols);
    ptx_visit_symbols(ptx, write_symbol, &symbols);
    free_names(&symbols.defined);
    free_names(&symbols.written);
    fputs(".popsection\n", f);
    free(ptx);
    bool ok = ferror(f) == 0;
    if (fclose(f) != 0)
        ok = false;
    return ok || diag_set(d, 0, 0, "Cannot write '%s': %s", asm_path, strerror(errno));
}
