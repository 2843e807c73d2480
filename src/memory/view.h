/* view: which threads see device memory, and whose.
 *
 * In checked mode (WEIR_CHECK=memory) device memory is not host memory: only a thread that runs
 * device work sees it, any other that touches it gets SIGSEGV. And where there are several devices
 * (WEIR_DEVICES), a thread that runs a kernel of one sees another's memory only if it has access:
 * to plain memory by cudaDeviceEnablePeerAccess, to pools by cudaMemPoolSetAccess.
 *
 * Where the CPU has protection keys, the pages of devices carry them, and each thread's
 * rights are a register: exact, and nearly free. A key stands for a device's plain memory, or for
 * the pool memory that one set of devices may touch. There are fifteen: enough for any set of three
 * devices, beyond that what a pool shares with some is shared with all, and from eight devices on a
 * pool is seen by peers, too. The host then sees no device memory, checked mode or not. Without
 * keys, checked mode takes all rights from the pages while no device work runs (then what the host
 * does meanwhile is not seen), and where there are several devices, kernels are compiled with
 * checks that know whose memory is whose, checked mode or not (exec/check.h).
 *
 * All of this holds for memory that is the devices' alone; page-locked and managed memory are the
 * host's, too, and what cudaIpcOpenMemHandle has opened is every device's.
 *
 * Where nothing is guarded, all of this is one predictable branch. */
#ifndef WEIR_MEMORY_VIEW_H
#define WEIR_MEMORY_VIEW_H

#include "base/base.h"

/* Turns checked mode on; once, before mem_open. */
void mem_check_begin(void);

extern bool mem_view_checked, mem_view_guarded,
    mem_view_needs_checks; /* for the inline functions only */
static inline bool mem_checked(void) { return WEIR_UNLIKELY(mem_view_checked); }
/* Checked mode, or several devices and protection keys. */
static inline bool mem_guarded(void) { return WEIR_UNLIKELY(mem_view_guarded); }
/* Several devices and no protection keys: only checks in compiled code know whose memory is whose.
 */
static inline bool mem_needs_checks(void) { return WEIR_UNLIKELY(mem_view_needs_checks); }

/* Whose memory a thread sees. */
struct mem_view {
    bool inside;    /* some device's */
    int device;     /* whose kernel runs; -1: a copy or the like, which sees all */
    uint32_t peers; /* other devices whose plain memory it sees */
};

/* The calling thread may touch device memory from enter to leave, which takes what enter has
 * returned; they nest. */
struct mem_view view_enter(int device, uint32_t peers);
void view_leave(struct mem_view before);
/* After a jump out of a signal handler, which runs without rights: as before the signal. */
void view_again(void);

/* As a copy, which sees all devices. */
static inline struct mem_view mem_view_enter(void)
{
    return mem_guarded() ? view_enter(-1, 0) : (struct mem_view){0};
}
/* As a kernel of the device. */
static inline struct mem_view mem_view_enter_as(int device, uint32_t peers)
{
    return mem_guarded() ? view_enter(device, peers) : (struct mem_view){0};
}
static inline void mem_view_leave(struct mem_view before)
{
    if (mem_guarded())
        view_leave(before);
}
static inline void mem_view_again(void)
{
    if (mem_guarded())
        view_again();
}

/* The host's threads may touch device memory at any time from now on, where only the rights of
 * pages keep them out of it: without keys, in checked mode. For host libraries that go on after
 * their calls (MPI's), whose other end may read these pages, too. */
void mem_view_open(void);

/* ---- for the spaces ---- */

/* Once, when it is known how many devices there are. */
void view_open(int devices);
/* Gives pages of a device rights, or takes them; its space's lock is held. For plain memory, and
 * for pools', which these devices may touch. */
bool view_set_access(int device, void *base, uint64_t bytes, bool access);
bool view_set_access_of(uint32_t devices, void *base, uint64_t bytes, bool access);
/* For mappings, with the system's PROT_* bits: where there are several devices, checked mode takes
 * no part.
 */
bool view_set_rights_of(uint32_t devices, void *base, uint64_t bytes, int rights);

/* ---- questions of checked code ---- */

/* Addresses from base on, below end, belong to one live allocation, which a kernel of the device
 * with these peers may touch, as long as mem_generation() is what it was. */
struct mem_span {
    uint64_t base, end;
    uint64_t generation;
    int device;
    uint32_t peers;
};
/* Counts everything that allocates, frees, or changes whose kernels may touch what. */
uint64_t mem_generation(void);
void mem_changed(void); /* by whoever does */

/* Memory of ours that kernels were given a pointer to / no longer; nothing outside checked mode. */
void mem_permit(void *base, uint64_t bytes);
void mem_forbid(void *base);

/* Whether a kernel of the device, without access to pageable memory, may touch the bytes; then the
 * allocation that holds them goes to *out. If only the first few are inside, *out is that
 * allocation, too, and false returned. */
bool mem_usable(int device, uint32_t peers, uint64_t address, uint64_t bytes, struct mem_span *out);

/* Whether stream-ordered memory is there only for work that is ordered after other work. */
bool mem_too_early(uint64_t address);

/* Whether the address is in memory of another device that a kernel of this one has no access to.
 */
bool mem_foreign(int device, uint32_t peers, uint64_t address);

/* Where mem_needs_checks(), of two ranges the bases and sizes, which do not change: an address
 * outside the first, or in the second, is not memory of another device, nor is any within
 * SPACE_CHUNK above it. */
const uint64_t *mem_others(int device);

#endif
