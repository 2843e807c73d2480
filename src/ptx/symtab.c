/* symtab.c: a chained hash table whose entries form a stack, so that leaving a scope is popping. */
#include "ptx/symtab.h"

#include <stdlib.h>
#include <string.h>

static uint32_t symtab_hash(const char *s, size_t n, bool range)
{
    uint32_t h = range ? 0x9e3779b9u : 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h ^ h >> 15;
}

static void symtab_link(struct ptx_symtab *t, size_t i)
{
    int32_t *head = &t->buckets[t->items[i].hash & (t->nbuckets - 1)];
    t->items[i].next = *head;
    *head = (int32_t)i;
}

static void rehash(struct ptx_symtab *t)
{
    t->nbuckets = t->nbuckets ? t->nbuckets * 2 : 256;
    t->buckets = xrealloc(t->buckets, t->nbuckets * sizeof *t->buckets);
    memset(t->buckets, 0xff, t->nbuckets * sizeof *t->buckets);
    for (size_t i = 0; i < t->count; i++)
        symtab_link(t, i);
}

struct ptx_sym *ptx_symtab_find(const struct ptx_symtab *t, const char *name, size_t n, bool range)
{
    if (t->nbuckets == 0)
        return NULL;
    uint32_t h = symtab_hash(name, n, range);
    for (int32_t i = t->buckets[h & (t->nbuckets - 1)]; i >= 0; i = t->items[i].next) {
        struct ptx_sym *s = &t->items[i];
        if (s->hash == h && s->length == n && (s->kind == SYM_RANGE) == range &&
            memcmp(s->name, name, n) == 0)
            return s;
    }
    return NULL;
}

struct ptx_sym *ptx_symtab_add(struct ptx_symtab *t, const char *name, size_t n,
                               enum ptx_sym_kind kind, int depth)
{
    if (t->count >= t->nbuckets)
        rehash(t);
    vec_push(t, (struct ptx_sym){
                    .name = name,
                    .length = (uint32_t)n,
                    .hash = symtab_hash(name, n, kind == SYM_RANGE),
                    .depth = (int16_t)depth,
                    .kind = (uint8_t)kind,
                });
    symtab_link(t, t->count - 1);
    return &t->items[t->count - 1];
}

void ptx_symtab_cut(struct ptx_symtab *t, size_t count)
{
    while (t->count > count) {
        const struct ptx_sym *s = &t->items[--t->count];
        t->buckets[s->hash & (t->nbuckets - 1)] = s->next;
    }
}

void ptx_symtab_free(struct ptx_symtab *t)
{
    free(t->items);
    free(t->buckets);
    *t = (struct ptx_symtab){0};
}
