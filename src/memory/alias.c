/* alias: allocations without pages of their own. Several of them may show the same pages of a
 * file one after the other; the layer above sees to it that they do not overlap. */
#include "memory/space.h"

enum mem_status mem_alias_new(uint64_t bytes, const struct mem_info *like, void **out)
{
    struct space *s = space_of(MEM_MAPPINGS);
    if (bytes == 0)
        return MEM_INVALID;
    if (bytes > s->size - WEIR_PAGE)
        return MEM_OUT_OF_MEMORY;
    pthread_mutex_lock(&s->lock);
    struct record *r = mapping_new(s, bytes);
    if (r != NULL) {
        mapping_describe(r, like, 0, bytes);
        *out = (void *)r->info.base;
    }
    pthread_mutex_unlock(&s->lock);
    return r != NULL ? MEM_OK : MEM_OUT_OF_MEMORY;
}

enum mem_status mem_alias_show(void *base, const struct mem_file *f, uint64_t offset)
{
    struct space *s = space_of(MEM_MAPPINGS);
    enum mem_status status = MEM_INVALID;
    if (!space_holds(s, (uint64_t)base) || offset % WEIR_PAGE != 0 || offset > f->bytes)
        return MEM_INVALID;
    pthread_mutex_lock(&s->lock);
    struct record *r = space_find(s, (uint64_t)base);
    uint64_t whole = r != NULL ? (r->span + WEIR_PAGE - 1) & ~(uint64_t)(WEIR_PAGE - 1) : 0;
    if (r != NULL && r->info.base == (uint64_t)base && whole <= f->bytes - offset) {
        status = MEM_OK;
        if (file_map(f, base, offset, whole, true) == NULL) {
            space_clear_mapping((uint64_t)base, whole);
            status = MEM_OUT_OF_MEMORY;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}
