/* check: what kernels compiled with checks ask before they touch global memory. */
#include "exec/check.h"

#include "exec/internal.h"
#include "exec/lanes.h"
#include "memory/memory.h"
#include "memory/view.h"

#define BYTES JIT_CHECK_BYTES

static bool within(uint64_t address, uint64_t bytes, uint64_t base, uint64_t size)
{
    return address - base < size && bytes <= size - (address - base);
}

/* This library's own image: strings and constants that device functions return. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_ours(uint64_t address, uint64_t bytes, uint32_t what)
{
    return (what & JIT_CHECK_WRITES) == 0 &&
           within(address, bytes, (uint64_t)__ehdr_start, (uint64_t)(_end - __ehdr_start));
}

/* In the shared memory of a block of the cluster. */
static bool is_shared(const struct jit_block *j, uint64_t address, uint64_t bytes)
{
    if (within(address, bytes, (uint64_t)j->shared, j->total_shared))
        return true;
    for (uint32_t r = 1; r <= j->cluster_size && r <= JIT_CLUSTER_MAX; r++)
        if (j->windows[r] != 0 && within(address, bytes, j->windows[r], j->total_shared))
            return true;
    return false;
}

/* Memory of the block itself, which generic addresses may point to. */
static bool is_own(const struct jit_block *j, uint64_t address, uint64_t bytes)
{
    const struct grid_block *b = j->grid;
    return is_shared(j, address, bytes) ||
           within(address, bytes, (uint64_t)j->local, j->local_stride * j->nthreads) ||
           within(address, bytes, (uint64_t)j->params, b->run->launch.param_bytes) ||
           (b->run->workspace != NULL &&
            within(address, bytes, (uint64_t)b->run->workspace, GRID_WORKSPACE_BYTES));
}

/* Memory of the device heap is one allocation to the memory layer. */
static const struct heap *heap_of(const struct grid_worker *w, uint64_t address)
{
    const struct heap *h = atomic_load_explicit(&w->env->heap, memory_order_acquire);
    return h != NULL && heap_checks(h, address) ? h : NULL;
}

_Noreturn static void refuse(struct grid_worker *w, uint64_t address, int lane, uint32_t what,
                             const struct mem_span *partly, const void *pc)
{
    uint32_t bytes = what & BYTES;
    /* What begins inside and ends outside: its first byte outside is the one to tell of. */
    bool inside = partly->end != 0 && address - partly->base < partly->end - partly->base;
    w->text.count = 0;
    sb_printf(&w->text, "%s of %u byte%s", (what & JIT_CHECK_WRITES) != 0 ? "write" : "read", bytes,
              bytes == 1 ? "" : "s");
    if (inside)
        sb_printf(&w->text, " from 0x%llx on", (unsigned long long)address);
    if (heap_of(w, inside ? partly->end : address) != NULL)
        sb_printf(&w->text, " of the device heap, where malloc has given out nothing");
    if (mem_too_early(address))
        sb_printf(&w->text, " before its allocation in the order of streams");
    fault_leave(w, &(struct trouble){.kind = GRID_FAULT_ADDRESS,
                                     .has_address = true,
                                     .address = inside ? partly->end : address,
                                     .pc = (uint64_t)pc,
                                     .mask = (what & JIT_CHECK_WARP) != 0 ? 0 : (uint32_t)1 << lane,
                                     .text = w->text.items});
}

static uint32_t peers_of(const struct grid_worker *w)
{
    return atomic_load_explicit(&w->env->peers, memory_order_relaxed);
}

/* The host's memory, pageable or not, is no device's. */
static bool is_others(const struct grid_worker *w, uint64_t address)
{
    return mem_in_device_range((void *)address) &&
           mem_foreign(w->env->device, peers_of(w), address);
}

/* In code that asks for other devices' memory only: is it in the range of the device's own? */
static bool is_devices(const struct grid_worker *w, uint64_t address, uint32_t what)
{
    if ((what & JIT_CHECK_OTHERS) == 0)
        return false;
    const uint64_t *range = mem_others(w->env->device) + JIT_OTHERS_OWN_BASE;
    return address - range[0] < range[1];
}

