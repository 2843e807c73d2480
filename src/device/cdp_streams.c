/* cdp_streams: streams and events that device code makes. They belong to the grid that makes them:
 * its threads alone may use them, and they end with it. In the first generation of dynamic
 * parallelism they belong to the block that makes them ("CUDA C++ Programming Guide", dynamic
 * parallelism, streams and events of either generation); the difference is looked at in checked
 * mode only.
 *
 * Their objects come from memory that is never given back, so that a handle can be looked at safely
 * however old it is. What an event's recording is, and what waits for it, is an object of its own:
 * the event may be recorded again meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cdp.h"
#include "exec/touch.h"
#include "memory/defined.h"
#include "memory/view.h"
#include "weir/rt/error_codes.h"

/* Codes of cudaError_t; which of them says what is as an H100 answers. */
enum { TAG_FREE, TAG_STREAM = 0x4e53, TAG_EVENT = 0x4e45 };

/* One point in a stream's work. Two references: the work's, and the event's or a wait's each. */
struct cdp_recording {
    pthread_mutex_t lock;
    bool done;
    struct cdp_queue *waiting; /* linked by `next` */
    struct hazard_order *over; /* what was before it, while threads are compared */
    _Atomic uint32_t refs;
};

struct handle {
    _Atomic uint32_t tag;            /* TAG_FREE once its grid is over */
    _Atomic uint32_t kind;           /* the tag that it had */
    struct handle *made_before;      /* of all */
    struct grid_run *run;            /* whose it is */
    struct handle *next;             /* of the grid's, or free */
    struct cdp_queue queue;          /* of a stream */
    pthread_mutex_t lock;            /* of the recording */
    struct cdp_recording *recording; /* of an event: the latest, NULL: none yet */
    bool of_block;                   /* its use is its block's alone */
    uint32_t block[3];               /* who made it: ctaid, */
    uint64_t gridid;                 /* grid, */
    char kernel[96];                 /* and kernel, in checked mode */
};

