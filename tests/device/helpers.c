/* K2.14, module exec: what compiled code calls: printf with its formats and its ring, assert,
 * malloc and free. */
#include <sys/resource.h>
#include <unistd.h>

#include "common.h"

static jit_extern_fn print, fail, alloc, release;

/* Runs `blocks` blocks and returns what they printed to the file descriptor. */
static char *output_of(int fd, jit_block_fn run, uint32_t blocks, const void *p)
{
    static char text[1 << 20];
    char name[] = "/tmp/weir-test-XXXXXX";
    int file = mkstemp(name), old = dup(fd);
    unlink(name);
    fflush(stdout);
    dup2(file, fd);
    struct grid_kernel k = {.run = run, .name = "k"};
    launch(device_stream_legacy(ctx), &k, blocks, p);
    device_stream_sync(device_stream_legacy(ctx));
    fflush(stdout);
    dup2(old, fd);
    close(old);
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(file);
    return text;
}

/* Packed arguments, as compilers lay them out. */
static struct {
    int i;
    unsigned u;
    long long ll;
    double d;
    const char *s;
    int c, width;
    int precision;
    double e;
    void *p;
    int sh;
} args = {-5, 4000000000u, -1234567890123ll, 2.5,  "text", 'x', 8,
          2,  1e10 / 3,    (void *)0x1234,   70000};

static uint32_t formats_block(struct jit_block *b)
{
    uint64_t a[2][32], r[32] = {0};
    a[0][3] = (uint64_t)"%d|%5u|%-16lld|%.1f|%6s|%c|%*.*e|%p|%hd|%%|%y|end\n";
    a[1][3] = (uint64_t)&args;
    print(b, 1u << 3, a[0], r);
    atomic_fetch_add((_Atomic int *)param(b), (int)r[3]);
    return JIT_DONE;
}

/* Each lane prints its number. */
static uint32_t lanes_block(struct jit_block *b)
{
    uint64_t a[2][32], r[32];
    int32_t numbers[32];
    for (int l = 0; l < 32; l++) {
        numbers[l] = l;
        a[0][l] = (uint64_t)"lane %02d\n";
        a[1][l] = (uint64_t)&numbers[l];
    }
    print(b, 0x80000101, a[0], r);
    return JIT_DONE;
}

/* Widths and precisions that a kernel has by mistake. */
static uint32_t wild_block(struct jit_block *b)
{
    uint64_t a[2][32], r[32];
    struct {
        int32_t width, precision;
        double d;
    } wild = {INT32_MAX, INT32_MAX, 1.5};
    struct {
        int32_t width, number;
    } most_negative = {INT32_MIN, 7};
    a[0][0] = (uint64_t)"%*.*f\n";
    a[1][0] = (uint64_t)&wild;
    print(b, 1, a[0], r);
    a[0][0] = (uint64_t)"%*d\n";
    a[1][0] = (uint64_t)&most_negative;
    print(b, 1, a[0], r);
    a[0][0] = (uint64_t)"kept %d\n";
    a[1][0] = (uint64_t)&most_negative.number;
    print(b, 1, a[0], r);
    return JIT_DONE;
}

static long resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static uint32_t flood_block(struct jit_block *b)
{
    uint64_t a[2][32], r[32];
    int32_t number = (int32_t)b->ctaid[0];
    a[0][0] = (uint64_t)"number %d\n";
    a[1][0] = (uint64_t)&number;
    print(b, 1, a[0], r);
    return JIT_DONE;
}

static void printing(void)
{
    _Atomic int used = 0;
    CHECK_STR(output_of(1, formats_block, 1, &used),
              "-5|4000000000|-1234567890123  |2.5|  text|x|3.33e+09|0x1234|4464|%|%y|end\n");
    CHECK_EQ_INT(used, 11);
    CHECK_STR(output_of(1, lanes_block, 1, NULL), "lane 00\nlane 08\nlane 31\n");
    CHECK_EQ_INT(slow_path(SLOW_PATH_PRINTED), 0); /* calls are short again */
    long before = resident_kib();
    CHECK_STR(output_of(1, wild_block, 1, NULL), "kept 7\n"); /* no other fits the ring */
    CHECK(resident_kib() - before < 256 * 1024);
    /* The ring keeps the newest. */
    device_context_reset(ctx);
    struct grid_env *env = device_context_env(ctx);
    CHECK(grid_limit_set(env, GRID_LIMIT_PRINTF, 1000));
    CHECK_EQ_INT(grid_limit_get(env, GRID_LIMIT_PRINTF), 1000);
    char *text = output_of(1, flood_block, 1000, NULL);
    CHECK(strlen(text) < 1000 && strlen(text) > 500);
    CHECK(!grid_limit_set(env, GRID_LIMIT_PRINTF, 2000)); /* too late */
    CHECK(grid_limit_set(env, GRID_LIMIT_STACK, 4000));
    CHECK_EQ_INT(grid_limit_get(env, GRID_LIMIT_STACK), 4000);
    device_context_reset(ctx);
    CHECK_EQ_INT(grid_limit_get(env, GRID_LIMIT_PRINTF), GRID_PRINTF_BYTES);
}

