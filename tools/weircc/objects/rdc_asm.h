/* rdc_asm: the part of an object file that holds relocatable device code, as assembler text.
 *
 * Beside the fat binary itself it carries the module's linkage over to the host's linker: every
 * device symbol that the module defines for others becomes a host symbol (__weir_device.<name>),
 * every one that it needs a reference to such a symbol. So a device function that is missing is
 * found when the program is linked, and an archive's member is taken in when only device code needs
 * it. */
#ifndef WEIRCC_RDC_ASM_H
#define WEIRCC_RDC_ASM_H

#include "base/base.h"

enum device_linkage { DEVICE_EXTERN, DEVICE_GLOBAL, DEVICE_WEAK };

/* Calls `visit` for every function and variable with linkage that PTX text declares. */
void ptx_visit_symbols(const char *ptx,
                       void (*visit)(void *self, const char *name, enum device_linkage linkage),
                       void *self);

/* Writes the assembler file for a fat binary. */
bool rdc_asm_write(const char *fatbin_path, const char *asm_path, struct diag *d);

#endif
