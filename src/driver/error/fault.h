/* fault: what happened in a context's kernels, told to people and programs. The device layer keeps
 * the fault; here it gets names: source lines of kernels, lines of the host code that made and
 * freed the memory; once, when a call first returns its code. */
#ifndef WEIR_DRIVER_ERROR_FAULT_H
#define WEIR_DRIVER_ERROR_FAULT_H

#include "driver/driver.h"

/* Tells about the context's fault, if there is one and it is not told yet: to stderr (unless
 * WEIR_FAULTS=off) and for weir_last_fault; and, every time, to weir_last_message. */
void fault_tell(CUcontext c);
/* The context is as new: a next fault is told again. */
void fault_forget(CUcontext c);

/* Checked mode: tells that host code at `pc` touched device memory. For grid_set_host_touch. */
void fault_host(uint64_t address, uint64_t pc, bool write);
/* Likewise, that a library's function, which returns to `site`, was given memory that is not there.
 */
void fault_host_call(const char *call, uint64_t address, const void *site, bool write);

#endif
