/* open: work that has begun and not ended, and the tracks beneath streams that it is on. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "timeline/internal.h"

enum { SHARDS = 64, BUCKETS = 64, STREAM_BUCKETS = 256, LANES_MAX = 65535 };

struct open_work {
    struct open_work *next;
    struct record record;
    uint64_t root;
};

/* By the hash of the work's name. */
static struct shard {
    _Alignas(64) pthread_mutex_t lock;
    struct open_work *buckets[BUCKETS];
    struct open_work *free;
} shards[SHARDS];
static pthread_once_t shards_once = PTHREAD_ONCE_INIT;

static void make_shards(void)
{
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&shards[i].lock, NULL);
}

/* Which tracks beneath a stream are taken. */
static struct lanes {
    struct lanes *next;
    uint64_t stream;
    bool *taken;
    uint32_t count;
} *lanes_of[STREAM_BUCKETS];
static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of(const struct observe_id *id)
{
    uint64_t h = (id->stream * 31 + id->node) * 0x9e3779b97f4a7c15u + id->count;
    return h ^ h >> 29;
}

static bool same(const struct observe_id *a, const struct observe_id *b)
{
    return a->stream == b->stream && a->count == b->count && a->node == b->node;
}

static struct shard *shard_of(uint64_t hash)
{
    pthread_once(&shards_once, make_shards);
    return &shards[hash % SHARDS];
}

static struct lanes *lanes_find(uint64_t stream)
{
    struct lanes **bucket = &lanes_of[stream % STREAM_BUCKETS];
    for (struct lanes *l = *bucket; l != NULL; l = l->next)
        if (l->stream == stream)
            return l;
    struct lanes *l = xcalloc(1, sizeof *l);
    l->stream = stream;
    l->next = *bucket;
    return *bucket = l;
}

/* The first track below that one which nothing is on. */
static uint16_t lane_take(uint64_t stream, uint32_t below)
{
    pthread_mutex_lock(&lanes_lock);
    struct lanes *l = lanes_find(stream);
    uint32_t lane = below + 1;
    while (lane < l->count && l->taken[lane] && lane < LANES_MAX)
        lane++;
    if (lane >= l->count) {
        uint32_t count = 2 * lane + 8;
        l->taken = xrealloc(l->taken, count * sizeof *l->taken);
        memset(l->taken + l->count, 0, (count - l->count) * sizeof *l->taken);
        l->count = count;
    }
    l->taken[lane] = true;
    pthread_mutex_unlock(&lanes_lock);
    return (uint16_t)lane;
}

static void lane_give(uint64_t stream, uint16_t lane)
{
    pthread_mutex_lock(&lanes_lock);
    lanes_find(stream)->taken[lane] = false;
    pthread_mutex_unlock(&lanes_lock);
}

static uint16_t lane_of(const struct observe_id *id)
{
    uint64_t hash = hash_of(id);
    struct shard *s = shard_of(hash);
    uint16_t lane = 0;
    pthread_mutex_lock(&s->lock);
    for (struct open_work *o = s->buckets[hash / SHARDS % BUCKETS]; o != NULL; o = o->next)
        if (same(&o->record.id, id))
            lane = o->record.lane;
    pthread_mutex_unlock(&s->lock);
    return lane;
}

uint64_t open_add(const struct record *r, uint64_t root, const struct observe_id *parent)
{
    uint16_t lane = 0;
    if (r->id.node != 0 || r->id.stream == OBSERVE_CHILDREN)
        lane = lane_take(root, parent->count != 0 ? lane_of(parent) : 0);
    uint64_t hash = hash_of(&r->id);
    struct shard *s = shard_of(hash);
    pthread_mutex_lock(&s->lock);
    struct open_work *o = s->free;
    if (o != NULL)
        s->free = o->next;
    else
        o = xmalloc(sizeof *o);
    o->record = *r;
    uint64_t begin = o->record.begin = clock_ns(); /* now that the track is free */
    o->record.lane = lane;
    o->root = root;
    o->next = s->buckets[hash / SHARDS % BUCKETS];
    s->buckets[hash / SHARDS % BUCKETS] = o;
    pthread_mutex_unlock(&s->lock);
    return begin;
}

bool open_remove(const struct observe_id *id, struct record *out)
{
    uint64_t hash = hash_of(id), root = 0;
    struct shard *s = shard_of(hash);
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (struct open_work **at = &s->buckets[hash / SHARDS % BUCKETS], *o; (o = *at) != NULL;
         at = &o->next) {
        if (!same(&o->record.id, id))
            continue;
        *at = o->next;
        root = o->root;
        *out = o->record;
        out->end = clock_ns();
        o->next = s->free;
        s->free = o;
        found = true;
        break;
    }
    pthread_mutex_unlock(&s->lock);
    if (found && out->lane != 0)
        lane_give(root, out->lane);
    if (found && out->id.stream == OBSERVE_CHILDREN)
        out->id.stream = root; /* whose tracks it is on */
    return found;
}

void open_visit(void (*fn)(const struct record *r))
{
    pthread_once(&shards_once, make_shards);
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&shards[i].lock);
        for (size_t b = 0; b < BUCKETS; b++)
            for (struct open_work *o = shards[i].buckets[b]; o != NULL; o = o->next) {
                struct record r = o->record;
                if (r.id.stream == OBSERVE_CHILDREN)
                    r.id.stream = o->root;
                fn(&r);
            }
        pthread_mutex_unlock(&shards[i].lock);
    }
}
