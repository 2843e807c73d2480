/* worker: the worker of a thread, and the contexts of blocks: made once, used again and again.
 *
 * A worker keeps the context it used last; others wait in a free list of all threads, since a
 * context that was parked may end on another thread than it began on. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "base/round.h"
#include "base/stack.h"
#include "exec/internal.h"
#include "hazards/hazards.h"

static struct {
    pthread_mutex_t lock;
    struct grid_block *free;
    size_t bytes; /* memory of the contexts in it */
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Without access, around each part of a context's memory. */
static const size_t GUARD = (size_t)1 << 20;
static const size_t KEPT_MAX = (size_t)256 << 20; /* bytes kept */

/* ---- contexts ---- */

/* Where the parts of a context are: offsets in its first part, and the size of that and of shared
 * memory. */
struct layout {
    size_t pc, local, bytes, shared_bytes;
    size_t local_align, shared_align;
};

/* A context's memory is aligned to pages. What must be aligned to more has so many bytes more. */
static size_t slack(size_t align) { return align > WEIR_PAGE ? align : 0; }

static uint8_t *align_down(uint8_t *at, size_t align) { return at - (uintptr_t)at % align; }

static uint8_t *align_up(uint8_t *at, size_t align) { return align_down(at + align - 1, align); }

static struct layout layout_of(const struct grid_run *run)
{
    const struct grid_kernel *k = run->launch.kernel;
    struct layout l = {.local_align = k->local_align > 64 ? k->local_align : 64,
                       .shared_align = k->shared_align > 128 ? k->shared_align : 128};
    size_t frame_bytes = (size_t)run->nwarps * k->frame_bytes;
    l.pc = round_up(frame_bytes, 64);
    l.local = round_up(l.pc + run->nwarps * sizeof(uint32_t) + slack(l.local_align), l.local_align);
    l.bytes = round_up(l.local + run->nthreads * run->local_stride + 64, WEIR_PAGE);
    l.shared_bytes = round_up((size_t)run->shared_bytes + JIT_SHARED_SIDES, l.shared_align) +
                     slack(l.shared_align);
    return l;
}

static void block_unmap(struct grid_block *b)
{
    if (b->memory != NULL)
        munmap(b->memory - b->guard, b->capacity + 2 * b->guard);
    b->memory = NULL;
    b->first_bytes = b->capacity = 0;
}

static void block_free(struct grid_block *b)
{
    block_unmap(b);
    free(b->lanes);
    hazard_block_free(b->hazards);
    free(b->unwritten);
    free(b->meeting);
    free(b);
}

