/* table: records by their handles. Looking one up takes no lock; what changes a table takes a short
 * one that is never waited for long, and costs half of what a mutex does. */
#include <sched.h>
#include <string.h>

#include "gpu/internal.h"

void short_lock_await(_Atomic bool *taken)
{
    int tries = 0;
    do
        while (atomic_load_explicit(taken, memory_order_relaxed))
            if (++tries > 100)
                sched_yield(); /* who holds it may need this CPU */
    while (atomic_exchange_explicit(taken, true, memory_order_acquire));
}

static void lock(struct table *t) { short_lock(&t->taken); }
static void unlock(struct table *t) { short_unlock(&t->taken); }

static _Atomic(struct node *) *bucket_of(struct table *t, const void *key)
{
    uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return &t->buckets[hash >> 32 & (TABLE_BUCKETS - 1)];
}

static struct node *look(struct table *t, const void *key)
{
    struct node *n = atomic_load_explicit(bucket_of(t, key), memory_order_acquire);
    while (n != NULL && atomic_load_explicit(&n->key, memory_order_acquire) != key)
        n = atomic_load_explicit(&n->next, memory_order_acquire);
    return n;
}

/* Without the lock a node may be moved while it is passed by, and the rest of the list be missed;
 * what is found is right. */
struct node *table_find(struct table *t, void *key)
{
    struct node *n = look(t, key);
    if (WEIR_LIKELY(n != NULL))
        return n;
    lock(t);
    n = look(t, key);
    unlock(t);
    return n;
}

/* ---- under the lock ---- */

static struct node *take_out(struct table *t, const void *key)
{
    _Atomic(struct node *) *at = bucket_of(t, key);
    for (struct node *n; (n = atomic_load_explicit(at, memory_order_relaxed)) != NULL;
         at = &n->next)
        if (atomic_load_explicit(&n->key, memory_order_relaxed) == key) {
            struct node *next = atomic_load_explicit(&n->next, memory_order_relaxed);
            atomic_store_explicit(at, next, memory_order_release);
            atomic_store_explicit(&n->key, NULL, memory_order_release);
            return n;
        }
    return NULL;
}

static void put_in(struct table *t, struct node *n, void *key)
{
    _Atomic(struct node *) *head = bucket_of(t, key);
    struct node *next = atomic_load_explicit(head, memory_order_relaxed);
    atomic_store_explicit(&n->next, next, memory_order_release);
    atomic_store_explicit(&n->key, key, memory_order_release);
    atomic_store_explicit(head, n, memory_order_release);
}

static struct node *take_spare(struct table *t)
{
    struct node *n = t->spare;
    if (n != NULL)
        t->spare = atomic_load_explicit(&n->next, memory_order_relaxed);
    return n;
}

static void make_spare(struct table *t, struct node *n)
{
    atomic_store_explicit(&n->next, t->spare, memory_order_release);
    t->spare = n;
}

/* ---- all the rest ---- */

static struct node *node_new(const struct table *t)
{
    struct node *n = xaligned_alloc(64, (t->bytes + 63) / 64 * 64);
    memset(n, 0, t->bytes);
    return n;
}

struct node *table_take(struct table *t)
{
    lock(t);
    struct node *n = take_spare(t);
    unlock(t);
    if (n == NULL)
        return node_new(t);
    memset((char *)n + sizeof *n, 0, t->bytes - sizeof *n);
    return n;
}

struct node *table_put(struct table *t, struct node *n, void *key)
{
    lock(t);
    struct node *old = take_out(t, key);
    put_in(t, n, key);
    unlock(t);
    return old;
}

struct node *table_keep(struct table *t, void *key, bool *there)
{
    lock(t);
    struct node *n = look(t, key);
    *there = n != NULL;
    if (WEIR_LIKELY(n == NULL)) {
        n = take_spare(t);
        if (WEIR_UNLIKELY(n == NULL))
            n = node_new(t);
        put_in(t, n, key);
    }
    unlock(t);
    return n;
}

void table_drop(struct table *t, void *key)
{
    lock(t);
    struct node *n = take_out(t, key);
    if (n != NULL)
        make_spare(t, n);
    unlock(t);
}

struct node *table_remove(struct table *t, void *key)
{
    lock(t);
    struct node *n = take_out(t, key);
    unlock(t);
    return n;
}

void table_spare(struct table *t, struct node *n)
{
    lock(t);
    make_spare(t, n);
    unlock(t);
}
