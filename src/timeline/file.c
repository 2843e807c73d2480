/* file: the file of a trace; see timeline.h for why no event crosses the end of a page. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "timeline/internal.h"

enum { PAGE = 4096, PAGES = 16, QUEUE = PAGES * PAGE }; /* what stays in the cache */

static struct {
    int fd;     /* -1: none, or nothing can be written any more */
    char *path; /* NULL: none */
    struct descriptor_file opened;
    char queue[QUEUE]; /* events, each after its length */
    size_t used;
    char pages[QUEUE]; /* what is written next */
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
    uint32_t length = (uint32_t)bytes;
    if (file.used + sizeof length + bytes > QUEUE)
        file_flush();
    memcpy(file.queue + file.used, &length, sizeof length);
    memcpy(file.queue + file.used + sizeof length, text, bytes);
    file.used += sizeof length + bytes;
}

static void give_up(void)
{
    fprintf(stderr, "weir: WEIR_TRACE: %s: %s; the rest of the trace is lost\n", file.path,
            descriptor_error(errno));
    close(file.fd);
    file.fd = -1;
}

/* Puts as many of the events from `*at` on into `to` as fit. Returns their bytes. */
static size_t fill(char *to, size_t space, size_t *at)
{
    size_t n = 0;
    while (*at < file.used) {
        uint32_t length;
        memcpy(&length, file.queue + *at, sizeof length);
        if (n + length + 2 > space)
            break;
        to[n++] = ',';
        to[n++] = '\n';
        memcpy(to + n, file.queue + *at + sizeof length, length);
        n += length;
        *at += length + sizeof length;
    }
    return n;
}

/* One write, which ends where events do: of a file up to many pages, each filled up with spaces
 * after its last event; of a pipe, which takes no more at once, one. Returns where the next event
 * begins. */
static size_t write_pages(size_t at, off_t *end, size_t pages)
{
    size_t n = 0;
    for (size_t i = 0; i < pages && at < file.used; i++) {
        size_t space = PAGE - ((size_t)*end + n) % PAGE, filled;
        filled = fill(file.pages + n, space, &at);
        if (at < file.used) {
            memset(file.pages + n + filled, ' ', space - filled);
            filled = space;
        }
        n += filled;
    }
    if (!descriptor_write(file.fd, file.pages, n))
        give_up();
    *end += (off_t)n;
    return at;
}

static bool is_regular(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

void file_flush(void)
{
    if (file.used > 0 && open_still() && !descriptor_lock(file.fd))
        give_up();
    if (file.used > 0 && file.fd >= 0) {
        off_t end = lseek(file.fd, 0, SEEK_END);
        size_t pages = is_regular(file.fd) ? PAGES : 1;
        end = end < 0 ? 0 : end;
        for (size_t at = 0; at < file.used && file.fd >= 0;)
            at = write_pages(at, &end, pages);
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
