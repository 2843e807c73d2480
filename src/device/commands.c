/* commands: the calls that enqueue commands, and which of them wait (spec Y). */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/schedule.h"
#include "device/internal.h"

/* Pageable sources up to this size are staged when the stream is busy; larger ones are waited for.
 */
static const uint64_t STAGE_MAX = (uint64_t)16 << 20;
/* Bytes staged at any time. */
static const uint64_t STAGE_TOTAL = (uint64_t)256 << 20;

static bool eager, ordered; /* one of them at most */

void device_set_eager(void)
{
    eager = true;
    ordered = false;
}

void commands_open(void) { ordered = schedule_on() && !eager; }

enum { IDLE_NS = 20000000, IDLE_HOST_NS = 100000000 };

static void wait_eagerly(struct device_stream *s, uint64_t count, uint64_t idle_ns, bool spins)
{
    if (WEIR_LIKELY(!eager && !ordered) || device_in_host_function())
        return;
    if (ordered)
        turns_enqueued(s, count);
    else
        wait_moment(s, count, idle_ns, spins);
}

void work_enqueued(struct device_stream *s, uint64_t count)
{
    wait_eagerly(s, count, IDLE_NS, false);
}

/* ---- kernels ---- */

enum device_error device_launch(struct device_stream *s, const struct grid_launch *launch)
{
    if (WEIR_UNLIKELY(slow_path(SLOW_PATH_FAULT | SLOW_PATH_FORKED | SLOW_PATH_PRINTED) != 0)) {
        enum device_error status = device_context_status(s->ctx);
        if (status != DEVICE_OK)
            return status;
        grid_flush(s->ctx->env); /* a launch is one of the points where printed text appears */
    }
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (launch->kernel == NULL || launch->grid[0] == 0 || launch->grid[1] == 0 ||
        launch->grid[2] == 0 || threads == 0 || launch->block[0] > 1024 ||
        launch->block[1] > 1024 || launch->block[2] > 1024 || threads > 1024 ||
        (launch->params == NULL && launch->param_bytes > 0))
        return DEVICE_INVALID_VALUE;
    return device_launch_checked(s, launch);
}

enum device_error device_launch_checked(struct device_stream *s, const struct grid_launch *launch)
{
    struct command *c = stream_begin(s, COMMAND_GRID);
    void *params = c->inline_params;
    c->params = NULL;
    if (launch->param_bytes > INLINE_PARAMS) {
        params = c->params = aligned_alloc(64, (launch->param_bytes + 63) / 64 * 64);
        if (params == NULL) {
            stream_cancel(s, c);
            return DEVICE_OUT_OF_MEMORY;
        }
    }
    if (launch->param_bytes > 0)
        memcpy(params, launch->params, launch->param_bytes);
    c->run.launch = *launch;
    c->run.launch.params = params;
    bool spins = launch->kernel->can_suspend; /* the command may be gone, the kernel is not */
    wait_eagerly(s, stream_enqueue(s, c), IDLE_NS, spins);
    return DEVICE_OK;
}

/* ---- copies ---- */

static _Atomic uint64_t staged_bytes;

/* What a side of a copy is. The first byte tells: a copy stays within one allocation. */
enum side { SIDE_PAGEABLE, SIDE_PINNED, SIDE_MANAGED, SIDE_DEVICE };

static enum side side_of(const void *address)
{
    enum mem_kind kind = mem_kind_of(address, NULL);
    if ((kind & MEM_ON_DEVICE) != 0)
        return SIDE_DEVICE;
    if (kind == MEM_MANAGED)
        return SIDE_MANAGED;
    if (kind != MEM_PAGEABLE)
        return SIDE_PINNED;
    return mem_in_device_range(address) ? SIDE_DEVICE
                                        : SIDE_PAGEABLE; /* a wild pointer faults there */
}

/* Copies and fills up to this size take less than having another thread do them. */
static const uint64_t SHORT_BYTES = 16384;

/* Enqueues a copy or a fill of so many bytes; the calling thread does short ones at once where
 * nothing is before them. Not in a host function, whose stream is not over, nor for a kernel. */
static uint64_t enqueue_bytes(struct device_stream *s, struct command *c, uint64_t bytes, bool here)
{
    if (here && bytes <= SHORT_BYTES && !eager && !ordered && !observed() &&
        !device_in_host_function())
        return stream_enqueue_short(s, c);
    uint64_t count = stream_enqueue(s, c);
    work_enqueued(s, count);
    return count;
}

