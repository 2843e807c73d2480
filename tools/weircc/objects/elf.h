/* elf: reads object files. */
#ifndef WEIRCC_ELF_H
#define WEIRCC_ELF_H

#include <elf.h>

#include "base/base.h"

/* A 64-bit object file in memory. All is the object's but for what a caller does with the bytes. */
struct elf_object {
    char *bytes; /* what file_read returned; elf_free frees it */
    size_t size;
    Elf64_Shdr *sections; /* aligned copies */
    size_t count;
    const Elf64_Shdr *names;             /* of sections */
    const Elf64_Shdr *symbols, *strings; /* the symbols and their names; NULL: there are none */
};

/* Finds the sections of what `bytes` and `size` are. False: it is no 64-bit object file, or a
 * damaged one. elf_free is to be called in any case. */
bool elf_sections(struct elf_object *o);
void elf_free(struct elf_object *o);
/* Section number i; NULL: there is none. */
const Elf64_Shdr *elf_section(const struct elf_object *o, size_t i);
/* Whether the section's bytes are in the file, `each` of them for one entry (0: of any size). */
bool elf_within(const struct elf_object *o, const Elf64_Shdr *s, size_t each);
/* The text at an offset in a table of strings, which lies within the file; "" beyond its end. */
const char *elf_string(const struct elf_object *o, const Elf64_Shdr *table, size_t offset);

/* Whether the 64-bit ELF object file has a section of this name that is not empty. False when it
 * cannot be read. */
bool elf_has_section(const char *path, const char *name);

#endif
