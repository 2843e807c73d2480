/* Writing fat binaries; see fatbin.h. */
#include "weircc/objects/fatbin.h"

#include "container/container.h"
#include "container/fatbin.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weircc/files/files.h"

enum {
    FLAGS_COMPRESSED = 0x2000 | 0x8000, /* LZ4, zstd */
};

const char *ptx_skip_space(const char *p)
{
    while (true) {
        if (isspace((unsigned char)*p)) {
            p++;
        } else if (p[0] == '/' && p[1] == '/') {
            p += strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end != NULL ? end + 2 : p + strlen(p);
        } else {
            return p;
        }
    }
}

bool ptx_read_head(const char *text, struct ptx_head *head, struct diag *d)
{
    const char *p = ptx_skip_space(text);
    if (sscanf(p, ".version %d.%d", &head->major, &head->minor) != 2)
        return diag_set(d, 0, 0, "it does not begin with a .version directive");
    p = ptx_skip_space(p + strcspn(p, "\n\r/"));
    if (sscanf(p, ".target sm_%d", &head->arch) != 1)
        return diag_set(d, 0, 0, "it has no .target sm_NN directive after .version");
    size_t n = strcspn(p, "\n\r/");
    const char *debug = strstr(p, "debug");
    head->debug = debug != NULL && debug < p + n;
    return true;
}

/* Writes to a file of another name first, so that a reader never sees half of it. What is no file,
 * /dev/stdout or a pipe, is written as it is and not replaced. */
static bool write_whole(const char *path, const struct strbuf *content, struct diag *d)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return file_write(path, content->items, content->count, d);
    char *temporary = xprintf("%s.tmp%ld", path, (long)getpid());
    FILE *f = fopen(temporary, "wb");
    bool ok = f != NULL && fwrite(content->items, 1, content->count, f) == content->count;
    int reason = errno;
    if (f != NULL && fclose(f) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (ok && rename(temporary, path) != 0) {
        ok = false;
        reason = errno;
    }
    if (!ok) {
        unlink(temporary);
        diag_set(d, 0, 0, "Cannot write '%s': %s", path, strerror(reason));
    }
    free(temporary);
    return ok;
}

/* The text of a PTX file and its head. NULL and a message when it is none. */
static char *read_ptx(const char *path, size_t *size, struct ptx_head *head, struct diag *d)
{
    char *ptx = file_read(path, size, d);
    if (ptx == NULL)
        return NULL;
    while (*size > 0 && ptx[*size - 1] == '\0')
        --*size;
    struct diag why = {0};
    if (strlen(ptx) < *size || !ptx_read_head(ptx, head, &why)) {
        diag_set(d, 0, 0, "'%s' is not PTX: %s", path,
                 why.text[0] != '\0' ? why.text : "it holds binary data");
        free(ptx);
        return NULL;
    }
    return ptx;
}

bool cubin_write(const char *ptx_path, const char *out_path, struct diag *d)
{
    size_t size;
    struct ptx_head head = {0};
    char *ptx = read_ptx(ptx_path, &size, &head, d);
    if (ptx == NULL)
        return false;
    struct strbuf out = {0};
    container_write(ptx, size, (unsigned)head.arch, false, &out);
    bool ok = write_whole(out_path, &out, d);
    sb_free(&out);
    free(ptx);
    return ok;
}

/* Appends an entry with PTX; `own`, of `own_size`, is the form for Weir beside one for GPUs. */
static void add_entry(struct strbuf *out, const char *ptx, size_t size, const struct ptx_head *head,
                      const char *own, size_t own_size)
{
    fatbin_add(out, &(struct fatbin_part){
                        .kind = FATBIN_PTX,
                        .arch = (unsigned)head->arch,
                        .minor = (uint16_t)head->minor,
                        .major = (uint16_t)head->major,
                        .flags = FATBIN_64BIT | FATBIN_LINUX | (head->debug ? FATBIN_DEBUG : 0),
                        .options = "",
                        .own = own,
                        .own_size = own_size,
                        .payload = ptx,
                        .size = size,
                        .is_text = true,
                    });
}

bool fatbin_write(const char *ptx_path, const char *gpu_path, const char *out_path, struct diag *d)
{
    size_t size, gpu_size = 0;
    struct ptx_head head = {0}, gpu_head = {0};
    char *ptx = read_ptx(ptx_path, &size, &head, d), *gpu_ptx = NULL;
    bool ok = ptx != NULL;
    if (ok && gpu_path != NULL)
        ok = (gpu_ptx = read_ptx(gpu_path, &gpu_size, &gpu_head, d)) != NULL;
    struct strbuf out = {0};
    if (ok) {
        size_t begin = fatbin_begin(&out);
        if (gpu_ptx != NULL)
            add_entry(&out, gpu_ptx, gpu_size, &gpu_head, ptx, size);
        else
            add_entry(&out, ptx, size, &head, NULL, 0);
        fatbin_end(&out, begin);
        ok = write_whole(out_path, &out, d);
    }
    sb_free(&out);
    free(gpu_ptx);
    free(ptx);
    return ok;
}

/* The form for Weir in the header of the entry at p, which is all there; NULL: it has none. */
static const char *own_form(const char *p, const struct fatbin_entry *entry, size_t *size)
{
    struct fatbin_own mark = {0};
    size_t at = FATBIN_OWN_OFFSET + sizeof mark;
    if (entry->header_size < at)
        return NULL;
    memcpy(&mark, p + FATBIN_OWN_OFFSET, sizeof mark);
    if (mark.magic != FATBIN_OWN_MAGIC || mark.bytes >= entry->header_size - at)
        return NULL;
    *size = mark.bytes;
    return p + at;
}

char *fatbin_read_ptx(const char *path, struct diag *d)
{
    size_t size;
    char *file = file_read(path, &size, d);
    if (file == NULL)
        return NULL;
    struct fatbin_header header = {0};
    if (size >= sizeof header)
        memcpy(&header, file, sizeof header);
    bool is_fatbin = header.magic == FATBIN_MAGIC, whole = true, compressed = false;
    char *ptx = NULL;
    size_t at = header.header_size;
    while (is_fatbin && whole && ptx == NULL && at < size) {
        struct fatbin_entry entry = {0};
        if (size - at >= sizeof entry)
            memcpy(&entry, file + at, sizeof entry);
        whole = entry.header_size >= sizeof entry && entry.header_size <= size - at &&
                entry.payload_size <= size - at - entry.header_size;
        if (whole && entry.kind == FATBIN_PTX) {
            compressed = (entry.flags & FLAGS_COMPRESSED) != 0;
            size_t bytes = entry.payload_size;
            const char *own = own_form(file + at, &entry, &bytes);
            if (!compressed)
                ptx = strndup(own != NULL ? own : file + at + entry.header_size, bytes);
        }
        at += entry.header_size + entry.payload_size;
    }
    free(file);
    if (!is_fatbin)
        diag_set(d, 0, 0, "'%s' is not a fat binary", path);
    else if (!whole)
        diag_set(d, 0, 0, "'%s' is cut off or damaged", path);
    else if (compressed && ptx == NULL)
        diag_set(d, 0, 0, "The PTX in '%s' is compressed: build it with -no-compress", path);
    else if (ptx == NULL)
        diag_set(d, 0, 0,
                 "'%s' holds no PTX: build it with PTX, e.g. -gencode "
                 "arch=compute_80,code=compute_80",
                 path);
    return ptx;
}
