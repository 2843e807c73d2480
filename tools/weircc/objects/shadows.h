/* shadows: variables of the host that stand for variables of the device.
 *
 * Where host code names a variable of the device (cudaMemcpyToSymbol), its object has a variable
 * of that name, and the name as a string, by which it is registered. In relocatable device code
 * that of a static one has a suffix, by which files differ. */
#ifndef WEIRCC_SHADOWS_H
#define WEIRCC_SHADOWS_H

#include "weircc/options/options.h"

/* What the name of a static variable is followed by in relocatable device code. */
#define SHADOW_SUFFIX "__static__"

/* Adds the names by which an object file may register variables: other strings that are a
 * variable's name are among them. Nothing is added for what is no 64-bit ELF object. */
void shadows_find(const char *object, struct strlist *names);

#endif
