/* memory: where every byte that a kernel may touch by a CUDA pointer lives.
 *
 * Each device has one reserved address range; page-locked and managed memory have another one,
 * the host's; what is mapped by hand or belongs to another process, a third. A range is reserved
 * without access and cut into chunks of 2 MiB: a large allocation owns whole chunks and is followed
 * by pages without access, so that an overrun faults; small ones share chunks of their size class.
 * An address is found in O(1) from its chunk (ranges registered by cudaHostRegister: O(log n)).
 *
 * The memory is private and anonymous, because only that gets huge pages on an ordinary Linux:
 * fresh memory comes several times faster, and scattered accesses cost fewer TLB misses. Nothing
 * outside relies on it: whole chunks can be backed by a file in memory instead, in place, where
 * another process shall map them.
 *
 * Freed ranges are kept mapped for the next allocation of the same size, up to a share of the
 * device's memory; what is beyond is given back to the operating system. Contents of new memory
 * are undefined, but only ever this process's own.
 *
 * Every function may be called from any thread. Addresses are the process's own: a device pointer
 * and a host pointer to the same byte are equal. */
#ifndef WEIR_MEMORY_MEMORY_H
#define WEIR_MEMORY_MEMORY_H

#include "base/base.h"
#include "memory/file.h"
#include "memory/site.h"
#include "observe/observe.h"

enum {
    MEM_HOST = -1,        /* the "device" of page-locked, registered and managed memory */
    MEM_MAPPINGS = -2,    /* the "device" of addresses that are mapped by hand, for mem_visit */
    MEM_MAX_DEVICES = 16, /* ranges that can be open at once, the host's not counted */
    MEM_ALIGNMENT = 512,  /* of every allocation's base */
};

/* Sets of devices are bits by ordinal. */
#define MEM_ALL_DEVICES UINT32_MAX

enum mem_status {
    MEM_OK = 0,
    MEM_OUT_OF_MEMORY, /* the device (or the host) has not that much left */
    MEM_INVALID,       /* no such allocation, not its base, wrong kind, size 0, wrapping range */
    MEM_ALREADY_REGISTERED, /* the range overlaps a registered or allocated one */
    MEM_NOT_REGISTERED,     /* unregistering what is not the base of a registered range */
};

/* What an address belongs to. Bits, so that sets of kinds can be named. */
enum mem_kind {
    MEM_PAGEABLE = 0,        /* nothing of ours: malloc, stack, files */
    MEM_DEVICE = 1 << 0,     /* cudaMalloc and its 2D/3D kin */
    MEM_ARRAY = 1 << 1,      /* cudaMallocArray */
    MEM_MODULE = 1 << 2,     /* __device__ and __constant__ variables */
    MEM_HEAP = 1 << 3,       /* the heap of malloc() in kernels */
    MEM_POOL = 1 << 4,       /* the stream-ordered allocator's */
    MEM_INTERNAL = 1 << 5,   /* ours: never the program's to free */
    MEM_PINNED = 1 << 6,     /* cudaMallocHost, cudaHostAlloc */
    MEM_REGISTERED = 1 << 7, /* cudaHostRegister */
    MEM_MANAGED = 1 << 8,    /* cudaMallocManaged, __managed__ */
    MEM_MAPPED = 1 << 9,     /* cuMemMap */
    MEM_IMPORTED = 1 << 10,  /* cudaIpcOpenMemHandle */
    MEM_ON_DEVICE = MEM_DEVICE | MEM_ARRAY | MEM_MODULE | MEM_HEAP | MEM_POOL | MEM_INTERNAL |
                    MEM_MAPPED | MEM_IMPORTED,
    MEM_ON_HOST = MEM_PINNED | MEM_REGISTERED | MEM_MANAGED,
    MEM_ANY = MEM_ON_DEVICE | MEM_ON_HOST,
};

/* What a mapping may be used for, by all devices and the host alike. */
enum mem_rights { MEM_NO_ACCESS = 0, MEM_READ = 1, MEM_READ_WRITE = 3 };

