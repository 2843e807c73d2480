/* files: writing whole files. */
#ifndef WEIRCC_FILES_H
#define WEIRCC_FILES_H

#include "base/base.h"

/* Writes a file anew, in place. False and a message when it cannot be written: then nothing is left
 * of it. */
bool file_write(const char *path, const char *bytes, size_t size, struct diag *d);
/* Copies what `from`, a FIFO say, has until its end, after the text `before` (NULL: none). The
 * same. */
bool file_copy(const char *from, const char *to, const char *before, struct diag *d);
/* Rewrites a text file in place; `change` appends what it becomes. False and a message when it
 * cannot be read or written. */
bool file_rewrite(const char *path, void (*change)(const char *text, struct strbuf *out),
                  struct diag *d);
/* Removes what may be half a file: no device, no pipe. NULL is allowed. */
void file_remove(const char *path);

#endif
