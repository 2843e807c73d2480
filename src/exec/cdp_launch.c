/* cdp_launch: launches by device code, from the helper that compiled code calls to the queues of
 * the device layer. exec/cdp.h has the whole path, cdp_block.c what is kept of a block that
 * launches. */
#include <string.h>

#include "exec/internal.h"
#include "exec/threads.h"
#include "weir/rt/error_codes.h"

static const uint64_t SHORT_NS =
    1000; /* launches alike that take longer have each their own record */

enum {
    DRAIN_AT = 512, /* launches of a block after which children are run in between; */
    ALIKE = 8       /* those that share a record are so much cheaper to keep */
};

/* ---- parameter buffers ---- */

/* Device code gets them, fills them in, and need not launch them: then they end with the block. */

static uint64_t hand_out(struct grid_block *b, struct cdp_child *c)
{
    struct cdp_block *cdp = b->cdp;
    c->next = cdp->buffers;
    c->before = &cdp->buffers;
    if (c->next != NULL)
        c->next->before = &c->next;
    cdp->buffers = c;
    mem_permit(c->params, c->capacity);
    return (uint64_t)c->params;
}

/* The buffer that device code launches as the thread's: the child to be launched. NULL: it is none,
 * or there is no memory. Another block's is copied, and stays its block's. */
static struct cdp_child *take_buffer(struct grid_block *b, uint32_t thread, uint64_t params)
{
    if (params == 0 || params % 64 != 0)
        return NULL;
    struct cdp_child *c = (struct cdp_child *)(params - offsetof(struct cdp_child, params));
    if (c->tag != CDP_CHILD_TAG)
        return NULL;
    if (c->cdp != b->cdp) {
        struct cdp_child *copy = cdp_child_new(b->worker, b, thread, c->capacity);
        if (copy == NULL)
            return NULL;
        copy->launch = c->launch;
        copy->variant = c->variant;
        copy->launch.params = copy->params;
        memcpy(copy->params, c->params, c->capacity);
        c->tag = CDP_CHILD_SENT;
        return copy;
    }
    *c->before = c->next;
    if (c->next != NULL)
        c->next->before = c->before;
    c->before = NULL;
    c->thread = thread; /* not always the one that got the buffer */
    return c;
}

/* ---- errors by thread ---- */

static void set_error(struct grid_block *b, uint32_t thread, int code)
{
    struct cdp_block *n = cdp_of_block(b->worker, b);
    if (n->errors == NULL)
        n->errors = xcalloc(b->jit.nthreads, sizeof *n->errors);
    n->errors[thread] = (uint32_t)code;
}

static uint32_t get_error(struct grid_block *b, uint32_t thread, bool clear)
{
    if (b->cdp == NULL || b->cdp->errors == NULL)
        return 0;
    uint32_t code = b->cdp->errors[thread];
    if (clear)
        b->cdp->errors[thread] = 0;
    return code;
}

/* ---- launching ---- */

/* A launch asked for by a lane. */
struct request {
    struct cdp_kernel *entry;
    uint32_t grid[3], block[3], shared;
    struct cdp_variant *variant;
};

static bool variant_fits(const struct cdp_variant *f, const struct request *q)
{
    return f->block[0] == q->block[0] && f->block[1] == q->block[1] && f->block[2] == q->block[2] &&
           q->shared <= f->dynamic_max && q->grid[0] > 0 && q->grid[1] - 1 < 65535 &&
           q->grid[2] - 1 < 65535 &&
           (uint64_t)q->grid[0] * q->block[0] <= (f->small ? JIT_GRID_SMALL_MAX : UINT64_MAX) &&
           (f->cluster[0] == 0 ||
            (q->grid[0] % f->cluster[0] == 0 && q->grid[1] % f->cluster[1] == 0 &&
             q->grid[2] % f->cluster[2] == 0));
}

/* Finds the variant, perhaps by compiling it. 0 or a code of cudaError_t.
 *
 * GPUs of today know no limit of depth: a chain of launches ends when as many are pending as
 * may be, each level being one. So it is here, and memory stays bounded. */