static struct {
    pthread_mutex_t lock;
    struct handle *free;
    struct handle *all; /* ever made, linked by made_before */
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct handle *handle_new(struct jit_block *j, uint32_t tag, bool of_block)
{
    struct grid_run *run = grid_run_of_block(j->grid);
    pthread_mutex_lock(&handles.lock);
    struct handle *h = handles.free;
    if (h != NULL)
        handles.free = h->next;
    pthread_mutex_unlock(&handles.lock);
    if (h == NULL) {
        h = xcalloc(1, sizeof *h);
        cdp_queue_init(&h->queue, NULL);
        pthread_mutex_init(&h->lock, NULL);
        pthread_mutex_lock(&handles.lock);
        h->made_before = handles.all;
        handles.all = h;
        pthread_mutex_unlock(&handles.lock);
    }
    atomic_store_explicit(&h->kind, tag, memory_order_relaxed);
    h->run = h->queue.run = run;
    h->of_block = of_block;
    memcpy(h->block, j->ctaid, sizeof h->block);
    h->gridid = run->gridid;
    if (mem_checked())
        snprintf(h->kernel, sizeof h->kernel, "%s", run->launch.kernel->name);
    void *old = atomic_load_explicit(&run->handles, memory_order_relaxed);
    do
        h->next = old;
    while (!atomic_compare_exchange_weak_explicit(&run->handles, &old, h, memory_order_release,
                                                  memory_order_relaxed));
    atomic_store_explicit(&h->tag, tag, memory_order_release);
    return h;
}

/* The live object of a handle, NULL: it is none of this grid's. */
static struct handle *handle_of(const struct grid_run *run, uint64_t handle, uint32_t tag)
{
    struct handle *h = (struct handle *)handle;
    if (handle < 4096 || handle % _Alignof(struct handle) != 0 ||
        atomic_load_explicit(&h->tag, memory_order_acquire) != tag || h->run != run)
        return NULL;
    return h;
}

/* ---- handles of others ---- */

/* Whose they are can be told only where there is time to look, and must not depend on it: elsewhere
 * those of other grids are refused, and those of other blocks work. */

static bool is_handle(uint64_t handle, uint32_t tag)
{
    const struct handle *h = (const struct handle *)handle;
    pthread_mutex_lock(&handles.lock);
    bool found = false;
    for (const struct handle *all = handles.all; all != NULL && !found; all = all->made_before)
        found = all == h && (atomic_load(&all->kind) == tag);
    pthread_mutex_unlock(&handles.lock);
    return found;
}

static bool is_others(const struct jit_block *j, uint64_t handle, uint32_t tag, struct strbuf *why)
{
    const struct handle *h = (const struct handle *)handle;
    const struct grid_run *run = grid_run_of_block(j->grid);
    if (!is_handle(handle, tag))
        return false;
    bool own = h->gridid == run->gridid;
    if (own && (!h->of_block || memcmp(h->block, j->ctaid, sizeof h->block) == 0))
        return false;
    sb_printf(why, "%s 0x%llx was made by kernel %s, block (%u,%u,%u)",
              tag == TAG_STREAM ? "stream" : "event", (unsigned long long)handle, h->kernel,
              h->block[0], h->block[1], h->block[2]);
    if (own)
        sb_printf(why,
                  ", and belongs to that block alone (dynamic parallelism's first generation)");
    else
        sb_printf(why, "%s, and belongs to that grid alone",
                  atomic_load(&h->tag) == TAG_FREE ? ", which is over" : "");
    return true;
}

bool cdp_misuses(struct grid_block *b, uint64_t stream, struct strbuf *why)
{
    return is_others((struct jit_block *)b, stream, TAG_STREAM, why);
}

/* What device code passes to a call: the live object, or NULL. */
static struct handle *handle_given(struct jit_block *j, uint32_t lane, uint64_t handle,
                                   uint32_t tag)
{
    if (mem_checked() && is_others(j, handle, tag, grid_text(j)))
        grid_fail_handle(j, lane);
    return handle_of(grid_run_of_block(j->grid), handle, tag);
}

/* ---- recordings ---- */

static void recording_unref(struct cdp_recording *r)
{
    if (r == NULL || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&r->lock);
    hazard_order_unref(r->over);
    free(r);
}

void cdp_handles_free(struct grid_run *run)
{
    struct handle *list = atomic_exchange_explicit(&run->handles, NULL, memory_order_acquire);
    for (struct handle *h = list, *next; h != NULL; h = next) {
        next = h->next;
        atomic_store_explicit(&h->tag, TAG_FREE, memory_order_release);
        recording_unref(h->recording);
        h->recording = NULL;
        hazard_order_unref(h->queue.over);
        h->queue.over = NULL;
        pthread_mutex_lock(&handles.lock);
        h->next = handles.free;
        handles.free = h;
        pthread_mutex_unlock(&handles.lock);
    }
}

struct cdp_queue *cdp_stream_queue(const struct grid_run *run, uint64_t stream)
{
    struct handle *h = handle_of(run, stream, TAG_STREAM);
    return h != NULL ? &h->queue : NULL;
}

/* ---- what stands in streams ---- */

struct cdp_queue *cdp_record(const struct cdp_child *c, const struct cdp_queue *q)
{
    struct cdp_recording *r;
    memcpy(&r, c->params, sizeof r);
    pthread_mutex_lock(&r->lock);
    struct cdp_queue *waiting = r->waiting;
    r->waiting = NULL;
    r->done = true;
    r->over = hazard_order_ref(q->over);
    pthread_mutex_unlock(&r->lock);
    recording_unref(r);
    return waiting;
}

bool cdp_wait(const struct cdp_child *c, struct cdp_queue *q)
{
    struct cdp_recording *r;
    memcpy(&r, c->params, sizeof r);
    pthread_mutex_lock(&r->lock);
    bool done = r->done;
    if (!done) {
        q->next = r->waiting;
        r->waiting = q;
    }
    pthread_mutex_unlock(&r->lock);
    if (done) {
        q->over = hazard_order_join(q->over, r->over);
        recording_unref(r);
    }
    return done;
}

/* ---- what device code calls ---- */

uint64_t cdp_stream_create(struct jit_block *j, bool of_block)
{
    return (uint64_t)handle_new(j, TAG_STREAM, of_block);
}

uint64_t cdp_event_create(struct jit_block *j, bool of_block)
{
    return (uint64_t)handle_new(j, TAG_EVENT, of_block);
}

/* The object ends with its grid; until then it goes on working, as on an H100. */
static int destroy(struct jit_block *j, uint32_t lane, uint64_t handle, uint32_t tag)
{
    return handle_given(j, lane, handle, tag) != NULL ? 0 : cudaErrorInvalidValue;
}

int cdp_stream_destroy(struct jit_block *j, uint32_t lane, uint64_t stream)
{
    return destroy(j, lane, stream, TAG_STREAM);
}

int cdp_event_destroy(struct jit_block *j, uint32_t lane, uint64_t event)
{
    return destroy(j, lane, event, TAG_EVENT);
}

int cdp_event_record(struct jit_block *j, uint32_t lane, uint64_t event, uint64_t stream)
{
    struct handle *h = handle_given(j, lane, event, TAG_EVENT);
    if (h == NULL)
        return cudaErrorInvalidValue;
    if (stream == CDP_STREAM_TAIL || stream == CDP_STREAM_FIRE_AND_FORGET)
        return cudaErrorInvalidValue;
    struct cdp_recording *r = xcalloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    atomic_init(&r->refs, 2);
    int code = cdp_submit_work(j, lane, CDP_WORK_RECORD, NULL, &r, sizeof r, stream);
    if (code != 0) {
        recording_unref(r);
        recording_unref(r);
        return code;
    }
    pthread_mutex_lock(&h->lock);
    struct cdp_recording *before = h->recording;
    h->recording = r;
    pthread_mutex_unlock(&h->lock);
    recording_unref(before);
    return 0;
}

int cdp_stream_wait_event(struct jit_block *j, uint32_t lane, uint64_t stream, uint64_t event)
{
    struct handle *h = handle_given(j, lane, event, TAG_EVENT);
    if (h == NULL)
        return cudaErrorInvalidValue;
    if (stream == CDP_STREAM_TAIL || stream == CDP_STREAM_FIRE_AND_FORGET)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&h->lock);
    struct cdp_recording *r = h->recording;
    if (r != NULL)
        atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&h->lock);
    if (r == NULL)
        return 0; /* never recorded: nothing to wait for */
    int code = cdp_submit_work(j, lane, CDP_WORK_WAIT, NULL, &r, sizeof r, stream);
    if (code != 0)
        recording_unref(r);
    return code;
}

