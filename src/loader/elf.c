/* Checks and reads ELF relocatable objects: see elf.h. */
#include "loader/elf.h"

#include <string.h>

Elf64_Shdr elf_section(const struct elf_object *o, uint32_t index)
{
    Elf64_Shdr s;
    memcpy(&s, o->data + o->shoff + (uint64_t)index * sizeof s, sizeof s);
    return s;
}

Elf64_Sym elf_symbol(const struct elf_object *o, uint32_t index)
{
    Elf64_Shdr table = elf_section(o, o->symtab);
    Elf64_Sym s;
    memcpy(&s, o->data + table.sh_offset + (uint64_t)index * sizeof s, sizeof s);
    return s;
}

uint64_t elf_rela_count(const Elf64_Shdr *section) { return section->sh_size / sizeof(Elf64_Rela); }

Elf64_Rela elf_rela(const struct elf_object *o, const Elf64_Shdr *section, uint64_t index)
{
    Elf64_Rela r;
    memcpy(&r, o->data + section->sh_offset + index * sizeof r, sizeof r);
    return r;
}

/* A string of a string section; the section is known to end in a NUL. */
static const char *string_at(const struct elf_object *o, uint32_t section, uint32_t offset)
{
    if (section == 0)
        return "";
    Elf64_Shdr s = elf_section(o, section);
    return offset < s.sh_size ? (const char *)o->data + s.sh_offset + offset : "";
}

const char *elf_section_name(const struct elf_object *o, const Elf64_Shdr *section)
{
    return string_at(o, o->shstrtab, section->sh_name);
}

const char *elf_symbol_name(const struct elf_object *o, const Elf64_Sym *symbol)
{
    return string_at(o, o->strtab, symbol->st_name);
}

uint32_t elf_find_section(const struct elf_object *o, const char *name)
{
    for (uint32_t i = 1; i < o->nsections; i++) {
        Elf64_Shdr s = elf_section(o, i);
        if (strcmp(elf_section_name(o, &s), name) == 0)
            return i;
    }
    return 0;
}

/* ---- checks ---- */

static bool inside(const struct elf_object *o, uint64_t offset, uint64_t bytes)
{
    return offset <= o->size && bytes <= o->size - offset;
}

/* A string section is usable when it ends in a NUL: then no string in it runs out of it. */
static bool check_strings(const struct elf_object *o, uint32_t index, struct diag *d)
{
    if (index == 0)
        return true;
    if (index >= o->nsections)
        return diag_set(d, 0, 0, "string section %u does not exist", index);
    Elf64_Shdr s = elf_section(o, index);
    if (s.sh_type != SHT_STRTAB || s.sh_size == 0 || o->data[s.sh_offset + s.sh_size - 1] != '\0')
        return diag_set(d, 0, 0, "section %u is not a table of strings", index);
    return true;
}

static bool check_header(struct elf_object *o, struct diag *d)
{
    Elf64_Ehdr h;
    if (o->size < sizeof h)
        return diag_set(d, 0, 0, "the object is only %zu bytes long", o->size);
    memcpy(&h, o->data, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return diag_set(d, 0, 0, "not an ELF object");
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
        h.e_type != ET_REL)
        return diag_set(d, 0, 0, "not a 64-bit little-endian relocatable object");
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum == 0 ||
        !inside(o, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr)))
        return diag_set(d, 0, 0, "the section headers do not lie in the object");
    o->shoff = h.e_shoff;
    o->nsections = h.e_shnum;
    o->shstrtab = h.e_shstrndx;
    return true;
}

static bool check_symbols(struct elf_object *o, uint32_t index, struct diag *d)
{
    Elf64_Shdr s = elf_section(o, index);
    if (o->symtab != 0)
        return diag_set(d, 0, 0, "the object has two symbol tables");
    if (s.sh_entsize != sizeof(Elf64_Sym) || s.sh_size % sizeof(Elf64_Sym) != 0 ||
        s.sh_size / sizeof(Elf64_Sym) > UINT32_MAX)
        return diag_set(d, 0, 0, "the symbol table has a wrong size");
    o->symtab = index;
    o->nsymbols = (uint32_t)(s.sh_size / sizeof(Elf64_Sym));
    o->strtab = s.sh_link;
    if (s.sh_link == 0)
        return diag_set(d, 0, 0, "the symbol table has no names");
    return true;
}

static bool check_sections(struct elf_object *o, struct diag *d)
{
    for (uint32_t i = 1; i < o->nsections; i++) {
        Elf64_Shdr s = elf_section(o, i);
        if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL && !inside(o, s.sh_offset, s.sh_size))
            return diag_set(d, 0, 0, "section %u does not lie in the object", i);
        if (s.sh_addralign & (s.sh_addralign - 1))
            return diag_set(d, 0, 0, "section %u has alignment %llu", i,
                            (unsigned long long)s.sh_addralign);
        if (s.sh_type == SHT_SYMTAB && !check_symbols(o, i, d))
            return false;
        if (s.sh_type == SHT_SYMTAB_SHNDX)
            return diag_set(d, 0, 0, "the object has too many sections");
    }
    return check_strings(o, o->shstrtab, d) && check_strings(o, o->strtab, d);
}

static bool check_symbol_places(const struct elf_object *o, struct diag *d)
{
    for (uint32_t i = 1; i < o->nsymbols; i++) {
        Elf64_Sym s = elf_symbol(o, i);
        bool special = s.st_shndx == SHN_ABS || s.st_shndx == SHN_COMMON;
        if (!special && s.st_shndx >= o->nsections)
            return diag_set(d, 0, 0, "symbol %u lies in section %u, which does not exist", i,
                            s.st_shndx);
        if (special || s.st_shndx == SHN_UNDEF)
            continue;
        Elf64_Shdr home = elf_section(o, s.st_shndx);
        if (s.st_value > home.sh_size)
            return diag_set(d, 0, 0, "symbol %u lies past the end of its section", i);
    }
    return true;
}

static bool check_relocations(const struct elf_object *o, struct diag *d)
{
    for (uint32_t i = 1; i < o->nsections; i++) {
        Elf64_Shdr s = elf_section(o, i);
        if (!elf_is_rela(&s))
            continue;
        if (s.sh_entsize != sizeof(Elf64_Rela) || s.sh_size % sizeof(Elf64_Rela) != 0 ||
            s.sh_info == 0 || s.sh_info >= o->nsections || o->symtab == 0 || s.sh_link != o->symtab)
            return diag_set(d, 0, 0, "relocation section %u is malformed", i);
        Elf64_Shdr target = elf_section(o, s.sh_info);
        for (uint64_t k = 0; k < elf_rela_count(&s); k++) {
            Elf64_Rela r = elf_rela(o, &s, k);
            if (ELF64_R_SYM(r.r_info) >= o->nsymbols || r.r_offset >= target.sh_size)
                return diag_set(d, 0, 0, "relocation %llu of section %u is out of range",
                                (unsigned long long)k, i);
        }
    }
    return true;
}

bool elf_open(struct elf_object *o, const void *data, size_t size, struct diag *d)
{
    *o = (struct elf_object){.data = data, .size = size};
    return check_header(o, d) && check_sections(o, d) && check_symbol_places(o, d) &&
           check_relocations(o, d);
}
