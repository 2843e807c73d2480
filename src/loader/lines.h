/* lines: from an address in compiled code to the source line it came from.
 *
 * The compiler leaves DWARF line tables (.debug_line, versions 2 to 5) in the object. They are read
 * when the first fault asks, never before. Not for signal handlers: it allocates. */
#ifndef WEIR_LOADER_LINES_H
#define WEIR_LOADER_LINES_H

#include "loader/image.h"

struct jit_lines;

/* Remembers where to read; NULL when the object has no line table. Object and image are borrowed
 * and must outlive it. */
struct jit_lines *lines_new(const struct elf_object *o, const struct image *im);
void lines_free(struct jit_lines *l);

/* The n-th stretch of code, from `begin` up to `end`, and its line; false: it has none. They are 0
 * to lines_count() - 1. */
size_t lines_count(struct jit_lines *l);
bool lines_stretch(struct jit_lines *l, size_t n, uint64_t *begin, uint64_t *end, const char **file,
                   int *line);

/* The line of the instruction at `address`. The file's name lives as long as `l`. Thread-safe. */
bool lines_find(struct jit_lines *l, uint64_t address, const char **file, int *line);

#endif
