/* host: the host's own reads and writes of memory that it shares with devices.
 *
 * Pages that work has accessed which the host has not seen end lose their rights as soon as no
 * device work runs: all of them where there was a write, that to write where there were reads only.
 * The host's access then raises a signal. It is looked at, the page is opened for one instruction,
 * which the CPU ends with another signal (single step), and closed again. So every access is seen,
 * and memory that nothing is under way for costs nothing.
 *
 * While a host function runs, all memory shared with devices is closed: what the function touches
 * is what its command accesses. So it takes turns with device work, which may run beside it: each
 * waits for the other, a moment only, since the other may wait for it. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "memory/memory.h"
#include "races/internal.h"

#define PAGE ((uint64_t)4096)

/* Accesses that are looked at before pages are opened until the next work: a loop over memory that
 * is only near what is under way must come to its end. */
enum { STEPS_MAX = 1 << 14, OPEN_MAX = 4 };

/* How long a host function and device work wait for each other at most. Where one needs the other
 * to go on, that was in vain: functions that are enqueued at the same place get half of it the next
 * time. */
enum { TURN_NS = 150000000, TURN_LEAST_NS = 5000000 };

struct span {
    uint64_t low, high;
};

/* Memory of the host that devices reach. */
static struct {
    struct shared {
        uint64_t low, high;
        struct span pages; /* that may be closed */
        bool own;          /* the program's, which only work that is under way reaches */
    } *items;
    size_t count, cap;
} shared;

/* Accesses of it by work that the host has not seen end. */
static struct {
    struct under_way {
        struct moment *moment;
        enum access how;
        uint64_t low, high;
        struct span pages;
    } *items;
    size_t count, cap;
} under_way;

/* Pages without rights now, or that may only be read. */
static struct {
    struct closed {
        struct span pages;
        int rights;
    } *items;
    size_t count, cap;
} closed;

static bool can_close;
static uint32_t running;        /* works on devices */
static uint32_t steps;          /* since pages were closed */
static struct moment *function; /* that runs now */
static pthread_t function_thread;
static bool function_turn;             /* it runs, or waits for device work to end */
static bool function_awaited;          /* work has waited for it, */
static bool function_in_vain;          /* and longer than it may */
static struct timespec function_until; /* device work waits for it until then */
static pthread_cond_t turn;            /* function_turn is over; no device work runs */

/* Pages that this thread has opened for one instruction. */
static WEIR_THREAD_FAST uint64_t opened[OPEN_MAX];
static WEIR_THREAD_FAST uint32_t opened_count;

/* ---- pages ---- */

static void open_all(void)
{
    for (size_t i = 0; i < closed.count; i++) {
        struct span p = closed.items[i].pages;
        mprotect((void *)(uintptr_t)p.low, p.high - p.low, PROT_READ | PROT_WRITE);
    }
    closed.count = 0;
}

static void close_pages(struct span p, int rights)
{
    if (!can_close || p.low >= p.high ||
        mprotect((void *)(uintptr_t)p.low, p.high - p.low, rights) != 0)
        return;
    vec_push(&closed, (struct closed){p, rights});
}

/* The rights that a page is to have. */
static int rights_of(uint64_t page)
{
    int rights = PROT_READ | PROT_WRITE;
    for (size_t i = 0; i < closed.count; i++)
        if (page >= closed.items[i].pages.low && page < closed.items[i].pages.high)
            rights &= closed.items[i].rights;
    return rights;
}

static void close_under_way(void)
{
    steps = 0;
    for (int reads = 1; reads >= 0; reads--) /* writes last: their rights hold */
        for (size_t i = 0; i < under_way.count; i++) {
            const struct under_way *u = &under_way.items[i];
            if ((u->how == ACCESS_READ) == (reads == 1))
                close_pages(u->pages, u->how == ACCESS_READ ? PROT_READ : PROT_NONE);
        }
}

static void close_all(void)
{
    steps = 0;
    for (size_t i = 0; i < shared.count; i++)
        close_pages(shared.items[i].pages, PROT_NONE);
}

