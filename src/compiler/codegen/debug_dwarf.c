/* debug_dwarf.c: see debug_dwarf.h. */
#include "compiler/codegen/debug_dwarf.h"

#include <string.h>

/* ---- bytes ---- */

struct cursor {
    const struct ptx_section *s;
    uint32_t at;
    bool bad;
};

static uint64_t take(struct cursor *c, uint32_t bytes)
{
    uint64_t v = 0;
    if (bytes > 8 || bytes > c->s->size || c->at > c->s->size - bytes) {
        c->bad = true;
        return 0;
    }
    for (uint32_t n = 0; n < bytes; n++)
        v |= (uint64_t)c->s->bytes[c->at + n] << 8 * n;
    c->at += bytes;
    return v;
}

static void skip(struct cursor *c, uint64_t bytes)
{
    if (bytes > c->s->size - c->at)
        c->bad = true;
    else
        c->at += (uint32_t)bytes;
}

static uint64_t take_uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (uint32_t shift = 0; !c->bad; shift += 7) {
        uint64_t b = take(c, 1);
        v |= shift < 64 ? (b & 0x7f) << shift : 0;
        if ((b & 0x80) == 0)
            break;
    }
    return v;
}

static int64_t take_sleb(struct cursor *c)
{
    uint64_t v = 0, b = 0;
    uint32_t shift = 0;
    do {
        b = take(c, 1);
        v |= shift < 64 ? (b & 0x7f) << shift : 0;
        shift += 7;
    } while (!c->bad && (b & 0x80) != 0);
    if (shift < 64 && (b & 0x40) != 0)
        v |= ~(uint64_t)0 << shift;
    return (int64_t)v;
}

static const char *take_string(struct cursor *c)
{
    const char *s = (const char *)c->s->bytes + c->at;
    const void *end = memchr(s, '\0', c->s->size - c->at);
    if (end == NULL) {
        c->bad = true;
        return NULL;
    }
    c->at += (uint32_t)((const char *)end - s) + 1;
    return s;
}

