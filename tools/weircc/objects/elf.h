/* elf: the one question that weircc asks of an object file. */
#ifndef WEIRCC_ELF_H
#define WEIRCC_ELF_H

#include "base/base.h"

/* Whether the 64-bit ELF object file has a section of this name that is not empty. False when it
 * cannot be read. */
bool elf_has_section(const char *path, const char *name);

#endif
