/* pool: the life of pools, their shards, what an address in them is. */
#include "pool/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/list.h"
#include "pool/internal.h"

/* All pools, the oldest first. The lock also guards which shards a stream has. */
static struct {
    pthread_mutex_t lock;
    struct pool *oldest, **last; /* last: where the next one goes; NULL: there was none yet */
    struct pool *gone;           /* calls under way may still look at them */
    uint64_t shard_ids, pool_numbers;
    bool registered;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

void pool_lock_all(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->shard_count; i++)
        shard_lock(p->shards[i]);
}

void pool_unlock_all(struct pool *p)
{
    for (size_t i = 0; i < p->shard_count; i++)
        shard_unlock(p->shards[i]);
    pthread_mutex_unlock(&p->lock);
}

int64_t pool_used(const struct pool *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->shard_count; i++)
        sum += p->shards[i]->used;
    return sum;
}

int64_t pool_live(const struct pool *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->shard_count; i++)
        sum += (int64_t)(p->shards[i]->made - p->shards[i]->freed);
    return sum;
}

/* ---- shards ---- */

static void shard_add(struct pool *p, struct pool_shard *s)
{
    pthread_mutex_lock(&p->lock);
    if (p->shard_count == p->shard_cap) {
        p->shard_cap = p->shard_cap > 0 ? p->shard_cap * 2 : 4;
        p->shards = xrealloc(p->shards, p->shard_cap * sizeof(struct pool_shard *));
    }
    p->shards[p->shard_count++] = s;
    pthread_mutex_unlock(&p->lock);
}

/* The list's lock is held. */
static void shard_init(struct pool_shard *s, struct pool *p, void *stream)
{
    char *own = (char *)&s->stream;
    memset(own, 0, (size_t)((char *)(s + 1) - own));
    s->id = ++all.shard_ids;
    s->map = p->map;
    s->base = p->map->base;
    s->stream = stream;
    if (stream != NULL) {
        pool_order.keep(stream);
        s->stream_id = pool_order.id(stream);
        s->observed_id =
            pool_order.observed_id != NULL ? pool_order.observed_id(stream) : s->stream_id;
    }
    atomic_store_explicit(&s->pool, p, memory_order_release);
    shard_add(p, s);
}

struct pool_shard *shard_new(struct pool *p, void *stream)
{
    _Atomic(void *) *slot = stream_slot(stream);
    pthread_mutex_lock(&all.lock);
    struct pool_shard *s = p->gone ? NULL : atomic_load(slot);
    while (s != NULL && atomic_load(&s->pool) != NULL && atomic_load(&s->pool) != p)
        s = s->next;
    if (s == NULL && !p->gone) {
        s = xaligned_alloc(64, sizeof *s);
        atomic_init(&s->lock, 0);
        atomic_init(&s->pool, NULL);
        s->next = atomic_load(slot);
        shard_init(s, p, stream);
        atomic_store_explicit(slot, s, memory_order_release);
    } else if (s != NULL && atomic_load(&s->pool) == NULL) { /* of a pool that is gone */
        shard_init(s, p, stream);
    }
    pthread_mutex_unlock(&all.lock);
    return s;
}

void pool_stream_ended(void *stream)
{
    pthread_mutex_lock(&all.lock);
    for (struct pool_shard *s = atomic_load(stream_slot(stream)); s != NULL; s = s->next)
        atomic_store(&s->ended, true);
    pthread_mutex_unlock(&all.lock);
}

void pool_stream_gone(void *stream)
{
    pthread_mutex_lock(&all.lock);
    for (struct pool_shard *s = atomic_exchange(stream_slot(stream), NULL), *next; s != NULL;
         s = next) {
        next = s->next;
        struct pool *p = atomic_load(&s->pool);
        if (p == NULL) {
            free(s);
            continue;
        }
        atomic_fetch_add(&p->dropped, 1); /* first: it may be gone at once when it is told */
        atomic_store(&s->ended, true);
        atomic_store(&s->dropped, true);
    }
    pthread_mutex_unlock(&all.lock);
}

/* ---- life ---- */

static const struct mem_suballocator suballocator;

static struct mem_file *open_file(const struct pool_config *config, struct diag *d)
{
    struct mem_file *f = pool_source.file_new != NULL ? pool_source.file_new(config->device) : NULL;
    if (f == NULL)
        diag_set(d, 0, 0, "cannot make a file in memory for a pool: %s", strerror(errno));
    return f;
}

