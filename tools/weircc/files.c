/* Writing whole files; see files.h. */
#include "files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool file_write(const char *path, const char *bytes, size_t size, struct diag *d)
{
    FILE *f = fopen(path, "w");
    bool ok = f != NULL && fwrite(bytes, 1, size, f) == size;
    if ((f != NULL && fclose(f) != 0) || !ok)
        return diag_set(d, 0, 0, "Cannot write '%s': %s", path, strerror(errno));
    return true;
}
