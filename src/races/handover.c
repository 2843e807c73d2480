/* handover: whether a host function may tell the program without a call that it has run. Atomic
 * instructions, as the default operations of std::atomic have, are read from the function's code,
 * and that of functions of the same library that it calls: exchanges with memory, locked
 * instructions and fences. A pattern that only looks like one makes no report false. Plain stores
 * (release order, volatile) and loops that wait are found by code.c. x86-64 only. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "races/internal.h"

#if defined(__x86_64__)

enum {
    FUNCTIONS_MOST = 48, /* that are looked at, */
    BYTES_MOST = 1024    /* and of each */
};

struct code {
    const uint8_t *low, *high; /* executable pages of the library */
    const uint8_t *functions[FUNCTIONS_MOST];
    int count;
};

static int find_library(struct dl_phdr_info *library, size_t size, void *self)
{
    struct code *c = self;
    (void)size;
    for (int n = 0; n < library->dlpi_phnum; n++) {
        const ElfW(Phdr) *p = &library->dlpi_phdr[n];
        const uint8_t *low = (const uint8_t *)(uintptr_t)(library->dlpi_addr + p->p_vaddr);
        if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0 || c->functions[0] < low ||
            c->functions[0] >= low + p->p_filesz)
            continue;
        c->low = low;
        c->high = low + p->p_filesz;
        return 1;
    }
    return 0;
}

/* Whether a return ends the function: what follows fills up to the next, which is aligned. A jump
 * by a table, as to another library, does, too. */
static bool ends(const uint8_t *p)
{
    static const uint8_t fill[] = {0x90, 0xcc, 0x66, 0x0f, 0x2e};
    if (p[0] == 0xff && p[1] == 0x25)
        return true;
    return *p == 0xc3 && ((uintptr_t)(p + 1) % 16 == 0 || memchr(fill, p[1], sizeof fill) != NULL);
}

static bool is_atomic(const uint8_t *p)
{
    bool rex = (p[1] & 0xf0) == 0x40;
    const uint8_t *op = p + 1 + rex;
    if (*p == 0xf0) /* lock */
        return *op == 0x0f || *op < 0x32 || (*op >= 0x80 && *op <= 0x87) || *op >= 0xf6;
    if ((*p == 0x86 || *p == 0x87) && p[1] >> 6 != 3) /* xchg */
        return true;
    return p[0] == 0x0f && p[1] == 0xae && p[2] == 0xf0; /* mfence */
}

/* A function that is called directly is to be looked at, too. */
static void add_called(struct code *c, const uint8_t *p)
{
    int32_t distance;
    memcpy(&distance, p + 1, sizeof distance);
    const uint8_t *to = p + 5 + distance;
    if (to < c->low || to >= c->high || c->count == FUNCTIONS_MOST)
        return;
    for (int n = 0; n < c->count; n++)
        if (c->functions[n] == to)
            return;
    c->functions[c->count++] = to;
}

const uint8_t *handover_end(const void *function, uint32_t most)
{
    struct code c = {.functions = {function}, .count = 1};
    const uint8_t *p = function;
    if (dl_iterate_phdr(find_library, &c) == 0)
        return p;
    const uint8_t *high = c.high - p > (ptrdiff_t)most ? p + most : c.high;
    while (p + 8 < high && !ends(p))
        p++;
    return p;
}

static void look_at(struct code *c, const uint8_t *function, struct handover *out)
{
    const uint8_t *high = c->high - function > BYTES_MOST ? function + BYTES_MOST : c->high;
    const uint8_t *p = function;
    for (; p + 8 < high && !ends(p); p++) {
        out->atomic |= is_atomic(p);
        if (*p == 0xe8 || *p == 0xe9)
            add_called(c, p);
    }
    code_look(function, p, out);
}

static void look(const void *function, struct handover *out)
{
    struct code c = {.functions = {function}, .count = 1};
    if (dl_iterate_phdr(find_library, &c) == 0)
        return;
    for (int n = 0; n < c.count; n++)
        look_at(&c, c.functions[n], out);
}

#else

static void look(const void *function, struct handover *out)
{
    (void)function;
    (void)out;
}

#endif

const struct handover *handover_of(const void *function)
{
    static struct {
        struct known {
            const void *function;
            struct handover *what;
        } *items;
        size_t count, cap;
    } known;
    if (function == NULL)
        return NULL;
    for (size_t i = 0; i < known.count; i++)
        if (known.items[i].function == function)
            return known.items[i].what;
    struct known k = {function, xcalloc(1, sizeof *k.what)};
    look(function, k.what);
    vec_push(&known, k);
    return k.what;
}
