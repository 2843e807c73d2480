/* debug_dwarf.h: the debug data of PTX (DWARF, versions 2 to 4) as entries. Trusts nothing that it
 * reads: what is not understood, or reaches past the end, ends the reading. */
#ifndef WEIR_COMPILER_DEBUG_DWARF_H
#define WEIR_COMPILER_DEBUG_DWARF_H

#include "ptx/ptx.h"

enum dwarf_tag {
    DWARF_ARRAY = 0x01,
    DWARF_CLASS = 0x02,
    DWARF_ENUMERATION = 0x04,
    DWARF_PARAMETER = 0x05,
    DWARF_BLOCK = 0x0b,
    DWARF_MEMBER = 0x0d,
    DWARF_POINTER = 0x0f,
    DWARF_REFERENCE = 0x10,
    DWARF_STRUCT = 0x13,
    DWARF_TYPEDEF = 0x16,
    DWARF_UNION = 0x17,
    DWARF_BASE_CLASS = 0x1c,
    DWARF_SUBRANGE = 0x21,
    DWARF_BASE = 0x24,
    DWARF_CONST = 0x26,
    DWARF_ENUMERATOR = 0x28,
    DWARF_FUNCTION = 0x2e,
    DWARF_VARIABLE = 0x34,
    DWARF_VOLATILE = 0x35,
    DWARF_RVALUE = 0x42
};

struct dwarf {
    const struct ptx_section *info, *abbrev;
    uint32_t unit, abbrevs; /* offsets of the unit's header and of its abbreviations */
    uint32_t first, end;    /* of its entries */
    uint32_t address_bytes;
};

struct dwarf_entry {
    uint32_t at, next; /* offsets; next: of the first child, if there are children */
    uint32_t tag;      /* 0: the end of a list of children */
    bool children;
    const char *name, *linkage; /* NULL: none */
    uint32_t type, origin;      /* offsets of entries, 0: none */
    uint64_t bytes, encoding, line;
    bool has_count, declared;
    uint64_t count;       /* of a subrange: elements */
    uint64_t member;      /* of a member: its offset */
    bool bits;            /* ... it is some bits of its bytes only */
    int64_t value;        /* of an enumerator */
    const char *variable; /* its location is that of this variable of the PTX, */
    uint64_t offset;      /* and so many bytes; NULL: elsewhere */
};

/* The unit at *at of the module's debug data; *at: the next one. False: there is none (any more),
 * or it is in a form that is not known. */
bool dwarf_unit(const struct ptx_module *m, uint32_t *at, struct dwarf *out);
/* The entry at the offset. */
bool dwarf_read(const struct dwarf *d, uint32_t at, struct dwarf_entry *out);
/* The offset after the entry and all below it; 0: it does not end. */
uint32_t dwarf_after(const struct dwarf *d, const struct dwarf_entry *e);

#endif
