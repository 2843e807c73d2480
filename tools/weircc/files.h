/* files: writing whole files. */
#ifndef WEIRCC_FILES_H
#define WEIRCC_FILES_H

#include "base/base.h"

/* Writes a file anew, in place. False and a message when it cannot be written. */
bool file_write(const char *path, const char *bytes, size_t size, struct diag *d);

#endif