static int find_variant(struct grid_block *b, struct request *q)
{
    if (b->run->depth >= b->run->env->pending_max)
        return cudaErrorLaunchPendingCountExceeded;
    if (q->entry == NULL || q->entry->tag != CDP_KERNEL_TAG)
        return cudaErrorInvalidDeviceFunction;
    q->variant = atomic_load_explicit(&q->entry->recent, memory_order_acquire);
    if (q->variant != NULL && variant_fits(q->variant, q))
        return 0;
    struct grid_worker *w = b->worker;
    w->armed = 0; /* what follows holds locks */
    atomic_signal_fence(memory_order_seq_cst);
    int code = q->entry->find(q->entry, q->grid, q->block, q->shared, &q->variant);
    atomic_signal_fence(memory_order_seq_cst);
    w->armed = 1;
    if (code == 0)
        atomic_store_explicit(&q->entry->recent, q->variant, memory_order_release);
    return code;
}

static struct grid_launch launch_of(const struct request *q, const void *params)
{
    struct grid_launch l = {.kernel = q->variant->kernel,
                            .dynamic_shared = q->shared,
                            .param_bytes = q->variant->param_bytes,
                            .params = params};
    memcpy(l.grid, q->grid, sizeof l.grid);
    memcpy(l.block, q->block, sizeof l.block);
    memcpy(l.cluster, q->variant->cluster, sizeof l.cluster);
    return l;
}

static void set_launch(struct cdp_child *c, const struct request *q)
{
    c->variant = q->variant;
    c->launch = launch_of(q, c->params);
}

static struct cdp_child *make_child(struct grid_block *b, uint32_t thread, const struct request *q)
{
    struct cdp_child *c = cdp_child_new(b->worker, b, thread, q->variant->param_bytes);
    if (c == NULL)
        return NULL;
    set_launch(c, q);
    return c;
}

/* Launches of one call that go into the same stream. */
struct batch {
    struct cdp_child *first, *last;
    uint32_t count;  /* launches, */
    uint32_t weight; /* and what they are for memory */
    uint64_t stream;
    uint64_t *rets; /* codes by lane, NULL: the call has none */
    const void *pc; /* of the call */
};

/* Every launch of the batch fails. */
static void refuse_batch(struct grid_block *b, struct batch *l, int code)
{
    for (struct cdp_child *c = l->first, *next; c != NULL; c = next) {
        next = c->next;
        for (uint32_t n = 0; n < cdp_child_count(c); n++) {
            set_error(b, cdp_child_thread(c, n), code);
            if (l->rets != NULL)
                l->rets[cdp_child_thread(c, n) % JIT_WARP] = (uint64_t)code;
        }
        cdp_child_free(b->worker, c);
    }
}

static bool misuses(struct grid_block *b, uint64_t stream)
{
    return mem_checked() && stream > CDP_STREAM_FIRE_AND_FORGET &&
           cdp_device->misuses(b, stream, grid_text(&b->jit));
}

static void send(struct grid_block *b, struct batch *l)
{
    if (l->count == 0)
        return;
    struct cdp_block *cdp = b->cdp;
    if (misuses(b, l->stream)) {
        uint32_t lane = cdp_child_thread(l->first, 0) % JIT_WARP;
        refuse_batch(b, l, cudaErrorInvalidValue);
        grid_fail_handle(&b->jit, lane);
    }
    if (!cdp_device->submit(b->worker, b, l->first, l->last, l->count, l->stream))
        refuse_batch(b, l, cudaErrorInvalidValue);
    else if ((cdp->launched += l->weight) >= DRAIN_AT) {
        cdp->launched = 0;
        cdp_drain_here(b);
    }
    l->count = l->weight = 0;
}

static void add(struct grid_block *b, struct batch *l, struct cdp_child *c, uint64_t stream)
{
    c->tag = CDP_CHILD_SENT;
    threads_launch(b, c, l->pc);
    if (l->count > 0 && l->stream != stream)
        send(b, l);
    if (l->count == 0)
        l->first = c;
    else
        l->last->next = c;
    l->count += cdp_child_count(c);
    l->weight += 1 + cdp_child_count(c) / ALIKE;
    l->last = c;
    l->stream = stream;
}

