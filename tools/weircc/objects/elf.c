/* Looking at object files; see elf.h. */
#include "weircc/objects/elf.h"

#include <stdlib.h>
#include <string.h>

bool elf_within(const struct elf_object *o, const Elf64_Shdr *s, size_t each)
{
    return s->sh_offset <= o->size && s->sh_size <= o->size - s->sh_offset &&
           (each == 0 || s->sh_size % each == 0);
}

const char *elf_string(const struct elf_object *o, const Elf64_Shdr *table, size_t offset)
{
    if (offset >= table->sh_size)
        return "";
    const char *text = o->bytes + table->sh_offset + offset;
    return memchr(text, '\0', table->sh_size - offset) != NULL ? text : "";
}

const Elf64_Shdr *elf_section(const struct elf_object *o, size_t i)
{
    return i < o->count ? &o->sections[i] : NULL;
}

/* The sections that others refer to; false: they are not in the file. */
static bool find_tables(struct elf_object *o, size_t names)
{
    o->names = elf_section(o, names);
    for (size_t i = 0; i < o->count; i++)
        if (o->sections[i].sh_type == SHT_SYMTAB)
            o->symbols = &o->sections[i];
    o->strings = o->symbols != NULL ? elf_section(o, o->symbols->sh_link) : NULL;
    if (o->symbols != NULL && (o->strings == NULL || !elf_within(o, o->strings, 0) ||
                               !elf_within(o, o->symbols, sizeof(Elf64_Sym))))
        return false;
    return o->names != NULL && elf_within(o, o->names, 0);
}

bool elf_sections(struct elf_object *o)
{
    Elf64_Ehdr header;
    Elf64_Shdr first;
    if (o->bytes == NULL || o->size < sizeof header)
        return false;
    memcpy(&header, o->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof first || header.e_shoff > o->size ||
        o->size - header.e_shoff < sizeof first)
        return false;
    memcpy(&first, o->bytes + header.e_shoff, sizeof first);
    o->count = header.e_shnum != 0 ? header.e_shnum : first.sh_size; /* there are many */
    if ((o->size - header.e_shoff) / sizeof first < o->count)
        return false;
    o->sections = xmalloc((o->count + 1) * sizeof *o->sections);
    memcpy(o->sections, o->bytes + header.e_shoff, o->count * sizeof *o->sections);
    return find_tables(o, header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link);
}

void elf_free(struct elf_object *o)
{
    free(o->sections);
    free(o->bytes);
}

bool elf_has_section(const char *path, const char *name)
{
    struct elf_object o = {0};
    o.bytes = file_read(path, &o.size, NULL);
    bool found = false;
    if (elf_sections(&o))
        for (size_t i = 0; i < o.count; i++)
            found |= o.sections[i].sh_size > 0 &&
                     strcmp(elf_string(&o, o.names, o.sections[i].sh_name), name) == 0;
    elf_free(&o);
    return found;
}
