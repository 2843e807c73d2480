/* offload: how a program compiled by weircc hands over what clang does not register by itself.
 *
 * Relocatable device code (-rdc=true): each object carries a fat binary in the section weir_rdc and
 * clang's entries in cuda_offloading_entries; one start-up object per executable or shared library
 * (tools/weircc/crt/rdc.c) calls __cudaWeirRegisterOffload with the bounds of both. All fat
 * binaries of one call are linked into one module.
 *
 * __managed__ variables, relocatable or not, are in the section weir_managed of the host program;
 * cuda_runtime.h tells its bounds with __cudaWeirRegisterManaged. Their host addresses are what
 * kernels use, too. */
#ifndef WEIR_RUNTIME_OFFLOAD_H
#define WEIR_RUNTIME_OFFLOAD_H

#include <stdint.h>

/* One kernel or variable: LLVM 19's layout (struct __tgt_offload_entry). LLVM aligns the entries'
 * section to one byte, so where it starts is the linker's choice. */
struct __attribute__((packed)) offload_entry {
    void *addr;       /* host stub, or the host's shadow of a variable */
    const char *name; /* name in PTX */
    uint64_t size;    /* bytes of a variable, 0 for a kernel */
    int32_t flags;    /* enum offload_flags */
    int32_t data;
};

enum offload_flags {
    OFFLOAD_KIND = 0x7, /* mask of enum offload_kind */
    OFFLOAD_EXTERN = 1 << 3,
    OFFLOAD_CONSTANT = 1 << 4,
    OFFLOAD_NORMALIZED = 1 << 5, /* a texture whose integers are read as fractions */
};

enum offload_kind { OFFLOAD_GLOBAL, OFFLOAD_MANAGED, OFFLOAD_SURFACE, OFFLOAD_TEXTURE };

/* `blobs` are fat binaries one after the other (see fat_header), each at a multiple of 8. */
void __cudaWeirRegisterOffload(const void *blobs_begin, const void *blobs_end,
                               const void *entries_begin, const void *entries_end);
void __cudaWeirUnregisterOffload(const void *blobs_begin);
/* The same bounds may be told any number of times. */
void __cudaWeirRegisterManaged(const void *begin, const void *end);

/* ---- fat binaries ---- */

/* What __cudaRegisterFatBinary is given. */
struct fat_wrapper {
    uint32_t magic;         /* FAT_WRAPPER_MAGIC */
    uint32_t version;       /* 1: data alone; 2: aux has the pieces of relocatable code */
    const void *data;       /* a fat binary, or PTX text */
    const void *const *aux; /* fat binaries, closed by NULL */
};
enum { FAT_WRAPPER_MAGIC = 0x466243b1 };

/* The head of one fat binary. */
struct fat_header {
    uint32_t magic; /* FAT_MAGIC */
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the entries that follow */
};
#define FAT_MAGIC 0xBA55ED50u

#endif
