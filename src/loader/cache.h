/* cache: compiled kernels on disk, shared by all processes of a user.
 *
 * A record is found by a 128-bit key that covers everything it depends on; a record is never
 * changed, only added, replaced as a whole, or removed. Each is one file, <directory>/<xx>/<30 more
 * digits>, with a header that repeats the key and holds a checksum: whatever is not whole counts as
 * missing and is made anew. Files are written under another name and renamed, so readers never see
 * half of one, and any number of processes may share a directory.
 *
 * Code from a record is executed, so a record counts only if nobody but this user and root can
 * write to its file, to the shard that the file is in and to the cache directory: each is owned by
 * one of the two, without write permission for group or others (which includes what access control
 * lists grant), and is no symbolic link. These are looked at on open descriptors, so that nothing
 * can be exchanged between the look and the use. A directory that others can write to, such as one
 * of mode 1777, is used by way of a subdirectory of the user's own, user-<uid>. Whatever else has a
 * record's name (a FIFO, a device, a directory) counts as missing.
 *
 * A cache that cannot be used is not an error: loads miss, stores do nothing, and the reason is
 * reported once (jit_set_notice). */
#ifndef WEIR_LOADER_CACHE_H
#define WEIR_LOADER_CACHE_H

#include "base/base.h"

/* When the files of a directory together are larger, the ones unused for longest are removed. */
#define CACHE_LIMIT_BYTES ((uint64_t)1 << 30)

enum cache_kind {
    CACHE_CODE = 1,     /* struct jit_meta, then an ELF object */
    CACHE_FACTS = 2,    /* what jit_check and jit_kernel_info found about a module */
    CACHE_ATTEMPT = 3,  /* how long a kernel has been optimized in vain (compile_ahead.h) */
    CACHE_LAUNCHES = 4, /* the options with which a kernel has been launched */
};

enum cache_result { CACHE_MISS, CACHE_HIT, CACHE_DAMAGED };

/* The directory in use, created if need be; NULL when there is none. */
const char *cache_dir(void);

/* Reads a record; the payload is from malloc. Only CACHE_HIT sets *data and *size. */
enum cache_result cache_load(enum cache_kind kind, const struct hash128 *key, void **data,
                             size_t *size);

/* Writes a record made of `count` pieces in a row. */
struct cache_piece {
    const void *data;
    size_t size;
};
void cache_store(enum cache_kind kind, const struct hash128 *key, const struct cache_piece *pieces,
                 int count);

/* Would a store succeed, as far as is known? */
bool cache_stores(void);

/* Files and bytes in the directory. */
struct cache_usage {
    uint64_t files, bytes;
};
bool cache_usage(struct cache_usage *out, struct diag *d);

/* Removes records, those unused for longest first, until at most `keep` bytes are left, and
 * temporary files that a process left. `removed` may be NULL. */
bool cache_trim(uint64_t keep, struct cache_usage *removed, struct diag *d);

/* Says `text` once per process per `kind`, through the receiver of jit_set_notice or on stderr. */
enum notice_kind { NOTICE_CACHE_DIR, NOTICE_CACHE_WRITE, NOTICE_COUNT };
void notice_once(enum notice_kind kind, const char *fmt, ...) WEIR_PRINTF(2, 3);
/* The same, every time. */
void notice_say(const char *fmt, ...) WEIR_PRINTF(1, 2);
/* The kernel of that name in PTX, as it is named to people. */
const char *notice_name(const char *name);

#endif