static void close_what_must(void)
{
    open_all();
    if (running > 0)
        return;
    if (function != NULL)
        close_all();
    else
        close_under_way();
}

/* ---- what devices do ---- */

/* That is no memory which the host shares with devices any more. */
static void drop(uint64_t low, uint64_t high)
{
    size_t kept = 0;
    for (size_t i = 0; i < shared.count; i++)
        if (shared.items[i].high <= low || shared.items[i].low >= high)
            shared.items[kept++] = shared.items[i];
    shared.count = kept;
    kept = 0;
    for (size_t i = 0; i < under_way.count; i++) {
        if (under_way.items[i].high <= low || under_way.items[i].low >= high)
            under_way.items[kept++] = under_way.items[i];
        else
            moment_unref(under_way.items[i].moment);
    }
    under_way.count = kept;
}

void races_host_memory(const struct observe_memory *m, bool made)
{
    if (m->kind != OBSERVE_MANAGED && m->kind != OBSERVE_PINNED && m->kind != OBSERVE_REGISTERED)
        return;
    uint64_t low = m->address, high = low + m->bytes;
    open_all();
    drop(low, high);
    if (!made)
        return;
    /* Pages at the ends of what the program has registered hold other data of its own. */
    uint64_t base = 0, bytes = 0;
    mem_range(MEM_HOST, &base, &bytes);
    bool whole = low - base >= bytes;
    struct span pages = {whole ? (low + PAGE - 1) & ~(PAGE - 1) : low & ~(PAGE - 1),
                         whole ? high & ~(PAGE - 1) : (high + PAGE - 1) & ~(PAGE - 1)};
    vec_push(&shared, (struct shared){low, high, pages, false});
}

void races_host_watch(uint64_t low, uint64_t high)
{
    struct span pages = {(low + PAGE - 1) & ~(PAGE - 1), high & ~(PAGE - 1)};
    for (size_t i = 0; i < shared.count; i++)
        if (shared.items[i].low < high && shared.items[i].high > low)
            return;
    if (pages.low >= pages.high || !pageable_may_close(pages.low, pages.high))
        pages = (struct span){0}; /* that it ends is seen */
    vec_push(&shared, (struct shared){low, high, pages, true});
}

bool races_host_idle(void) { return under_way.count == 0; }

bool races_host_is_under_way(uint64_t low, uint64_t high)
{
    for (size_t i = 0; i < under_way.count; i++)
        if (under_way.items[i].low < high && under_way.items[i].high > low)
            return true;
    return false;
}

void races_host_gone(uint64_t low, uint64_t high)
{
    drop(low, high);
    pageable_changed();
    close_what_must();
}

struct moment *races_host_function(void)
{
    return function != NULL && pthread_equal(function_thread, pthread_self()) ? function : NULL;
}

/* Nothing is under way there any more. */
static void unwatch(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < shared.count; i++)
        if (!shared.items[i].own)
            shared.items[kept++] = shared.items[i];
    shared.count = kept;
}

void races_host_pending(struct moment *m, enum access how, uint64_t low, uint64_t high)
{
    for (size_t i = 0; i < shared.count; i++) {
        const struct shared *s = &shared.items[i];
        uint64_t from = low > s->low ? low : s->low, to = high < s->high ? high : s->high;
        if (from >= to)
            continue;
        struct under_way *last = under_way.count > 0 ? &under_way.items[under_way.count - 1] : NULL;
        struct span pages = {from & ~(PAGE - 1), (to + PAGE - 1) & ~(PAGE - 1)};
        if (pages.low < s->pages.low)
            pages.low = s->pages.low;
        if (pages.high > s->pages.high)
            pages.high = s->pages.high;
        if (last != NULL && last->moment == m && last->how == how &&
            pages.low <= last->pages.high &&
            pages.low >= last->pages.low) { /* ranges come in order: one span of pages */
            last->pages.high = pages.high > last->pages.high ? pages.high : last->pages.high;
            last->high = to > last->high ? to : last->high;
            continue;
        }
        vec_push(&under_way, (struct under_way){moment_ref(m), how, from, to, pages});
        released_matters();
    }
}

