/* helpers: what compiled code calls: printf, assert, malloc, free, faults, the clock. See
 * abi/kernel_abi.h for the signature; the last two have their own.
 *
 * They read the program's memory by the program's pointers, so they may fault at any such access:
 * no lock is held there, and what they build is kept in the worker. */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "exec/check.h"
#include "exec/found.h"
#include "exec/internal.h"
#include "exec/threads.h"
#include "exec/touch.h"

static struct grid_block *block_of(struct jit_block *j) { return j->grid; }

/* int vprintf(const char *format, const void *args): -1 without a format, -2 where printing fails
 * (programming guide, formatted output). */
static void weir_rt_vprintf(struct jit_block *j, uint32_t mask, const uint64_t *args,
                            uint64_t *rets)
{
    struct grid_block *b = block_of(j);
    struct grid_env *env = b->run->env;
    struct strbuf *text = &b->worker->text;
    EACH_LANE(lane, mask)
    {
        const char *format = (const char *)lane_arg(args, 0, (int)lane);
        if (format == NULL) {
            rets[lane] = (uint32_t)-1;
            continue;
        }
        text->count = 0;
        rets[lane] =
            (uint32_t)print_format(text, format, (const uint8_t *)lane_arg(args, 1, (int)lane));
        if (!fifo_add(&env->printed, env->printf_bytes, text->items != NULL ? text->items : "",
                      text->count))
            rets[lane] = (uint32_t)-2;
    }
    env_text_waits(env);
}

/* Thread indices of a lane of the warp now running. */
static void thread_of(const struct jit_block *j, uint32_t lane, uint32_t tid[3])
{
    uint32_t thread = j->warp * JIT_WARP + lane;
    tid[0] = thread % j->ntid[0];
    tid[1] = thread / j->ntid[0] % j->ntid[1];
    tid[2] = thread / j->ntid[0] / j->ntid[1];
}

/* void __assertfail(message, file, unsigned line, function, size_t charsize) */
static void weir_rt___assertfail(struct jit_block *j, uint32_t mask, const uint64_t *args,
                                 uint64_t *rets)
{
    (void)rets;
    const size_t limit = (size_t)1 << 20;
    struct grid_block *b = block_of(j);
    struct grid_env *env = b->run->env;
    struct strbuf *text = &b->worker->text;
    EACH_LANE(lane, mask)
    {
        uint32_t tid[3];
        thread_of(j, lane, tid);
        text->count = 0;
        sb_printf(text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                  (const char *)lane_arg(args, 1, (int)lane),
                  (unsigned)lane_arg(args, 2, (int)lane),
                  (const char *)lane_arg(args, 3, (int)lane), j->ctaid[0], j->ctaid[1], j->ctaid[2],
                  tid[0], tid[1], tid[2], (const char *)lane_arg(args, 0, (int)lane));
        fifo_add(&env->asserted, limit, text->items, text->count);
    }
    env_text_waits(env);
    text->count--; /* the line of the last lane, without its end, is the fault's text */
    text->items[text->count] = '\0';
    fault_leave(b->worker,
                &(struct trouble){.kind = GRID_FAULT_ASSERT, .mask = mask, .text = text->items});
}

/* The heap, made at the first malloc; NULL when the device has no memory for it. */
static struct heap *heap_of(struct grid_env *env)
{
    struct heap *h = atomic_load_explicit(&env->heap, memory_order_acquire);
    if (h != NULL)
        return h;
    pthread_mutex_lock(&env->lock);
    h = atomic_load_explicit(&env->heap, memory_order_relaxed);
    if (h == NULL) {
        h = heap_new(env->device, env->owner, env->heap_bytes);
        atomic_store_explicit(&env->heap, h, memory_order_release);
    }
    pthread_mutex_unlock(&env->lock);
    return h;
}

/* Whether it is kept what the run touches. */
static bool touches_told(const struct grid_run *run)
{
    return WEIR_UNLIKELY(atomic_load_explicit(&run->touched, memory_order_relaxed) != NULL);
}