/* A child cannot use its parent's shared or local memory: says which argument points there. */
static void check_pointers(struct grid_block *b, uint32_t lane, struct cdp_child *c,
                           const uint8_t *params, struct batch *before)
{
    const struct cdp_variant *variant = c->variant;
    for (uint32_t n = 0; n < variant->pointers; n++) {
        uint64_t value;
        memcpy(&value, params + variant->pointer[n], 8);
        if (value - (uint64_t)b->memory >= b->capacity)
            continue;
        cdp_child_free(b->worker, c);
        send(b, before); /* those are launched; what they print uses the same text */
        struct strbuf *text = &b->worker->text;
        text->count = 0;
        sb_printf(
            text,
            "argument %u of the launch of kernel %s points to %s memory of the block that launches "
            "it, which the launched grid cannot use",
            variant->argument[n] + 1u, variant->kernel->name,
            value >= (uint64_t)b->jit.shared ? "shared" : "local");
        fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_ADDRESS,
                                                 .mask = (uint32_t)1 << lane,
                                                 .text = text->items});
    }
}

/* A dim3 in two arguments. */
static void get_dim3(uint32_t out[3], const uint64_t *args, int index, uint32_t lane)
{
    uint64_t xy = lane_arg(args, index, lane);
    out[0] = (uint32_t)xy;
    out[1] = (uint32_t)(xy >> 32);
    out[2] = (uint32_t)lane_arg(args, index + 1, lane);
}

static uint32_t thread_number(const struct jit_block *j, uint32_t lane)
{
    return j->warp * JIT_WARP + lane;
}

/* The indices of a launch's arguments: kernel, grid x, y, z, block x, y, z, shared bytes, stream,
 * the arguments' offset in local memory. */
enum { ARG_KERNEL, ARG_GRID, ARG_BLOCK = 4, ARG_SHARED = 7, ARG_STREAM, ARG_ARGUMENTS };

/* Whether the launch is one of the first generation, whose depth has a limit: our header sets the
 * highest bit of the bytes of shared memory. */
static bool is_first_generation(const uint64_t *args, uint32_t lane)
{
    return lane_arg(args, ARG_SHARED, lane) >> 63 != 0;
}

/* The lanes whose launches differ from the lane's in their arguments alone, itself included. */
static uint32_t lanes_alike(const uint64_t *args, uint32_t mask, uint32_t lane)
{
    uint64_t differ[JIT_WARP] = {0};
    uint32_t alike = 0;
    for (int index = ARG_KERNEL; index < ARG_ARGUMENTS; index++) {
        uint64_t value = lane_arg(args, index, lane);
        for (uint32_t n = 0; n < JIT_WARP; n++)
            differ[n] |= lane_arg(args, index, n) ^ value;
    }
    for (uint32_t n = 0; n < JIT_WARP; n++)
        alike |= (uint32_t)(differ[n] == 0) << n;
    return alike & mask;
}

/* Can launches like this one share a record, and be run in one go? Only where that is not long, so
 * that none waits long for another, or for a worker. */
static bool is_short(const struct request *q, uint64_t stream)
{
    struct grid_launch l = launch_of(q, NULL);
    uint64_t ns = atomic_load_explicit(&l.kernel->block_ns, memory_order_relaxed);
    return ns != 0 && stream != CDP_STREAM_TAIL && !threads_are_compared() &&
           grid_launch_can_batch(&l) && (uint64_t)l.grid[0] * l.grid[1] <= SHORT_NS &&
           (uint64_t)l.grid[0] * l.grid[1] * l.grid[2] * ns <= SHORT_NS;
}

/* The first of the lanes that one record has space for. */
static uint32_t lanes_that_fit(uint32_t lanes, uint32_t stride)
{
    uint32_t most = stride > 0 ? CDP_CHILD_WIDE / stride : JIT_WARP, fit = 0, n = 0;
    do /* one has a record of its size, however large */
        fit |= lanes & -lanes;
    while (++n < most && (lanes &= lanes - 1) != 0);
    return fit;
}

/* Where the lane's arguments are. NULL: not in its local memory. */
static const uint8_t *arguments_of(const struct jit_block *j, uint32_t lane, const uint64_t *args,
                                   uint32_t bytes)
{
    uint64_t offset = lane_arg(args, ARG_ARGUMENTS, lane);
    if (offset + bytes > j->local_stride)
        return NULL;
    return j->local + thread_number(j, lane) * j->local_stride + offset;
}

