/* The oracle's machine: the threads of a block as fibers of one host thread. A fiber runs until it
 * waits for others (host_meet) or ends. When none can run, the waits whose threads have all arrived
 * are answered. */
#ifndef PROGRAM_FIBERS_H
#define PROGRAM_FIBERS_H

#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

enum { HOST_STACK = 256 << 10, HOST_THREADS = 1024, HOST_SHARED = 64 << 10, HOST_LAUNCHES = 64 };

/* What a thread waits for. Those up to OP_OR are the block's. */
enum host_op {
    OP_BARRIER,
    OP_COUNT,
    OP_AND,
    OP_OR,
    OP_WARP,
    OP_IDX,
    OP_UP,
    OP_DOWN,
    OP_XOR,
    OP_BALLOT,
    OP_ANY,
    OP_ALL,
    OP_MATCH,
    OP_MATCH_ALL,
    OP_SUM,
    OP_MIN,
    OP_MAX,
    OP_SMIN,
    OP_SMAX,
    OP_BITS_AND,
    OP_BITS_OR,
    OP_BITS_XOR,
};

enum host_state { HOST_READY, HOST_WAITS, HOST_ENDED };

struct host_thread {
#ifdef __x86_64__
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    enum host_state state;
    uint3 index;
    enum host_op op;
    u32 mask, site; /* of the operation that it waits for; the site is its line */
    u64 value, result;
    u32 lane, width; /* of a shuffle: the source lane or the distance */
};

/* A launch by a kernel, which waits for the end of its grid. */
struct host_launch {
    void (*body)(struct args);
    dim3 block;
    struct args args;
};

struct host_machine {
    struct host_thread threads[HOST_THREADS], *now;
    u32 count;
    uint3 block;
    dim3 grid, size;
    void (*body)(struct args);
    struct args args;
#ifdef __x86_64__
    void *scheduler;
#else
    ucontext_t scheduler;
#endif
    char *stacks;
    struct host_launch launches[HOST_LAUNCHES];
    u32 launch_count;
    const char *name;
    alignas(16) char shared[HOST_SHARED], dynamic[HOST_SHARED];
};

static struct host_machine host;

[[noreturn]] static void host_fail(const char *what)
{
    struct host_thread *t = host.now;
    fprintf(stderr, "generator: %s in %s", what, host.name);
    if (t != NULL)
        fprintf(stderr, ", block (%u,%u,%u), thread (%u,%u,%u), line %u", host.block.x,
                host.block.y, host.block.z, t->index.x, t->index.y, t->index.z, t->site);
    fprintf(stderr, "\n");
    exit(3);
}

#ifdef __x86_64__
extern "C" void host_switch(void **from, void *to);
asm(R"(
.text
.type host_switch, @function
host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size host_switch, .-host_switch
)");
static void host_leave(struct host_thread *t) { host_switch(&t->stack_pointer, host.scheduler); }
static void host_enter(struct host_thread *t) { host_switch(&host.scheduler, t->stack_pointer); }
#else
static void host_leave(struct host_thread *t) { swapcontext(&t->context, &host.scheduler); }
static void host_enter(struct host_thread *t) { swapcontext(&host.scheduler, &t->context); }
#endif

/* Ends the thread that runs, wherever it is. */
[[noreturn]] static void host_exit(void)
{
    host.now->state = HOST_ENDED;
    host_leave(host.now);
    abort();
}

static void host_start(void)
{
    host.body(host.args);
    host_exit();
}

static void host_prepare(u32 k)
{
    struct host_thread *t = &host.threads[k];
    char *stack = host.stacks + (size_t)k * HOST_STACK;
    memset(t, 0, sizeof *t);
    t->index.x = k % host.size.x;
    t->index.y = k / host.size.x % host.size.y;
    t->index.z = k / host.size.x / host.size.y;
#ifdef __x86_64__
    void **top = (void **)(stack + HOST_STACK) - 1; /* as a call would leave it */
    *--top = (void *)host_start;
    t->stack_pointer = top - 6; /* the registers that host_switch takes from the stack */
#else
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = stack;
    t->context.uc_stack.ss_size = HOST_STACK;
    t->context.uc_link = NULL;
    makecontext(&t->context, host_start, 0);
#endif
}

