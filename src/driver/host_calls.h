/* host_calls: what libcuda.so.1 exports for those who stand between a program and a host library
 * that takes device pointers (tools/mpi). A thread is in one such call at most. */
#ifndef WEIR_DRIVER_HOST_CALLS_H
#define WEIR_DRIVER_HOST_CALLS_H

#include <stdint.h>

/* The thread may touch device memory until the call ends. `goes_on`: the library goes on after it
 * (a message that is only begun). Returns whether accesses are to be told. */
int weir_host_call_begins(int goes_on);
void weir_host_call_ends(void);
/* The call, which returns to `site`, reads or writes the bytes. In checked mode the process ends,
 * with a message, when a device has not allocated them all. */
void weir_host_access(const void *memory, uint64_t bytes, int write, const char *call,
                      const void *site);

#endif
