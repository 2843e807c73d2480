/* E2.1, module device: faults: each kind becomes the context's sticky error, queues drain, a reset
 * makes all well. */
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "memory/memory.h"

static struct grid_kernel count = KERNEL(count_block), spin = KERNEL(spin_block);

/* Kernel: block 3 of any grid writes to the parameter. */
static uint32_t write_block(struct jit_block *b)
{
    b->warp = 1;
    if (b->ctaid[0] == 3)
        *(volatile int *)param(b) = 1;
    return JIT_DONE;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NO_DEEP_STACK /* its own report comes first */
#endif
#endif

#ifndef NO_DEEP_STACK
/* Kernel: uses up the stack. */
static uint32_t deep(volatile uint32_t *n)
{
    volatile uint32_t more[64] = {*n + 1};
    return *n == 0 ? 0 : deep(more) + more[0];
}
static uint32_t deep_block(struct jit_block *b)
{
    volatile uint32_t one = 1;
    return deep(&one) == 0 ? JIT_DONE : JIT_DONE;
}
#endif

static void (*fault_helper)(struct jit_block *, uint32_t, uint32_t, uint64_t);
static uint32_t trap_block(struct jit_block *b)
{
    fault_helper(b, JIT_FAULT_TRAP, 1u << 5, 0);
    return JIT_DONE;
}
static uint32_t misaligned_block(struct jit_block *b)
{
    fault_helper(b, JIT_FAULT_MISALIGNED, 1, 0x1001);
    return JIT_DONE;
}
static uint32_t illegal_block(struct jit_block *b)
{
    __builtin_trap();
    return JIT_DONE;
}
static uint32_t divide_block(struct jit_block *b)
{
    raise(SIGUSR1); /* other signals are not touched */
#if defined(__x86_64__)
    __asm__ volatile("xorl %%edx, %%edx\n xorl %%eax, %%eax\n xorl %%ecx, %%ecx\n idivl %%ecx" ::
                         : "eax", "ecx", "edx", "cc");
#else
    fault_helper(b, JIT_FAULT_TRAP, 1, 0);
#endif
    return JIT_DONE;
}

static _Atomic int host_calls;
static void host_fn(void *user, enum device_error status)
{
    atomic_fetch_add(&host_calls, status == DEVICE_OK ? 1 : 100);
}

static void after_fault(struct device_stream *s, enum device_error expected)
{
    struct device_event *e = device_event_new(ctx, 0);
    CHECK_EQ_INT(device_context_status(ctx), expected);
    CHECK_EQ_INT(device_stream_query(s), expected);
    CHECK_EQ_INT(device_context_sync(ctx), expected);
    CHECK_EQ_INT(device_event_query(e), expected);
    _Atomic int n = 0;
    CHECK_EQ_INT(launch(s, &count, 1, &n), expected);
    CHECK_EQ_INT(n, 0);
    device_event_free(e);
}

static void reset(void)
{
    device_context_reset(ctx);
    CHECK_EQ_INT(device_context_status(ctx), DEVICE_OK);
    CHECK(device_context_fault(ctx) == NULL);
    _Atomic int n = 0;
    CHECK_EQ_INT(launch(device_stream_legacy(ctx), &count, 100, &n), DEVICE_OK);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_OK);
    CHECK_EQ_INT(n, 100);
}

static void wild_pointer(void)
{
    char *p = NULL;
    mem_alloc(&(struct mem_request){.kind = MEM_DEVICE, .bytes = 1 << 20, .owner = ctx},
              (void **)&p);
    struct grid_kernel k = KERNEL(write_block);
    struct device_stream *s = device_stream_new(ctx, 0, 0), *t = device_stream_new(ctx, 0, 0);
    _Atomic int flag = 0, n = 0;
    host_calls = 0;
    launch(t, &spin, 10, &flag); /* parked blocks are given up */
    launch(t, &count, 1, &n);
    CHECK_EQ_INT(launch(s, &k, 10, p + (1 << 20) + 16), DEVICE_OK);
    device_launch(s, &(struct grid_launch){.kernel = &count,
                                           .grid = {1, 1, 1},
                                           .block = {1, 1, 1},
                                           .params = &(void *){&n},
                                           .param_bytes = 8});
    device_host_function(s, host_fn, NULL, NULL, false);
    device_host_function(s, host_fn, NULL, NULL, true);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_FAULT_ADDRESS);
    CHECK_EQ_INT(device_stream_sync(t), DEVICE_FAULT_ADDRESS);
    CHECK_EQ_INT(n, 0);
    CHECK_EQ_INT(host_calls, 100);
    const struct grid_fault *f = device_context_fault(ctx);
    CHECK(f != NULL && f->kernel_ref == &k);
    CHECK_STR(f->kernel, "write_block");
    CHECK_EQ_INT(f->block[0], 3);
    CHECK_EQ_INT(f->warp, 1);
    CHECK_EQ_INT(f->address, (uint64_t)p + (1 << 20) + 16);
    CHECK(strstr(f->text, "16 bytes past the 1,048,576-byte allocation") != NULL);
    after_fault(s, DEVICE_FAULT_ADDRESS);
    device_stream_free(s);
    device_stream_free(t);
    reset();
    struct mem_info info;
    CHECK(!mem_find(p, &info));
}

