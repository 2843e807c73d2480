/* Looking at object files; see elf.h. */
#include "weircc/objects/elf.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static bool find(const char *file, size_t size, const char *name)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return false;
    memcpy(&header, file, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size ||
        (size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum ||
        header.e_shstrndx >= header.e_shnum)
        return false;
    const char *table = file + header.e_shoff;
    Elf64_Shdr names, section;
    memcpy(&names, table + header.e_shstrndx * sizeof names, sizeof names);
    if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
        return false;
    for (size_t i = 0; i < header.e_shnum; i++) {
        memcpy(&section, table + i * sizeof section, sizeof section);
        if (section.sh_name + strlen(name) < names.sh_size && section.sh_size > 0 &&
            strcmp(file + names.sh_offset + section.sh_name, name) == 0)
            return true;
    }
    return false;
}

bool elf_has_section(const char *path, const char *name)
{
    size_t size;
    char *file = file_read(path, &size, NULL);
    bool found = file != NULL && find(file, size, name);
    free(file);
    return found;
}