/* Waits until all that the operation names have arrived. */
static u64 host_meet(enum host_op op, u32 mask, u64 value, u32 lane, u32 width, u32 site)
{
    struct host_thread *t = host.now;
    t->op = op;
    t->mask = mask;
    t->value = value;
    t->lane = lane;
    t->width = width;
    t->site = site;
    u32 own = (u32)(t - host.threads) & 31u;
    if (op > OP_OR && !(mask >> own & 1u))
        host_fail("a warp operation without its own lane");
    t->state = HOST_WAITS;
    host_leave(t);
    return t->result;
}

/* The lane from which a lane of a warp reads, or -1 where it keeps its own value. */
static int host_source(const struct host_thread *t, u32 own)
{
    u32 outside = 32u - t->width; /* the bits of a lane's number that choose its segment */
    u32 first = own & outside, last = first | (31u & ~outside);
    int from;
    switch (t->op) {
    case OP_IDX: return (int)(first | (t->lane & 31u & ~outside));
    case OP_UP: from = (int)own - (int)(t->lane & 31u); return from >= (int)first ? from : -1;
    case OP_DOWN: from = (int)own + (int)(t->lane & 31u); return from <= (int)last ? from : -1;
    default: from = (int)(own ^ (t->lane & 31u)); return from <= (int)last ? from : -1;
    }
}

/* Answers a warp operation: lanes are those that take part. */
static void host_answer_warp(struct host_thread *warp, u32 lanes)
{
    enum host_op op = warp[__builtin_ctz(lanes)].op;
    u32 ballot = 0;
    bool same = true, begun = false;
    u32 sum = 0;
    for (u32 k = 0; k < 32; k++) {
        if (!(lanes >> k & 1u))
            continue;
        u32 v = (u32)warp[k].value;
        ballot |= (v != 0 ? 1u : 0u) << k;
        same = same && warp[k].value == warp[__builtin_ctz(lanes)].value;
        if (!begun)
            sum = v;
        else
            sum = op == OP_SUM        ? sum + v
                  : op == OP_MIN      ? (v < sum ? v : sum)
                  : op == OP_MAX      ? (v > sum ? v : sum)
                  : op == OP_SMIN     ? ((s32)v < (s32)sum ? v : sum)
                  : op == OP_SMAX     ? ((s32)v > (s32)sum ? v : sum)
                  : op == OP_BITS_AND ? (sum & v)
                  : op == OP_BITS_OR  ? (sum | v)
                                      : (sum ^ v);
        begun = true;
    }
    for (u32 k = 0; k < 32; k++) {
        struct host_thread *t = &warp[k];
        if (!(lanes >> k & 1u))
            continue;
        int from;
        switch (op) {
        case OP_IDX:
        case OP_UP:
        case OP_DOWN:
        case OP_XOR:
            from = host_source(t, k);
            t->result = from < 0 ? t->value : lanes >> from & 1u ? warp[from].value : 0;
            break;
        case OP_WARP: break;
        case OP_BALLOT: t->result = ballot; break;
        case OP_ANY: t->result = ballot != 0; break;
        case OP_ALL: t->result = ballot == lanes; break;
        case OP_MATCH:
            t->result = 0;
            for (u32 j = 0; j < 32; j++)
                if (lanes >> j & 1u && warp[j].value == t->value)
                    t->result |= 1ull << j;
            break;
        case OP_MATCH_ALL: t->result = same ? lanes : 0; break;
        default: t->result = sum; break;
        }
    }
    for (u32 k = 0; k < 32; k++)
        if (lanes >> k & 1u)
            warp[k].state = HOST_READY;
}

