/* fault: what goes wrong in device code: the signal handlers, the way out, and the fault report. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "base/slow_path.h"
#include "base/stack.h"
#include "exec/internal.h"
#include "memory/memory.h"
#include "memory/view.h"

void fault_leave(struct grid_worker *w, const struct trouble *t)
{
    w->trouble = *t;
    w->armed = 0;
    atomic_signal_fence(memory_order_seq_cst);
    float_sums_abandon(w);
    if (w->current != NULL)
        fiber_abandon(w->current);
    siglongjmp(*w->escape, 1);
}

/* ---- signals ---- */

static uint64_t pc_of(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    return (uint64_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return u->uc_mcontext.pc;
#else
#error "say where a signal context keeps the program counter on this CPU"
#endif
}

/* Where the function returns to, if it keeps a frame pointer, as those do that move memory for
 * kernels. In others that register holds anything: the word beside where it points to is read only
 * on the stack, not far above the function's end of it. */
static uint64_t caller_of(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    uint64_t frame = (uint64_t)u->uc_mcontext.gregs[REG_RBP];
    uint64_t end = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    uint64_t frame = u->uc_mcontext.regs[29], end = u->uc_mcontext.sp;
#endif
    bool near = frame % sizeof(uint64_t) == 0 && frame - end < 2048;
    return near ? ((const uint64_t *)(uintptr_t)frame)[1] : 0;
}

static struct trouble trouble_of(const struct grid_worker *w, int signal, const siginfo_t *info,
                                 const void *context)
{
    struct trouble t = {.signal = signal, .pc = pc_of(context), .caller = caller_of(context)};
    if (signal == SIGILL) {
        t.kind = GRID_FAULT_ILLEGAL;
    } else if (signal == SIGFPE) {
        t.kind = GRID_FAULT_TRAP;
    } else {
        t.kind = signal == SIGBUS && info->si_code == BUS_ADRALN ? GRID_FAULT_MISALIGNED
                                                                 : GRID_FAULT_ADDRESS;
        /* Addresses outside the 48 bits that CPUs have are not told by x86. */
        t.has_address = info->si_code != SI_KERNEL;
        t.address = (uint64_t)info->si_addr;
        if (t.has_address && (stack_ends_at(t.address) ||
                              (w->current != NULL && fiber_stack_ends_at(w->current, t.address))))
            t.kind = GRID_FAULT_STACK;
    }
    return t;
}

static grid_host_touch_fn host_touch;

void grid_set_host_touch(grid_host_touch_fn fn) { host_touch = fn; }

static bool is_write(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *u = context;
    return (u->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    return false; /* not told */
#endif
}

/* In a device's range, or right in front of it, as the header of a block is that free() expects. */
static bool is_devices(const char *address)
{
    return mem_in_device_range(address) || mem_in_device_range(address + 64);
}

void fault_on_signal(int signal, siginfo_t *info, void *context)
{
    struct grid_worker *w = worker_of_thread();
    /* A code above 0 comes from the CPU, not from kill(). */
    if (w != NULL && w->armed && info->si_code > 0) {
        struct trouble t = trouble_of(w, signal, info, context);
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
        fault_leave(w, &t);
    }
    if (mem_guarded() && info->si_code > 0 && host_touch != NULL && is_devices(info->si_addr))
        host_touch((uint64_t)info->si_addr, pc_of(context), is_write(context));
}

/* ---- the fault report ---- */

static const char *kind_words(enum grid_fault_kind kind)
{
    switch (kind) {
    case GRID_FAULT_ADDRESS: return "illegal address";
    case GRID_FAULT_MISALIGNED: return "misaligned address";
    case GRID_FAULT_ILLEGAL: return "illegal instruction";
    case GRID_FAULT_PC: return "call through a pointer to no function";
    case GRID_FAULT_TRAP: return "trap";
    case GRID_FAULT_ASSERT: return "assertion failed";
    case GRID_FAULT_STACK: return "call stack used up";
    case GRID_FAULT_HANDLE: return "a handle used where it is not valid";
    case GRID_FAULT_MEMORY: return "no memory for the frame, shared and local memory of a block";
    default: return "fault";
    }
}

/* Of a block that is several neighbours side by side: which of them, and which of its threads. */
static void part_joined(struct grid_fault *f, uint32_t joined, const uint32_t shape[3])
{
    uint32_t width = shape[0] / joined;
    f->block[0] = f->block[0] * joined + f->thread[0] / width;
    f->thread[0] %= width;
    f->warp = ((f->thread[2] * shape[1] + f->thread[1]) * width + f->thread[0]) / JIT_WARP;
}

/* Which block, warp and thread. */
static void fill_place(struct grid_fault *f, const struct grid_worker *w)
{
    const struct trouble *t = &w->trouble;
    f->lane = t->mask != 0 && (t->mask & (t->mask - 1)) == 0 ? __builtin_ctz(t->mask) : -1;
    if (w->current == NULL)
        return;
    const struct jit_block *j = &w->current->jit;
    struct grid_kernel *k = w->current->run->launch.kernel;
    if (k->builtin)
        return;
    f->kernel_ref = k;
    f->gridid = j->gridid;
    memcpy(f->block, j->ctaid, sizeof f->block);
    uint32_t thread = j->warp * JIT_WARP + (f->lane > 0 ? (uint32_t)f->lane : 0);
    f->thread[0] = thread % j->ntid[0];
    f->thread[1] = thread / j->ntid[0] % j->ntid[1];
    f->thread[2] = thread / j->ntid[0] / j->ntid[1];
    f->warp = j->warp;
    if (k->joined > 1)
        part_joined(f, k->joined, j->ntid);
    const uint8_t *later = atomic_load_explicit(&k->optimized_text, memory_order_acquire);
    if (k->text != NULL && t->pc - (uint64_t)k->text < k->text_bytes)
        f->pc = t->pc - (uint64_t)k->text;
    else if (later != NULL && t->pc - (uint64_t)later < k->optimized_bytes)
        f->pc = t->pc - (uint64_t)later;
}

/* Words for an address in the block's shared memory, or in the guards around it. False: it is in
 * neither. */
static bool append_own(struct strbuf *sb, uint64_t address, const struct grid_block *b)
{
    const struct jit_block *j = &b->jit;
    uint64_t shared = (uint64_t)j->shared, end = shared + j->total_shared;
    if (address - shared < j->total_shared)
        sb_printf(sb, "byte %llu of the block's %u bytes of shared memory",
                  (unsigned long long)(address - shared), j->total_shared);
    else if (address == end)
        sb_printf(sb, "just past the block's %u bytes of shared memory", j->total_shared);
    else if (address - end < b->guard)
        sb_printf(sb, "%llu bytes past the block's %u bytes of shared memory",
                  (unsigned long long)(address - end), j->total_shared);
    else if (j->total_shared > 0 && shared - address <= b->guard)
        sb_printf(sb, "%llu bytes before the block's %u bytes of shared memory",
                  (unsigned long long)(shared - address), j->total_shared);
    else
        return false;
    return true;
}

/* An address that is no memory and in reach of an index into the block's shared memory. */
static void append_distance(struct strbuf *sb, uint64_t address, const struct jit_block *j)
{
    const uint64_t reach = (uint64_t)1 << 31;
    uint64_t shared = (uint64_t)j->shared, end = shared + j->total_shared;
    bool past = address - end < reach;
    if (j->total_shared == 0 || (!past && shared - address > reach))
        return;
    sb_printf(sb, " (%llu bytes %s the block's %u bytes of shared memory)",
              (unsigned long long)(past ? address - end : shared - address),
              past ? "past" : "before", j->total_shared);
}

/* ": 0x7f12 is 16 bytes past ..." */
static void append_address(struct strbuf *sb, struct grid_fault *f, const struct grid_worker *w)
{
    sb_printf(sb, ": 0x%llx is ", (unsigned long long)f->address);
    if (w->current != NULL && append_own(sb, f->address, w->current))
        return;
    mem_place_of((void *)f->address, &f->place);
    mem_describe((void *)f->address, sb);
    if (f->place.relation == MEM_NOWHERE && w->current != NULL)
        append_distance(sb, f->address, &w->current->jit);
    if (f->place.relation != MEM_INSIDE || w->env == NULL ||
        !mem_foreign(w->env->device, w->env->peers, f->address))
        return;
    if (f->place.device >= 0 && f->place.device != w->env->device)
        sb_printf(sb, ", memory of device %d", f->place.device);
    sb_printf(sb, " that device %d has no access to", w->env->device);
}

static void append_thread(struct strbuf *sb, const struct grid_fault *f)
{
    if (f->kernel_ref == NULL) {
        if (f->kernel[0] != '\0')
            sb_printf(sb, " in a %s", f->kernel);
        return;
    }
    sb_printf(sb, " in kernel %s, block (%u,%u,%u), ", f->kernel, f->block[0], f->block[1],
              f->block[2]);
    if (f->lane >= 0)
        sb_printf(sb, "thread (%u,%u,%u)", f->thread[0], f->thread[1], f->thread[2]);
    else
        sb_printf(sb, "warp %u (threads from (%u,%u,%u) on)", f->warp, f->thread[0], f->thread[1],
                  f->thread[2]);
}

/* Which threads launched the grid, the one that launched theirs, and so on. */
static void fill_launches(struct grid_fault *f, const struct grid_worker *w)
{
    const struct grid_run *run = w->current != NULL ? w->current->run : NULL;
    for (; run != NULL && run->origin != NULL; run = run->origin->parent, f->launch_count++) {
        const struct cdp_child *c = run->origin;
        const struct grid_launch *l = &c->parent->launch;
        uint32_t x = l->block[0], y = l->block[1], t = cdp_child_thread(c, run->origin_index);
        if (f->launch_count >= GRID_FAULT_LAUNCHES)
            continue;
        struct grid_fault_launch *to = &f->launches[f->launch_count];
        strncpy(to->kernel, l->kernel->name, sizeof to->kernel - 1);
        to->gridid = c->parent->gridid;
        memcpy(to->block, c->block, sizeof to->block);
        to->thread[0] = t % x;
        to->thread[1] = t / x % y;
        to->thread[2] = t / x / y;
    }
}

static void append_launches(struct strbuf *sb, const struct grid_fault *f)
{
    for (uint32_t n = 0; n < f->launch_count && n < GRID_FAULT_LAUNCHES; n++) {
        const struct grid_fault_launch *l = &f->launches[n];
        sb_printf(sb, "; launched by kernel %s, block (%u,%u,%u), thread (%u,%u,%u)", l->kernel,
                  l->block[0], l->block[1], l->block[2], l->thread[0], l->thread[1], l->thread[2]);
    }
    if (f->launch_count > GRID_FAULT_LAUNCHES)
        sb_printf(sb, "; and %u launches before that", f->launch_count - GRID_FAULT_LAUNCHES);
}

static void append_report(struct strbuf *sb, struct grid_fault *f, const struct grid_worker *w)
{
    sb_printf(sb, "%s", kind_words(f->kind));
    append_thread(sb, f);
    f->place_end = (uint32_t)sb->count;
    if (f->pc != UINT64_MAX)
        sb_printf(sb, ", code offset 0x%llx", (unsigned long long)f->pc);
    f->printed = f->printed_end = (uint32_t)sb->count;
    if (w->trouble.text != NULL)
        sb_printf(sb, ": %s", w->trouble.text);
    if (f->kind == GRID_FAULT_ASSERT)
        f->printed_end = (uint32_t)sb->count < sizeof f->text ? (uint32_t)sb->count
                                                              : (uint32_t)sizeof f->text - 1;
    if (f->kind == GRID_FAULT_STACK && !f->has_address) /* else the CPU's own stack */
        sb_printf(sb, "; cudaDeviceSetLimit(cudaLimitStackSize, ...) sets its size, now %llu bytes",
                  (unsigned long long)w->env->stack_bytes);
    else if (f->has_address && f->kind != GRID_FAULT_STACK)
        append_address(sb, f, w);
    append_launches(sb, f);
}

void fault_record(struct grid_worker *w)
{
    struct grid_env *env = w->env;
    if (grid_faulted(env) != GRID_FAULT_NONE)
        return;
    const struct trouble *t = &w->trouble;
    struct grid_fault f = {.kind = t->kind,
                           .has_address = t->has_address,
                           .address = t->address,
                           .pc = UINT64_MAX,
                           .pc_address = (void *)t->pc,
                           .caller = (void *)t->caller};
    fill_place(&f, w);
    fill_launches(&f, w);
    const char *name = w->what != NULL      ? w->what
                       : w->current != NULL ? w->current->run->launch.kernel->name
                                            : "";
    strncpy(f.kernel, name, sizeof f.kernel - 1);
    struct strbuf sb = {0};
    append_report(&sb, &f, w);
    strncpy(f.text, sb.items, sizeof f.text - 1);
    sb_free(&sb);

    pthread_mutex_lock(&env->lock);
    if (grid_faulted(env) == GRID_FAULT_NONE) {
        env->fault = f;
        slow_path_set(SLOW_PATH_FAULT);
        atomic_store_explicit(&env->faulted, (int)f.kind, memory_order_release);
    }
    pthread_mutex_unlock(&env->lock);
}
