/* How a program whose device code is relocatable (weircc -rdc=true) hands it to the runtime.
 *
 * clang writes, for each kernel and device variable of a translation unit, an entry into the
 * section cuda_offloading_entries; weircc embeds the PTX of each translation unit as a piece in the
 * section weir_device_code, and links one small start-up object into every executable and shared
 * library, whose constructor calls __cudaWeirRegisterOffload with the bounds of both. All pieces
 * that come in one call are linked into one module.
 *
 * __managed__ variables of clang-compiled code, relocatable or not, lie in the section
 * weir_managed; the start-up object tells its bounds with __cudaWeirRegisterManaged. Their host
 * addresses are what kernels use, too. */
#ifndef WEIR_RUNTIME_OFFLOAD_H
#define WEIR_RUNTIME_OFFLOAD_H

#include <stdint.h>

/* One kernel or variable: LLVM 19's layout (struct __tgt_offload_entry). */
struct offload_entry {
    void *addr;       /* host stub, or the host's shadow of a variable */
    const char *name; /* name in PTX */
    uint64_t size;    /* bytes of a variable, 0 for a kernel */
    int32_t flags;    /* enum offload_flags */
    int32_t data;
};

enum offload_flags {
    OFFLOAD_KIND = 0x7, /* mask: 0 variable, 1 managed, 2 surface, 3 texture */
    OFFLOAD_EXTERN = 1 << 3,
    OFFLOAD_CONSTANT = 1 << 4,
};

/* One translation unit's PTX. Pieces follow each other, each aligned to 8 bytes; a word of zero
 * between them is padding. */
struct offload_piece {
    uint32_t magic;   /* OFFLOAD_PIECE_MAGIC */
    uint32_t version; /* 1 */
    uint64_t bytes;   /* of the text after this header, its closing NUL included; the next piece
                         begins at the next multiple of 8 */
};
enum { OFFLOAD_PIECE_MAGIC = 0x58545057 }; /* "WPTX" */

void __cudaWeirRegisterOffload(const void *pieces_begin, const void *pieces_end,
                               const struct offload_entry *entries_begin,
                               const struct offload_entry *entries_end);
void __cudaWeirRegisterManaged(const void *begin, const void *end);

#endif
