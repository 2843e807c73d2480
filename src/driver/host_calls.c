/* host_calls: host libraries that take device pointers, MPI's above all. Whoever stands before such
 * a library (tools/mpi) tells when a call of it begins and ends, and which memory it accesses. What
 * it does counts as the host's, but it may: the thread sees device memory meanwhile, checked mode
 * or not. */
#include <signal.h>

#include "driver/driver.h"
#include "driver/error/fault.h"
#include "driver/host_calls.h"
#include "driver/observers.h"
#include "memory/memory.h"
#include "memory/view.h"
#include "observe/observe.h"

static _Thread_local struct mem_view view_before;

WEIR_API int weir_host_call_begins(int goes_on)
{
    view_before = mem_view_enter();
    if (goes_on)
        mem_view_open();
    return mem_checked() || observed();
}

WEIR_API void weir_host_call_ends(void) { mem_view_leave(view_before); }

/* The first of the bytes that no live allocation of a device has, or 0: there is none, or the
 * memory is the host's. */
static uint64_t first_missing(uint64_t address, uint64_t bytes)
{
    struct mem_place p;
    if (bytes == 0 || !mem_in_device_range((const void *)(uintptr_t)address))
        return 0;
    mem_place_of((const void *)(uintptr_t)address, &p);
    if (p.relation != MEM_INSIDE)
        return address;
    return bytes <= p.info.size - p.distance ? 0 : p.info.base + p.info.size;
}

WEIR_API void weir_host_access(const void *memory, uint64_t bytes, int write, const char *call,
                               const void *site)
{
    uint64_t address = (uint64_t)(uintptr_t)memory;
    uint64_t missing = mem_checked() ? first_missing(address, bytes) : 0;
    if (missing != 0) {
        fault_host_call(call, missing, site, write != 0);
        raise(SIGSEGV);
    }
    if (observed() && bytes > 0)
        observe_host_accesses(&(struct observe_host_access){
            .address = address, .bytes = bytes, .write = write != 0, .site = site});
}
