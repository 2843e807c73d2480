/* watch: reports of what happens in pools to the one who watches them (pool_watch). That somebody
 * watches is a slow-path flag (base/slow_path.h), so that it costs nothing while nobody does. */
#include "observe/observe.h"
#include "pool/internal.h"

static _Atomic(pool_watcher *) pool_watched;

void pool_watch(pool_watcher *watcher)
{
    atomic_store(&pool_watched, watcher);
    if (watcher != NULL)
        slow_path_set(SLOW_PATH_WATCHED);
    else
        slow_path_clear(SLOW_PATH_WATCHED);
}

void watch_tell(const struct pool_event *e)
{
    pool_watcher *watcher = atomic_load_explicit(&pool_watched, memory_order_acquire);
    if (watcher != NULL)
        watcher(e);
}

static void observe_block(enum pool_event_kind kind, const struct pool *p,
                          const struct pool_shard *s, const struct block *b, enum pool_rule rule)
{
    struct observe_memory m = {.kind = OBSERVE_POOL,
                               .device = p->config.device,
                               .address = s->map->base + (get(&b->first) << GRANULE_SHIFT),
                               .bytes = get(&b->asked),
                               .ordered = s->stream != NULL,
                               .stream = s->observed_id,
                               .pool = p->number,
                               .rule = (int)rule};
    if (kind == POOL_ALLOCATED)
        observe_memory_made(&m);
    else
        observe_memory_freed(&m);
}

void watch_block(enum pool_event_kind kind, const struct pool *p, const struct pool_shard *s,
                 const struct block *b, enum pool_rule rule)
{
    if (observed())
        observe_block(kind, p, s, b, rule);
    watch_tell(&(struct pool_event){.kind = kind,
                                    .pool = p->number,
                                    .address = s->map->base + (get(&b->first) << GRANULE_SHIFT),
                                    .bytes = get(&b->asked),
                                    .has_stream = s->stream != NULL,
                                    .stream = s->stream_id,
                                    .rule = rule});
}

void watch_chunks(enum pool_event_kind kind, const struct pool *p, uint64_t address, uint64_t bytes)
{
    if (observed())
        observe_pool_size(p->number, p->reserved);
    watch_tell(&(struct pool_event){.kind = kind,
                                    .pool = p->number,
                                    .address = address,
                                    .bytes = bytes,
                                    .reserved = p->reserved});
}