/* Launches for `lanes`, of which there is one, or which are alike. Returns those it was done for.
 */
static uint32_t launch_lanes(struct grid_block *b, uint32_t lanes, const struct request *q,
                             const uint64_t *args, struct batch *batch)
{
    struct jit_block *j = &b->jit;
    uint32_t bytes = q->variant->param_bytes, stride = cdp_child_stride(bytes), n = 0;
    uint32_t first = (uint32_t)__builtin_ctz(lanes);
    lanes = lanes_that_fit(lanes, stride);
    uint32_t count = (uint32_t)__builtin_popcount(lanes);
    struct cdp_child *c = cdp_child_new(b->worker, b, thread_number(j, count > 1 ? 0 : first),
                                        count > 1 ? count * stride : bytes);
    if (c == NULL) {
        EACH_LANE(lane, lanes) set_error(b, thread_number(j, lane), cudaErrorMemoryAllocation);
        return lanes;
    }
    set_launch(c, q);
    if (count > 1)
        cdp_child_share(c, lanes);
    EACH_LANE(lane, lanes)
    {
        const uint8_t *params = arguments_of(j, lane, args, bytes);
        if (params == NULL) {
            cdp_child_free(b->worker, c);
            send(b, batch);
            fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_STACK, .mask = 1u << lane});
        }
        memcpy(c->params + (size_t)stride * n++, params, bytes);
        check_pointers(b, lane, c, params, batch);
    }
    add(b, batch, c, lane_arg(args, ARG_STREAM, first));
    return lanes;
}

/* launch(...), with 32 values for each argument; see above. */
static void weir_rt_launch(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    (void)rets;
    struct grid_block *b = j->grid;
    struct batch batch = {.pc = __builtin_return_address(0)};
    cdp_of_block(b->worker, b);
    for (uint32_t left = mask, alike = 0; left != 0;) {
        uint32_t lane = (uint32_t)__builtin_ctz(left), one = (uint32_t)1 << lane;
        struct request q = {.entry = (struct cdp_kernel *)lane_arg(args, ARG_KERNEL, lane),
                            .shared = (uint32_t)lane_arg(args, ARG_SHARED, lane)};
        for (int d = 0; d < 3; d++) {
            q.grid[d] = (uint32_t)lane_arg(args, ARG_GRID + d, lane);
            q.block[d] = (uint32_t)lane_arg(args, ARG_BLOCK + d, lane);
        }
        bool deep = is_first_generation(args, lane) && b->run->depth >= CDP_MAX_DEPTH;
        int code = deep ? cudaErrorLaunchMaxDepthExceeded : find_variant(b, &q);
        if (code != 0) {
            set_error(b, thread_number(j, lane), code);
            left &= ~one;
            continue;
        }
        if ((alike & one) == 0)
            alike = left != one && is_short(&q, lane_arg(args, ARG_STREAM, lane))
                        ? lanes_alike(args, left, lane)
                        : one;
        left &= ~launch_lanes(b, alike & left, &q, args, &batch);
    }
    send(b, &batch);
}

/* void *cudaGetParameterBufferV2(void *kernel, dim3 grid, dim3 block, unsigned shared) */
static void get_parameter_buffer_v2(struct jit_block *j, uint32_t mask, const uint64_t *args,
                                    uint64_t *rets)
{
    struct grid_block *b = j->grid;
    cdp_of_block(b->worker, b);
    EACH_LANE(lane, mask)
    {
        struct request q = {.entry = (struct cdp_kernel *)lane_arg(args, 0, lane),
                            .shared = (uint32_t)lane_arg(args, 5, lane)};
        get_dim3(q.grid, args, 1, lane);
        get_dim3(q.block, args, 3, lane);
        int code = find_variant(b, &q);
        struct cdp_child *c = code == 0 ? make_child(b, thread_number(j, lane), &q) : NULL;
        if (c == NULL)
            set_error(b, thread_number(j, lane), code == 0 ? cudaErrorMemoryAllocation : code);
        rets[lane] = c != NULL ? hand_out(b, c) : 0;
    }
}

