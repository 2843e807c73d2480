/* Which directory the cache is in, and who may have written what is read from it: see cache.h for
 * the rule and cache_files.h for what each function promises. */
#include "base/env.h"
#include "loader/cache.h"
#include "loader/cache_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- who may write ---- */

/* A user namespace shows all users that it does not know as one, the overflow user. Where this
 * process is shown as that user itself and the namespace does not know it, any file may be
 * anybody's.
 */
static bool we_are_known(void)
{
    unsigned overflow = 65534;
    FILE *f = fopen("/proc/sys/kernel/overflowuid", "re");
    if (f != NULL) {
        if (fscanf(f, "%u", &overflow) != 1)
            overflow = 65534;
        fclose(f);
    }
    if (geteuid() != overflow)
        return true;
    unsigned long long first, outside, count;
    bool known = false;
    f = fopen("/proc/self/uid_map", "re");
    while (f != NULL && !known && fscanf(f, "%llu %llu %llu", &first, &outside, &count) == 3)
        known = overflow >= first && overflow - first < count;
    if (f != NULL)
        fclose(f);
    return known;
}

static bool only_we_write(const struct stat *st)
{
    return (st->st_uid == geteuid() || st->st_uid == 0) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool cache_file_is_ours(const struct stat *st) { return S_ISREG(st->st_mode) && only_we_write(st); }

/* Opens a directory that nobody but this user and root can write to; its name may be no link.
 * -1 and errno otherwise, CACHE_NOT_OURS for one that others can write to. */
static int open_ours(int parent, const char *name)
{
    struct stat st;
    int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && only_we_write(&st))
        return fd;
    close(fd);
    errno = CACHE_NOT_OURS;
    return -1;
}

const char *cache_reason(int reason)
{
    return reason == CACHE_NOT_OURS     ? "other users can write to it"
           : reason == CACHE_WHO_ARE_WE ? "in this user namespace, which has no number for this "
                                          "process's user, anybody's files look like its own"
                                        : strerror(reason);
}

/* ---- the directory ---- */

static char *directory; /* NULL: none */

/* mkdir -p. New directories are the user's alone. */
static bool make_directories(const char *path)
{
    char *copy = xstrdup(path);
    bool ok = true;
    for (char *p = copy + 1; ok; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char kept = *p;
        *p = '\0';
        ok = mkdir(copy, 0700) == 0 || errno == EEXIST || errno == EISDIR;
        /* A directory higher up may refuse us a mkdir though it is there (EROFS, EACCES). */
        struct stat st;
        ok = ok || (stat(copy, &st) == 0 && S_ISDIR(st.st_mode));
        *p = kept;
        if (kept == '\0')
            break;
    }
    int reason = errno;
    free(copy);
    errno = reason;
    return ok;
}

/* In a directory that others can write to, which users may share, each has a directory of its own.
 * Takes over the name; NULL and errno when there can be none. */
static char *own_part(char *shared)
{
    char *own = xprintf("%s/user-%u", shared, (unsigned)geteuid());
    free(shared);
    int fd = mkdir(own, 0700) == 0 || errno == EEXIST ? open_ours(AT_FDCWD, own) : -1;
    if (fd >= 0) {
        close(fd);
        return own;
    }
    int reason = errno;
    free(own);
    errno = reason;
    return NULL;
}

/* The directory by that name, made if need be; NULL and errno when it cannot be used. */
static char *prepare(const char *name)
{
    struct stat st;
    if (!we_are_known()) {
        errno = CACHE_WHO_ARE_WE;
        return NULL;
    }
    if (!make_directories(name))
        return NULL;
    char *path = realpath(name, NULL); /* the program may change its working directory */
    if (path == NULL)
        return NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return only_we_write(&st) ? path : own_part(path);
    free(path);
    errno = ENOTDIR;
    return NULL;
}

/* The directory's name by the environment; NULL: no cache wanted, or nowhere to put it. */
static char *directory_name(void)
{
    const char *own = env_get(ENV_CACHE_DIR);
    if (own != NULL) {
        if (*own == '\0' || strcmp(own, "off") == 0)
            return NULL;
        return xstrdup(own);
    }
    const char *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    if (xdg != NULL && xdg[0] == '/')
        return xprintf("%s/weir", xdg);
    if (home != NULL && home[0] == '/')
        return xprintf("%s/.cache/weir", home);
    notice_once(NOTICE_CACHE_DIR,
                "no directory for compiled kernels (HOME is not set): they are not "
                "kept; set WEIR_CACHE_DIR to a directory, or to \"off\"");
    return NULL;
}

static void choose_directory(void)
{
    char *name = directory_name();
    if (name == NULL)
        return;
    directory = prepare(name);
    if (directory == NULL)
        notice_once(NOTICE_CACHE_DIR,
                    "the cache directory %s cannot be used (%s): compiled kernels are not kept",
                    name, cache_reason(errno));
    free(name);
}

const char *cache_dir(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_directory);
    return directory;
}

/* ---- its shards ---- */

int cache_open_shard(const char *hex, bool make)
{
    char name[3] = {hex[0], hex[1], '\0'};
    int root = open_ours(AT_FDCWD, directory);
    if (root < 0 && errno == ENOENT && make && make_directories(directory))
        root = open_ours(AT_FDCWD, directory);
    if (root < 0)
        return -1;
    int shard = open_ours(root, name);
    if (shard < 0 && errno == ENOENT && make && (mkdirat(root, name, 0700) == 0 || errno == EEXIST))
        shard = open_ours(root, name);
    int reason = errno;
    close(root);
    errno = reason;
    return shard;
}
