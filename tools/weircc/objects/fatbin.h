/* fatbin: PTX in the container that CUDA programs carry their device code in.
 *
 * Layout (little-endian, all offsets in bytes):
 *   header  0 u32 0xBA55ED50   4 u16 version 1   6 u16 header size 16
 *           8 u64 bytes that follow
 *   entry   0 u16 kind 1 (PTX)   2 u16 0x101   4 u32 header size 80
 *           8 u64 payload size, padded to 8   16 u32 0 (raw)   20 u32 offset of the options, 64
 *           24 u16 ISA minor   26 u16 ISA major   28 u32 architecture
 *           32 u32, 36 u32 source name (none)   40 u64 flags   56 u64 0 (raw)
 *           64 u32 offset of the options' text, 72   68 u32 its length, 0   72 a NUL, padded to 8
 *   payload the PTX text, ended by a NUL and padded with more
 *
 * Device code of two forms has the one for GPUs as the payload, and Weir's own in the entry's
 * header, which says how long it is: after the options stands a struct fatbin_own, then the text.
 *
 * The options are those of NVIDIA's assembler. Its driver looks for them in every entry with PTX,
 * also where their offset is 0, so an entry without that area must not be written. */
#ifndef WEIRCC_FATBIN_H
#define WEIRCC_FATBIN_H

#include "base/base.h"

/* What the head of a PTX file says. */
struct ptx_head {
    int major, minor; /* .version */
    int arch;         /* .target sm_<arch> */
    bool debug;       /* .target ..., debug */
};

/* What comes after white space and comments. */
const char *ptx_skip_space(const char *p);

/* Reads the directives at the start of PTX text. False and a message when it is not PTX. */
bool ptx_read_head(const char *text, struct ptx_head *head, struct diag *d);

/* Reads the PTX file, and that of its form for GPUs unless NULL (gpu/form.h), and writes the
 * container, whole or not at all. */
bool fatbin_write(const char *ptx_path, const char *gpu_path, const char *out_path, struct diag *d);

/* The same for an ELF file that stands for a cubin (src/container/container.h). */
bool cubin_write(const char *ptx_path, const char *out_path, struct diag *d);

/* The PTX in a container, ended by a NUL, on the heap. NULL and a message that tells what to do
 * when there is none or it is compressed. */
char *fatbin_read_ptx(const char *path, struct diag *d);

#endif
