/* Removing what killed processes have left; see leftovers.h. */
#include "weircc/files/leftovers.h"
#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DAY = 24 * 60 * 60 };

/* The locked file. */
static const char mark[] = ".weircc-lock";

void leftovers_mark(const char *directory)
{
    char *path = xprintf("%s/%s", directory, mark);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* stays open */
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
    free(path);
}

void leftovers_unmark(const char *directory)
{
    char *path = xprintf("%s/%s", directory, mark);
    unlink(path);
    free(path);
}

/* The files in it, which are all that such a directory has. */
static void empty(int directory)
{
    int fd = dup(directory);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(directory, e->d_name, 0);
    closedir(d);
}

/* Whether the directory was one of ours, and its process is dead: the lock is this one's then. */
static bool is_left(int directory, int *lock)
{
    struct stat st;
    *lock = openat(directory, mark, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    return *lock >= 0 && fstat(*lock, &st) == 0 && st.st_uid == geteuid() &&
           st.st_mtime < time(NULL) - DAY && flock(*lock, LOCK_EX | LOCK_NB) == 0;
}

static void remove_one(int base, const char *name)
{
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int lock = -1;
    if (fd >= 0 && is_left(fd, &lock)) {
        empty(fd);
        unlinkat(base, name, AT_REMOVEDIR);
    }
    if (lock >= 0)
        close(lock);
    if (fd >= 0)
        close(fd);
}

void leftovers_remove(const char *base)
{
    const size_t prefix = strlen(LEFTOVERS_PREFIX);
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strncmp(e->d_name, LEFTOVERS_PREFIX, prefix) == 0)
            remove_one(dirfd(d), e->d_name);
    closedir(d);
}