static uint64_t enqueue_copy(struct device_stream *s, const struct copy_args *args, bool here)
{
    struct command *c = stream_begin(s, COMMAND_COPY);
    c->copy = *args;
    return enqueue_bytes(s, c, args->width * args->height * args->depth, here);
}

static void unstage(void *bytes) { atomic_fetch_sub(&staged_bytes, (uint64_t)(uintptr_t)bytes); }

/* Copies the source aside and makes the copy start from there; false when it is too much. */
static bool stage(struct copy_args *args, const struct device_copy *copy, uint64_t *bytes)
{
    uint64_t rows = copy->height > 0 ? copy->height : 1, slices = copy->depth > 0 ? copy->depth : 1;
    if (copy->width > STAGE_MAX || rows > STAGE_MAX || slices > STAGE_MAX ||
        copy->width * rows > STAGE_MAX || copy->width * rows * slices > STAGE_MAX)
        return false;
    uint64_t size = copy->width * rows * slices;
    if (atomic_fetch_add(&staged_bytes, size) + size > STAGE_TOTAL) {
        unstage((void *)size);
        return false;
    }
    void *buffer = malloc(size);
    if (buffer == NULL) {
        unstage((void *)size);
        return false;
    }
    struct device_copy packed = *copy;
    packed.dst = buffer;
    packed.dst_pitch = copy->width;
    packed.dst_slice = copy->width * rows;
    copy_args_make(args, &packed);
    copy_all(args);
    packed = *copy;
    packed.src = buffer;
    packed.src_pitch = copy->width;
    packed.src_slice = copy->width * rows;
    copy_args_make(args, &packed);
    args->staged = buffer;
    *bytes = size;
    return true;
}

/* Waits for a copy that may take longer than the call, as CUDA has it: what comes after the call
 * need not come after the copy. The stream may be gone then. */
static enum device_error wait_unseen(struct device_stream *s, uint64_t count)
{
    stream_ref(s);
    wait_count(s, count, false);
    enum device_error status = device_context_status(s->ctx);
    stream_unref(s);
    return status;
}

/* Waits for a copy or a set that was enqueued, and prints what kernels printed if that is asked
 * for. The stream may be gone then. */
static enum device_error wait_for(struct device_stream *s, uint64_t count, bool flush)
{
    uint64_t begun = observed() ? clock_ns() : 0;
    stream_ref(s);
    wait_count(s, count, false);
    if (observed())
        observed_host(OBSERVE_TRANSFER, s, count, 0, begun);
    if (flush)
        grid_flush(s->ctx->env);
    enum device_error status = device_context_status(s->ctx);
    stream_unref(s);
    return status;
}

/* Whether a command enqueued now would have to wait for others. */
static bool would_wait(struct device_stream *s)
{
    struct device_stream *legacy = s->ctx->legacy;
    bool takes_part = s != legacy && (s->flags & DEVICE_STREAM_NONBLOCKING) == 0;
    return !stream_idle(s) || (takes_part && stream_completed(legacy) < stream_enqueued(legacy));
}

/* From pageable to device memory, without the caller's waiting for the stream if possible. */
static enum device_error copy_from_pageable(struct device_stream *s, const struct device_copy *copy)
{
    struct copy_args args;
    uint64_t bytes;
    if (would_wait(s) && stage(&args, copy, &bytes)) {
        enqueue_copy(s, &args, false);
        device_call(s, unstage, (void *)bytes);
        return device_context_status(s->ctx);
    }
    copy_args_make(&args, copy);
    args.source_read = true;
    return wait_unseen(s, enqueue_copy(s, &args, true));
}

static enum device_error copy_by_sides(struct device_stream *s, const struct device_copy *copy,
                                       enum device_copy_mode mode)
{
    struct copy_args args;
    copy_args_make(&args, copy);
    enum side src = side_of(copy->src), dst = side_of(copy->dst);
    if (copy->src_host && src == SIDE_MANAGED)
        src = SIDE_PAGEABLE;
    if (copy->dst_host && dst == SIDE_MANAGED)
        dst = SIDE_PAGEABLE;
    bool host_to_host = src <= SIDE_PINNED && dst <= SIDE_PINNED;
    if (mode == DEVICE_COPY_ASYNC && src == SIDE_PAGEABLE && !host_to_host &&
        dst != SIDE_PAGEABLE) {
        return copy_from_pageable(s, copy);
    }
    uint64_t count = enqueue_copy(s, &args, true);
    bool wait = mode == DEVICE_COPY_SYNC ? src != SIDE_DEVICE || dst != SIDE_DEVICE
                                         : host_to_host || dst == SIDE_PAGEABLE;
    if (!wait)
        return DEVICE_OK;
    return wait_for(s, count, mode == DEVICE_COPY_SYNC);
}