/* What is between two guards and after the last is accessible. */
static bool block_map(struct grid_block *b, size_t first, size_t shared, size_t guard)
{
    size_t bytes = first + guard + shared;
    uint8_t *p = mmap(NULL, bytes + 2 * guard, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    uint8_t *memory = p + guard;
    if (mprotect(memory, first, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(memory + first + guard, shared, PROT_READ | PROT_WRITE) != 0) {
        munmap(p, bytes + 2 * guard);
        return false;
    }
    if (first >= (size_t)2 << 20)
        madvise(memory, first, MADV_HUGEPAGE);
    b->memory = memory;
    b->guard = guard;
    b->first_bytes = first;
    b->capacity = bytes;
    return true;
}

static size_t shared_capacity(const struct grid_block *b)
{
    return b->capacity - b->first_bytes - b->guard;
}

/* Gives the context memory for that layout at least. Guards are as wide as the address space
 * allows. */
static bool block_grow(struct grid_block *b, const struct layout *l)
{
    size_t first = l->bytes, shared = round_up(l->shared_bytes + JIT_SHARED_SIDES, WEIR_PAGE);
    if (b->memory != NULL) {
        if (b->first_bytes >= first && shared_capacity(b) >= shared)
            return true;
        first = first < b->first_bytes ? b->first_bytes : first;
        shared = shared < shared_capacity(b) ? shared_capacity(b) : shared;
        block_unmap(b);
    }
    return block_map(b, first, shared, GUARD) || block_map(b, first, shared, WEIR_PAGE);
}

/* Bytes of the machine's memory that it may take. */
static size_t block_bytes(const struct grid_block *b)
{
    return b->memory != NULL ? b->capacity - b->guard : 0;
}

static struct grid_block *context_take(void)
{
    pthread_mutex_lock(&contexts.lock);
    struct grid_block *b = contexts.free;
    if (b != NULL) {
        contexts.free = b->next;
        contexts.bytes -= block_bytes(b);
    }
    pthread_mutex_unlock(&contexts.lock);
    return b != NULL ? b : xcalloc(1, sizeof *b);
}

static void context_keep(struct grid_block *b)
{
    pthread_mutex_lock(&contexts.lock);
    bool keep = contexts.bytes + block_bytes(b) <= KEPT_MAX;
    if (keep) {
        b->next = contexts.free;
        contexts.free = b;
        contexts.bytes += block_bytes(b);
    }
    pthread_mutex_unlock(&contexts.lock);
    if (!keep)
        block_free(b);
}

struct layout_key layout_key_of(const struct grid_run *run)
{
    struct layout_key k = {.frame_bytes = run->launch.kernel->frame_bytes,
                           .shared_bytes = run->shared_bytes,
                           .shared_align = run->launch.kernel->shared_align,
                           .local_align = run->launch.kernel->local_align,
                           .local_stride = run->local_stride};
    memcpy(k.shape, run->launch.grid, sizeof k.shape);
    return k;
}

static void lay_out(struct grid_block *b, struct grid_run *run, const struct layout *l)
{
    const struct grid_launch *launch = &run->launch;
    struct jit_block *j = &b->jit;
    *j = (struct jit_block){
        .params = launch->params,
        .frame = b->memory,
        .pc = (uint32_t *)(b->memory + l->pc),
        .local = run->local_stride > 0 ? align_down(b->memory + l->local, l->local_align) : NULL,
        /* at the end of what is accessible, however much that is */
        .shared = align_up(b->memory + b->capacity - l->shared_bytes, l->shared_align),
        .nthreads = run->nthreads,
        .nwarps = run->nwarps,
        .dynamic_shared = launch->dynamic_shared,
        .total_shared = run->shared_bytes,
        .local_stride = run->local_stride,
        .gridid = run->gridid,
        .nsmid = run->env->nsm,
        .grid = b,
        .windows = b->windows,
        .cluster_size = run->cluster_size,
        .explicit_cluster = launch->cluster[0] > 0,
        .replaced = &launch->kernel->replaced,
    };
    memset(b->windows, 0, sizeof b->windows);
    b->windows[0] = b->windows[1] = (uint64_t)j->shared;
    b->leader = NULL;
    b->members[0] = b;
    b->nmembers = 1;
    for (int d = 0; d < 3; d++) {
        uint32_t cluster = launch->cluster[d] > 0 ? launch->cluster[d] : 1;
        j->ntid[d] = launch->block[d];
        j->nctaid[d] = launch->grid[d];
        j->cluster_nctaid[d] = cluster;
        j->nclusterid[d] = (launch->grid[d] + cluster - 1) / cluster;
    }
    uint64_t workspace = (uint64_t)run->workspace;
    j->envreg[1] = (uint32_t)(workspace >> 32);
    j->envreg[2] = (uint32_t)workspace;
    b->run = run;
    b->laid_out = run->gridid;
    b->cdp = NULL;
}

/* As lay_out, where only the grid itself is another one: small grids are launched in great numbers.
 */
static bool lay_out_alike(struct grid_block *b, struct grid_run *run, const struct layout_key *key)
{
    if (b->laid_out == 0 || !layout_key_same(&b->key, key) || run->workspace != NULL ||
        (b->jit.envreg[1] | b->jit.envreg[2]) != 0)
        return false;
    b->jit.params = run->launch.params;
    b->jit.replaced = &run->launch.kernel->replaced;
    b->jit.gridid = run->gridid;
    b->run = run;
    b->laid_out = run->gridid;
    return true;
}

struct grid_block *block_take(struct grid_worker *w, struct grid_run *run)
{
    struct grid_block *b = w->spare;
    w->spare = NULL;
    if (b == NULL)
        b = context_take();
    if (b->laid_out == run->gridid)
        return b;
    struct layout_key key = layout_key_of(run);
    if (lay_out_alike(b, run, &key))
        return b;
    struct layout l = layout_of(run);
    if (!block_grow(b, &l)) {
        block_free(b);
        return NULL;
    }
    lay_out(b, run, &l);
    b->key = key;
    return b;
}

void block_drop(struct grid_worker *w, struct grid_block *b)
{
    if (WEIR_UNLIKELY(b->fibers != NULL))
        fibers_end(b);
    if (w->spare != NULL)
        context_keep(w->spare);
    w->spare = b;
}

/* ---- threads ---- */

static _Thread_local struct grid_worker *self __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void worker_free(void *arg)
{
    struct grid_worker *w = arg;
    cdp_free_records(w);
    self = NULL;
    signal_stack_free(w);
    float_sums_free(w);
    if (w->spare != NULL)
        context_keep(w->spare);
    sb_free(&w->text);
    free(w);
}

static void make_key(void) { pthread_key_create(&key, worker_free); }

struct grid_worker *grid_worker_self(uint32_t smid)
{
    if (WEIR_LIKELY(self != NULL))
        return self;
    pthread_once(&once, make_key);
    struct grid_worker *w = xcalloc(1, sizeof *w);
    w->smid = smid;
    signal_stack_set(w);
    stack_look();
    pthread_setspecific(key, w);
    self = w;
    return w;
}

struct grid_worker *worker_of_thread(void) { return self; }
