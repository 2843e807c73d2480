/* descriptor: file descriptors that the libraries keep for themselves; see descriptor.h. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
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

/* With O_NONBLOCK the system opens a FIFO for writing only if it has a reader. Later writes wait
 * for that reader, as those to a terminal or through a pipe do. */
int descriptor_create(const char *path, int flags)
{
    int fd = descriptor_own(open(path, flags | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
    int now = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
    if (now >= 0)
        fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
    return fd;
}

/* The signals that a write may raise in this thread. */
static sigset_t of_writes(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigaddset(&set, SIGXFSZ);
    return set;
}

/* Takes the one that the failed write has raised, unless it waited before. */
static void take_raised(int reason, const sigset_t *waiting)
{
    static const struct timespec now = {0};
    int signal = reason == EPIPE ? SIGPIPE : reason == EFBIG ? SIGXFSZ : 0;
    sigset_t set;
    if (signal == 0 || sigismember(waiting, signal))
        return;
    sigemptyset(&set);
    sigaddset(&set, signal);
    while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR)
        ;
}

bool descriptor_write(int fd, const void *data, size_t bytes)
{
    sigset_t quiet = of_writes(), before, waiting;
    int reason = 0;
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &quiet, &before);
    for (size_t done = 0; done < bytes && reason == 0;) {
        ssize_t n = write(fd, (const char *)data + done, bytes - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            reason = n == 0 ? ENOSPC : errno;
    }
    take_raised(reason, &waiting);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return reason == 0;
}

bool descriptor_resize(int fd, uint64_t bytes)
{
    sigset_t quiet = of_writes(), before, waiting;
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &quiet, &before);
    int reason = ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
    take_raised(reason, &waiting);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return reason == 0;
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
