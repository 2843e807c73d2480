/* context: the streams of a context, its fault, its end. */
#include <stdlib.h>

#include "device/internal.h"

static _Atomic uint64_t context_ids;

struct device_context *device_context_new(struct device *dev)
{
    if (!sched_ready())
        return NULL;
    struct device_context *ctx = xcalloc(1, sizeof *ctx);
    ctx->dev = dev;
    ctx->id = atomic_fetch_add(&context_ids, 1) + 1;
    atomic_init(&ctx->refs, 1);
    pthread_mutex_init(&ctx->lock, NULL);
    ctx->env = grid_env_new(dev->ordinal, sched.workers, ctx);
    ctx->legacy = stream_new(ctx, DEVICE_STREAM_BLOCKING, DEVICE_PRIORITY_LOWEST, 1);
    return ctx;
}

struct device_context *context_ref(struct device_context *ctx)
{
    atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    return ctx;
}

void context_unref(struct device_context *ctx)
{
    if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
        return;
    grid_env_free(ctx->env);
    pthread_mutex_destroy(&ctx->lock);
    free(ctx);
}

void context_unlist(struct device_stream *s)
{
    struct device_context *ctx = s->ctx;
    pthread_mutex_lock(&ctx->lock);
    if (!s->unlisted) {
        s->unlisted = true;
        if (s->prev != NULL)
            s->prev->next = s->next;
        else
            ctx->streams = s->next;
        if (s->next != NULL)
            s->next->prev = s->prev;
        if ((s->flags & DEVICE_STREAM_NONBLOCKING) == 0)
            atomic_fetch_sub(&ctx->blocking, 1);
    }
    pthread_mutex_unlock(&ctx->lock);
}

struct device_stream **context_streams(struct device_context *ctx, size_t *count)
{
    struct {
        struct device_stream **items;
        size_t count, cap;
    } v = {0};
    vec_push(&v, stream_ref(ctx->legacy));
    pthread_mutex_lock(&ctx->lock);
    for (struct device_stream *s = ctx->streams; s != NULL; s = s->next)
        vec_push(&v, stream_ref(s));
    pthread_mutex_unlock(&ctx->lock);
    *count = v.count;
    return v.items;
}

static void wait_for_all(struct device_context *ctx)
{
    size_t count;
    struct device_stream **streams = context_streams(ctx, &count);
    uint64_t *counts = xcalloc(count, sizeof *counts);
    struct vector_clock *after = order_snapshot_all(streams, count); /* before the counts */
    for (size_t i = 0; i < count; i++)
        counts[i] = stream_enqueued(streams[i]);
    struct observed_host seen = {0};
    if (observed())
        observed_host_begin(&seen, streams, counts, count);
    for (size_t i = 0; i < count; i++)
        wait_count(streams[i], counts[i], true);
    if (observed())
        observed_host_end(&seen, OBSERVE_CONTEXT, NULL);
    free(seen.work);
    for (size_t i = 0; i < count; i++)
        stream_unref(streams[i]);
    order_prove(after);
    free(counts);
    free(streams);
}

/* Waits for the work and frees the memory. */
static void clear(struct device_context *ctx)
{
    if (device_forked())
        return; /* no worker lives in this process; the memory is the parent's, too */
    wait_for_all(ctx);
    grid_flush(ctx->env);
    grid_env_reset(ctx->env);
    mem_free_owned(ctx->dev->ordinal, ctx);
    mem_free_owned(MEM_HOST, ctx);
    if (observed())
        observe_context_cleared(ctx->id);
}

void device_context_free(struct device_context *ctx)
{
    clear(ctx);
    size_t count;
    struct device_stream **streams = context_streams(ctx, &count);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            context_unlist(streams[i]);
        order_stream_ends(streams[i], true);
        stream_unref(streams[i]);
    }
    free(streams);
    stream_unref(ctx->legacy);
    context_unref(ctx);
}

void device_context_reset(struct device_context *ctx) { clear(ctx); }

struct grid_env *device_context_env(struct device_context *ctx) { return ctx->env; }

void device_context_set_wait(struct device_context *ctx, enum device_wait wait)
{
    atomic_store_explicit(&ctx->wait, (int)wait, memory_order_relaxed);
}

enum device_error error_of(enum grid_fault_kind kind)
{
    switch (kind) {
    case GRID_FAULT_NONE: return DEVICE_OK;
    case GRID_FAULT_ADDRESS: return DEVICE_FAULT_ADDRESS;
    case GRID_FAULT_MISALIGNED: return DEVICE_FAULT_MISALIGNED;
    case GRID_FAULT_ILLEGAL: return DEVICE_FAULT_ILLEGAL;
    case GRID_FAULT_PC: return DEVICE_FAULT_PC;
    case GRID_FAULT_TRAP: return DEVICE_FAULT_TRAP;
    case GRID_FAULT_ASSERT: return DEVICE_FAULT_ASSERT;
    case GRID_FAULT_STACK: return DEVICE_FAULT_STACK;
    case GRID_FAULT_HANDLE: return DEVICE_FAULT_HANDLE;
    case GRID_FAULT_MEMORY: return DEVICE_FAULT_MEMORY;
    }
    return DEVICE_FAULT_TRAP;
}

enum device_error device_context_trouble(struct device_context *ctx)
{
    if (WEIR_UNLIKELY(device_forked()))
        return DEVICE_FORKED;
    return error_of(grid_faulted(ctx->env));
}

const struct grid_fault *device_context_fault(struct device_context *ctx)
{
    return grid_fault(ctx->env);
}

enum device_error device_context_sync(struct device_context *ctx)
{
    if (device_forked())
        return DEVICE_FORKED;
    if (device_in_host_function())
        return DEVICE_NOT_PERMITTED;
    context_ref(ctx);
    wait_for_all(ctx);
    grid_flush(ctx->env);
    enum device_error status = device_context_status(ctx);
    context_unref(ctx);
    return status;
}
