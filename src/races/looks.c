/* looks: host functions that look at a flag without waiting for it.
 *
 * What such a function may know by a flag is that the program has changed it. So the places in
 * memory that its code reads are found: variables at fixed addresses, and what its argument points
 * to, from there on by up to two pointers more. Their values are kept when the function is
 * enqueued; one that is another later has been changed meanwhile, and the function comes after what
 * the program did until then. A value that is the same tells nothing.
 *
 * The code is read once, from the start to the end, and functions of the same library that it calls
 * in turn; from where registers and variables of the stack have their values is followed. What is
 * wrong there, as the code jumps, is another place to look at, which makes no report false. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "races/code.h"
#include "races/internal.h"

#if defined(__x86_64__)

enum {
    POINTERS = 2,   /* between the first address and a place */
    PLACES = 24,    /* of a function */
    VARIABLES = 24, /* of its stack */
    CALLS = 4,      /* within calls */
    REGISTERS = 16,
    CODE_MOST = 1024 /* bytes of code of each */
};

/* An address: `start`, or the argument, and a distance; the pointer there and a distance; ... */
struct origin {
    enum { UNKNOWN, FIXED, ARGUMENT } from;
    uint64_t start;
    uint32_t pointers;
    int64_t distance[POINTERS + 1];
};

struct place {
    struct origin at;
    uint32_t bytes;
};

struct places {
    struct place items[PLACES];
    uint32_t count;
};

struct variable {
    int base;
    int32_t distance;
    struct origin value;
};

struct walk {
    struct places *places;
    struct origin registers[REGISTERS];
    struct variable variables[VARIABLES];
    uint32_t variable_count;
    uint32_t depth;
    bool frame;
};

static struct origin moved(struct origin o, int64_t by)
{
    o.distance[o.pointers] += by;
    return o;
}

/* The pointer that is there. */
static struct origin loaded(struct origin o)
{
    if (o.from == UNKNOWN || o.pointers == POINTERS)
        return (struct origin){0};
    o.distance[++o.pointers] = 0;
    return o;
}

static struct origin address_of(const struct walk *w, const struct instruction *i)
{
    if (i->relative)
        return (struct origin){FIXED, (uint64_t)(uintptr_t)i->next + (uint64_t)i->distance, 0, {0}};
    if (i->index != NONE)
        return (struct origin){0};
    if (i->base == NONE)
        return (struct origin){FIXED, (uint64_t)(int64_t)i->distance, 0, {0}};
    struct origin o = w->registers[i->base];
    return o.from != UNKNOWN ? moved(o, i->distance) : o;
}

static uint32_t bytes_of(const struct instruction *i)
{
    if (i->map == 1)
        return i->op == 0xb7 || i->op == 0xbf ? 2 : 1;
    bool byte = (i->op & 1) == 0 && i->op != 0x83;
    return byte ? 1 : (i->rex & 8) != 0 ? 8 : i->wide16 ? 2 : 4;
}

static struct origin *variable_of(struct walk *w, const struct instruction *i)
{
    for (uint32_t n = 0; n < w->variable_count; n++)
        if (w->variables[n].base == i->base && w->variables[n].distance == i->distance)
            return &w->variables[n].value;
    if (w->variable_count == VARIABLES)
        return NULL;
    struct variable *v = &w->variables[w->variable_count++];
    *v = (struct variable){.base = i->base, .distance = i->distance};
    return &v->value;
}

static void take_look(struct walk *w, const struct instruction *i)
{
    struct origin at = address_of(w, i);
    if (at.from != UNKNOWN && w->places->count < PLACES)
        w->places->items[w->places->count++] = (struct place){at, bytes_of(i)};
}

static bool only_compares(const struct instruction *i)
{
    return i->map == 0 && ((i->op >= 0x38 && i->op <= 0x3b) || i->op == 0x84 || i->op == 0x85 ||
                           (i->op >= 0x80 && i->op <= 0x83 && (i->reg & 7) == 7));
}

/* What registers and variables have after a move. False: it is none. */
static bool take_move(struct walk *w, const struct instruction *i)
{
    bool wide = (i->rex & 8) != 0, stack = code_is_of_stack(i, w->frame) && i->index == NONE;
    const struct origin none = {0};
    if (i->map != 0 || i->vector)
        return false;
    if (i->op == 0x89) {
        struct origin *to = !i->memory ? &w->registers[i->rm] : stack ? variable_of(w, i) : NULL;
        if (to != NULL)
            *to = wide ? w->registers[i->reg] : none;
        return true;
    }
    if (i->op == 0x8b) {
        const struct origin *variable = i->memory && stack ? variable_of(w, i) : NULL;
        struct origin value = !i->memory         ? w->registers[i->rm]
                              : variable != NULL ? *variable
                              : stack            ? none
                                                 : loaded(address_of(w, i));
        w->registers[i->reg] = wide ? value : none;
        return true;
    }
    if (i->op == 0x8d) {
        w->registers[i->reg] = stack ? none : address_of(w, i);
        return true;
    }
    if (i->op >= 0xb8 && i->op <= 0xbf) {
        uint64_t value = 0;
        memcpy(&value, i->next - (wide ? 8 : 4), wide ? 8 : 4);
        w->registers[(i->op & 7) | (i->rex & 1) << 3] = (struct origin){FIXED, value, 0, {0}};
        return true;
    }
    return false;
}