/* cudaError_t cudaLaunchDeviceV2(void *parameters, cudaStream_t stream) */
static void launch_device_v2(struct jit_block *j, uint32_t mask, const uint64_t *args,
                             uint64_t *rets)
{
    struct grid_block *b = j->grid;
    struct batch batch = {.rets = rets, .pc = __builtin_return_address(0)};
    cdp_of_block(b->worker, b);
    EACH_LANE(lane, mask)
    {
        struct cdp_child *c = take_buffer(b, thread_number(j, lane), lane_arg(args, 0, lane));
        rets[lane] = c != NULL ? 0 : cudaErrorInvalidValue;
        if (c == NULL) {
            set_error(b, thread_number(j, lane), cudaErrorInvalidValue);
            continue;
        }
        check_pointers(b, lane, c, c->params, &batch);
        add(b, &batch, c, lane_arg(args, 1, lane));
    }
    send(b, &batch);
}

/* void *cudaGetParameterBuffer(size_t alignment, size_t bytes) */
static void get_parameter_buffer(struct jit_block *j, uint32_t mask, const uint64_t *args,
                                 uint64_t *rets)
{
    enum { PARAMS_MAX = 4096 };
    struct grid_block *b = j->grid;
    cdp_of_block(b->worker, b);
    EACH_LANE(lane, mask)
    {
        uint64_t bytes = lane_arg(args, 1, lane);
        struct cdp_child *c = NULL;
        if (bytes <= PARAMS_MAX && lane_arg(args, 0, lane) <= 64)
            c = cdp_child_new(b->worker, b, thread_number(j, lane), (uint32_t)bytes);
        if (c == NULL)
            set_error(b, thread_number(j, lane), cudaErrorInvalidValue);
        rets[lane] = c != NULL ? hand_out(b, c) : 0;
    }
}

/* cudaError_t cudaLaunchDevice(void *kernel, void *parameters, dim3 grid, dim3 block,
 *                              unsigned shared, cudaStream_t stream) */
static void launch_device(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    struct grid_block *b = j->grid;
    struct batch batch = {.rets = rets, .pc = __builtin_return_address(0)};
    cdp_of_block(b->worker, b);
    EACH_LANE(lane, mask)
    {
        struct request q = {.entry = (struct cdp_kernel *)lane_arg(args, 0, lane),
                            .shared = (uint32_t)lane_arg(args, 6, lane)};
        uint32_t thread = thread_number(j, lane);
        get_dim3(q.grid, args, 2, lane);
        get_dim3(q.block, args, 4, lane);
        int code =
            b->run->depth >= CDP_MAX_DEPTH ? cudaErrorLaunchMaxDepthExceeded : find_variant(b, &q);
        struct cdp_child *c = NULL;
        uint64_t params = lane_arg(args, 1, lane);
        if (code == 0 && params == 0 && q.variant->param_bytes == 0) {
            c = make_child(b, thread, &q); /* a kernel without parameters needs no buffer */
        } else if (code == 0 && (c = take_buffer(b, thread, params)) != NULL) {
            if (c->capacity >= q.variant->param_bytes) {
                set_launch(c, &q);
            } else {
                cdp_child_free(b->worker, c);
                c = NULL;
            }
        }
        if (c == NULL && code == 0)
            code = cudaErrorInvalidValue;
        rets[lane] = (uint64_t)code;
        if (code != 0) {
            set_error(b, thread, code);
            continue;
        }
        check_pointers(b, lane, c, c->params, &batch);
        add(b, &batch, c, lane_arg(args, 7, lane));
    }
    send(b, &batch);
}

/* cudaError_t cudaDeviceSynchronize(): the block waits for what it has launched so far. */
static void device_synchronize(struct jit_block *j, uint32_t mask, const uint64_t *args,
                               uint64_t *rets)
{
    (void)args;
    struct grid_block *b = j->grid;
    bool deep = b->run->depth >= b->run->env->sync_depth;
    EACH_LANE(lane, mask)
    {
        rets[lane] = deep ? cudaErrorSyncDepthExceeded : 0;
        if (deep)
            set_error(b, thread_number(j, lane), cudaErrorSyncDepthExceeded);
    }
    if (deep || b->cdp == NULL)
        return;
    threads_await(b, mask);
    if (atomic_load_explicit(&b->cdp->state, memory_order_acquire) > 2)
        j->waiting = 1;
    else
        threads_waited(b);
}