/* Its answer: how many arguments were printed, or what is less than 0. */
static uint32_t answer_block(struct jit_block *b)
{
    uint64_t a[2][32], r[32] = {0};
    int32_t number = 7;
    a[0][0] = (uint64_t)"number %d\n";
    a[1][0] = (uint64_t)&number;
    print(b, 1, a[0], r);
    atomic_store((_Atomic int *)param(b), (int)r[0]);
    return JIT_DONE;
}

/* A buffer that there is no memory for may be asked for: what fails is printing. */
static void printing_without_memory(void)
{
    struct grid_env *env = device_context_env(ctx);
    _Atomic int answer = 0;
    device_context_reset(ctx);
    CHECK(grid_limit_set(env, GRID_LIMIT_PRINTF, (uint64_t)1 << 60));
    CHECK_STR(output_of(1, answer_block, 1, &answer), "");
    CHECK_EQ_INT(answer, -2);
    CHECK(grid_limit_set(env, GRID_LIMIT_PRINTF, 1000)); /* not too late: there is none yet */
    CHECK_STR(output_of(1, answer_block, 1, &answer), "number 7\n");
    CHECK_EQ_INT(answer, 1);
    device_context_reset(ctx);
}

/* What two contexts have printed waits until each has been asked. */
static void two_contexts_print(void)
{
    struct device_context *contexts[2] = {ctx, device_context_new(device_get(0))};
    struct grid_kernel k = {.run = lanes_block, .name = "k"};
    for (int i = 0; i < 2; i++) {
        struct device_event *e = device_event_new(contexts[i], DEVICE_EVENT_NO_TIMING);
        struct device_stream *s = device_stream_new(contexts[i], 0, 0);
        launch(s, &k, 1, NULL);
        CHECK_EQ_INT(device_event_record(e, s), DEVICE_OK);
        while (device_event_query(e) == DEVICE_NOT_READY) /* which prints nothing */
            sleep_ms(1);
        device_event_free(e);
        device_stream_free(s);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(slow_path(SLOW_PATH_PRINTED) != 0);
        grid_flush(device_context_env(contexts[i]));
    }
    CHECK_EQ_INT(slow_path(SLOW_PATH_PRINTED), 0);
    device_context_free(contexts[1]);
}

/* printf with a wild format pointer. */
static uint32_t wild_format_block(struct jit_block *b)
{
    uint64_t a[2][32], r[32];
    a[0][0] = 8;
    a[1][0] = 0;
    print(b, 1, a[0], r);
    return JIT_DONE;
}

static uint32_t assert_block(struct jit_block *b)
{
    uint64_t a[5][32], r[32];
    for (int l = 0; l < 32; l++) {
        a[0][l] = (uint64_t)"x < y";
        a[1][l] = (uint64_t)"file.cu";
        a[2][l] = 12;
        a[3][l] = (uint64_t)"void kernel(int)";
        a[4][l] = 1;
    }
    fail(b, 0x6, a[0], r);
    return JIT_DONE;
}

static void asserting(void)
{
    CHECK_STR(
        output_of(2, assert_block, 1, NULL),
        "file.cu:12: void kernel(int): block: [0,0,0], thread: [1,0,0] Assertion `x < y` "
        "failed.\nfile.cu:12: void kernel(int): block: [0,0,0], thread: [2,0,0] Assertion `x < "
        "y` failed.\n");
    CHECK_EQ_INT(device_context_status(ctx), DEVICE_FAULT_ASSERT);
    printf("%s\n", device_context_fault(ctx)->text);
    device_context_reset(ctx);
    output_of(1, wild_format_block, 1, NULL);
    CHECK_EQ_INT(device_context_status(ctx), DEVICE_FAULT_ADDRESS);
    printf("%s\n", device_context_fault(ctx)->text);
    device_context_reset(ctx);
}

/* Every lane allocates, writes, keeps; frees what another kernel allocated. */
enum { HEAP_BLOCKS = 200 };
static uint8_t *kept[HEAP_BLOCKS][32];

static uint64_t size_of(uint32_t block, int lane)
{
    return 1 + (block * 37 + (uint32_t)lane * 101) % 3000;
}

static uint32_t alloc_block(struct jit_block *b)
{
    uint64_t a[32], r[32];
    for (int l = 0; l < 32; l++)
        a[l] = size_of(b->ctaid[0], l);
    alloc(b, ~0u, a, r);
    for (int l = 0; l < 32; l++) {
        kept[b->ctaid[0]][l] = (uint8_t *)r[l];
        if (r[l] == 0 || r[l] % 16 != 0)
            return JIT_DONE;
        memset((void *)r[l], (int)b->ctaid[0] + l, a[l]);
    }
    return JIT_DONE;
}

