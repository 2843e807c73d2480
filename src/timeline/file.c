/* file: the file of a trace; see timeline.h for why a write stays within a page. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "timeline/internal.h"

enum { PAGE = 4096, QUEUE = 1 << 18 };

static struct {
    int fd;     /* -1: none, or nothing can be written any more */
    char *path; /* NULL: none */
    struct descriptor_file opened;
    char queue[QUEUE]; /* events, each closed by a NUL */
    size_t used;
} file = {.fd = -1};

/* What every trace begins with: later events begin with a comma. */
static const char head[] = "[\n{\"name\":\"weir\",\"ph\":\"M\",\"pid\":0,\"tid\":0,\"args\":{}}";

/* Opens it for appending, with the first bytes in it. */
static int open_begun(const char *path, bool fresh)
{
    int fd = descriptor_create(path, O_WRONLY | O_APPEND | (fresh ? O_TRUNC : 0));
    if (fd < 0)
        return -1;
    struct stat s;
    bool fine =
        descriptor_lock(fd) && fstat(fd, &s) == 0 &&
        (s.st_size > 0 || !S_ISREG(s.st_mode) || descriptor_write(fd, head, sizeof head - 1));
    descriptor_unlock(fd);
    if (fine)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

bool timeline_create(const char *path, bool fresh)
{
    int fd = open_begun(path, fresh);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* What is no file, but read as it is written, has its first bytes from the process. */
static bool write_head(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 &&
           (S_ISREG(s.st_mode) || descriptor_write(fd, head, sizeof head - 1));
}

bool file_open_trace(const char *path)
{
    file.fd = open_begun(path, false);
    if (file.fd < 0 || !descriptor_file(file.fd, &file.opened) || !write_head(file.fd))
        return false;
    free(file.path);
    char *full = realpath(path, NULL); /* the program may go to another directory */
    file.path = full != NULL ? full : strdup(path);
    return true;
}

/* The descriptor, which the program may have closed, and may have got again for a file of its own:
 * then the trace is opened again. */
static bool open_still(void)
{
    if (file.fd < 0)
        return false;
    if (!descriptor_is(file.fd, &file.opened)) {
        file.fd = file.path != NULL ? open_begun(file.path, false) : -1;
        if (file.fd >= 0 && !descriptor_file(file.fd, &file.opened))
            file.fd = -1;
    }
    return file.fd >= 0;
}

void file_event(const char *text, size_t bytes)
{
    if (file.used + bytes + 1 > QUEUE)
        file_flush();
    memcpy(file.queue + file.used, text, bytes);
    file.used += bytes;
    file.queue[file.used++] = '\0';
}

static void give_up(void)
{
    fprintf(stderr, "weir: WEIR_TRACE: %s: %s; the rest of the trace is lost\n", file.path,
            descriptor_error(errno));
    close(file.fd);
    file.fd = -1;
}

/* One write: as many events as fit on what is left of the file's last page. Returns where the next
 * one begins. */
static size_t write_page(size_t at, off_t *end)
{
    char page[PAGE];
    size_t space = PAGE - (size_t)(*end % PAGE), n = 0;
    while (at < file.used) {
        size_t bytes = strlen(file.queue + at);
        if (n + bytes + 2 > space)
            break;
        page[n++] = ',';
        page[n++] = '\n';
        memcpy(page + n, file.queue + at, bytes);
        n += bytes;
        at += bytes + 1;
    }
    if (at < file.used) { /* the rest of the page is filled up */
        memset(page + n, ' ', space - n);
        n = space;
    }
    if (!descriptor_write(file.fd, page, n))
        give_up();
    *end += (off_t)n;
    return at;
}

void file_flush(void)
{
    if (file.used > 0 && open_still() && !descriptor_lock(file.fd))
        give_up();
    if (file.used > 0 && file.fd >= 0) {
        off_t end = lseek(file.fd, 0, SEEK_END);
        end = end < 0 ? 0 : end;
        for (size_t at = 0; at < file.used && file.fd >= 0;)
            at = write_page(at, &end);
        if (file.fd >= 0)
            descriptor_unlock(file.fd);
    }
    file.used = 0;
}

void file_forget(void)
{
    if (file.fd >= 0 && descriptor_is(file.fd, &file.opened))
        close(file.fd);
    file.fd = -1;
}