/* The name that stood there; NULL: none did. */
static const char *name_at(const struct ptx_section *s, uint32_t at)
{
    uint32_t low = 0, high = s->nnames;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->names[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->nnames && s->names[low].at == at ? s->names[low].name : NULL;
}

/* ---- units ---- */

bool dwarf_unit(const struct ptx_module *m, uint32_t *at, struct dwarf *out)
{
    struct cursor c = {&m->debug_info, *at, false};
    if (m->debug_info.bytes == NULL || m->debug_abbrev.bytes == NULL || *at >= m->debug_info.size)
        return false;
    *out = (struct dwarf){.info = &m->debug_info, .abbrev = &m->debug_abbrev, .unit = *at};
    uint64_t length = take(&c, 4), version;
    uint32_t begin = c.at;
    version = take(&c, 2);
    out->abbrevs = (uint32_t)take(&c, 4);
    out->address_bytes = (uint32_t)take(&c, 1);
    out->first = c.at;
    if (c.bad || length > m->debug_info.size - begin || version < 2 || version > 4 ||
        out->abbrevs >= m->debug_abbrev.size)
        return false;
    out->end = *at = begin + (uint32_t)length;
    return true;
}

/* ---- entries ---- */

enum {
    AT_LOCATION = 0x02,
    AT_NAME = 0x03,
    AT_BYTE_SIZE = 0x0b,
    AT_BIT_SIZE = 0x0d,
    AT_CONST_VALUE = 0x1c,
    AT_UPPER_BOUND = 0x2f,
    AT_ORIGIN = 0x31,
    AT_COUNT = 0x37,
    AT_MEMBER_LOCATION = 0x38,
    AT_DECL_LINE = 0x3b,
    AT_DECLARATION = 0x3c,
    AT_ENCODING = 0x3e,
    AT_SPECIFICATION = 0x47,
    AT_TYPE = 0x49,
    AT_LINKAGE_NAME = 0x6e,
    AT_MIPS_LINKAGE_NAME = 0x2007
};

/* A value: a number or an offset; a string; or a block of bytes. */
struct value {
    uint64_t number;
    const char *string;
    uint32_t block, block_bytes;
};

static bool take_block(struct cursor *c, uint64_t bytes, struct value *v)
{
    v->block = c->at;
    v->block_bytes = (uint32_t)bytes;
    skip(c, bytes);
    return true;
}

static bool take_value(const struct dwarf *d, struct cursor *c, uint64_t form, struct value *v)
{
    *v = (struct value){0};
    switch (form) {
    case 0x01: v->number = take(c, d->address_bytes); return true; /* addr */
    case 0x03: return take_block(c, take(c, 2), v);                /* block2 */
    case 0x04: return take_block(c, take(c, 4), v);                /* block4 */
    case 0x05: v->number = take(c, 2); return true;                /* data2 */
    case 0x06: v->number = take(c, 4); return true;                /* data4 */
    case 0x07: v->number = take(c, 8); return true;                /* data8 */
    case 0x08: v->string = take_string(c); return true;            /* string */
    case 0x09: return take_block(c, take_uleb(c), v);              /* block */
    case 0x0a: return take_block(c, take(c, 1), v);                /* block1 */
    case 0x0b:                                                     /* data1 */
    case 0x0c: v->number = take(c, 1); return true;                /* flag */
    case 0x0d: v->number = (uint64_t)take_sleb(c); return true;    /* sdata */
    case 0x0e: (void)take(c, 4); return true;                      /* strp: not kept */
    case 0x0f: v->number = take_uleb(c); return true;              /* udata */
    case 0x10: v->number = take(c, 4); return true;                /* ref_addr */
    case 0x11: v->number = d->unit + take(c, 1); return true;      /* ref1 */
    case 0x12: v->number = d->unit + take(c, 2); return true;      /* ref2 */
    case 0x13: v->number = d->unit + take(c, 4); return true;      /* ref4 */
    case 0x14: v->number = d->unit + take(c, 8); return true;      /* ref8 */
    case 0x15: v->number = d->unit + take_uleb(c); return true;    /* ref_udata */
    case 0x17: v->number = take(c, 4); return true;                /* sec_offset */
    case 0x18: return take_block(c, take_uleb(c), v);              /* exprloc */
    case 0x19: v->number = 1; return true;                         /* flag_present */
    default: return false;
    }
}

/* DW_OP_addr of a variable, and maybe an offset from there. */
static void set_location(const struct dwarf *d, const struct value *v, struct dwarf_entry *out)
{
    enum { OP_ADDR = 0x03, OP_PLUS_UCONST = 0x23 };
    struct cursor c = {d->info, v->block, false};
    uint32_t end = v->block + v->block_bytes;
    if (v->block_bytes < 1 + d->address_bytes || take(&c, 1) != OP_ADDR)
        return;
    const char *name = name_at(d->info, c.at);
    skip(&c, d->address_bytes);
    uint64_t offset = 0;
    if (c.at < end && take(&c, 1) == OP_PLUS_UCONST)
        offset = take_uleb(&c);
    if (c.bad || c.at != end)
        return;
    out->variable = name;
    out->offset = offset;
}

/* DW_OP_plus_uconst, or a number. */
static void set_member(const struct dwarf *d, const struct value *v, struct dwarf_entry *out)
{
    struct cursor c = {d->info, v->block, false};
    out->member = v->number;
    if (v->block_bytes > 0) {
        (void)take(&c, 1);
        out->member = take_uleb(&c);
    }
}

static void set_attribute(const struct dwarf *d, uint64_t attribute, const struct value *v,
                          struct dwarf_entry *out)
{
    switch (attribute) {
    case AT_LOCATION: set_location(d, v, out); break;
    case AT_NAME: out->name = v->string; break;
    case AT_BYTE_SIZE: out->bytes = v->number; break;
    case AT_BIT_SIZE: out->bits = true; break;
    case AT_CONST_VALUE: out->value = (int64_t)v->number; break;
    case AT_UPPER_BOUND:
        out->has_count = true;
        out->count = v->number + 1;
        break;
    case AT_COUNT:
        out->has_count = true;
        out->count = v->number;
        break;
    case AT_MEMBER_LOCATION: set_member(d, v, out); break;
    case AT_DECL_LINE: out->line = v->number; break;
    case AT_DECLARATION: out->declared = v->number != 0; break;
    case AT_ENCODING: out->encoding = v->number; break;
    case AT_ORIGIN:
    case AT_SPECIFICATION: out->origin = (uint32_t)v->number; break;
    case AT_TYPE: out->type = (uint32_t)v->number; break;
    case AT_LINKAGE_NAME:
    case AT_MIPS_LINKAGE_NAME: out->linkage = v->string; break;
    default: break;
    }
}

/* The abbreviation with that code: the cursor is at its tag. */
static bool find_abbreviation(const struct dwarf *d, uint64_t code, struct cursor *c)
{
    *c = (struct cursor){d->abbrev, d->abbrevs, false};
    while (!c->bad) {
        uint64_t here = take_uleb(c);
        if (here == code || here == 0)
            return here != 0;
        (void)take_uleb(c);
        (void)take(c, 1);
        for (uint64_t attribute = 1, form = 1; !c->bad && (attribute | form) != 0;) {
            attribute = take_uleb(c);
            form = take_uleb(c);
        }
    }
    return false;
}

bool dwarf_read(const struct dwarf *d, uint32_t at, struct dwarf_entry *out)
{
    struct cursor c = {d->info, at, false}, a;
    *out = (struct dwarf_entry){.at = at};
    if (at < d->first || at >= d->end)
        return false;
    uint64_t code = take_uleb(&c);
    out->next = c.at;
    if (code == 0)
        return !c.bad;
    if (!find_abbreviation(d, code, &a))
        return false;
    out->tag = (uint32_t)take_uleb(&a);
    out->children = take(&a, 1) != 0;
    for (;;) {
        uint64_t attribute = take_uleb(&a), form = take_uleb(&a);
        struct value v;
        if (a.bad || c.bad)
            return false;
        if ((attribute | form) == 0)
            break;
        if (!take_value(d, &c, form, &v))
            return false;
        set_attribute(d, attribute, &v, out);
    }
    out->next = c.at;
    return out->tag != 0;
}

uint32_t dwarf_after(const struct dwarf *d, const struct dwarf_entry *e)
{
    uint32_t at = e->next;
    for (uint32_t depth = e->children ? 1 : 0; depth > 0;) {
        struct dwarf_entry n;
        if (!dwarf_read(d, at, &n))
            return 0;
        depth += n.children ? 1 : 0;
        depth -= n.tag == 0 ? 1 : 0;
        at = n.next;
    }
    return at;
}
