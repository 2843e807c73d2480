/* fatbin: finds the PTX in a fat binary. Hard against any input: sizes that do not fit are
 * refused, never followed.
 *
 * A fat binary embedded in a program carries no outer length: its header says how long it is, so
 * the reader trusts that one number only when told so (the loader of a running program has no
 * other); tools that read files give the real end. */
#ifndef WEIR_CONTAINER_FATBIN_H
#define WEIR_CONTAINER_FATBIN_H

#include "base/base.h"

/* What stands at FATBIN_OWN_OFFSET in the header of an entry that holds weircc's own form of its
 * PTX besides the one for drivers of GPUs, which is the payload: other drivers pass over it. The
 * text follows, with a NUL. */
struct fatbin_own {
    uint64_t magic; /* FATBIN_OWN_MAGIC */
    uint64_t bytes; /* of the text, without the NUL */
};
enum { FATBIN_OWN_OFFSET = 80 };
#define FATBIN_OWN_MAGIC 0x5854502072696557u /* "Weir PTX" */

enum fatbin_status {
    FATBIN_OK,
    FATBIN_NOT_ONE, /* neither a fat binary nor its wrapper */
    FATBIN_BROKEN,  /* damaged; the message says how */
    FATBIN_NO_PTX,  /* only machine code or other kinds; the message names what there is */
};

/* The newest PTX that a device of compute capability `sm` can take, as a NUL-terminated heap copy.
 */
struct fatbin_ptx {
    char *text;
    size_t size;
    unsigned arch; /* 90 for compute_90 */
};

/* `data` points to a fat binary header and at most `limit` bytes are readable (SIZE_MAX: as many as
 * the header says). On success the caller frees out->text. */
enum fatbin_status fatbin_find_ptx(const void *data, size_t limit, unsigned sm,
                                   struct fatbin_ptx *out, struct diag *d);

/* Is this a fat binary header, or a wrapper around one? Reads 4 bytes, fewer when
 * the first ones say no. */
bool fatbin_is_header(const void *data);
bool fatbin_is_wrapper(const void *data);

/* The parts of a wrapper: version 1 has one fat binary; version 2 (relocatable device code) has a
 * NULL-terminated list of them in `list`. False when it is neither. */
struct fatbin_wrapper {
    unsigned version;
    const void *data;
    const void *const *list; /* version 2, else NULL */
};
bool fatbin_read_wrapper(const void *wrapper, struct fatbin_wrapper *out);

#endif