/* Answers what the lanes of one warp wait for, as far as all of them have arrived. */
static bool host_meet_warp(u32 first)
{
    struct host_thread *warp = &host.threads[first];
    u32 size = host.count - first < 32 ? host.count - first : 32, alive = 0;
    bool answered = false;
    for (u32 k = 0; k < size; k++)
        if (warp[k].state != HOST_ENDED)
            alive |= 1u << k;
    for (u32 k = 0; k < size; k++) {
        struct host_thread *t = &warp[k];
        if (t->state != HOST_WAITS || t->op <= OP_OR)
            continue;
        u32 lanes = t->mask & alive, here = 0;
        for (u32 j = 0; j < size; j++)
            if (lanes >> j & 1u && warp[j].state == HOST_WAITS && warp[j].op == t->op &&
                warp[j].mask == t->mask && warp[j].site == t->site)
                here |= 1u << j;
        if (here == lanes) {
            host_answer_warp(warp, lanes);
            answered = true;
        }
    }
    return answered;
}

static bool host_meet_block(void)
{
    struct host_thread *one = NULL;
    u32 count = 0, alive = 0;
    for (u32 k = 0; k < host.count; k++) {
        struct host_thread *t = &host.threads[k];
        if (t->state == HOST_ENDED)
            continue;
        one = one == NULL ? t : one;
        host.now = t;
        if (t->op > OP_OR || t->op != one->op || t->site != one->site)
            host_fail("threads that wait for each other");
        alive++;
        count += t->value != 0;
    }
    for (u32 k = 0; k < host.count; k++) {
        struct host_thread *t = &host.threads[k];
        if (t->state == HOST_ENDED)
            continue;
        t->result = t->op == OP_AND ? count == alive : t->op == OP_OR ? count != 0 : count;
        t->state = HOST_READY;
    }
    return alive != 0;
}

/* Runs a block to its end. */
static void host_run_block(bool backward)
{
    for (u32 k = 0; k < host.count; k++)
        host_prepare(k);
    memset(host.shared, backward ? 0x5a : 0xa5, sizeof host.shared); /* what is not set shows, too */
    memset(host.dynamic, backward ? 0x5a : 0xa5, sizeof host.dynamic);
    for (;;) {
        for (u32 i = 0; i < host.count; i++) {
            host.now = &host.threads[backward ? host.count - 1 - i : i];
            if (host.now->state == HOST_READY)
                host_enter(host.now);
        }
        bool answered = false;
        for (u32 first = 0; first < host.count; first += 32)
            answered |= host_meet_warp(first);
        if (!answered && !host_meet_block())
            return;
    }
}

static void host_launch(void (*body)(struct args), dim3 block, struct args args, u32 *out)
{
    if (host.launch_count == HOST_LAUNCHES)
        host_fail("too many launches");
    struct host_launch *launch = &host.launches[host.launch_count++];
    launch->body = body;
    launch->block = block;
    launch->args = args;
    launch->args.out = out;
}

static void host_run(const char *name, dim3 grid, dim3 block, void (*body)(struct args),
                     struct args args, bool backward)
{
    if (host.stacks == NULL) {
        host.stacks = (char *)mmap(NULL, (size_t)HOST_STACK * HOST_THREADS, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (host.stacks == MAP_FAILED)
            host_fail("no memory for stacks");
    }
    host.name = name;
    host.grid = grid;
    host.size = block;
    host.count = block.x * block.y * block.z;
    host.body = body;
    host.args = args;
    u32 blocks = grid.x * grid.y * grid.z;
    for (u32 i = 0; i < blocks; i++) {
        u32 b = backward ? blocks - 1 - i : i;
        host.block.x = b % grid.x;
        host.block.y = b / grid.x % grid.y;
        host.block.z = b / grid.x / grid.y;
        host_run_block(backward);
    }
    u32 launches = host.launch_count;
    host.launch_count = 0;
    for (u32 i = 0; i < launches; i++) {
        struct host_launch launch = host.launches[i];
        host_run(name, dim3(1), launch.block, launch.body, launch.args, backward);
    }
}
#endif