/* *found is the allocation, if the whole access is in one. */
static bool is_allowed(const struct grid_worker *w, uint64_t address, uint32_t what,
                       struct mem_span *found)
{
    if ((what & JIT_CHECK_OTHERS) != 0 && is_others(w, address))
        return false;
    return mem_usable(w->env->device, peers_of(w), address, what & BYTES, found) ||
           (what & JIT_CHECK_OTHERS) != 0;
}

const uint64_t *weir_rt_others(const struct jit_block *j)
{
    const struct grid_block *b = j->grid;
    return mem_others(b->run->env->device);
}

void check_others(struct jit_block *j, uint32_t mask, uint64_t address, const void *pc)
{
    struct grid_worker *w = ((struct grid_block *)j->grid)->worker;
    if (mem_needs_checks() && is_others(w, address))
        fault_leave(w, &(struct trouble){.kind = GRID_FAULT_ADDRESS,
                                         .has_address = true,
                                         .address = address,
                                         .pc = (uint64_t)pc,
                                         .mask = mask});
}

/* Lanes mostly touch one allocation, and that of one of the last times; but the worker may have run
 * another device's kernels since. */
static struct mem_span recall(const struct grid_worker *w, uint64_t address)
{
    uint64_t now = mem_generation();
    uint32_t peers = peers_of(w);
    for (int i = 0; i < WORKER_SPANS; i++) {
        const struct mem_span *s = &w->checked[i];
        if (address - s->base < s->end - s->base && s->generation == now &&
            s->device == w->env->device && s->peers == peers)
            return *s;
    }
    return (struct mem_span){0};
}

/* Whether all that neighbours, or lanes at one address, access is in allocations that were looked
 * at lately. */
static bool are_known(const struct grid_worker *w, uint32_t mask, const uint64_t *first,
                      uint32_t bytes, uint32_t shape)
{
    struct lane_run runs[LANE_RUNS];
    int count = lane_runs(shape, mask, first, bytes, runs);
    for (int n = 0; n < count; n++) {
        uint64_t low, high;
        (void)lane_run_range(&runs[n], shape, bytes, &low, &high);
        struct mem_span span = recall(w, low);
        if (!within(low, high - low, span.base, span.end - span.base))
            return false;
    }
    return true;
}

void weir_rt_check(struct jit_block *j, uint32_t mask, const uint64_t *address, uint32_t what,
                   uint32_t shape)
{
    struct grid_worker *w = ((struct grid_block *)j->grid)->worker;
    uint64_t bytes = what & BYTES, each[JIT_WARP];
    struct mem_span span = {0};
    if (mask != 0 && shape != 0) {
        if (are_known(w, mask, address, (uint32_t)bytes, shape))
            return;
        lane_addresses(shape, mask, address, (uint32_t)bytes, 0, each);
        address = each;
    }
    if (mask != 0)
        span = recall(w, address[__builtin_ctz(mask)]);
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        uint64_t at = address[lane];
        if (within(at, bytes, span.base, span.end - span.base) || is_devices(w, at, what) ||
            is_own(j, at, bytes) || is_ours(at, bytes, what))
            continue;
        struct mem_span found = {0};
        if (!is_allowed(w, at, what, &found))
            refuse(w, at, lane, what, &found, __builtin_return_address(0));
        const struct heap *heap = heap_of(w, at);
        if (heap != NULL) {
            uint64_t given = heap_given(heap, at, bytes);
            if (given < bytes)
                refuse(w, at, lane, what, &(struct mem_span){.base = at, .end = at + given},
                       __builtin_return_address(0));
            continue;
        }
        span = found;
        if (span.generation != 0)
            w->checked[w->checked_next++ % WORKER_SPANS] = span;
    }
}

void weir_rt_check_shared(struct jit_block *j, uint32_t mask, const uint64_t *address,
                          uint32_t what)
{
    struct grid_worker *w = ((struct grid_block *)j->grid)->worker;
    const uint64_t start = (uint64_t)j->shared;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
        int lane = __builtin_ctz(left);
        struct mem_span partly = {.base = start, .end = start + j->total_shared};
        if (!is_shared(j, address[lane], what & BYTES))
            refuse(w, address[lane], lane, what, &partly, __builtin_return_address(0));
    }
}
