/* host_accesses: host code that reads or writes a variable of the device by its name.
 *
 * What the host has of such a variable is a shadow by which functions like cudaMemcpyToSymbol know
 * it; its value is nothing. C++ lets host code read and write it, and nvcc warns (20091, 20092).
 * clang does not, so the LLVM text of the host half is looked into, as its front end writes it:
 * shadows are the variables without a value (undef) that the device's text has, too. Their
 * addresses may go anywhere. A function that the device has as well is left out: it may be called
 * there alone. */
#ifndef WEIRCC_HOST_ACCESSES_H
#define WEIRCC_HOST_ACCESSES_H

#include "base/base.h"

/* Whether the device's text has variables that a host could access by mistake. */
bool host_accesses_possible(const char *device);

/* Appends a message for each access, "file:1:2: warning: text", but those in files of `headers`. */
void host_accesses_find(const char *host, const char *device, const char *headers,
                        struct strbuf *messages);

#endif
