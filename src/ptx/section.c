/* section: what compilers leave in PTX for debuggers, `.section .debug_info { .b8 1, 2 .b32 name }`
 * and the like, as bytes. Of other sections, and of what is written otherwise, nothing is kept. */
#include <stdlib.h>
#include <string.h>

#include "ptx/parse.h"

struct bytes {
    uint8_t *items;
    size_t count, cap;
};

struct names {
    struct ptx_section_name *items;
    size_t count, cap;
};

static int width_of(const struct ptx_token *t)
{
    return TOKEN_IS(t, "b8")    ? 1
           : TOKEN_IS(t, "b16") ? 2
           : TOKEN_IS(t, "b32") ? 4
           : TOKEN_IS(t, "b64") ? 8
                                : 0;
}

/* One number or name, of so many bytes. False: neither. */
static bool read_value(struct ptx_parser *p, int width, struct bytes *to, struct names *names)
{
    bool named = p->t.kind == T_IDENT || p->t.kind == T_DOT;
    if (!named && p->t.kind != T_INT)
        return false;
    if (named)
        vec_push(names, (struct ptx_section_name){(uint32_t)to->count,
                                                  arena_strndup(p->a, p->t.s, p->t.n)});
    uint64_t number = named ? 0 : p->t.u;
    for (ptx_next(p); named && (p->t.kind == '+' || p->t.kind == '-'); ptx_next(p)) {
        ptx_next(p); /* what stands there is name + number, or the distance of two names */
        if (p->t.kind != T_INT && p->t.kind != T_IDENT && p->t.kind != T_DOT)
            return false;
        number = p->t.kind == T_INT ? p->t.u : 0;
    }
    for (int n = 0; n < width; n++)
        vec_push(to, (uint8_t)(number >> 8 * n));
    return true;
}

/* The rest of the section after '{', as far as it is understood: then at its '}'. */
static bool read_values(struct ptx_parser *p, struct bytes *to, struct names *names)
{
    while (p->t.kind == T_DOT) {
        int width = width_of(&p->t);
        if (width == 0)
            return false;
        do {
            ptx_next(p);
            if (!read_value(p, width, to, names))
                return false;
        } while (p->t.kind == ',');
    }
    return p->t.kind == '}';
}

static struct ptx_section *section_of(struct ptx_parser *p, const struct ptx_token *name)
{
    return TOKEN_IS(name, "debug_info")     ? &p->debug_info
           : TOKEN_IS(name, "debug_abbrev") ? &p->debug_abbrev
                                            : NULL;
}

static void keep(struct ptx_parser *p, struct ptx_section *s, const struct bytes *bytes,
                 const struct names *names)
{
    uint8_t *copy = arena_alloc(p->a, bytes->count);
    struct ptx_section_name *list = arena_alloc(p->a, (names->count + 1) * sizeof *list);
    memcpy(copy, bytes->items, bytes->count);
    if (names->count > 0)
        memcpy(list, names->items, names->count * sizeof *list);
    *s = (struct ptx_section){.bytes = copy,
                              .size = (uint32_t)bytes->count,
                              .nnames = (uint32_t)names->count,
                              .names = list};
}

bool ptx_section(struct ptx_parser *p)
{
    struct bytes bytes = {0};
    struct names names = {0};
    if (p->t.kind != T_DOT && p->t.kind != T_IDENT)
        return ptx_expected(p, "a section name");
    struct ptx_section *s = section_of(p, &p->t);
    ptx_next(p);
    if (!ptx_expect(p, '{', "'{'"))
        return false;
    if (s != NULL && read_values(p, &bytes, &names) && bytes.count > 0)
        keep(p, s, &bytes, &names);
    free(bytes.items);
    free(names.items);
    for (int depth = 1; depth > 0; ptx_next(p)) {
        if (p->t.kind == T_END || p->t.kind == T_ERROR)
            return ptx_expected(p, "'}' at the end of the section");
        depth += p->t.kind == '{';
        depth -= p->t.kind == '}';
    }
    return true;
}
