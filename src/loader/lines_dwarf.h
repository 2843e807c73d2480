/* lines_dwarf: decodes DWARF line-number programs (section .debug_line, versions 2 to 5).
 *
 * Our own reader instead of libdw: it is small, it is all that is needed here, and libcuda must not
 * pull libelf, zlib, lzma and bzip2 into every program that uses it. */
#ifndef WEIR_LOADER_LINES_DWARF_H
#define WEIR_LOADER_LINES_DWARF_H

#include "base/base.h"

struct span {
    const uint8_t *data;
    uint64_t size;
};

/* The sections, relocations applied. The string sections may be empty. */
struct line_sections {
    struct span line, line_str, str;
};

struct line_row {
    uint64_t address;
    uint32_t line, file; /* file: index into the table's files */
    uint32_t order;      /* position in which it was read: the later of two equals counts */
    bool end;            /* first address after a sequence: no line */
};

struct line_table {
    struct {
        struct line_row *items;
        size_t count, cap;
    } rows;
    struct {
        char **items; /* full paths where the directory is known */
        size_t count, cap;
    } files;
};

/* Adds all rows of the section, as far as it makes sense; the rest of a unit that does not is
 * skipped. */
void line_table_read(struct line_table *t, const struct line_sections *from);
void line_table_free(struct line_table *t);

#endif
