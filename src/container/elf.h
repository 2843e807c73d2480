/* elf: sections of an ELF file in memory. For src/container and what reads or writes such files
 * (src/nvfatbin). */
#ifndef WEIR_CONTAINER_ELF_H
#define WEIR_CONTAINER_ELF_H

#include "container/container.h"

struct elf_file {
    const char *data, *table; /* section headers */
    size_t limit;
    unsigned count, names, machine; /* names: index of the section that holds names */
};
struct elf_bytes {
    const char *name, *at;
    size_t size;
};

/* False and a message when it is no whole 64-bit ELF file. */
bool container_elf_open(const void *data, size_t limit, struct elf_file *out, struct diag *d);
/* The section of that index; false: it has no bytes in the file. */
bool container_elf_section(const struct elf_file *f, unsigned index, struct elf_bytes *out);

/* Whether sections of that name hold fat binaries. */
bool container_holds_fatbins(const char *section);

#endif
