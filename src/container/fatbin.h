/* fatbin: finds the PTX in a fat binary (fatbin.c), and writes fat binaries (fatbin_write.c). Hard
 * against any input: sizes that do not fit are refused, never followed.
 *
 * A fat binary embedded in a program carries no outer length: its header says how long it is, so
 * the reader trusts that one number only when told so (the loader of a running program has no
 * other); tools that read files give the real end. */
#ifndef WEIR_CONTAINER_FATBIN_H
#define WEIR_CONTAINER_FATBIN_H

#include "base/base.h"

/* The layout, as compilers write it (weircc/objects/fatbin.h describes it). */
#define FATBIN_MAGIC 0xBA55ED50u
struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of what follows */
};

/* What all entries begin with. */
struct fatbin_entry {
    uint16_t kind, always_0x101;
    uint32_t header_size;
    uint64_t payload_size;
    uint32_t compressed_size, options_offset;
    uint16_t minor, major; /* of PTX the ISA */
    uint32_t arch;
    uint32_t name_offset, name_length;
    uint64_t flags;
    uint64_t reserved;
    uint64_t uncompressed_size;
};

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

/* The next of the fat binaries that linkers put one after the other into a section, padded between.
 * FATBIN_OK: it, and `at` and `size` are what follows. FATBIN_NOT_ONE: there is none.
 * FATBIN_BROKEN: at `at` is one that says it is longer than the `size` bytes that there are. */
struct fatbin_place {
    const char *at;
    size_t header, body; /* bytes */
};
enum fatbin_status fatbin_next(const char **at, size_t *size, struct fatbin_place *one);

/* The parts of a wrapper: version 1 has one fat binary; version 2 (relocatable device code) has a
 * NULL-terminated list of them in `list`. False when it is neither. */
struct fatbin_wrapper {
    unsigned version;
    const void *data;
    const void *const *list; /* version 2, else NULL */
};
bool fatbin_read_wrapper(const void *wrapper, struct fatbin_wrapper *out);

enum fatbin_kind { FATBIN_PTX = 1, FATBIN_ELF = 2, FATBIN_LTO = 8 };

/* What one entry of a fat binary is written from (weircc/objects/fatbin.h has the layout). */
struct fatbin_part {
    enum fatbin_kind kind;
    unsigned arch;         /* 90 for compute_90 */
    uint16_t minor, major; /* of what the payload is written in: of PTX the ISA */
    uint64_t flags;
    const char *name;    /* NULL: none */
    const char *options; /* of the assembler, "": none; NULL: the entry has no place for them */
    const char *own;     /* Weir's form of the PTX, if the payload is one for GPUs, else NULL; then
                            there is no name, and no options */
    size_t own_size;
    const char *payload;
    size_t size;
    bool is_text; /* which ends with a NUL in the file */
};
enum {
    FATBIN_64BIT = 0x1,
    FATBIN_DEBUG = 0x2,
    FATBIN_CUDA = 0x4,
    FATBIN_OPENCL = 0x8,
    FATBIN_LINUX = 0x10,
    FATBIN_MAC = 0x20,
    FATBIN_WINDOWS = 0x40,
    FATBIN_ARCH_SPECIFIC = 0x100000,   /* of compute_90a */
    FATBIN_FAMILY_SPECIFIC = 0x200000, /* of compute_100f */
};

/* Begins a fat binary, and says where; fatbin_add appends an entry; fatbin_end makes it whole. */
size_t fatbin_begin(struct strbuf *out);
void fatbin_add(struct strbuf *out, const struct fatbin_part *part);
void fatbin_end(struct strbuf *out, size_t begin);

#endif