/* Any other instruction may change the registers that it names. */
static void take_other(struct walk *w, const struct instruction *i)
{
    const struct origin none = {0};
    if (i->map == 0 && !i->vector && i->op >= 0x58 && i->op <= 0x5f) /* pop */
        w->registers[(i->op & 7) | (i->rex & 1) << 3] = none;
    if (!i->has_modrm || only_compares(i))
        return;
    if (i->map == 0 && i->op == 0x83 && (i->reg & 7) == 0 && !i->memory && (i->rex & 8) != 0 &&
        w->registers[i->rm].from != UNKNOWN) { /* an addition */
        w->registers[i->rm] = moved(w->registers[i->rm], (int8_t)i->next[-1]);
        return;
    }
    w->registers[i->reg] = none;
    if (!i->memory)
        w->registers[i->rm] = none;
}

static void walk(struct places *places, const uint8_t *function, const struct origin *registers,
                 uint32_t depth);

static void take_call(struct walk *w, const struct instruction *i)
{
    static const uint8_t changed[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
    int32_t distance;
    memcpy(&distance, i->next - 4, sizeof distance);
    if (w->depth < CALLS)
        walk(w->places, i->next + distance, w->registers, w->depth + 1);
    for (uint32_t n = 0; n < WEIR_COUNT(changed); n++)
        w->registers[changed[n]] = (struct origin){0};
}

static void walk(struct places *places, const uint8_t *function, const struct origin *registers,
                 uint32_t depth)
{
    const uint8_t *high = handover_end(function, CODE_MOST);
    struct walk w = {.places = places, .depth = depth};
    struct instruction i;
    memcpy(w.registers, registers, sizeof w.registers);
    for (const uint8_t *p = function; p < high && code_decode(&i, p) && i.next <= high;
         p = i.next) {
        const uint8_t *to = code_jumps_to(&i);
        w.frame |= code_sets_frame(&i);
        if (code_is_load(&i) && !code_is_of_stack(&i, w.frame))
            take_look(&w, &i);
        if (i.map == 0 && i.op == 0xe8)
            take_call(&w, &i);
        else if (i.map == 0 && i.op == 0xe9 && (to < function || to >= high) && depth < CALLS)
            walk(places, to, w.registers, depth + 1);
        else if (!take_move(&w, &i))
            take_other(&w, &i);
    }
}

/* The function's argument is in the first register, a callback's in the third. */
static const struct places *places_of(const void *function)
{
    enum { FIRST = 7, THIRD = 2 };
    static struct {
        struct known {
            const void *function;
            struct places *places;
        } *items;
        size_t count, cap;
    } known;
    for (size_t n = 0; n < known.count; n++)
        if (known.items[n].function == function)
            return known.items[n].places;
    struct origin registers[REGISTERS] = {0};
    registers[FIRST].from = registers[THIRD].from = ARGUMENT;
    struct known k = {function, xcalloc(1, sizeof *k.places)};
    walk(k.places, function, registers, 0);
    vec_push(&known, k);
    return k.places;
}

#else

struct place {
    uint32_t bytes;
};
struct places {
    struct place items[1];
    uint32_t count;
};
static const struct places *places_of(const void *function)
{
    static const struct places none;
    (void)function;
    return &none;
}

#endif

/* ---- values ---- */

struct looks {
    uint32_t count;
    struct {
        uint64_t at, value;
        uint32_t bytes;
    } items[];
};

/* Nothing need be there: then the system says so. */
static bool read_value(uint64_t at, uint32_t bytes, uint64_t *out)
{
    static int ends[2] = {-1, -1};
    *out = 0;
    if (ends[0] < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    return write(ends[1], (const void *)(uintptr_t)at, bytes) == (ssize_t)bytes &&
           read(ends[0], out, bytes) == (ssize_t)bytes;
}

#if defined(__x86_64__)
static bool find(const struct origin *o, const void *argument, uint64_t *at)
{
    *at =
        (o->from == ARGUMENT ? (uint64_t)(uintptr_t)argument : o->start) + (uint64_t)o->distance[0];
    for (uint32_t n = 1; n <= o->pointers; n++) {
        if (!read_value(*at, sizeof *at, at))
            return false;
        *at += (uint64_t)o->distance[n];
    }
    return true;
}
#else
static bool find(const struct place *p, const void *argument, uint64_t *at)
{
    (void)p;
    (void)argument;
    (void)at;
    return false;
}
#endif

struct looks *looks_begin(const void *function, const void *argument)
{
    const struct places *p = function != NULL ? places_of(function) : NULL;
    if (p == NULL || p->count == 0)
        return NULL;
    struct looks *l = xcalloc(1, sizeof *l + p->count * sizeof *l->items);
    for (uint32_t n = 0; n < p->count; n++) {
        uint64_t at, value;
        uint32_t bytes = p->items[n].bytes;
        if (!find(&p->items[n].at, argument, &at) || races_host_shares(at, at + bytes) ||
            !read_value(at, bytes, &value))
            continue;
        l->items[l->count].at = at;
        l->items[l->count].value = value;
        l->items[l->count++].bytes = bytes;
    }
    return l;
}

bool looks_changed(const struct looks *l)
{
    uint64_t value;
    for (uint32_t n = 0; l != NULL && n < l->count; n++)
        if (read_value(l->items[n].at, l->items[n].bytes, &value) && value != l->items[n].value)
            return true;
    return false;
}
