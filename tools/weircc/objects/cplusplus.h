/* cplusplus: what -cuda writes. nvcc's is the host half of a file as preprocessed C++, with the
 * device code in it, for a host compiler. clang compiles both halves itself, so here it is the
 * compiled host half, as an assembler reads it, in an asm statement: any C++ compiler that uses
 * such an assembler makes the object of it that -c makes. */
#ifndef WEIRCC_CPLUSPLUS_H
#define WEIRCC_CPLUSPLUS_H

#include "base/base.h"

/* Writes the C++ file of an assembler file. False and a message when it cannot: it holds what -c
 * would have to finish, or it is no text. */
bool cplusplus_write(const char *assembler, const char *output, struct diag *d);

#endif