void *grid_heap_malloc(struct jit_block *j, uint64_t bytes)
{
    struct grid_block *b = block_of(j);
    struct heap *h = heap_of(b->run->env);
    void *p = h != NULL ? heap_alloc(h, bytes) : NULL;
    if (p != NULL && touches_told(b->run))
        touch_allocated(b->run, (uint64_t)p, (uint64_t)p + heap_size(h, p));
    if (p != NULL && threads_compared(b))
        threads_allocated(b, (uint64_t)p, heap_size(h, p));
    return p;
}

bool grid_heap_free(struct grid_env *env, void *p)
{
    struct heap *h = heap_of(env);
    return h != NULL && heap_free(h, p);
}

/* void *malloc(size_t bytes) */
static void weir_rt_malloc(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    EACH_LANE(lane, mask)
    rets[lane] = (uint64_t)grid_heap_malloc(j, lane_arg(args, 0, (int)lane));
}

/* void free(void *) */
static void weir_rt_free(struct jit_block *j, uint32_t mask, const uint64_t *args, uint64_t *rets)
{
    (void)rets;
    const void *pc = __builtin_return_address(0);
    struct grid_block *b = block_of(j);
    struct heap *h = heap_of(b->run->env);
    EACH_LANE(lane, mask)
    {
        void *p = (void *)lane_arg(args, 0, (int)lane);
        if (touches_told(b->run) && h != NULL && p != NULL)
            touch_freed(b->run, (uint64_t)p, (uint64_t)p + heap_size(h, p));
        if (threads_compared(b) && h != NULL && p != NULL)
            threads_freed(b, lane, (uint64_t)p, heap_size(h, p), pc);
        if (p == NULL || (h != NULL && heap_free(h, p)))
            continue;
        fault_leave(b->worker,
                    &(struct trouble){.kind = GRID_FAULT_ADDRESS,
                                      .has_address = true,
                                      .address = (uint64_t)p,
                                      .mask = (uint32_t)1 << lane,
                                      .text = "free() of what malloc() did not return, or twice"});
    }
}

static enum grid_fault_kind kind_of(uint32_t kind)
{
    switch (kind) {
    case JIT_FAULT_ILLEGAL: return GRID_FAULT_ILLEGAL;
    case JIT_FAULT_PC: return GRID_FAULT_PC;
    case JIT_FAULT_MISALIGNED: return GRID_FAULT_MISALIGNED;
    case JIT_FAULT_STACK: return GRID_FAULT_STACK;
    default: return GRID_FAULT_TRAP;
    }
}

/* void cudaGraphSetConditional(unsigned long long handle, unsigned value): the handle is the
 * address of the word that a conditional node looks at. */
static void weir_rt_cudaGraphSetConditional(struct jit_block *j, uint32_t mask,
                                            const uint64_t *args, uint64_t *rets)
{
    (void)j;
    (void)rets;
    EACH_LANE(lane, mask)
    {
        uint32_t *word = (uint32_t *)lane_arg(args, 0, (int)lane);
        __atomic_store_n(word, (uint32_t)lane_arg(args, 1, (int)lane), __ATOMIC_RELEASE);
    }
}

static void weir_rt_fault(struct jit_block *j, uint32_t kind, uint32_t mask, uint64_t address)
{
    /* Of the call itself: it may be the last instruction there is. */
    uint64_t pc = (uint64_t)__builtin_return_address(0) - 1;
    fault_leave(block_of(j)->worker, &(struct trouble){.kind = kind_of(kind),
                                                       .has_address = kind == JIT_FAULT_MISALIGNED,
                                                       .address = address,
                                                       .pc = pc,
                                                       .mask = mask});
}

/* %globaltimer: ns of the wall clock, as on a GPU. */
static uint64_t weir_rt_globaltimer(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Polls before a block that cannot be parked gives way again: it has to look now and then only. */
enum { SPIN_BUDGET = 64 };

/* See abi/kernel_abi.h. A context with a fault ends what still waits in it. */
static void weir_rt_spin(struct jit_block *j)
{
    struct grid_block *b = block_of(j);
    if (grid_faulted(b->run->env) != GRID_FAULT_NONE)
        fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_TRAP});
    if (fiber_yield(b, false))
        return;
    j->budget = SPIN_BUDGET;
    if (b->worker->rest != NULL || b->worker->residents != NULL)
        rest_hand_over(b->worker);
    cdp_give(b->worker);
    if (b->run->parking->give_way != NULL)
        b->run->parking->give_way(b->run);
    else
        sched_yield();
}