static void kind(jit_block_fn run, enum device_error expected, const char *text)
{
    struct grid_kernel k = {.run = run, .name = "k"};
    struct device_stream *s = device_stream_new(ctx, DEVICE_STREAM_NONBLOCKING, 0);
    CHECK_EQ_INT(launch(s, &k, 50, NULL), DEVICE_OK);
    CHECK_EQ_INT(device_stream_sync(s), expected);
    CHECK(strstr(device_context_fault(ctx)->text, text) != NULL);
    printf("%s\n", device_context_fault(ctx)->text);
    after_fault(s, expected);
    device_stream_free(s);
    reset();
}

static void bad_copy(void)
{
    static char here[4096];
    char *p = NULL;
    mem_alloc(&(struct mem_request){.kind = MEM_DEVICE, .bytes = 1 << 20, .owner = ctx},
              (void **)&p);
    struct device_copy copy = {.dst = p + (1 << 20), .src = here, .width = 4096};
    CHECK_EQ_INT(device_copy(device_stream_legacy(ctx), &copy, DEVICE_COPY_SYNC),
                 DEVICE_FAULT_ADDRESS);
    CHECK_STR(device_context_fault(ctx)->kernel, "memcpy");
    printf("%s\n", device_context_fault(ctx)->text);
    reset();
    struct device_set set = {.dst = p, .width = 8 << 20, .element = 4};
    CHECK_EQ_INT(device_set(device_stream_legacy(ctx), &set, false), DEVICE_OK);
    CHECK_EQ_INT(device_context_sync(ctx), DEVICE_FAULT_ADDRESS);
    CHECK_STR(device_context_fault(ctx)->kernel, "memset");
    reset();
}

/* A fault of the host's own code is not ours. */
static volatile sig_atomic_t caught;
static sigjmp_buf back;
static void on_segv(int signal)
{
    caught++;
    siglongjmp(back, 1);
}

static void host_fault(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        CHECK(device_forked());
        CHECK_EQ_INT(device_context_status(ctx), DEVICE_FORKED);
        CHECK_EQ_INT(device_context_sync(ctx), DEVICE_FORKED);
        CHECK_EQ_INT(launch(device_stream_legacy(ctx), &count, 1, NULL), DEVICE_FORKED);
        fflush(stdout);
        if (checks_failed > 0)
            _exit(1);
        *(volatile int *)8 = 1; /* dies, as without us */
        _exit(2);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) ||
          WEXITSTATUS(status) > 2 /* a sanitizer's report */);
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)8 = 1;
    CHECK_EQ_INT(caught, 1);
}

static void ignore(int signal) {}

int main(void)
{
    signal(SIGSEGV, on_segv); /* there before us: gets what is not ours */
    signal(SIGUSR1, ignore);
    begin();
    *(void **)&fault_helper = grid_helper("fault");
    CHECK(fault_helper != NULL);
    CHECK(grid_helper("no_such_thing") == NULL);
    wild_pointer();
    kind(trap_block, DEVICE_FAULT_TRAP, "thread (5,0,0)");
    kind(misaligned_block, DEVICE_FAULT_MISALIGNED, ": 0x1001 is 4,097 bytes past a null pointer");
    kind(illegal_block, DEVICE_FAULT_ILLEGAL, "illegal instruction");
    kind(divide_block, DEVICE_FAULT_TRAP, "trap");
#ifndef NO_DEEP_STACK
    kind(deep_block, DEVICE_FAULT_STACK, "call stack used up");
#endif
    bad_copy();
    for (int i = 0; i < 50; i++)
        wild_pointer();
    host_fault();
    return end();
}