enum device_error device_copy(struct device_stream *s, const struct device_copy *copy,
                              enum device_copy_mode mode)
{
    enum device_error status = device_context_status(s->ctx);
    if (status != DEVICE_OK)
        return status;
    if (copy->width == 0)
        return DEVICE_OK;
    if (copy->dst == NULL || copy->src == NULL || copy->width > (uint64_t)1 << 48 ||
        copy->height > (uint64_t)1 << 48 || copy->depth > (uint64_t)1 << 48)
        return DEVICE_INVALID_VALUE;
    if (mode == DEVICE_COPY_QUEUED) {
        struct copy_args args;
        copy_args_make(&args, copy);
        enqueue_copy(s, &args, false);
        return DEVICE_OK;
    }
    /* What is in the stream may still write a source that the host is to read now. */
    if (copy->src_host && mode == DEVICE_COPY_ASYNC && !stream_idle(s) &&
        side_of(copy->src) == SIDE_MANAGED) {
        stream_ref(s);
        device_stream_sync(s);
        status = copy_by_sides(s, copy, mode);
        stream_unref(s);
        return status;
    }
    return copy_by_sides(s, copy, mode);
}

enum device_error device_set(struct device_stream *s, const struct device_set *set, bool wait)
{
    enum device_error status = device_context_status(s->ctx);
    if (status != DEVICE_OK)
        return status;
    if (set->element != 1 && set->element != 2 && set->element != 4)
        return DEVICE_INVALID_VALUE;
    if (set->width == 0)
        return DEVICE_OK;
    if (set->dst == NULL || set->width > (uint64_t)1 << 46 || set->height > (uint64_t)1 << 48 ||
        set->depth > (uint64_t)1 << 48)
        return DEVICE_INVALID_VALUE;
    struct command *c = stream_begin(s, COMMAND_SET);
    set_args_make(&c->set, set);
    uint64_t count = enqueue_bytes(s, c, c->set.width * c->set.height * c->set.depth, true);
    if (!wait)
        return DEVICE_OK;
    enum side dst = side_of(set->dst);
    if (dst != SIDE_PINNED && dst != SIDE_MANAGED)
        return DEVICE_OK;
    return wait_for(s, count, false);
}

/* ---- the rest ---- */

enum device_error device_host_function(struct device_stream *s, device_host_fn fn, void *user,
                                       const void *of, bool always)
{
    enum device_error status = device_context_status(s->ctx);
    if (status != DEVICE_OK && !(always && status != DEVICE_FORKED))
        return status;
    if (fn == NULL)
        return DEVICE_INVALID_VALUE;
    if (!host_open())
        return DEVICE_OUT_OF_MEMORY;
    struct command *c = stream_begin(s, COMMAND_HOST);
    c->host.fn = fn;
    c->host.user = user;
    c->host.of = of;
    c->host.always = always;
    /* Whether it runs on its thread cannot be seen; functions that wait for the program are rare.
     */
    wait_eagerly(s, stream_enqueue(s, c), IDLE_HOST_NS, false);
    return DEVICE_OK;
}

enum device_error device_call(struct device_stream *s, void (*fn)(void *user), void *user)
{
    if (device_forked())
        return DEVICE_FORKED;
    struct command *c = stream_begin(s, COMMAND_CALL);
    c->call.fn = fn;
    c->call.user = user;
    stream_enqueue(s, c);
    return DEVICE_OK;
}

static enum device_error value_command(struct device_stream *s, enum command_kind kind,
                                       const struct value_args *args)
{
    enum device_error status = device_context_status(s->ctx);
    if (status != DEVICE_OK)
        return status;
    if (args->address == NULL || (args->bytes != 4 && args->bytes != 8) ||
        (uint64_t)args->address % args->bytes != 0 || args->test > DEVICE_VALUE_NOR)
        return DEVICE_INVALID_VALUE;
    struct command *c = stream_begin(s, kind);
    c->value = *args;
    work_enqueued(s, stream_enqueue(s, c));
    return DEVICE_OK;
}

enum device_error device_wait_value(struct device_stream *s, const void *address, unsigned bytes,
                                    uint64_t value, enum device_value_test test)
{
    return value_command(s, COMMAND_WAIT_VALUE,
                         &(struct value_args){(void *)address, value, bytes, (uint32_t)test});
}

enum device_error device_write_value(struct device_stream *s, void *address, unsigned bytes,
                                     uint64_t value)
{
    return value_command(s, COMMAND_WRITE, &(struct value_args){address, value, bytes, 0});
}