static uint32_t free_block(struct jit_block *b)
{
    uint64_t a[32];
    for (int l = 0; l < 32; l++) {
        uint8_t *p = kept[b->ctaid[0]][l];
        a[l] = (uint64_t)p;
        for (uint64_t i = 0; i < size_of(b->ctaid[0], l); i++)
            if (p[i] != (uint8_t)(b->ctaid[0] + (uint32_t)l))
                atomic_fetch_add((_Atomic int *)param(b), 1);
    }
    release(b, ~0u, a, NULL);
    return JIT_DONE;
}

static uint32_t big_block(struct jit_block *b)
{
    uint64_t a[32] = {5 << 20, 5 << 20, 0, 1ull << 60}, r[32] = {0};
    alloc(b, 0xf, a, r);
    atomic_fetch_add((_Atomic int *)param(b),
                     (r[0] != 0) + 10 * (r[1] != 0) + 100 * (r[2] != 0) + 1000 * (r[3] != 0));
    r[1] = 0;
    release(b, 3, r, NULL);
    return JIT_DONE;
}

static uint32_t double_free_block(struct jit_block *b)
{
    uint64_t a[32] = {100}, r[32];
    alloc(b, 1, a, r);
    release(b, 1, r, NULL);
    release(b, 1, r, NULL);
    return JIT_DONE;
}

static void heap(void)
{
    struct grid_kernel take = KERNEL(alloc_block), give = KERNEL(free_block),
                       big = KERNEL(big_block), twice = KERNEL(double_free_block);
    struct device_stream *s = device_stream_legacy(ctx);
    CHECK(grid_limit_set(device_context_env(ctx), GRID_LIMIT_HEAP, 32 << 20));
    for (int round = 0; round < 10; round++) {
        _Atomic int bad = 0;
        launch(s, &take, HEAP_BLOCKS, NULL);
        launch(s, &give, HEAP_BLOCKS, &bad);
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
        CHECK_EQ_INT(bad, 0);
    }
    device_context_reset(ctx); /* 8 MiB again */
    _Atomic int got = 0;
    launch(s, &big, 1, &got);
    launch(s, &big, 1, &got);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_OK);
    CHECK_EQ_INT(got, 2);
    launch(s, &twice, 1, NULL);
    CHECK_EQ_INT(device_stream_sync(s), DEVICE_FAULT_ADDRESS);
    printf("%s\n", device_context_fault(ctx)->text);
    device_context_reset(ctx);
}

/* Leaves one object of a size in the first of two runs of pages, so that freeing it gives the run
 * back. */
static uint32_t last_object_block(struct jit_block *b)
{
    enum { OBJECTS = 6 }; /* of which five fill a run */
    uint64_t a[32], r[32];
    for (int l = 0; l < OBJECTS; l++)
        a[l] = 3264;
    alloc(b, (1u << OBJECTS) - 1, a, r);
    kept[0][0] = (uint8_t *)r[0];
    release(b, 0x1e, r, NULL);
    return JIT_DONE;
}

static uint32_t race_block(struct jit_block *b)
{
    uint64_t a[32] = {(uint64_t)kept[0][0]};
    release(b, 1, a, NULL);
    return JIT_DONE;
}

/* Many blocks free one object at once: one does, for the others it is a fault. */
static void freed_by_many(void)
{
    struct grid_kernel make = KERNEL(last_object_block), race = KERNEL(race_block);
    struct device_stream *s = device_stream_legacy(ctx);
    for (int round = 0; round < 300; round++) {
        launch(s, &make, 1, NULL);
        launch(s, &race, 64, NULL);
        CHECK_EQ_INT(device_stream_sync(s), DEVICE_FAULT_ADDRESS);
        device_context_reset(ctx);
    }
}

static uint64_t wall_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The timer shows the wall clock, so it is between two looks at that; unless someone sets the
 * clock back meanwhile: then once more. */
static void timing(void)
{
    uint64_t (*timer)(void);
    uint64_t before, shown, after;

    *(void **)&timer = grid_helper("globaltimer");
    do {
        before = wall_clock();
        shown = timer();
        after = wall_clock();
    } while (after < before);
    CHECK(before <= shown && shown <= after);
}

int main(void)
{
    begin();
    *(void **)&print = grid_helper("vprintf");
    *(void **)&fail = grid_helper("__assertfail");
    *(void **)&alloc = grid_helper("malloc");
    *(void **)&release = grid_helper("free");
    timing();
    printing();
    printing_without_memory();
    two_contexts_print();
    asserting();
    heap();
    freed_by_many();
    return end();
}
