/* What cache.c and cache_trim.c agree on about the names in the cache directory. */
#ifndef WEIR_JIT_CACHE_FILES_H
#define WEIR_JIT_CACHE_FILES_H

/* Begins the name of a file that is being written. */
#define CACHE_TEMPORARY "tmp-"

/* A temporary file this old was left behind by a process that died. */
enum { CACHE_TEMPORARY_SECONDS = 600 };

#endif
