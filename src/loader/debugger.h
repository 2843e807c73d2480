/* debugger: shows compiled kernels to gdb.
 *
 * gdb has an interface for programs that make code: a list of ELF objects in the process's memory,
 * and a function that is called whenever the list changes, in which gdb has a breakpoint. An entry
 * here is a kernel's object with the addresses that its sections were loaded at; gdb reads symbols,
 * lines and variables from it. */
#ifndef WEIR_LOADER_DEBUGGER_H
#define WEIR_LOADER_DEBUGGER_H

#include "loader/image.h"

struct debugger_entry;

/* The object was loaded. NULL when nobody wants to know: no debugger is at the process and
 * ENV_DEBUGGER is not "on"; or when there is no memory. */
struct debugger_entry *debugger_add(const struct elf_object *o, const struct image *im);
/* It is about to be unloaded; NULL is fine. */
void debugger_remove(struct debugger_entry *e);

#endif
