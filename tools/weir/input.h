/* input: the PTX modules in a file, whatever holds them. */
#ifndef WEIR_TOOL_INPUT_H
#define WEIR_TOOL_INPUT_H

#include "ptx/ptx.h"

struct input_module {
    char *from; /* where in the file, for people: "file.ptx", "prog, fat binary 2" */
    struct ptx_module *module;
};
struct input {
    struct input_module *items;
    size_t count, cap;
};

/* Reads PTX text, a fat binary, or an ELF file (program, library or object) with fat binaries in
 * it. Relocatable device code of one file is linked into one module. False and a message when the
 * file cannot be read, holds no PTX, or holds PTX that is broken. */
bool input_read(struct input *in, const char *path, struct diag *d);
void input_free(struct input *in);

#endif
