/* clock: immutable vectors of positions; see internal.h. */
#include <stdlib.h>
#include <string.h>

#include "races/internal.h"

struct vclock *vclock_ref(struct vclock *v)
{
    if (v != NULL)
        v->refs++;
    return v;
}

void vclock_unref(struct vclock *v)
{
    if (v != NULL && --v->refs == 0)
        free(v);
}

/* The first entry whose stream is not less. */
static uint32_t lower(const struct vclock *v, uint64_t stream)
{
    uint32_t low = 0, high = v->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (v->entries[middle].stream < stream)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t vclock_get(const struct vclock *v, uint64_t stream)
{
    if (v == NULL)
        return 0;
    uint32_t at = lower(v, stream);
    return at < v->count && v->entries[at].stream == stream ? v->entries[at].position : 0;
}

static struct vclock *vclock_new(uint32_t capacity)
{
    struct vclock *v = xmalloc(sizeof *v + capacity * sizeof *v->entries);
    v->refs = 1;
    v->count = 0;
    return v;
}

static bool covers(const struct vclock *v, const struct vclock *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        if (vclock_get(v, other->entries[i].stream) < other->entries[i].position)
            return false;
    return true;
}

struct vclock *vclock_join(struct vclock *v, const struct vclock *other)
{
    if (other == NULL || v == other || covers(v, other))
        return v;
    uint32_t mine = v != NULL ? v->count : 0, i = 0, k = 0;
    struct vclock *both = vclock_new(mine + other->count);
    while (i < mine || k < other->count) {
        struct vclock_entry *to = &both->entries[both->count++];
        if (k == other->count || (i < mine && v->entries[i].stream < other->entries[k].stream)) {
            *to = v->entries[i++];
        } else if (i == mine || other->entries[k].stream < v->entries[i].stream) {
            *to = other->entries[k++];
        } else {
            *to = v->entries[i].position > other->entries[k].position ? v->entries[i]
                                                                      : other->entries[k];
            i++;
            k++;
        }
    }
    vclock_unref(v);
    return both;
}

struct vclock *vclock_raise(struct vclock *v, uint64_t stream, uint64_t position)
{
    if (vclock_get(v, stream) >= position)
        return v;
    struct vclock *one = vclock_new(1);
    one->count = 1;
    one->entries[0] = (struct vclock_entry){stream, position};
    v = vclock_join(v, one);
    vclock_unref(one);
    return v;
}
