/* entities: what host code has of device code, bound to the library that it is linked into.
 *
 * For each kernel host code has a function, whose address the runtime knows the kernel by, and for
 * each variable of relocatable device code an object. As ordinary symbols of a shared library they
 * could be taken for those of another one with the same name: two plugins that both have a kernel
 * `fill` would launch the first one's. nvcc hides such symbols; here they become protected, so that
 * a library always means its own, and others can still refer to those that it exports on purpose.
 *
 * The entities are the functions that clang names __device_stub__..., and what the records of
 * entities refer to. */
#ifndef WEIRCC_ENTITIES_H
#define WEIRCC_ENTITIES_H

#include "base/base.h"

/* Changes an object file in place; one that is no ELF file stays as it is. False and a message when
 * it cannot be read or written. */
bool entities_protect_object(const char *path, struct diag *d);

/* The same for assembler text, to which directives are added. */
bool entities_protect_text(const char *path, struct diag *d);

#endif
