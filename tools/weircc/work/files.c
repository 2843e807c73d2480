/* Writing whole files; see files.h. */
#include "weircc/work/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_write(const char *path, const char *bytes, size_t size, struct diag *d)
{
    FILE *f = fopen(path, "w");
    bool ok = f != NULL && fwrite(bytes, 1, size, f) == size;
    if ((f != NULL && fclose(f) != 0) || !ok) {
        diag_set(d, 0, 0, "Cannot write '%s': %s", path, strerror(errno));
        if (f != NULL)
            file_remove(path);
        return false;
    }
    return true;
}

void file_remove(const char *path)
{
    struct stat st;
    if (path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}