void races_host_saw(void)
{
    size_t kept = 0, had = under_way.count;
    for (size_t i = 0; i < had; i++) {
        if (moment_seen(under_way.items[i].moment))
            moment_unref(under_way.items[i].moment);
        else
            under_way.items[kept++] = under_way.items[i];
    }
    under_way.count = kept;
    if (kept < had)
        close_what_must();
    if (kept == 0 && had > 0 && running == 0)
        unwatch();
    if (kept == 0 && order_pending() == 0)
        scopes_forget();
}

/* ---- turns ---- */

/* How long those that were enqueued at a place wait, and are waited for. */
struct patience {
    const void *pc;
    uint32_t waits_ns, awaited_ns;
};
static struct {
    struct patience *items;
    size_t count, cap;
} patience;
static size_t patience_of_function; /* the index of the one that has its turn */

static size_t patience_find(const void *pc)
{
    for (size_t i = 0; i < patience.count; i++)
        if (patience.items[i].pc == pc)
            return i;
    vec_push(&patience, (struct patience){pc, TURN_NS, TURN_NS});
    return patience.count - 1;
}

static void patience_learn(uint32_t *ns, bool in_vain)
{
    if (in_vain)
        *ns = *ns / 2 > TURN_LEAST_NS ? *ns / 2 : TURN_LEAST_NS;
    else
        *ns = *ns < TURN_NS / 2 ? *ns * 2 : TURN_NS;
}

static struct timespec turn_ends(uint32_t ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ns;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* The lock of all is given up meanwhile. */
static bool turn_wait(const struct timespec *until)
{
    return pthread_cond_timedwait(&turn, &races_lock, until) == 0;
}

static void await_function(void)
{
    while (function_turn && !pthread_equal(function_thread, pthread_self())) {
        function_awaited = true;
        if (!turn_wait(&function_until)) {
            function_in_vain |= function_turn;
            break;
        }
    }
}

static void await_work(void)
{
    struct timespec until = turn_ends(patience.items[patience_of_function].waits_ns);
    bool waits = running > 0, ended = true;
    while (running > 0 && ended)
        ended = turn_wait(&until);
    if (waits)
        patience_learn(&patience.items[patience_of_function].waits_ns, !ended);
}

void races_host_work_begins(void)
{
    await_function();
    if (running++ == 0)
        open_all();
}

void races_host_work_ended(void)
{
    if (running > 0)
        running--;
    if (running > 0)
        return;
    pthread_cond_broadcast(&turn);
    if (under_way.count > 0 || function != NULL)
        close_what_must();
}

void races_host_opens(void) { open_all(); }

bool races_host_shares(uint64_t low, uint64_t high)
{
    for (size_t i = 0; i < shared.count; i++)
        if (shared.items[i].low < high && shared.items[i].high > low)
            return true;
    return false;
}

void races_host_function_begins(struct moment *m)
{
    moment_unref(function);
    function = NULL;
    function_thread = pthread_self();
    function_turn = true;
    function_awaited = function_in_vain = false;
    patience_of_function = patience_find(m != NULL ? m->site.frames[0] : NULL);
    function_until = turn_ends(patience.items[patience_of_function].waits_ns);
    await_work();
    function_until = turn_ends(patience.items[patience_of_function].awaited_ns);
    function = m;
    if (m != NULL)
        born_function_begins(m);
    close_what_must();
}

void races_host_function_ends(void)
{
    if (!function_turn || !pthread_equal(function_thread, pthread_self()))
        return;
    function_turn = false;
    if (function_awaited)
        patience_learn(&patience.items[patience_of_function].awaited_ns, function_in_vain);
    pthread_cond_broadcast(&turn);
    if (function == NULL)
        return;
    moment_unref(function);
    function = NULL;
    born_function_ends();
    close_what_must();
}

void races_host_part(struct moment *part)
{
    if (function == NULL || !pthread_equal(function_thread, pthread_self()))
        return;
    moment_unref(function);
    function = moment_ref(part);
}

/* ---- signals ---- */

#if defined(__x86_64__)
enum { STEPS = 1, STEP_FLAG = 0x100 };

static void step(void *context, bool on)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    *flags = on ? *flags | STEP_FLAG : *flags & ~(greg_t)STEP_FLAG;
}