enum { MEM_SERIAL_BITS = 36 }; /* of struct mem_info's serial */

/* One allocation, copied out: valid whatever happens to the allocation afterwards. */
struct mem_info {
    enum mem_kind kind;
    int device;           /* whose memory it is; MEM_HOST for the host's */
    uint32_t flags;       /* the caller's own (cudaHostAlloc's flags, attach flags …); of what
                             is mapped: enum mem_rights */
    uint64_t base;        /* first byte */
    uint64_t size;        /* bytes asked for (an overrun is past these, rounding or not) */
    uint64_t serial;      /* 1, 2, 3 … over all allocations of the process: the buffer id. Of a pool's
                             parts, which count for themselves, the number is above these bits: */
    const void *owner;    /* who asked (a context), for mem_free_owned */
    void *user;           /* the caller's own, from the request */
    struct mem_site made; /* the call that made it */
};

/* Reserves the ranges: the host's and `devices` devices' with `capacity` bytes each (0: half of the
 * machine's memory, or WEIR_DEVICE_MEMORY: bytes, or a number with K, M, G or T). Once per process;
 * false and a message when the system refuses or the variable makes no sense. */
bool mem_open(int devices, uint64_t capacity, struct diag *d);

/* What to allocate. Fields left zero are fine except bytes and kind. */
struct mem_request {
    int device; /* ordinal, or MEM_HOST for MEM_PINNED and MEM_MANAGED */
    enum mem_kind kind;
    uint64_t bytes;
    uint64_t align;    /* power of two up to 2 MiB; 0: MEM_ALIGNMENT */
    uint32_t flags;    /* kept in mem_info */
    const void *owner; /* kept in mem_info */
    void *user;        /* kept in mem_info */
};
enum mem_status mem_alloc(const struct mem_request *request, void **out);

/* Frees the allocation that starts at `base` if its kind is one of `kinds`. */
enum mem_status mem_free(void *base, unsigned kinds);

/* The allocation is no longer the program's: its kind is MEM_INTERNAL from now on, so that it can
 * be freed later, by that kind, and by nobody else. */
enum mem_status mem_retire(void *base, unsigned kinds);

/* Frees everything in the device's range (MEM_HOST: the host's, registered ranges included) that
 * belongs to `owner`, and gives its pages back to the system. For resets and lost contexts. */
void mem_free_owned(int device, const void *owner);

/* Page-locks a range that the program has allocated itself / ends that. Pages are made resident;
 * they are not pinned with mlock, nothing here does DMA. */
enum mem_status mem_register(void *base, uint64_t bytes, uint32_t flags, const void *owner);
enum mem_status mem_unregister(void *base);

/* A variable of the program is managed memory from now on / no longer. It belongs to no context. */
enum mem_status mem_adopt(void *base, uint64_t bytes);
enum mem_status mem_disown(void *base);

/* The live allocation that holds `address`; false (and kind MEM_PAGEABLE) when there is none.
 * Bytes in the rounding after an allocation belong to none. */
bool mem_find(const void *address, struct mem_info *info);

/* As mem_find, without the copy: only the kind and, if `device` is not NULL, whose it is. In
 * suballocated chunks every address counts as allocated. */
enum mem_kind mem_kind_of(const void *address, int *device);

/* Whether the address is in the range of a device, allocated or not: then it is certainly not
 * pageable memory. */
bool mem_in_device_range(const void *address);
/* The same for the ranges of devices and the host. */
bool mem_in_range(const void *address);

/* Whether that many bytes from the address on are in one live allocation or in mappings that follow
 * each other and have these rights. True for pageable memory, which cannot be checked. */
bool mem_reaches(const void *address, uint64_t bytes, enum mem_rights rights);

/* Whether the process has memory at all of these addresses, whoever's and with whatever rights. Asks
 * the system. */
bool mem_is_mapped(const void *address, uint64_t bytes);

/* ---- suballocated chunks (suballocated.c) ---- */

/* Whole chunks of a range for an allocator above, which hands out what is in them: the
 * pools. They count as used memory. */