/* Whether copies and fills must say what they access. */
static bool is_told(void) { return defined_on || touch_is_told(); }

/* Pieces of a copy or a fill are the blocks of a grid of ours. */
static int submit_pieces(struct jit_block *j, uint32_t lane, struct grid_kernel *k, uint64_t pieces,
                         const void *args, uint32_t bytes, uint64_t stream)
{
    struct grid_launch launch = {
        .kernel = k, .grid = {(uint32_t)pieces, 1, 1}, .block = {1, 1, 1}, .param_bytes = bytes};
    int code = cdp_submit_work(j, lane, CDP_WORK_GRID, &launch, args, bytes, stream);
    return code == cudaErrorInvalidValue ? cudaErrorUnknown : code; /* there is no such stream */
}

int cdp_copy(struct jit_block *j, uint32_t lane, const struct device_copy *copy, uint64_t stream)
{
    struct copy_args args;
    if (copy->width == 0)
        return 0;
    if (copy->dst == NULL || copy->src == NULL || grid_own_memory(j, copy->dst) ||
        grid_own_memory(j, copy->src))
        return cudaErrorInvalidValue;
    copy_args_make(&args, copy);
    return submit_pieces(j, lane, is_told() ? &copy_told_kernel : &copy_kernel, args.pieces, &args,
                         sizeof args, stream);
}

int cdp_set(struct jit_block *j, uint32_t lane, const struct device_set *set, uint64_t stream)
{
    struct set_args args;
    if (set->width == 0)
        return 0;
    if (set->dst == NULL || grid_own_memory(j, set->dst))
        return cudaErrorInvalidValue;
    set_args_make(&args, set);
    return submit_pieces(j, lane, is_told() ? &set_told_kernel : &set_kernel, args.pieces, &args,
                         sizeof args, stream);
}
