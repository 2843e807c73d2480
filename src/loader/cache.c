/* Reads and writes records of the disk cache: see cache.h. cache_directory.c chooses the directory,
 * cache_trim.c keeps its size in bounds. */
#include "loader/cache.h"
#include "base/descriptor.h"
#include "loader/cache_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

static atomic_bool store_refused; /* a store failed: do not try again in this process */

static atomic_bool store_failed; /* the last store did, whatever the reason */

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

static enum cache_result read_record(int fd, const struct stat *st, enum cache_kind kind,
                                     const struct hash128 *key, void **data, size_t *size)
{
    struct cache_header h;
    if (st->st_size < (off_t)sizeof h || !read_all(fd, &h, sizeof h) ||
        memcmp(h.magic, magic, sizeof magic) != 0 || h.version != CACHE_VERSION ||
        h.kind != (uint32_t)kind || memcmp(&h.key, key, sizeof *key) != 0 ||
        h.payload > CACHE_MAX_RECORD || (uint64_t)st->st_size != sizeof h + h.payload)
        return CACHE_DAMAGED;
    void *payload = malloc(h.payload + 1); /* the file says how much: no reason to abort */
    if (payload == NULL)
        return CACHE_MISS;
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

/* Opens a record's file. Never waits (for the writer of a FIFO, for a lease), and opens nothing
 * that does something when it is opened. */
static int open_record(int shard, const char *name, struct stat *st)
{
    if (fstatat(shard, name, st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st->st_mode))
        return -1;
    int fd = openat(shard, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, st) != 0 || !cache_file_is_ours(st))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

enum cache_result cache_load(enum cache_kind kind, const struct hash128 *key, void **data,
                             size_t *size)
{
    char hex[33], *name = hex + CACHE_SHARD_DIGITS;
    if (cache_dir() == NULL)
        return CACHE_MISS;
    hash_hex(key, hex);
    int shard = cache_open_shard(hex, false);
    if (shard < 0)
        return CACHE_MISS;
    enum cache_result result = CACHE_MISS;
    struct stat st;
    int fd = open_record(shard, name, &st);
    if (fd >= 0) {
        result = read_record(fd, &st, kind, key, data, size);
        if (result == CACHE_DAMAGED)
            unlinkat(shard, name, 0);
        else if (time(NULL) - st.st_mtime > CACHE_TOUCH_SECONDS)
            futimens(fd, NULL); /* fails where we may only read: then it just ages */
        close(fd);
    }
    close(shard);
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

/* Makes a file of a new name, written to `name`; -1 and errno when it cannot. */
static int open_temporary(int shard, char name[32])
{
    static atomic_uint count;
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        snprintf(name, 32, CACHE_TEMPORARY "%08x%08x%04x", (unsigned)getpid(),
                 (unsigned)t.tv_nsec ^ (unsigned)t.tv_sec << 20,
                 atomic_fetch_add(&count, 1) & 0xffff);
        int fd = descriptor_own(
            openat(shard, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* A write beyond the limit on the size of files (ulimit -f) would raise SIGXFSZ, which ends the
 * process. The signal's disposition is the program's, so the limit is asked for instead. */
static bool beyond_limit(size_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

/* Gives a written file its name, in one step. A directory of that name goes if it is empty. */
static bool rename_to(int shard, const char *temporary, const char *name)
{
    return renameat(shard, temporary, shard, name) == 0 ||
           (errno == EISDIR && unlinkat(shard, name, AT_REMOVEDIR) == 0 &&
            renameat(shard, temporary, shard, name) == 0);
}

/* Writes a file under a temporary name and renames it. errno says why it failed. */
static bool write_file(int shard, const char *name, const void *data, size_t bytes)
{
    char temporary[32];
    if (beyond_limit(bytes)) {
        errno = EFBIG;
        return false;
    }
    int fd = open_temporary(shard, temporary);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, data, bytes);
    int reason = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        reason = errno;
    }
    if (ok && !rename_to(shard, temporary, name)) {
        ok = false;
        reason = errno;
    }
    if (!ok)
        unlinkat(shard, temporary, 0);
    errno = reason;
    return ok;
}

/* Writes a record's file. Somebody may clear the cache at any moment, hence more than one try. */
static bool write_record(const struct hash128 *key, const void *data, size_t bytes)
{
    char hex[33];
    hash_hex(key, hex);
    for (int attempt = 0; attempt < 3; attempt++) {
        int shard = cache_open_shard(hex, true);
        if (shard < 0)
            return false;
        bool ok = write_file(shard, hex + CACHE_SHARD_DIGITS, data, bytes);
        int reason = errno;
        close(shard);
        errno = reason;
        if (ok || reason != ENOENT)
            return ok;
    }
    return false;
}

/* Would the next store fail for the same reason, and take as long? */
static bool is_lasting(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EROFS || reason == EIO;
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
    char *file = malloc(sizeof h + h.payload), *to = file + sizeof h;
    if (file == NULL)
        return;
    for (int i = 0; i < count; i++) {
        memcpy(to, pieces[i].data, pieces[i].size);
        to += pieces[i].size;
    }
    checksum(&h, file + sizeof h, &h.checksum);
    memcpy(file, &h, sizeof h);

    if (write_record(key, file, sizeof h + h.payload)) {
        atomic_store(&store_failed, false);
        bound_size(sizeof h + h.payload);
    } else {
        int reason = errno;
        atomic_store(&store_failed, true);
        if (is_lasting(reason))
            atomic_store(&store_refused, true);
        notice_once(NOTICE_CACHE_WRITE,
                    "the cache directory %s cannot be written (%s): compiled kernels are not kept",
                    cache_dir(), cache_reason(reason));
    }
    free(file);
}

bool cache_stores(void)
{
    return cache_dir() != NULL && !atomic_load(&store_refused) && !atomic_load(&store_failed) &&
           access(cache_dir(), W_OK) == 0;
}