struct pool *pool_new(const struct pool_config *config, struct diag *d)
{
    if (!map_open(config->device, d))
        return NULL;
    struct mem_file *shared = config->shared ? open_file(config, d) : NULL;
    if (config->shared && shared == NULL)
        return NULL;
    struct pool *p = xcalloc(1, sizeof *p);
    p->config = *config;
    p->map = map_of(config->device);
    p->shared = shared;
    p->file = shared != NULL ? shared->fd : -1;
    p->low = UINT64_MAX;
    atomic_init(&p->devices, config->devices);
    atomic_init(&p->user, config->user);
    pthread_mutex_init(&p->lock, NULL);
    for (int i = 0; i < POOL_SWITCHES; i++)
        atomic_init(&p->switches[i], true);
    struct pool_shard *common = xaligned_alloc(64, sizeof *common);
    pthread_mutex_lock(&all.lock);
    if (!all.registered && pool_source.set_suballocator != NULL)
        pool_source.set_suballocator(&suballocator);
    all.registered = true;
    p->number = ++all.pool_numbers;
    atomic_init(&common->lock, 0);
    common->next = NULL;
    p->common = common;
    shard_init(common, p, NULL);
    p->link = all.last != NULL ? all.last : &all.oldest;
    *p->link = p;
    all.last = &p->next;
    pthread_mutex_unlock(&all.lock);
    return p;
}

/* Whether nothing is allocated and no free is under way. All shards are locked. */
static bool at_rest(struct pool *p)
{
    if (pool_live(p) != 0)
        return false;
    for (size_t i = 1; i < p->shard_count; i++) {
        struct pool_shard *s = p->shards[i];
        uint64_t done = pool_order.completed(s->stream);
        quick_flush(s);
        for (unsigned d = 0; d < BIN_DOUBLINGS; d++)
            for (unsigned n = 0; n < BIN_STEPS; n++)
                for (struct block *b = s->bins.heads[d][n]; b != NULL; b = b->next)
                    if (b->count > done)
                        return false;
    }
    return true;
}

/* Empties the shards. All are locked. */
static void drop_all(struct pool *p)
{
    for (size_t i = 0; i < p->shard_count; i++) {
        struct pool_shard *s = p->shards[i];
        memset(&s->bins, 0, sizeof s->bins);
        memset(s->quick, 0, sizeof s->quick);
        s->quick_blocks = 0;
        s->used = s->claim = 0;
        s->freed = s->made;
    }
    reserve_clear(p);
}

/* Ends a pool that is off the list; calls under way may have it, or its shards. The list's lock is
 * held. */
static void finish(struct pool *p)
{
    for (size_t i = 0; i < p->shard_count; i++) {
        struct pool_shard *s = p->shards[i];
        map_put_spares(s->map, s->spare);
        s->spare = NULL;
        atomic_store(&s->pool, NULL);
        shard_unlock(s);
        if (s->stream != NULL)
            pool_order.release(s->stream);
        if (s->stream != NULL && atomic_load(&s->dropped))
            free(s);
    }
    p->shard_count = 1; /* the others may become another pool's; this one stays */
    if (p->shared != NULL)
        pool_source.file_close(p->shared);
    pthread_mutex_unlock(&p->lock);
    p->gone = true;
    p->next = all.gone;
    all.gone = p;
}

struct pool *pool_take_gone(void)
{
    pthread_mutex_lock(&all.lock);
    struct pool *list = all.gone;
    all.gone = NULL;
    pthread_mutex_unlock(&all.lock);
    return list;
}

void pool_free_gone(struct pool *list)
{
    for (struct pool *p = list, *next; p != NULL; p = next) {
        next = p->next;
        pthread_mutex_destroy(&p->lock);
        free(p->shards);
        free(p->common);
        free(p);
    }
}

/* Ends a destroyed pool if it is at rest. The list's lock is held. */
static bool end_at_rest(struct pool *p)
{
    pool_lock_all(p);
    if (!at_rest(p)) {
        pool_unlock_all(p);
        return false;
    }
    drop_all(p);
    if (p->next == NULL)
        all.last = p->link;
    LIST_REMOVE(p);
    finish(p);
    return true;
}