enum { MEM_CHUNK = 2 << 20 };

struct mem_place;
/* What the suballocator answers about addresses in its chunks. Called from any thread, without a
 * lock of this layer's. */
struct mem_suballocator {
    /* As mem_find. */
    bool (*find)(const void *address, struct mem_info *info);
    /* As mem_place_of, device and rights being filled in; false: nothing is known of the address.
     * Asked about the range's free chunks, too: they may have been its own. */
    bool (*place)(const void *address, struct mem_place *out);
    /* Whose kernels may touch the memory at the address: a bit for each device. */
    uint32_t (*devices)(const void *address);
};
/* Checked mode: what is alive in suballocated chunks for the work that runs now. */
struct mem_ordered {
    bool (*alive)(uint64_t address, uint64_t *base, uint64_t *end);
    bool (*too_early)(uint64_t address); /* it will be, in the order of some stream */
};
void mem_set_ordered(const struct mem_ordered *o); /* once, before mem_open */

/* Once, before the first chunks are taken. */
void mem_set_suballocator(const struct mem_suballocator *s);

/* A device's (or MEM_HOST's) range of addresses; false when there is no such device. */
bool mem_range(int device, uint64_t *base, uint64_t *bytes);

/* Takes `bytes` (whole chunks), at the address `at` unless that is 0: accessible, zero or not.
 * fd: -1 for anonymous memory, else a file in memory that holds each byte at its offset from the
 * range's base, and must be as large as the range. kind: what addresses in it are; devices: whose
 * kernels may touch it, a bit for each. */
enum mem_status mem_chunks_take(int device, enum mem_kind kind, uint64_t bytes, uint64_t at, int fd,
                                uint32_t devices, uint64_t *base);

/* Changes whose kernels may touch suballocated chunks, at once. */
void mem_chunks_allow(int device, uint64_t base, uint64_t bytes, uint32_t devices);

/* Gives suballocated chunks back to the system, not necessarily as they were taken. Nothing
 * may use them any more. */
void mem_chunks_drop(int device, uint64_t base, uint64_t bytes, int fd);

/* Numbers for cudaMemGetInfo: memory kept for reuse counts as free. */
void mem_usage(int device, uint64_t *free_bytes, uint64_t *total_bytes);

/* How an address relates to an allocation, live or freed. */
enum mem_relation {
    MEM_NOWHERE, /* not in a range of ours and not registered */
    MEM_INSIDE,
    MEM_PAST,   /* after the end of a live allocation, not far */
    MEM_BEFORE, /* before the start of one, nearer than to the end of the one before */
    MEM_FREED,  /* in one that was freed lately */
    MEM_VACANT, /* in a range of ours, where nothing is or was lately */
};
struct mem_place {
    enum mem_relation relation;
    uint64_t distance;      /* bytes: into it, past its end, before its start */
    int device;             /* whose range, but for MEM_NOWHERE */
    struct mem_info info;   /* of the allocation, if there is one */
    enum mem_rights rights; /* MEM_INSIDE: of a mapping; others may do all */
    struct mem_site freed;  /* MEM_FREED: by which call */
};
void mem_place_of(const void *address, struct mem_place *out);

/* For messages: appends what `address` is or was, e.g. "16 bytes past the 4,096-byte allocation #7
 * made by cudaMalloc at main.cu:31". Names the calls by mem_site_words. */
void mem_describe(const void *address, struct strbuf *out);

/* Visits every live allocation of a range in address order, for tools; stops when it returns false.
 */
void mem_visit(int device, bool (*visit)(void *self, const struct mem_info *info), void *self);

/* ---- sharing with other processes (share.c) ---- */

/* An allocation is private memory until it
 * is exported for the first time; then its pages become those of a file (file.h), in place. Small
 * allocations share the pages around them, as on a GPU: another process sees no more than the pages
 * that hold the allocation, but may see its neighbours on the first and the last of them. */

/* Whether the allocation at the address has been exported before: mem_export moves no page. */
bool mem_is_shared(const void *address);

