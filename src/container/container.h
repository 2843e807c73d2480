/* container: what compiled device code comes in.
 *
 * Tools that build CUDA programs hand around "cubins": ELF files with a GPU's machine code. Here
 * the last form of device code before it is run is PTX, so what stands for a cubin is an ELF file
 * that holds PTX (elf.c): machine EM_NONE, since it is no machine's code; operating system 'W';
 * e_flags the number of the target (90 of sm_90), as in a cubin; type ET_EXEC, or ET_REL where more
 * is to be linked. The text, with the NUL that ends it, is the section `.weir.ptx`; the section
 * `.note.weir` is a note of the owner "Weir". Functions and variables that others may refer to are
 * symbols of the PTX, not of the file.
 *
 * container_read takes any input of a link: PTX text, such containers, fat binaries, object files
 * and archives of compilers for the host, whose sections hold fat binaries. Hard against any input:
 * sizes that do not fit are refused, never followed. */
#ifndef WEIR_CONTAINER_H
#define WEIR_CONTAINER_H

#include "base/base.h"
#include "ptx/ptx.h"

/* Appends a container of `size` bytes of PTX text, without its NUL, for the target sm_<sm>. */
void container_write(const char *ptx, size_t size, unsigned sm, bool relocatable,
                     struct strbuf *out);

bool container_is_elf(const void *data, size_t limit);
/* The PTX text in a container, ended by a NUL, which the caller does not own. NULL: it is none, or
 * damaged; then there is a message. `limit` as of fatbin_find_ptx. */
const char *container_find_ptx(const void *data, size_t limit, size_t *size, struct diag *d);

/* How many bytes can be read from here on; SIZE_MAX where the system does not say. It reads a file of
 * the system's: for images of unknown size alone. */
size_t container_readable(const void *data);

enum container_status {
    CONTAINER_OK,
    CONTAINER_UNKNOWN, /* nothing that device code comes in */
    CONTAINER_NO_PTX,  /* device code, but machine code or intermediate code of a vendor alone */
    CONTAINER_NO_CODE, /* an object or archive without device code */
    CONTAINER_BAD_PTX, /* PTX that cannot be read */
    CONTAINER_BROKEN,  /* damaged */
};

/* Modules to link. */
struct container_units {
    struct ptx_module **items;
    size_t count, cap;
    int left_out;               /* parts that hold no PTX, as vendors' libraries have them */
    struct diag first_left_out; /* why the first of them is */
};

/* Adds the modules in an input of a link. Parts of objects and archives that hold no PTX are left
 * out if others of the same input do. `sm`: the newest target that may be chosen from fat binaries.
 */
enum container_status container_read(const void *data, size_t size, unsigned sm,
                                     struct container_units *out, struct diag *d);
void container_free(struct container_units *units);

#endif
