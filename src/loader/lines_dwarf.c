/* The line-number program decoder: see lines_dwarf.h. Names as in the DWARF 5 standard, 6.2. */
#include "loader/lines_dwarf.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading bytes ---- */

/* A position in a section. Reading past the end gives zeros and sets `bad`. */
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t take(struct cursor *c, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < bytes) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)c->at[i] << (8 * i);
    c->at += bytes;
    return value;
}

static void skip(struct cursor *c, uint64_t bytes)
{
    if ((uint64_t)(c->end - c->at) < bytes) {
        c->bad = true;
        bytes = (uint64_t)(c->end - c->at);
    }
    c->at += bytes;
}

static uint64_t uleb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !c->bad; shift += 7) {
        uint64_t byte = take(c, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static int64_t sleb(struct cursor *c)
{
    uint64_t value = 0, byte = 0;
    unsigned shift = 0;
    do {
        byte = take(c, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (!c->bad && (byte & 0x80));
    if (shift < 64 && (byte & 0x40))
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

static const char *text(struct cursor *c)
{
    const uint8_t *nul = memchr(c->at, 0, (size_t)(c->end - c->at));
    const char *s = (const char *)c->at;
    if (nul == NULL) {
        c->bad = true;
        c->at = c->end;
        return "";
    }
    c->at = nul + 1;
    return s;
}

/* A string of a string section. */
static const char *text_at(const struct span *section, uint64_t offset)
{
    if (offset >= section->size ||
        memchr(section->data + offset, 0, section->size - offset) == NULL)
        return "";
    return (const char *)section->data + offset;
}

/* ---- the header ---- */

enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };
enum form {
    FORM_DATA2 = 0x05,
    FORM_DATA4 = 0x06,
    FORM_DATA8 = 0x07,
    FORM_STRING = 0x08,
    FORM_BLOCK = 0x09,
    FORM_DATA1 = 0x0b,
    FORM_STRP = 0x0e,
    FORM_UDATA = 0x0f,
    FORM_DATA16 = 0x1e,
    FORM_LINE_STRP = 0x1f,
};

/* One unit's header, as far as the program needs it. */
struct unit {
    const struct line_sections *from;
    struct cursor c;
    uint64_t version;
    size_t offset_bytes; /* 4, or 8 in the 64-bit format */
    uint8_t min_instruction, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *operands; /* standard_opcode_lengths */
    struct {
        const char **items;
        size_t count, cap;
    } directories;
    uint32_t first_file; /* in the table's files: number of this unit's file 0 */
};

/* One field of a directory or file entry of version 5. */
static void read_field(struct unit *u, uint64_t content, uint64_t form, const char **path,
                       uint64_t *directory)
{
    const char *s = NULL;
    uint64_t value = 0;
    switch (form) {
    case FORM_STRING: s = text(&u->c); break;
    case FORM_LINE_STRP: s = text_at(&u->from->line_str, take(&u->c, u->offset_bytes)); break;
    case FORM_STRP: s = text_at(&u->from->str, take(&u->c, u->offset_bytes)); break;
    case FORM_UDATA: value = uleb(&u->c); break;
    case FORM_DATA1: value = take(&u->c, 1); break;
    case FORM_DATA2: value = take(&u->c, 2); break;
    case FORM_DATA4: value = take(&u->c, 4); break;
    case FORM_DATA8: value = take(&u->c, 8); break;
    case FORM_DATA16: skip(&u->c, 16); break;
    case FORM_BLOCK: skip(&u->c, uleb(&u->c)); break;
    default: u->c.bad = true; break;
    }
    if (content == LNCT_PATH && s != NULL)
        *path = s;
    else if (content == LNCT_DIRECTORY)
        *directory = value;
}

static void add_file(struct unit *u, struct line_table *t, const char *path, uint64_t directory)
{
    const char *base = directory < u->directories.count ? u->directories.items[directory] : "";
    const char *root = u->directories.count > 0 ? u->directories.items[0] : "";
    char *name;
    if (path[0] == '/' || *base == '\0')
        name = xstrdup(path);
    else if (base[0] == '/' || directory == 0 || *root == '\0')
        name = xprintf("%s/%s", base, path);
    else
        name = xprintf("%s/%s/%s", root, base, path);
    vec_push(&t->files, name);
}

/* Version 5: entries described by a list of (content, form). */
static void read_entries(struct unit *u, struct line_table *t, bool files)
{
    uint64_t format[32][2] = {0};
    uint64_t fields = take(&u->c, 1);
    if (fields > WEIR_COUNT(format))
        u->c.bad = true;
    for (uint64_t i = 0; i < fields && !u->c.bad; i++) {
        format[i][0] = uleb(&u->c);
        format[i][1] = uleb(&u->c);
    }
    uint64_t count = uleb(&u->c);
    for (uint64_t k = 0; k < count && fields > 0 && !u->c.bad; k++) {
        const char *path = "";
        uint64_t directory = 0;
        for (uint64_t i = 0; i < fields; i++)
            read_field(u, format[i][0], format[i][1], &path, &directory);
        if (u->c.bad)
            break;
        if (files)
            add_file(u, t, path, directory);
        else
            vec_push(&u->directories, path);
    }
}

/* Versions 2 to 4: lists that end in an empty name; numbers start at 1. */
static void read_old_entries(struct unit *u, struct line_table *t)
{
    vec_push(&u->directories, ""); /* 0: where the compiler ran, named elsewhere */
    for (const char *s; *(s = text(&u->c)) != '\0' && !u->c.bad;)
        vec_push(&u->directories, s);
    vec_push(&t->files, xstrdup("")); /* 0 */
    for (const char *s; *(s = text(&u->c)) != '\0' && !u->c.bad;) {
        uint64_t directory = uleb(&u->c);
        uleb(&u->c); /* time of change */
        uleb(&u->c); /* length */
        add_file(u, t, s, directory);
    }
}

/* Reads the header and leaves the cursor at the program. */
static void read_header(struct unit *u, struct line_table *t)
{
    u->version = take(&u->c, 2);
    if (u->version < 2 || u->version > 5) {
        u->c.bad = true;
        return;
    }
    if (u->version >= 5)
        skip(&u->c, 2); /* sizes of an address and of a segment's number */
    uint64_t header = take(&u->c, u->offset_bytes);
    if (header > (uint64_t)(u->c.end - u->c.at)) {
        u->c.bad = true;
        return;
    }
    const uint8_t *program = u->c.at + header;
    u->min_instruction = (uint8_t)take(&u->c, 1);
    if (u->version >= 4)
        skip(&u->c, 1); /* operations per instruction: 1 but on VLIW machines */
    skip(&u->c, 1);     /* default_is_stmt */
    u->line_base = (int8_t)take(&u->c, 1);
    u->line_range = (uint8_t)take(&u->c, 1);
    u->opcode_base = (uint8_t)take(&u->c, 1);
    u->operands = u->c.at;
    if (u->opcode_base == 0 || u->line_range == 0)
        u->c.bad = true;
    else
        skip(&u->c, u->opcode_base - 1u);
    u->first_file = (uint32_t)t->files.count;
    if (u->version >= 5) {
        read_entries(u, t, false);
        read_entries(u, t, true);
    } else if (!u->c.bad) {
        read_old_entries(u, t);
    }
    if (!u->c.bad)
        u->c.at = program;
}

/* ---- the program ---- */

enum standard {
    LNS_EXTENDED = 0,
    LNS_COPY = 1,
    LNS_ADVANCE_PC = 2,
    LNS_ADVANCE_LINE = 3,
    LNS_SET_FILE = 4,
    LNS_CONST_ADD_PC = 8,
    LNS_FIXED_ADVANCE_PC = 9,
};
enum extended { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2, LNE_DEFINE_FILE = 3 };

/* The registers that matter here. */
struct state {
    uint64_t address, file;
    int64_t line;
};
static const struct state initial = {.address = 0, .file = 1, .line = 1};

static void add_row(const struct unit *u, struct line_table *t, const struct state *s, bool end)
{
    struct line_row row = {
        .address = s->address,
        .line = s->line > 0 && s->line <= INT32_MAX ? (uint32_t)s->line : 0,
        .file = s->file < UINT32_MAX / 2 ? u->first_file + (uint32_t)s->file : UINT32_MAX,
        .order = (uint32_t)t->rows.count,
        .end = end,
    };
    vec_push(&t->rows, row);
}

static void run_extended(struct unit *u, struct line_table *t, struct state *s)
{
    uint64_t length = uleb(&u->c);
    const uint8_t *start = u->c.at;
    if (length == 0 || length > (uint64_t)(u->c.end - start)) {
        u->c.bad = true;
        return;
    }
    switch (take(&u->c, 1)) {
    case LNE_END_SEQUENCE:
        add_row(u, t, s, true);
        *s = initial;
        break;
    case LNE_SET_ADDRESS: s->address = take(&u->c, length - 1 < 8 ? length - 1 : 8); break;
    case LNE_DEFINE_FILE: u->c.bad = true; return; /* nobody emits it */
    default: break;
    }
    u->c.at = start + length;
}

static void run_standard(struct unit *u, struct line_table *t, struct state *s, unsigned opcode)
{
    switch (opcode) {
    case LNS_COPY: add_row(u, t, s, false); break;
    case LNS_ADVANCE_PC: s->address += uleb(&u->c) * u->min_instruction; break;
    case LNS_ADVANCE_LINE: s->line += sleb(&u->c); break;
    case LNS_SET_FILE: s->file = uleb(&u->c); break;
    case LNS_CONST_ADD_PC:
        s->address += (255u - u->opcode_base) / u->line_range * u->min_instruction;
        break;
    case LNS_FIXED_ADVANCE_PC: s->address += take(&u->c, 2); break;
    default: /* of no interest, or newer: the header says how many operands it has */
        for (unsigned i = 0; i < u->operands[opcode - 1]; i++)
            uleb(&u->c);
        break;
    }
}

static void run_program(struct unit *u, struct line_table *t)
{
    struct state s = initial;
    while (u->c.at < u->c.end && !u->c.bad) {
        unsigned opcode = (unsigned)take(&u->c, 1);
        if (opcode == LNS_EXTENDED) {
            run_extended(u, t, &s);
        } else if (opcode < u->opcode_base) {
            run_standard(u, t, &s, opcode);
        } else {
            unsigned adjusted = opcode - u->opcode_base;
            s.address += adjusted / u->line_range * u->min_instruction;
            s.line += u->line_base + (int)(adjusted % u->line_range);
            add_row(u, t, &s, false);
        }
    }
}

/* ---- public ---- */

void line_table_read(struct line_table *t, const struct line_sections *from)
{
    struct cursor all = {from->line.data, from->line.data + from->line.size, false};
    while (all.at < all.end && !all.bad) {
        struct unit u = {.from = from, .offset_bytes = 4};
        uint64_t length = take(&all, 4);
        if (length == 0xffffffff) {
            length = take(&all, 8);
            u.offset_bytes = 8;
        }
        u.c.at = all.at;
        skip(&all, length);
        u.c.end = all.at;
        read_header(&u, t);
        if (!u.c.bad)
            run_program(&u, t);
        free(u.directories.items);
    }
}

void line_table_free(struct line_table *t)
{
    for (size_t i = 0; i < t->files.count; i++)
        free(t->files.items[i]);
    free(t->files.items);
    free(t->rows.items);
    *t = (struct line_table){0};
}