/* Makes a handle for the cudaMalloc allocation that holds the address. The first time, the pages
 * are copied and replaced: nobody may write the memory (and, if it is small, the 2 MiB around it)
 * meanwhile. Handles are good until the allocation is freed. */
enum mem_status mem_export(const void *address, struct share_handle *out);

/* Maps what the handle of another process names; the memory counts as that of the device it is
 * of there, or, where this process has not that many, as `device`'s (and is charged to
 * nobody: it is the other process's). Freed by mem_free(…, MEM_IMPORTED). FILE_REFUSED, too, when
 * there is no space for it here. */
enum file_status mem_import(const struct share_handle *h, int device, const void *owner,
                            void **out);

/* Maps a part of a file's content, not charged to anybody, as an allocation of the kind, device,
 * owner and user that `like` says. The file may be closed afterwards. */
enum mem_status mem_map_part(const struct mem_file *f, uint64_t offset, uint64_t bytes,
                             const struct mem_info *like, void **out);

/* ---- aliases (alias.c) ---- */

/* Allocations whose addresses stay while their pages come and go: those of graphs. */

/* Addresses that count as an allocation of `bytes`, of the kind, device, owner and user that `like`
 * says. They show nothing yet, and every access faults. Freed by mem_free, as of that kind. */
enum mem_status mem_alias_new(uint64_t bytes, const struct mem_info *like, void **out);

/* From now on the addresses of the alias that starts at `base` show the file's content from
 * `offset` (a whole page) on. When the system refuses they show nothing. The file may be closed
 * afterwards. Nobody may be using the addresses. */
enum mem_status mem_alias_show(void *base, const struct mem_file *f, uint64_t offset);

/* ---- reservations and mappings (virtual.c) ---- */

/* Reservations hold addresses, files hold pages; mappings bring them together, in whole multiples
 * of MEM_GRANULE. */

enum { MEM_GRANULE = 2 << 20 };

/* Reserves addresses: at `hint` (a multiple of MEM_GRANULE) if they are free, else anywhere. align:
 * a power of two, 0: any. */
enum mem_status mem_reserve(uint64_t bytes, uint64_t align, uint64_t hint, void **out);
/* The whole reservation, and nothing mapped in it; else MEM_INVALID. */
enum mem_status mem_unreserve(void *base, uint64_t bytes);

/* Maps a part of the file's content over reserved addresses that have no mapping, without rights.
 * The file may be closed afterwards. `user` stays with the mapping (mem_info). */
enum mem_status mem_map(void *at, uint64_t bytes, const struct mem_file *file, uint64_t offset,
                        int device, void *user);
/* Ends the mappings in the range, calling dropped(user) for each. MEM_INVALID when a mapping
 * reaches out of it, or some of it is not reserved; addresses without a mapping are skipped. */
enum mem_status mem_unmap(void *base, uint64_t bytes, void (*dropped)(void *user));
/* Sets the rights of the mappings in the range, each to what decide(user, arg, &devices) says, and
 * whose kernels have them (a bit for each; all share the rights). The rights stand in mem_info's
 * flags. As mem_unmap, but the range must begin and end with a mapping. */
enum mem_status mem_set_rights(void *base, uint64_t bytes,
                               enum mem_rights (*decide)(void *user, void *arg, uint32_t *devices),
                               void *arg);
/* Says whose kernels may touch what mem_map_part has mapped there; everyone's at first. */
void mem_map_allow(const void *base, uint32_t devices);
/* The reservation that holds a mapping; false when there is no mapping. */
bool mem_reservation(const void *at, uint64_t *base, uint64_t *bytes);

/* Counts pages that are in a file, not in an allocation, as used memory of the device / no longer.
 */
enum mem_status mem_charge(int device, uint64_t bytes);
void mem_uncharge(int device, uint64_t bytes);

/* How an allocation of this kind is made, in CUDA's words ("cudaMalloc"). */
const char *mem_kind_name(enum mem_kind kind);
/* As observers are told it. */
enum observe_memory_kind mem_observed_kind(enum mem_kind kind);

#endif
