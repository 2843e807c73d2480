/* Names by which variables of the device are registered; see shadows.h. */
#include "weircc/objects/shadows.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/objects/elf.h"

/* The strings that may be names, in order. */
struct strings {
    const char **items;
    size_t count, cap;
};

static bool may_be_name(const char *s, size_t n)
{
    return n > 0 &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.") == n;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct strings find_strings(const struct elf_object *o)
{
    struct strings found = {0};
    for (size_t i = 0; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        /* sanitizers have strings among other constants */
        if (s->sh_type != SHT_PROGBITS || !elf_within(o, s, 0) ||
            (s->sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != SHF_ALLOC)
            continue;
        const char *p = o->bytes + s->sh_offset, *end = p + s->sh_size;
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

static void find_variables(const struct elf_object *o, const struct strings *s,
                           struct strlist *names)
{
    for (size_t at = 0; o->symbols != NULL && at < o->symbols->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, o->bytes + o->symbols->sh_offset + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *name = elf_string(o, o->strings, symbol.st_name);
        /* no `int verbose` of a program that has an option of that name */
        bool possible = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || text_starts(name, "_Z");
        if (possible && may_be_name(name, strlen(name)))
            add_variable(s, name, names);
    }
}

void shadows_find(const char *object, struct strlist *names)
{
    struct elf_object o = {0};
    o.bytes = file_read(object, &o.size, NULL);
    if (elf_sections(&o)) {
        struct strings s = find_strings(&o);
        find_variables(&o, &s, names);
        free(s.items);
    }
    elf_free(&o);
}
