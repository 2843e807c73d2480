/* grid_env: the environment of a context: limits, the texts that kernels print, the fault. */
#include <stdlib.h>
#include <string.h>

#include "base/slow_path.h"
#include "exec/internal.h"

static void set_defaults(struct grid_env *env)
{
    env->stack_bytes = GRID_STACK_BYTES;
    env->printf_bytes = GRID_PRINTF_BYTES;
    env->heap_bytes = GRID_HEAP_BYTES;
    env->sync_depth = CDP_SYNC_DEPTH;
    env->pending_max = CDP_PENDING_MAX;
}

struct grid_env *grid_env_new(int device, uint32_t nsm, const void *owner)
{
    struct grid_env *env = xcalloc(1, sizeof *env);
    env->device = device;
    env->nsm = nsm;
    env->owner = owner;
    pthread_mutex_init(&env->lock, NULL);
    pthread_mutex_init(&env->printed.lock, NULL);
    pthread_mutex_init(&env->asserted.lock, NULL);
    set_defaults(env);
    return env;
}

const void *grid_env_owner(const struct grid_env *env) { return env->owner; }

int grid_env_device(const struct grid_env *env) { return env->device; }

void grid_env_set_peers(struct grid_env *env, uint32_t devices)
{
    atomic_store_explicit(&env->peers, devices, memory_order_relaxed);
}

uint32_t grid_env_peers(const struct grid_env *env)
{
    return atomic_load_explicit(&env->peers, memory_order_relaxed);
}

static void drop_heap(struct grid_env *env, bool memory_too)
{
    struct heap *h = atomic_exchange(&env->heap, NULL);
    if (h != NULL)
        heap_free_all(h, memory_too);
}

/* ---- texts that wait ---- */

/* Launches look at one word for all environments, which says whether texts wait in any. */
static pthread_mutex_t texts_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t texts; /* environments in which some do */

void env_text_waits(struct grid_env *env)
{
    if (atomic_load_explicit(&env->waiting, memory_order_acquire))
        return; /* whoever takes that back looks at the text afterwards */
    pthread_mutex_lock(&texts_lock);
    if (!atomic_exchange(&env->waiting, true) && texts++ == 0)
        slow_path_set(SLOW_PATH_PRINTED);
    pthread_mutex_unlock(&texts_lock);
}

/* Whether texts waited, which are the caller's to print now. */
static bool take_texts(struct grid_env *env)
{
    if (!atomic_load_explicit(&env->waiting, memory_order_acquire))
        return false;
    pthread_mutex_lock(&texts_lock);
    bool waited = atomic_exchange(&env->waiting, false);
    if (waited && --texts == 0)
        slow_path_clear(SLOW_PATH_PRINTED);
    pthread_mutex_unlock(&texts_lock);
    return waited;
}

void grid_flush(struct grid_env *env)
{
    if (!take_texts(env))
        return;
    fifo_flush(&env->printed, false);
    fifo_flush(&env->asserted, true);
}

/* ---- its life ---- */

void grid_env_free(struct grid_env *env)
{
    take_texts(env);
    drop_heap(env, true);
    fifo_free(&env->printed);
    fifo_free(&env->asserted);
    pthread_mutex_destroy(&env->printed.lock);
    pthread_mutex_destroy(&env->asserted.lock);
    pthread_mutex_destroy(&env->lock);
    free(env);
}

void grid_env_reset(struct grid_env *env)
{
    take_texts(env);
    drop_heap(env, false);
    fifo_free(&env->printed);
    fifo_free(&env->asserted);
    pthread_mutex_lock(&env->lock);
    set_defaults(env);
    memset(&env->fault, 0, sizeof env->fault);
    atomic_store(&env->faulted, GRID_FAULT_NONE);
    pthread_mutex_unlock(&env->lock);
}

uint64_t grid_limit_get(struct grid_env *env, enum grid_limit limit)
{
    pthread_mutex_lock(&env->lock);
    uint64_t value = limit == GRID_LIMIT_STACK        ? env->stack_bytes
                     : limit == GRID_LIMIT_PRINTF     ? env->printf_bytes
                     : limit == GRID_LIMIT_SYNC_DEPTH ? env->sync_depth
                     : limit == GRID_LIMIT_PENDING    ? env->pending_max
                                                      : env->heap_bytes;
    pthread_mutex_unlock(&env->lock);
    return value;
}

bool grid_limit_set(struct grid_env *env, enum grid_limit limit, uint64_t value)
{
    /* A thread's local window is indexed in 32 bits. */
    const uint64_t stack_max = 512 * 1024;
    pthread_mutex_lock(&env->lock);
    bool fine = true;
    if (limit == GRID_LIMIT_STACK && value <= stack_max)
        env->stack_bytes = (value + 15) & ~(uint64_t)15;
    else if (limit == GRID_LIMIT_PRINTF &&
             (env->printed.bytes == NULL || value == env->printf_bytes))
        env->printf_bytes = value;
    else if (limit == GRID_LIMIT_HEAP &&
             (atomic_load(&env->heap) == NULL || value == env->heap_bytes))
        env->heap_bytes = value;
    else if (limit == GRID_LIMIT_SYNC_DEPTH && value <= CDP_MAX_DEPTH)
        env->sync_depth = value;
    else if (limit == GRID_LIMIT_PENDING && value > 0)
        env->pending_max = value;
    else
        fine = false;
    pthread_mutex_unlock(&env->lock);
    return fine;
}

enum grid_fault_kind grid_faulted(struct grid_env *env)
{
    return (enum grid_fault_kind)atomic_load_explicit(&env->faulted, memory_order_acquire);
}

const struct grid_fault *grid_fault(struct grid_env *env)
{
    return grid_faulted(env) != GRID_FAULT_NONE ? &env->fault : NULL;
}