/* Ends the destroyed pools that are at rest. The list's lock is held. */
static void reap(void)
{
    for (struct pool *p = all.oldest, *next; p != NULL; p = next) {
        next = p->next;
        if (atomic_load(&p->destroyed))
            end_at_rest(p);
    }
}

void pool_clear_device(int device)
{
    pthread_mutex_lock(&all.lock);
    for (struct pool *p = all.oldest; p != NULL; p = p->next) {
        if (p->config.device != device)
            continue;
        pool_lock_all(p);
        drop_all(p);
        p->used_high = 0;
        p->reserved_high = 0;
        pool_unlock_all(p);
    }
    reap();
    pthread_mutex_unlock(&all.lock);
}

void pool_destroy(struct pool *p)
{
    pthread_mutex_lock(&all.lock);
    atomic_store_explicit(&p->user, NULL, memory_order_relaxed);
    atomic_store(&p->destroyed, true);
    if (!end_at_rest(p))
        atomic_store(&pool_freed, true);
    pthread_mutex_unlock(&all.lock);
}

/* ---- physical memory ---- */

void pool_trim(struct pool *p, uint64_t keep)
{
    pool_lock_all(p);
    if (watched())
        watch_chunks(POOL_TRIMMED, p, 0, keep);
    reuse_sweep(p);
    if (p->reserved > keep)
        reserve_release(p, (p->reserved - keep) / MEM_CHUNK, true);
    pool_unlock_all(p);
}

/* Whether there is nothing left to be given back at a later synchronization: frees that the host
 * has not seen pass. */
static bool enforce(struct pool *p, uint64_t threshold)
{
    bool done = true;
    pool_lock_all(p);
    if (p->reserved > threshold) {
        reuse_sweep(p);
        reserve_release(p, (p->reserved - threshold + MEM_CHUNK - 1) / MEM_CHUNK, true);
        for (size_t i = 1; i < p->shard_count && p->reserved > threshold; i++)
            done &= p->shards[i]->bins.doublings == 0;
    }
    pool_unlock_all(p);
    return done;
}

void pool_synchronized(void)
{
    if (!atomic_load_explicit(&pool_freed, memory_order_relaxed))
        return;
    bool again = false;
    atomic_store(&pool_freed, false);
    pthread_mutex_lock(&all.lock);
    reap();
    for (struct pool *p = all.oldest; p != NULL; p = p->next) {
        uint64_t threshold = atomic_load(&p->threshold);
        if (threshold != UINT64_MAX)
            again |= !enforce(p, threshold);
        again |= atomic_load(&p->destroyed);
    }
    pthread_mutex_unlock(&all.lock);
    if (again) /* some of it may be free by the next time */
        atomic_store(&pool_freed, true);
}

bool pool_give_back(int device)
{
    uint64_t given = 0;
    pthread_mutex_lock(&all.lock);
    for (struct pool *p = all.oldest; p != NULL; p = p->next) {
        if (p->config.device != device)
            continue;
        pool_lock_all(p);
        reuse_sweep(p);
        given += reserve_release(p, p->reserved / MEM_CHUNK, true);
        pool_unlock_all(p);
    }
    pthread_mutex_unlock(&all.lock);
    return given > 0;
}

void pool_allow(struct pool *p, uint32_t devices)
{
    pool_lock_all(p);
    reserve_allow(p, devices);
    pool_unlock_all(p);
}

struct mem_file *pool_file(const struct pool *p) { return p->shared; }

/* ---- what an address is ---- */

bool pool_find(const void *address, struct pool_info *info)
{
    struct map *m = map_at((uint64_t)address);
    struct block *b = m != NULL ? map_find_used(m, (uint64_t)address) : NULL;
    if (b == NULL)
        return false;
    struct pool *p = b->pool;
    uint64_t base = m->base + (get(&b->first) << GRANULE_SHIFT);
    *info = (struct pool_info){.pool = p,
                               .user = atomic_load_explicit(&p->user, memory_order_relaxed),
                               .device = p->config.device,
                               .base = base,
                               .size = get(&b->asked),
                               .serial = get(&b->word) >> 8,
                               .made = b->made};
    return (uint64_t)address - base < info->size;
}

static bool find_for_memory(const void *address, struct mem_info *info)
{
    struct pool_info i;
    if (!pool_find(address, &i))
        return false;
    *info = (struct mem_info){.kind = i.pool->config.kind,
                              .device = i.device,
                              .base = i.base,
                              .size = i.size,
                              .serial = i.serial,
                              .made = i.made,
                              .user = i.user};
    return true;
}

