/* descriptor: file descriptors that the libraries keep for themselves; see descriptor.h. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { FIRST = STDERR_FILENO + 1 };
#define PATIENCE_NS 5000000000ull /* that what others do is waited for */

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

/* With O_NONBLOCK the system opens a FIFO for writing only if it has a reader, and descriptor_write
 * may give up. It is of this opening of the file alone: who has it open otherwise, as a standard
 * stream of the process, sees nothing of it. */
int descriptor_create(const char *path, int flags)
{
    return descriptor_own(open(path, flags | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666));
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

/* Until something can be written again. 0, or the error. */
static int await_reader(int fd, uint64_t since)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    uint64_t waited = clock_ns() - since;
    if (waited >= PATIENCE_NS)
        return ETIMEDOUT;
    int n = poll(&wanted, 1, (int)((PATIENCE_NS - waited) / 1000000 + 1));
    return n > 0 || (n < 0 && errno == EINTR) ? 0 : n == 0 ? ETIMEDOUT : errno;
}

/* 0, or the error. */
static int write_all(int fd, const char *data, size_t bytes)
{
    uint64_t since = clock_ns();
    int reason = 0;
    for (size_t done = 0; done < bytes && reason == 0;) {
        ssize_t n = write(fd, data + done, bytes - done);
        if (n > 0) {
            done += (size_t)n;
            since = clock_ns();
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            reason = await_reader(fd, since);
        } else if (n == 0 || errno != EINTR) {
            reason = n == 0 ? ENOSPC : errno;
        }
    }
    return reason;
}

bool descriptor_write(int fd, const void *data, size_t bytes)
{
    sigset_t quiet = of_writes(), before, waiting;
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &quiet, &before);
    int reason = write_all(fd, data, bytes);
    take_raised(reason, &waiting);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return reason == 0;
}

bool descriptor_lock(int fd)
{
    static const struct timespec pause = {.tv_nsec = 500000};
    uint64_t since = clock_ns();
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true; /* it has no locks */
        if (clock_ns() - since > PATIENCE_NS) {
            errno = EDEADLK;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

void descriptor_unlock(int fd)
{
    int before = errno;
    flock(fd, LOCK_UN);
    errno = before;
}

const char *descriptor_error(int reason)
{
    switch (reason) {
    case ETIMEDOUT: return "nobody has read from it for five seconds";
    case EDEADLK: return "another process has kept it locked for five seconds";
    default: return strerror(reason);
    }
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