static bool is_write(const void *context)
{
    return (((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

static const void *pc_of(const void *context)
{
    return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

#else
/* Elsewhere instructions are not stepped, and the host's accesses are not seen. */
enum { STEPS = 0 };
static void step(void *context, bool on)
{
    (void)context;
    (void)on;
}
static bool is_write(const void *context) { return context == NULL; }
static const void *pc_of(const void *context) { return context; }
#endif

static bool is_closed(uint64_t at)
{
    for (size_t i = 0; i < closed.count; i++)
        if (at >= closed.items[i].pages.low && at < closed.items[i].pages.high)
            return true;
    return false;
}

static void look(uint64_t at, enum access how, const void *at_pc)
{
    const void *pc = races_names.program_pc(at_pc);
    bool inside = false;
    for (size_t i = 0; i < shared.count && !inside; i++)
        inside = at >= shared.items[i].low && at < shared.items[i].high;
    if (!inside)
        return;
    if (races_host_function() != NULL) {
        sync_function_touches(at_pc);
        function->pc = pc;
        shadow_access(function, how, at, at + 1, held_race);
        races_host_pending(function, how, at, at + 1);
        return;
    }
    if (how == ACCESS_READ && order_value_read(at))
        races_host_saw();
    struct moment *m = order_host(pc);
    shadow_look(m, how, at, at + 1, held_race);
    moment_unref(m);
}

static bool on_access(uint64_t at, void *context, bool device_work)
{
    uint64_t page = at & ~(PAGE - 1);
    races_enter();
    if (!is_closed(at)) { /* another thread has opened it meanwhile, or it is none of ours */
        bool ours = false;
        for (size_t i = 0; i < shared.count && !ours; i++)
            ours = at >= shared.items[i].pages.low && at < shared.items[i].pages.high;
        races_leave();
        return ours;
    }
    if (device_work || steps >= STEPS_MAX || opened_count == OPEN_MAX) {
        open_all();
        races_leave();
        return true;
    }
    steps++;
    look(at, is_write(context) ? ACCESS_WRITE : ACCESS_READ, pc_of(context));
    mprotect((void *)(uintptr_t)page, PAGE, PROT_READ | PROT_WRITE);
    opened[opened_count++] = page;
    step(context, true);
    races_leave();
    return true;
}

static bool on_step(void *context)
{
    if (opened_count == 0)
        return false;
    races_enter();
    for (uint32_t i = 0; i < opened_count; i++)
        mprotect((void *)(uintptr_t)opened[i], PAGE, rights_of(opened[i]));
    opened_count = 0;
    step(context, false);
    races_leave();
    return true;
}

bool races_signal(int signal, siginfo_t *info, void *context, bool device_work)
{
    if (signal == SIGTRAP)
        return on_step(context);
    return signal == SIGSEGV && info->si_code > 0 &&
           on_access((uint64_t)(uintptr_t)info->si_addr, context, device_work);
}

static struct sigaction trap_before;

static void on_trap(int signal, siginfo_t *info, void *context)
{
    if (on_step(context))
        return;
    if ((trap_before.sa_flags & SA_SIGINFO) != 0) {
        trap_before.sa_sigaction(signal, info, context);
    } else if (trap_before.sa_handler == SIG_DFL) {
        sigaction(signal, &trap_before, NULL);
        raise(signal);
    } else if (trap_before.sa_handler != SIG_IGN) {
        trap_before.sa_handler(signal);
    }
}

bool races_host_open(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&turn, &monotonic);
    pthread_condattr_destroy(&monotonic);
    action.sa_sigaction = on_trap;
    can_close = STEPS == 1 && sysconf(_SC_PAGESIZE) == (long)PAGE;
    return sigaction(SIGTRAP, &action, &trap_before) == 0;
}