/* The newest freed allocation of a pool that held the address. */
static bool find_freed(struct pool *p, uint64_t address, struct mem_place *out)
{
    bool found = false;
    pool_lock_all(p);
    for (size_t i = 0; i < p->shard_count && !found; i++) {
        struct pool_shard *s = p->shards[i];
        quick_flush(s); /* buries what is in the slots */
        uint64_t n = s->freed_ever < FREED_KEPT ? s->freed_ever : FREED_KEPT;
        for (uint64_t k = 1; k <= n && !found; k++) {
            const struct freed_block *g = &s->recently_freed[(s->freed_ever - k) % FREED_KEPT];
            uint64_t base = s->map->base + (g->first << GRANULE_SHIFT);
            found = address - base < g->asked;
            if (!found)
                continue;
            out->relation = MEM_FREED;
            out->distance = address - base;
            out->info = (struct mem_info){.kind = p->config.kind,
                                          .device = out->device,
                                          .base = base,
                                          .size = g->asked,
                                          .serial = g->serial,
                                          .made = g->made};
            out->freed = g->freed;
        }
    }
    pool_unlock_all(p);
    return found;
}

/* In what a live allocation was rounded up by. */
static bool find_past(struct map *m, uint64_t address, struct mem_place *out)
{
    const struct block *b = map_find_used(m, address);
    if (b == NULL)
        return false;
    uint64_t base = m->base + (get(&b->first) << GRANULE_SHIFT);
    if (!find_for_memory((const void *)base, &out->info))
        return false;
    out->relation = MEM_PAST;
    out->distance = address - (base + out->info.size);
    return true;
}

/* The live allocation that is nearest, as far as overruns go. */
static bool find_near(struct map *m, uint64_t address, struct mem_place *out)
{
    const uint64_t far = (uint64_t)1 << (20 - GRANULE_SHIFT);
    uint64_t here = (address - m->base) >> GRANULE_SHIFT;
    for (uint64_t n = 1; n <= far; n++) {
        uint64_t back = address - (n << GRANULE_SHIFT), on = address + (n << GRANULE_SHIFT);
        if (n <= here && (find_for_memory((void *)back, &out->info) || find_past(m, back, out))) {
            out->relation = MEM_PAST;
            out->distance = address - (out->info.base + out->info.size);
            return true;
        }
        if (here + n < m->granules && find_for_memory((void *)on, &out->info)) {
            out->relation = MEM_BEFORE;
            out->distance = out->info.base - address;
            return true;
        }
    }
    return false;
}

static bool place(const void *address, struct mem_place *out)
{
    struct map *m = map_at((uint64_t)address);
    if (m == NULL)
        return false;
    if (find_for_memory(address, &out->info)) {
        out->relation = MEM_INSIDE;
        out->distance = (uint64_t)address - out->info.base;
        return true;
    }
    bool found = find_past(m, (uint64_t)address, out);
    pthread_mutex_lock(&all.lock);
    for (struct pool *p = all.oldest; p != NULL && !found; p = p->next)
        if (p->map == m)
            found = find_freed(p, (uint64_t)address, out);
    pthread_mutex_unlock(&all.lock);
    return found || find_near(m, (uint64_t)address, out);
}

/* The chunk's pool may be gone by the time that it is looked at: pools end with the list's lock. */
static uint32_t devices_for(const void *address)
{
    struct map *m = map_at((uint64_t)address);
    uint32_t devices = 0;
    pthread_mutex_lock(&all.lock);
    struct pool *p =
        m != NULL ? atomic_load(&m->owners[((uint64_t)address - m->base) / MEM_CHUNK]) : NULL;
    if (p != NULL)
        devices = atomic_load(&p->devices);
    pthread_mutex_unlock(&all.lock);
    return devices;
}

static const struct mem_suballocator suballocator = {find_for_memory, place, devices_for};

void pool_visit(void (*visit)(void *self, struct pool *p, const struct pool_config *config,
                              bool destroyed),
                void *self)
{
    pthread_mutex_lock(&all.lock);
    for (struct pool *p = all.oldest; p != NULL; p = p->next)
        visit(self, p, &p->config, atomic_load(&p->destroyed));
    pthread_mutex_unlock(&all.lock);
}
