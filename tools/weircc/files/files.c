/* Writing whole files; see files.h. */
#include "weircc/files/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

bool file_copy(const char *from, const char *to, const char *before, struct diag *d)
{
    char buffer[16384];
    struct strbuf all = {0};
    FILE *f = fopen(from, "r");
    if (before != NULL)
        sb_append(&all, before, strlen(before));
    for (size_t n; f != NULL && (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        sb_append(&all, buffer, n);
    bool ok = f != NULL && ferror(f) == 0;
    if (!ok)
        diag_set(d, 0, 0, "Cannot read '%s': %s", from, strerror(errno));
    if (f != NULL)
        fclose(f);
    ok = ok && file_write(to, all.items, all.count, d);
    sb_free(&all);
    return ok;
}

bool file_rewrite(const char *path, void (*change)(const char *text, struct strbuf *out),
                  struct diag *d)
{
    size_t size;
    char *text = file_read(path, &size, d);
    struct strbuf out = {0};
    if (text == NULL)
        return false;
    change(text, &out);
    bool same = out.count == size && (size == 0 || memcmp(out.items, text, size) == 0);
    bool ok = same || file_write(path, out.items, out.count, d);
    sb_free(&out);
    free(text);
    return ok;
}

void file_remove(const char *path)
{
    struct stat st;
    if (path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}
