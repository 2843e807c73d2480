/* Names by which variables of the device are registered; see shadows.h. */
#include "weircc/objects/shadows.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct file {
    char *bytes; /* and a NUL */
    size_t size, sections;
    Elf64_Shdr *section; /* aligned copies */
};

/* The strings that may be names, in order. */
struct strings {
    const char **items;
    size_t count, cap;
};

static bool read_sections(struct file *f)
{
    Elf64_Ehdr header;
    Elf64_Shdr first;
    if (f->bytes == NULL || f->size < sizeof header)
        return false;
    memcpy(&header, f->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof first || header.e_shoff > f->size ||
        f->size - header.e_shoff < sizeof first)
        return false;
    memcpy(&first, f->bytes + header.e_shoff, sizeof first);
    f->sections = header.e_shnum != 0 ? header.e_shnum : first.sh_size; /* there are many */
    if ((f->size - header.e_shoff) / sizeof first < f->sections)
        return false;
    f->section = xmalloc((f->sections + 1) * sizeof first);
    memcpy(f->section, f->bytes + header.e_shoff, f->sections * sizeof first);
    for (size_t i = 0; i < f->sections; i++)
        if (f->section[i].sh_type != SHT_NOBITS &&
            (f->section[i].sh_offset > f->size ||
             f->section[i].sh_size > f->size - f->section[i].sh_offset))
            return false;
    return true;
}

static bool may_be_name(const char *s, size_t n)
{
    return n > 0 &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.") == n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct strings find_strings(const struct file *f)
{
    struct strings found = {0};
    for (size_t i = 0; i < f->sections; i++) {
        const Elf64_Shdr *s = &f->section[i];
        /* sanitizers have strings among other constants */
        if (s->sh_type != SHT_PROGBITS ||
            (s->sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != SHF_ALLOC)
            continue;
        const char *p = f->bytes + s->sh_offset, *end = p + s->sh_size;
        for (size_t n; p < end; p += n + 1) {
            n = strnlen(p, (size_t)(end - p));
            if (p + n < end && may_be_name(p, n))
                vec_push(&found, p);
        }
    }
    if (found.count > 0)
        qsort(found.items, found.count, sizeof *found.items, by_text);
    return found;
}

/* The first string that is not before the text. */
static size_t first_from(const struct strings *s, const char *text)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(s->items[middle], text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the string that registers the variable, if there is one. */
static void add_variable(const struct strings *s, const char *variable, struct strlist *names)
{
    char *with_suffix = xprintf("%s" SHADOW_SUFFIX, variable);
    size_t plain = first_from(s, variable), suffixed = first_from(s, with_suffix);
    if (plain < s->count && strcmp(s->items[plain], variable) == 0)
        list_add(names, "%s", variable);
    if (suffixed < s->count && text_starts(s->items[suffixed], with_suffix))
        list_add(names, "%s", s->items[suffixed]);
    free(with_suffix);
}

static void find_variables(const struct file *f, const Elf64_Shdr *symbols, const struct strings *s,
                           struct strlist *names)
{
    const Elf64_Shdr *table = symbols->sh_link < f->sections ? &f->section[symbols->sh_link] : NULL;
    for (size_t at = 0; table != NULL && symbols->sh_size - at >= sizeof(Elf64_Sym);
         at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, f->bytes + symbols->sh_offset + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_name >= table->sh_size)
            continue;
        const char *name = f->bytes + table->sh_offset + symbol.st_name;
        size_t n = strnlen(name, table->sh_size - symbol.st_name);
        /* no `int verbose` of a program that has an option of that name */
        bool possible = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || text_starts(name, "_Z");
        if (n < table->sh_size - symbol.st_name && possible && may_be_name(name, n))
            add_variable(s, name, names);
    }
}

void shadows_find(const char *object, struct strlist *names)
{
    struct file f = {0};
    f.bytes = file_read(object, &f.size, NULL);
    if (read_sections(&f)) {
        struct strings s = find_strings(&f);
        for (size_t i = 0; i < f.sections; i++)
            if (f.section[i].sh_type == SHT_SYMTAB)
                find_variables(&f, &f.section[i], &s, names);
        free(s.items);
    }
    free(f.section);
    free(f.bytes);
}
