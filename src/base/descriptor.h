/* descriptor: file descriptors that the libraries keep for themselves.
 *
 * A program may have closed its standard streams (daemons do, and `program >&-`): the next
 * descriptor that is opened would then be one of theirs, and what the program prints would go into
 * it. And a program may close all descriptors that it does not know, and get their numbers for
 * files of its own. */
#ifndef WEIR_BASE_DESCRIPTOR_H
#define WEIR_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The same file under a number above those of the standard streams, closed on exec; `fd` itself
 * where its number is such a one, else it is closed. -1 with errno: there is none, and `fd` is
 * closed. A negative fd stays what it is. */
int descriptor_own(int fd);

/* A second descriptor of the same kind for that file. -1 with errno: there is none. */
int descriptor_copy(int fd);

/* Opens a file that a setting names, to write to it (flags of open; O_CREAT and O_CLOEXEC are
 * added). It may be anything: to open it waits for nobody, and a FIFO that nobody reads is refused.
 * -1 with errno. */
int descriptor_create(const char *path, int flags);

/* Writes all of it. False with errno: no more can be written. No signal comes of it, neither of a
 * pipe that nobody reads any more nor of a limit on the size of files. For whom a file of
 * descriptor_create's is to be read by, it waits five seconds since he has last read something. */
bool descriptor_write(int fd, const void *data, size_t bytes);

/* Locks the file against other processes' descriptor_lock, where its file system has locks. False
 * with errno: another keeps it locked for five seconds. */
bool descriptor_lock(int fd);
/* Leaves errno as it is. */
void descriptor_unlock(int fd);

/* What such an errno means, for people. */
const char *descriptor_error(int reason);

/* Gives a file that length, with no signal either. False with errno. */
bool descriptor_resize(int fd, uint64_t bytes);

/* Which file a descriptor is of. */
struct descriptor_file {
    dev_t device;
    ino_t inode;
};

/* False with errno: it is no descriptor. */
bool descriptor_file(int fd, struct descriptor_file *out);

/* Whether it is still that file's. */
bool descriptor_is(int fd, const struct descriptor_file *file);

#endif