/* See abi/kernel_abi.h. */
static void weir_rt_wait_here(struct jit_block *j)
{
    if (j->waiting == 0)
        return;
    j->waiting = 0;
    cdp_drain_here(block_of(j));
    while (!cdp_idle(block_of(j)))
        weir_rt_spin(j);
    threads_waited(block_of(j));
}

static const struct {
    const char *name;
    void *function;
} table[] = {
    {"vprintf", (void *)weir_rt_vprintf},
    {"__assertfail", (void *)weir_rt___assertfail},
    {"malloc", (void *)weir_rt_malloc},
    {"free", (void *)weir_rt_free},
    {"cudaGraphSetConditional", (void *)weir_rt_cudaGraphSetConditional},
    {"fault", (void *)weir_rt_fault},
    {"check", (void *)weir_rt_check},
    {"check_shared", (void *)weir_rt_check_shared},
    {"touch", (void *)weir_rt_touch},
    {"touched", (void *)weir_rt_touched},
    {"thread_access", (void *)weir_rt_thread_access},
    {"thread_order", (void *)weir_rt_thread_order},
    {"defined_read", (void *)weir_rt_defined_read},
    {"defined_write", (void *)weir_rt_defined_write},
    {"sync_barrier", (void *)weir_rt_sync_barrier},
    {"sync_warp", (void *)weir_rt_sync_warp},
    {"others", (void *)weir_rt_others},
    {"globaltimer", (void *)weir_rt_globaltimer},
    {"barrier_arrive", (void *)weir_rt_barrier_arrive},
    {"barrier_open", (void *)weir_rt_barrier_open},
    {"call", (void *)weir_rt_call},
    {"spin", (void *)weir_rt_spin},
    {"call_lanes", (void *)weir_rt_call_lanes},
    {"calls_over", (void *)weir_rt_calls_over},
    {"warps", (void *)weir_rt_warps},
    {"yield", (void *)weir_rt_yield},
    {"take_pending", (void *)weir_rt_take_pending},
    {"lanes_arrive", (void *)weir_rt_lanes_arrive},
    {"lanes_pass", (void *)weir_rt_lanes_pass},
    {"lanes_votes", (void *)weir_rt_lanes_votes},
    {"lanes_end", (void *)weir_rt_lanes_end},
    {"lanes_live", (void *)weir_rt_lanes_live},
    {"wait_here", (void *)weir_rt_wait_here},
    {"barrier_vote", (void *)weir_rt_barrier_vote},
    {"barrier_votes", (void *)weir_rt_barrier_votes},
    {"mbarrier", (void *)weir_rt_mbarrier},
    {"bulk", (void *)weir_rt_bulk},
    {"bulk_zero", (void *)weir_rt_bulk_zero},
    {"grid_arrive", (void *)weir_rt_grid_arrive},
    {"try_cancel", (void *)weir_rt_try_cancel},
    {"sums_admit", (void *)weir_rt_sums_admit},
    {"sums_add", (void *)weir_rt_sums_add},
    {"tensor_copy", (void *)weir_rt_tensor_copy},
    {"tensor_replace", (void *)weir_rt_tensor_replace},
    {"wgmma", (void *)weir_rt_wgmma},
    {"small_mma", (void *)weir_rt_small_mma},
    {"cluster_arrive", (void *)weir_rt_cluster_arrive},
    {"cluster_wait", (void *)weir_rt_cluster_wait},
    {"cluster_map", (void *)weir_rt_cluster_map},
    {"tex", (void *)weir_rt_tex},
    {"tex_one", (void *)weir_rt_tex_one},
    {"texture_query", (void *)weir_rt_texture_query},
    {"surface", (void *)weir_rt_surface},
};

void *grid_helper(const char *name)
{
    for (size_t i = 0; i < WEIR_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].function;
    return cdp_launch_helper(name);
}
