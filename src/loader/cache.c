/* Reads and writes records of the disk cache: see cache.h. cache_trim.c keeps its size in bounds.
 */
#include "loader/cache.h"
#include "base/env.h"
#include "loader/cache_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A record's file begins with this. Checksum: of all that follows it in the file, then of the
 * fields before it. */
struct cache_header {
    char magic[8];
    uint32_t version;
    uint32_t kind;
    uint64_t payload; /* bytes after the header */
    struct hash128 key;
    struct hash128 checksum;
};

enum { CACHE_VERSION = 1 };
static const char magic[8] = {'W', 'E', 'I', 'R', 'J', 'I', 'T', '\n'};

/* No record is larger; a damaged length is caught before memory is asked for. */
enum { CACHE_MAX_RECORD = 1 << 28 };

/* A record that was used is marked so (its time of change is set to now) at most this often. */
enum { CACHE_TOUCH_SECONDS = 3600 };

/* How many bytes a process may add before it looks at the directory's size again. */
enum { CACHE_TRIM_EVERY = 64 << 20 };

/* ---- the directory ---- */

static char *directory;           /* NULL: none */
static atomic_bool store_refused; /* a store failed: do not try again in this process */

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
    struct stat st;
    bool made = make_directories(name);
    if (made && (stat(name, &st) != 0 || !S_ISDIR(st.st_mode))) {
        made = false;
        errno = ENOTDIR;
    }
    if (made) {
        directory = realpath(name, NULL); /* the program may change its working directory */
        made = directory != NULL;
    }
    if (!made)
        notice_once(NOTICE_CACHE_DIR,
                    "the cache directory %s cannot be used (%s): compiled kernels are not kept",
                    name, strerror(errno));
    free(name);
}

const char *cache_dir(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_directory);
    return directory;
}

/* The file of a record: <directory>/<first two digits>/<the others>. */
static char *record_path(const struct hash128 *key)
{
    char hex[33];
    hash_hex(key, hex);
    return xprintf("%s/%.2s/%s", directory, hex, hex + 2);
}

/* ---- reading ---- */

static void checksum(struct cache_header *h, const void *payload, struct hash128 *out)
{
    hash_init(out);
    hash_add(out, payload, h->payload);
    hash_add(out, h, offsetof(struct cache_header, checksum));
}

static bool read_all(int fd, void *to, size_t bytes)
{
    for (char *p = to; bytes > 0;) {
        ssize_t n = read(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Code is run, so a file counts only when nobody but this user (or root) can have written it. */
static bool trustworthy(const struct stat *st)
{
    return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0) &&
           (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static enum cache_result read_record(int fd, const struct stat *st, enum cache_kind kind,
                                     const struct hash128 *key, void **data, size_t *size)
{
    struct cache_header h;
    if (st->st_size < (off_t)sizeof h || !read_all(fd, &h, sizeof h) ||
        memcmp(h.magic, magic, sizeof magic) != 0 || h.version != CACHE_VERSION ||
        h.kind != (uint32_t)kind || memcmp(&h.key, key, sizeof *key) != 0 ||
        h.payload > CACHE_MAX_RECORD || (uint64_t)st->st_size != sizeof h + h.payload)
        return CACHE_DAMAGED;
    void *payload = xmalloc(h.payload);
    struct hash128 sum;
    if (read_all(fd, payload, h.payload)) {
        checksum(&h, payload, &sum);
        if (memcmp(&sum, &h.checksum, sizeof sum) == 0) {
            *data = payload;
            *size = h.payload;
            return CACHE_HIT;
        }
    }
    free(payload);
    return CACHE_DAMAGED;
}

enum cache_result cache_load(enum cache_kind kind, const struct hash128 *key, void **data,
                             size_t *size)
{
    if (cache_dir() == NULL)
        return CACHE_MISS;
    char *path = record_path(key);
    enum cache_result result = CACHE_MISS;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &st) == 0 && trustworthy(&st)) {
        result = read_record(fd, &st, kind, key, data, size);
        if (result == CACHE_DAMAGED)
            unlink(path);
        else if (time(NULL) - st.st_mtime > CACHE_TOUCH_SECONDS)
            futimens(fd, NULL); /* fails where we may only read: then it just ages */
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return result;
}

/* ---- writing ---- */

static bool write_all(int fd, const void *from, size_t bytes)
{
    for (const char *p = from; bytes > 0;) {
        ssize_t n = write(fd, p, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Opens a new file in the directory of `path`, making that directory if it is not there (somebody
 * may clear the cache at any moment, hence more than one try). */
static int open_temporary(const char *path, char **name)
{
    size_t parent = (size_t)(strrchr(path, '/') - path);
    for (int attempt = 0; attempt < 3; attempt++) {
        *name = xprintf("%.*s/" CACHE_TEMPORARY "XXXXXX", (int)parent, path);
        int fd = mkostemp(*name, O_CLOEXEC);
        if (fd >= 0)
            return fd;
        int reason = errno;
        free(*name);
        *name = NULL;
        if (reason != ENOENT)
            break;
        char *shard = xprintf("%.*s", (int)parent, path);
        bool made = make_directories(shard);
        free(shard);
        if (!made)
            break;
    }
    return -1;
}

/* Writes the file beside its place and moves it there in one step. errno says why it failed. */
static bool write_file(const char *path, const void *data, size_t bytes)
{
    char *temporary;
    int fd = open_temporary(path, &temporary);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, data, bytes);
    int reason = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (ok && rename(temporary, path) != 0) {
        ok = false;
        reason = errno;
    }
    if (!ok)
        unlink(temporary);
    free(temporary);
    errno = reason;
    return ok;
}

/* Looks at the directory's size at the first store of a process and every so many bytes after. */
static void bound_size(size_t added)
{
    static atomic_size_t pending = CACHE_TRIM_EVERY;
    if (atomic_fetch_add(&pending, added) < CACHE_TRIM_EVERY)
        return;
    atomic_store(&pending, 0);
    struct cache_usage use;
    if (cache_usage(&use, NULL) && use.bytes > CACHE_LIMIT_BYTES)
        cache_trim(CACHE_LIMIT_BYTES / 4 * 3, NULL, NULL);
}

void cache_store(enum cache_kind kind, const struct hash128 *key, const struct cache_piece *pieces,
                 int count)
{
    if (cache_dir() == NULL || atomic_load(&store_refused))
        return;
    struct cache_header h = {.version = CACHE_VERSION, .kind = (uint32_t)kind, .key = *key};
    memcpy(h.magic, magic, sizeof magic);
    for (int i = 0; i < count; i++)
        h.payload += pieces[i].size;
    if (h.payload > CACHE_MAX_RECORD)
        return;
    char *file = xmalloc(sizeof h + h.payload), *to = file + sizeof h;
    for (int i = 0; i < count; i++) {
        memcpy(to, pieces[i].data, pieces[i].size);
        to += pieces[i].size;
    }
    checksum(&h, file + sizeof h, &h.checksum);
    memcpy(file, &h, sizeof h);

    char *path = record_path(key);
    if (write_file(path, file, sizeof h + h.payload)) {
        bound_size(sizeof h + h.payload);
    } else {
        atomic_store(&store_refused, true);
        notice_once(NOTICE_CACHE_WRITE,
                    "the cache directory %s cannot be written (%s): compiled kernels are not kept",
                    directory, strerror(errno));
    }
    free(path);
    free(file);
}
