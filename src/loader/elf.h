/* elf: a checked view of an ELF relocatable object (64-bit, little-endian).
 *
 * elf_open walks all that the loader will ever look at (sections, symbols, relocations, strings)
 * and refuses an object of which any part lies outside the file; after that the accessors cannot
 * leave it, whatever the bytes are. Objects come from our own compiler or from a checksummed cache
 * file, but a loader that trusts its input is a hole the day one of them is wrong. */
#ifndef WEIR_LOADER_ELF_H
#define WEIR_LOADER_ELF_H

#include "base/base.h"

#include <elf.h>

struct elf_object {
    const uint8_t *data; /* borrowed; any alignment */
    size_t size;
    uint64_t shoff; /* section headers */
    uint32_t nsections;
    uint32_t symtab; /* index of the symbol table's section, 0: no symbols */
    uint32_t nsymbols;
    uint32_t strtab;   /* index of its string section */
    uint32_t shstrtab; /* index of the section names, 0: none */
};

/* Checks the object. On success `o` borrows `data`. */
bool elf_open(struct elf_object *o, const void *data, size_t size, struct diag *d);

/* The accessors copy, since nothing in the file need be aligned. Indices must be in range. */
Elf64_Shdr elf_section(const struct elf_object *o, uint32_t index);
const char *elf_section_name(const struct elf_object *o, const Elf64_Shdr *section);
Elf64_Sym elf_symbol(const struct elf_object *o, uint32_t index);
const char *elf_symbol_name(const struct elf_object *o, const Elf64_Sym *symbol);
uint64_t elf_rela_count(const Elf64_Shdr *section);
Elf64_Rela elf_rela(const struct elf_object *o, const Elf64_Shdr *section, uint64_t index);

/* Index of the first section of that name, 0 when there is none. */
uint32_t elf_find_section(const struct elf_object *o, const char *name);

/* Whether relocations are to be read from this section: SHT_RELA for a section of this file. */
static inline bool elf_is_rela(const Elf64_Shdr *s) { return s->sh_type == SHT_RELA; }

#endif
