/* left: streams that are ready, and left to host threads for a moment.
 *
 * A stream whose work a host thread has waited for may see the same again: launch, wait, launch,
 * wait. That thread runs the work soonest, so workers leave the stream to it until it has not come
 * once, or enqueues more without waiting. Many host threads may do so at once, each in a stream of
 * its own, and have nothing else in common; so such streams are not in the scheduler's lists but in
 * shards with locks of their own, by the stream's number.
 *
 * A shard's turn changes whenever another stream is its oldest. Workers that look for work compare
 * turns: a stream that is there at two looks is late, and theirs. */
#include "device/internal.h"

static struct shard {
    _Alignas(128) pthread_mutex_t lock;
    struct device_stream *head, *tail; /* by ready_next, the oldest first */
    _Atomic uint32_t turn;             /* odd: there are streams */
} shards[LEFT_SHARDS];

void left_open(void)
{
    for (int n = 0; n < LEFT_SHARDS; n++)
        mutex_init(&shards[n].lock);
}

static struct shard *shard_of(const struct device_stream *s)
{
    return &shards[s->id % LEFT_SHARDS];
}

/* Another stream is the oldest, or there is none. The shard is locked. */
static uint32_t next_turn(const struct shard *h)
{
    uint32_t turn = atomic_load_explicit(&h->turn, memory_order_relaxed);
    return ((turn >> 1) + 1) << 1 | (h->head != NULL);
}

void left_put(struct device_stream *s)
{
    struct shard *h = shard_of(s);
    pthread_mutex_lock(&h->lock);
    s->ready_next = NULL;
    s->ready_prev = h->tail;
    if (h->tail != NULL)
        h->tail->ready_next = s;
    else
        h->head = s;
    h->tail = s;
    atomic_store_explicit(&s->queued, QUEUED_LEFT, memory_order_release);
    if (h->head == s)
        atomic_store(&h->turn, next_turn(h)); /* before the caller looks whether anyone looks */
    pthread_mutex_unlock(&h->lock);
}

/* The shard is locked. */
static void take_off(struct shard *h, struct device_stream *s)
{
    bool oldest = h->head == s;
    if (s->ready_prev != NULL)
        s->ready_prev->ready_next = s->ready_next;
    else
        h->head = s->ready_next;
    if (s->ready_next != NULL)
        s->ready_next->ready_prev = s->ready_prev;
    else
        h->tail = s->ready_prev;
    s->ready_next = s->ready_prev = NULL;
    atomic_store_explicit(&s->queued, QUEUED_NOT, memory_order_relaxed);
    if (oldest)
        atomic_store_explicit(&h->turn, next_turn(h), memory_order_release);
}

bool left_remove(struct device_stream *s)
{
    struct shard *h = shard_of(s);
    pthread_mutex_lock(&h->lock);
    bool found = atomic_load_explicit(&s->queued, memory_order_relaxed) == QUEUED_LEFT;
    if (found)
        take_off(h, s);
    pthread_mutex_unlock(&h->lock);
    return found;
}

uint32_t left_shards(void)
{
    uint32_t mask = 0;
    for (uint32_t n = 0; n < LEFT_SHARDS; n++)
        mask |= (atomic_load(&shards[n].turn) & 1) << n;
    return mask;
}

uint32_t left_since(uint32_t *seen)
{
    uint32_t mask = 0;
    for (uint32_t n = 0; n < LEFT_SHARDS; n++) {
        uint32_t turn = atomic_load_explicit(&shards[n].turn, memory_order_acquire);
        mask |= (uint32_t)((turn & 1) != 0 && turn == seen[n]) << n;
        seen[n] = turn;
    }
    return mask;
}

struct device_stream *left_take(uint32_t *mask)
{
    struct device_stream *s = NULL;
    for (; *mask != 0 && s == NULL; *mask &= *mask - 1) {
        struct shard *h = &shards[__builtin_ctz(*mask)];
        pthread_mutex_lock(&h->lock);
        s = h->head;
        if (s != NULL) {
            take_off(h, s);
            atomic_store_explicit(&s->host_runs, false, memory_order_relaxed); /* it came not */
        }
        pthread_mutex_unlock(&h->lock);
    }
    return s;
}
