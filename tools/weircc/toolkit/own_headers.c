/* own_headers: looks for NVIDIA's name at the begin of headers (see own_headers.h). */
#include "weircc/toolkit/own_headers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum { NOTICE_BYTES = 8192 }; /* in which a header says whose it is */

/* Is the file there? `nvidias` becomes true if it says that it is NVIDIA's. */
static bool look_at(const char *directory, const char *name, bool *nvidias)
{
    char *path = xprintf("%s/%s", directory, name);
    FILE *f = fopen(path, "r");
    free(path);
    if (f == NULL)
        return false;
    char text[NOTICE_BYTES + 1];
    size_t n = fread(text, 1, NOTICE_BYTES, f);
    fclose(f);
    text[n] = '\0';
    *nvidias |= strstr(text, "NVIDIA") != NULL;
    return true;
}

static bool is_header(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strncmp(dot, ".h", 2) == 0;
}

bool own_headers_in(const char *ours, const char *directory)
{
    DIR *d = opendir(ours);
    bool found = false, nvidias = false;
    for (const struct dirent *e; d != NULL && !nvidias && (e = readdir(d)) != NULL;)
        if (is_header(e->d_name))
            found |= look_at(directory, e->d_name, &nvidias);
    if (d != NULL)
        closedir(d);
    return found && !nvidias;
}