static void last_error(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    (void)args;
    EACH_LANE(lane, mask)
    rets[lane] = get_error(j->grid, thread_number(j, lane), true);
}

static void peek_error(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    (void)args;
    EACH_LANE(lane, mask)
    rets[lane] = get_error(j->grid, thread_number(j, lane), false);
}

/* ---- for helpers of the layers above ---- */

int grid_thread_error(struct jit_block *j, uint32_t lane, int code)
{
    if (code != 0)
        set_error(j->grid, thread_number(j, lane), code);
    return code;
}

struct strbuf *grid_text(struct jit_block *j)
{
    const struct grid_block *b = j->grid;
    b->worker->text.count = 0;
    return &b->worker->text;
}

void grid_fail_handle(struct jit_block *j, uint32_t lane)
{
    const struct grid_block *b = j->grid;
    fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_HANDLE,
                                             .mask = (uint32_t)1 << lane,
                                             .text = b->worker->text.items});
}

struct grid_env *grid_env_of(struct jit_block *j)
{
    struct grid_block *b = j->grid;
    return b->run->env;
}

bool grid_own_memory(struct jit_block *j, const void *address)
{
    const struct grid_block *b = j->grid;
    return (uint64_t)address - (uint64_t)b->memory < b->capacity;
}

int cdp_submit_work(struct jit_block *j, uint32_t lane, enum cdp_work work,
                    const struct grid_launch *launch, const void *params, uint32_t bytes,
                    uint64_t stream)
{
    struct grid_block *b = j->grid;
    if (misuses(b, stream))
        grid_fail_handle(j, lane);
    cdp_of_block(b->worker, b);
    struct cdp_child *c = cdp_child_new(b->worker, b, thread_number(j, lane), bytes);
    if (c == NULL)
        return cudaErrorMemoryAllocation;
    c->work = (uint16_t)work;
    c->launch = launch != NULL ? *launch : (struct grid_launch){0};
    c->launch.params = c->params;
    memcpy(c->params, params, bytes);
    threads_launch(b, c, b->worker->called_at);
    if (cdp_device->submit(b->worker, b, c, c, 1, stream))
        return 0;
    cdp_child_free(b->worker, c);
    return cudaErrorInvalidValue;
}

void grid_helper_called(struct jit_block *j, const void *pc)
{
    struct grid_block *b = j->grid;
    b->worker->called_at = pc;
}

void grid_helper_begin(struct jit_block *j)
{
    struct grid_block *b = j->grid;
    b->worker->armed = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

void grid_helper_end(struct jit_block *j)
{
    struct grid_block *b = j->grid;
    atomic_signal_fence(memory_order_seq_cst);
    b->worker->armed = 1;
}

static const struct {
    const char *name;
    jit_extern_fn function;
} table[] = {
    {"GetParameterBuffer", get_parameter_buffer},
    {"GetParameterBufferV2", get_parameter_buffer_v2},
    {"LaunchDevice", launch_device},
    {"LaunchDeviceV2", launch_device_v2},
    {"DeviceSynchronize", device_synchronize},
    {"GetLastError", last_error},
    {"PeekAtLastError", peek_error},
};

void *cdp_launch_helper(const char *name)
{
    if (strcmp(name, "launch") == 0)
        return (void *)weir_rt_launch;
    if (strcmp(name, "__cudaDeviceSynchronizeDeprecationAvoidance") == 0)
        return (void *)device_synchronize;
    if (strncmp(name, "__cudaCDP2", 10) == 0)
        name += 10;
    else if (strncmp(name, "cuda", 4) == 0)
        name += 4;
    else
        return NULL;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, "_ptsz") == 0)
        length -= 5;
    for (size_t n = 0; n < WEIR_COUNT(table); n++)
        if (strlen(table[n].name) == length && strncmp(table[n].name, name, length) == 0)
            return (void *)table[n].function;
    return NULL;
}
