/* What the cache's files agree on: the names in its directory, and how they are opened. Private to
 * cache.c (records), cache_directory.c (which directory, whom to trust) and cache_trim.c (its
 * size).
 */
#ifndef WEIR_LOADER_CACHE_FILES_H
#define WEIR_LOADER_CACHE_FILES_H

#include <stdbool.h>

struct stat;

/* Begins the name of a file that is being written. */
#define CACHE_TEMPORARY "tmp-"

/* A temporary file this old was left by a process that died. */
enum { CACHE_TEMPORARY_SECONDS = 600 };

/* Digits of a record's key in the name of its shard, a subdirectory, and of its file. */
enum { CACHE_SHARD_DIGITS = 2, CACHE_NAME_DIGITS = 30 };

/* As errno: other users can write to a directory of the cache; or nobody can tell whose it is. */
enum { CACHE_NOT_OURS = -1, CACHE_WHO_ARE_WE = -2 };
/* strerror, for that too. */
const char *cache_reason(int reason);

/* Opens (O_PATH) the directory of the records whose keys begin so, and makes it if `make`. -1 and
 * errno when there is none, or when other users can write to it or to the directory that it is in.
 * Only where cache_dir() is not NULL. */
int cache_open_shard(const char *hex, bool make);

/* Whether it is a regular file that nobody but this user and root can write to. */
bool cache_file_is_ours(const struct stat *st);

#endif
