/* view: checked mode (WEIR_CHECK=memory), in which device memory is not host memory: only a thread
 * that runs device work sees it. Any other that touches it gets SIGSEGV.
 *
 * Where the processor has protection keys, the pages of devices carry one, and each thread's rights
 * are a register: exact, and nearly free. Elsewhere the pages lose all rights while no device work
 * runs: then what the host does meanwhile is not seen. Both hold for memory that is the device's
 * alone; page-locked and managed memory are the host's, too, and pages shared with other processes
 * keep the rights that they were mapped with.
 *
 * Outside checked mode all of this is one predictable branch. */
#ifndef WEIR_MEMORY_VIEW_H
#define WEIR_MEMORY_VIEW_H

#include "base/base.h"

/* Turns checked mode on; once, before mem_open. */
void mem_check_begin(void);

extern bool mem_checked_; /* for the inline functions only */
static inline bool mem_checked(void) { return WEIR_UNLIKELY(mem_checked_); }

/* The calling thread may touch device memory from enter to leave; they nest. */
void view_enter(void);
void view_leave(void);
/* After a jump out of a signal handler, which runs without rights: as before the signal. */
void view_again(void);

static inline void mem_view_enter(void)
{
    if (mem_checked())
        view_enter();
}
static inline void mem_view_leave(void)
{
    if (mem_checked())
        view_leave();
}
static inline void mem_view_again(void)
{
    if (mem_checked())
        view_again();
}

/* ---- for the spaces ----------------------------------------------------------------------------
 */

/* Gives a device's pages rights, or takes them; its space's lock is held. */
bool view_set_access(void *base, uint64_t bytes, bool access);

/* ---- questions of checked code -----------------------------------------------------------------
 */

/* Addresses from base on, below end, belong to one live allocation as long as mem_generation() is
 * what it was. */
struct mem_span {
    uint64_t base, end;
    uint64_t generation;
};
/* Counts everything that allocates or frees. */
uint64_t mem_generation(void);
void mem_changed(void); /* by whoever allocates or frees */

/* Memory of ours that kernels were given a pointer to / no longer; nothing outside checked mode. */
void mem_permit(void *base, uint64_t bytes);
void mem_forbid(void *base);

/* Whether a device without access to pageable memory may touch the bytes; then the allocation that
 * holds them goes to *out. If only the first few are inside, *out is that allocation, too, and
 * false returned. */
bool mem_usable(uint64_t address, uint64_t bytes, struct mem_span *out);

#endif
