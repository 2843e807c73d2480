/* descriptor: file descriptors that the libraries keep for themselves; see descriptor.h. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = STDERR_FILENO + 1 };

int descriptor_copy(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, FIRST); }

int descriptor_own(int fd)
{
    if (fd < 0 || fd >= FIRST)
        return fd;
    int own = descriptor_copy(fd), reason = errno;
    close(fd);
    errno = reason;
    return own;
}

FILE *descriptor_fopen(const char *path, const char *mode)
{
    FILE *f = fopen(path, mode);
    if (f == NULL || fileno(f) >= FIRST)
        return f;
    int own = descriptor_copy(fileno(f)), reason = errno;
    fclose(f);
    f = own >= 0 ? fdopen(own, mode) : NULL;
    if (f == NULL && own >= 0) {
        reason = errno;
        close(own);
    }
    errno = reason;
    return f;
}

bool descriptor_file(int fd, struct descriptor_file *out)
{
    struct stat s;
    if (fstat(fd, &s) != 0)
        return false;
    *out = (struct descriptor_file){s.st_dev, s.st_ino};
    return true;
}

bool descriptor_is(int fd, const struct descriptor_file *file)
{
    struct descriptor_file now;
    return descriptor_file(fd, &now) && now.device == file->device && now.inode == file->inode;
}
