/* file: memory that several processes map. Everything of the system that sharing needs is here and
 * nowhere else.
 *
 * Shared memory is a file that exists in memory only and has no name (memfd): it lives as long as
 * someone has it open or mapped, so a killed process leaves nothing. Another process finds
 * it through /proc/<pid>/fd/<number>, which works for processes of the same user, or is given a
 * descriptor of it (SCM_RIGHTS, inheritance).
 *
 * The content is followed by a trailer that says what the file is. It carries a random number that
 * a handle repeats: so a handle opens the very file it was made for, or nothing, whatever has
 * happened to the process and its descriptors meanwhile. The size is sealed: no process can make
 * the memory of another vanish.
 *
 * Functions may be called from any thread. */
#ifndef WEIR_MEMORY_FILE_H
#define WEIR_MEMORY_FILE_H

#include <stdatomic.h>

#include "base/base.h"

enum file_kind {
    FILE_ALLOCATION = 1, /* allocations of cudaMalloc */
    FILE_BLOCK,          /* physical memory of cuMemCreate */
    FILE_EVENT,          /* an interprocess event */
    FILE_POOL,           /* the memory of a pool */
};

/* At the end of each file, shared by all who map it. Foreign processes can write it: nothing in it
 * is trusted with addresses or lengths beyond what is checked when the file is opened. */
struct file_trailer {
    uint64_t magic;
    uint64_t id;    /* random: of this file and no other */
    uint64_t bytes; /* of content */
    uint32_t kind;  /* enum file_kind */
    /* Whose memory it is, as the process that made it counts. To be read once and checked then: it
     * may change at any time. */
    _Atomic int32_t device;
    _Atomic uint64_t slots; /* length of: (read when the file is opened, see mem_file) */
    /* Serials of what is exported, by slot; 0: nothing (any more). Of allocations: one for each
     * that starts in the file; of pools and events: their own use. */
    _Atomic uint64_t live[];
};

struct mem_file {
    int fd;
    uint64_t bytes;         /* of content: whole pages */
    uint64_t trailer_bytes; /* mapped for the trailer */
    uint64_t slots;         /* that fit in there: what the trailer says may have changed since */
    struct file_trailer *trailer; /* mapped */
};

/* A new file of `bytes` (rounded up to pages) of zeros; NULL when the system has no more. */
struct mem_file *file_new(enum file_kind kind, int device, uint64_t bytes, uint64_t slots);

/* The file of a descriptor, which stays the caller's; NULL when it is none of ours or not of
 * that kind. */
struct mem_file *file_from_descriptor(int fd, enum file_kind kind);

/* Closes it; mappings of its content stay. */
void file_close(struct mem_file *f);

/* Maps `bytes` of its content from `offset` (whole pages) on, at the address if it is not NULL.
 * Readable and writable if `access`, else without rights. NULL when the system refuses. */
void *file_map(const struct mem_file *f, void *at, uint64_t offset, uint64_t bytes, bool access);

/* Copies memory to the content at `offset`. Pages of private memory that were never touched are
 * left out: they are zeros in the file as they are in memory. False when there is no space. */
bool file_fill(const struct mem_file *f, uint64_t offset, const void *from, uint64_t bytes);

/* ---- handles ---- */

/* What goes to another process as 64 opaque bytes: where to find a file, and an offset in it. */

struct share_handle {
    uint32_t magic;
    uint8_t kind; /* enum file_kind */
    uint8_t zero[3];
    int32_t pid;     /* of the process that has the file open, */
    int32_t fd;      /* its descriptor there */
    uint64_t id;     /* the trailer's */
    uint64_t offset; /* first byte of the content that is meant */
    uint64_t bytes;  /* how many */
    uint32_t slot;   /* of trailer->live, which holds */
    uint32_t spare;
    uint64_t serial; /* this while what is meant exists */
    uint64_t check;  /* hash of all before */
};
_Static_assert(sizeof(struct share_handle) == 64, "the size of CUDA's handles");

/* A handle of an offset in the file, which must stay open in this process. */
void share_handle_make(struct share_handle *h, const struct mem_file *f, uint64_t offset,
                       uint64_t bytes, uint32_t slot, uint64_t serial);

/* What 64 bytes from elsewhere are worth. */
enum file_status {
    FILE_OK,
    FILE_NO_HANDLE, /* not a handle of this kind, or damaged */
    FILE_OWN,       /* made by this very process */
    FILE_GONE,      /* the process or what it exported is gone */
    FILE_REFUSED,   /* the system does not let us have it */
};

/* Checks the bytes without opening anything. */
enum file_status share_handle_read(struct share_handle *h, const void *bytes, enum file_kind kind);

/* Opens what the (read) handle names. The handle's offset is within the file's content. */
enum file_status file_open(const struct share_handle *h, struct mem_file **out);

/* ---- processes ---- */

/* Two numbers that name a process for as long as the machine runs. */
struct process {
    int32_t pid;
    uint64_t start; /* moment it was started, in clock ticks since boot */
};
struct process process_self(void); /* cheap after the first call; right in a forked child, too */
bool process_alive(const struct process *p);

#endif
