/* Module memory: the memory layer by itself: placing, finding, guards, reuse, accounting,
 * registered ranges. */
#include "memory/memory.h"
#include "memory/view.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

static const uint64_t MiB = 1 << 20;

static void *get(int device, enum mem_kind kind, uint64_t bytes)
{
    void *p = NULL;
    enum mem_status status =
        mem_alloc(&(struct mem_request){.device = device, .kind = kind, .bytes = bytes}, &p);
    CHECK_EQ_INT(status, MEM_OK);
    return p;
}

static sigjmp_buf escape;
static void on_fault(int signal) { siglongjmp(escape, signal); }

/* Whether writing there is a fault. */
static bool faults(volatile char *p)
{
    if (sigsetjmp(escape, 1) != 0) {
        mem_view_again();
        return true;
    }
    *p = 1;
    return false;
}

static void sizes(void)
{
    uint64_t before, after, total;
    mem_usage(0, &before, &total);
    CHECK_EQ_INT(total, 256 * MiB);
    uint64_t list[] = {1,    511,    512,    513,     4096,    4097,    5000,    65536,
                       1000, 262144, 262145, 1048576, 2097152, 2093056, 3000000, 40000000};
    for (size_t i = 0; i < WEIR_COUNT(list); i++) {
        char *p = get(0, MEM_DEVICE, list[i]);
        memset(p, 1, list[i]);
        CHECK_EQ_INT((uint64_t)p % MEM_ALIGNMENT, 0);
        struct mem_info info;
        CHECK(mem_find(p + list[i] - 1, &info));
        CHECK_EQ_INT(info.base, (uint64_t)p);
        CHECK_EQ_INT(info.size, list[i]);
        CHECK_EQ_INT(info.kind, MEM_DEVICE);
        CHECK_EQ_INT(info.device, 0);
        CHECK(!mem_find(p + list[i], &info));
        if (list[i] > 4096) /* the first page that holds no byte of it */
            CHECK(faults((char *)(((uint64_t)p + list[i] + 4095) & ~4095ull)));
        CHECK_EQ_INT(mem_free(p + 1, MEM_ANY), MEM_INVALID);
        CHECK_EQ_INT(mem_free(p, MEM_PINNED), MEM_INVALID);
        CHECK_EQ_INT(mem_free(p, MEM_DEVICE), MEM_OK);
        CHECK_EQ_INT(mem_free(p, MEM_DEVICE), MEM_INVALID);
        CHECK(!mem_find(p, &info));
    }
    mem_usage(0, &after, &total);
    CHECK_EQ_INT(before, after);
}

static void limits(void)
{
    void *p = NULL, *q = NULL;
    struct mem_request r = {.kind = MEM_DEVICE, .bytes = 257 * MiB};
    CHECK_EQ_INT(mem_alloc(&r, &p), MEM_OUT_OF_MEMORY);
    r.bytes = UINT64_MAX - 100;
    CHECK_EQ_INT(mem_alloc(&r, &p), MEM_OUT_OF_MEMORY);
    r.bytes = 0;
    CHECK_EQ_INT(mem_alloc(&r, &p), MEM_INVALID);
    r.bytes = 200 * MiB;
    CHECK_EQ_INT(mem_alloc(&r, &p), MEM_OK);
    CHECK_EQ_INT(mem_alloc(&r, &q), MEM_OUT_OF_MEMORY);
    r.bytes = 56 * MiB;
    CHECK_EQ_INT(mem_alloc(&r, &q), MEM_OK);
    r.bytes = 1;
    void *s;
    CHECK_EQ_INT(mem_alloc(&r, &s), MEM_OUT_OF_MEMORY);
    mem_free(p, MEM_DEVICE);
    CHECK_EQ_INT(mem_alloc(&r, &s), MEM_OK);
    mem_free(q, MEM_DEVICE);
    mem_free(s, MEM_DEVICE);
    r.kind = MEM_PINNED; /* not a device's kind */
    CHECK_EQ_INT(mem_alloc(&r, &s), MEM_INVALID);
}

static void many(void)
{
    enum { N = 4000 };
    static char *p[N];
    srand(1);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < N; i++) {
            uint64_t bytes = 1 + (uint64_t)rand() % (i % 10 == 0 ? 300000 : 3000);
            if (p[i] == NULL) {
                p[i] = get(0, MEM_DEVICE, bytes);
                *(int *)p[i] = i;
            }
        }
        for (int i = 0; i < N; i++) {
            struct mem_info info;
            CHECK_EQ_INT(*(int *)p[i], i);
            CHECK(mem_find(p[i], &info) && info.base == (uint64_t)p[i]);
            if (rand() % 2 == 0) {
                CHECK_EQ_INT(mem_free(p[i], MEM_ANY), MEM_OK);
                p[i] = NULL;
            }
        }
    }
    mem_free_owned(0, NULL);
    uint64_t free_bytes, total;
    mem_usage(0, &free_bytes, &total);
    CHECK_EQ_INT(free_bytes, total);
}

static void registered(void)
{
    char *p = malloc(10000);
    struct mem_info info;
    CHECK_EQ_INT(mem_kind_of(p, NULL), MEM_PAGEABLE);
    CHECK_EQ_INT(mem_register(p, 4000, 5, NULL), MEM_OK);
    CHECK_EQ_INT(mem_register(p + 3999, 10, 0, NULL), MEM_ALREADY_REGISTERED);
    CHECK_EQ_INT(mem_register(p + 5000, 1000, 0, NULL), MEM_OK);
    CHECK_EQ_INT(mem_register(p + 4000, 1001, 0, NULL), MEM_ALREADY_REGISTERED);
    CHECK_EQ_INT(mem_register(p + 4000, 1000, 0, NULL), MEM_OK);
    CHECK(mem_find(p + 3999, &info));
    CHECK_EQ_INT(info.flags, 5);
    CHECK_EQ_INT(info.kind, MEM_REGISTERED);
    CHECK(!mem_find(p + 6000, &info));
    CHECK_EQ_INT(mem_unregister(p + 1), MEM_NOT_REGISTERED);
    CHECK_EQ_INT(mem_unregister(p), MEM_OK);
    CHECK(!mem_find(p, &info));
    mem_free_owned(MEM_HOST, NULL);
    CHECK_EQ_INT(mem_unregister(p + 5000), MEM_NOT_REGISTERED);
    free(p);
    char *q = get(MEM_HOST, MEM_PINNED, 100), *m = get(MEM_HOST, MEM_MANAGED, 5000000);
    CHECK_EQ_INT(mem_kind_of(q + 99, NULL), MEM_PINNED);
    CHECK_EQ_INT(mem_kind_of(m, NULL), MEM_MANAGED);
    CHECK(!mem_in_device_range(q));
    CHECK_EQ_INT(mem_register(q, 10, 0, NULL), MEM_ALREADY_REGISTERED);
    mem_free_owned(MEM_HOST, NULL);
    CHECK_EQ_INT(mem_kind_of(m, NULL), MEM_PAGEABLE);
}

static void described(void)
{
    struct strbuf text = {0};
    char *p = get(0, MEM_DEVICE, 4096 * 100);
    mem_describe(p + 4096 * 100 + 16, &text);
    CHECK(strstr(text.items, "16 bytes past the 409,600-byte allocation #") != NULL);
    sb_free(&text);
    mem_free(p, MEM_ANY);
    mem_describe(p + 7, &text);
    CHECK(strstr(text.items, "byte 7 of freed memory: the 409,600-byte") != NULL);
    sb_free(&text);
    mem_describe(NULL, &text);
    CHECK_STR(text.items, "a null pointer");
    sb_free(&text);
    mem_describe((void *)(uintptr_t)0x48, &text);
    CHECK_STR(text.items,
              "72 bytes past a null pointer (a member or an element of what it should point to?)");
    sb_free(&text);
}

static void *churn(void *arg)
{
    mem_view_enter();
    unsigned seed = (unsigned)(uintptr_t)arg;
    void *p[32] = {0};
    for (int i = 0; i < 3000; i++) {
        void **slot = &p[rand_r(&seed) % 32];
        if (*slot != NULL)
            CHECK_EQ_INT(mem_free(*slot, MEM_DEVICE), MEM_OK);
        *slot = get(0, MEM_DEVICE, 1 + (uint64_t)rand_r(&seed) % (i % 7 == 0 ? 600000 : 6000));
        *(unsigned *)*slot = seed;
        CHECK_EQ_INT(mem_kind_of(*slot, NULL), MEM_DEVICE);
    }
    for (int i = 0; i < 32; i++)
        if (p[i] != NULL)
            mem_free(p[i], MEM_ANY);
    return NULL;
}

static void speed(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    enum { N = 10000 };
    for (int i = 0; i < N; i++)
        mem_free(get(0, MEM_DEVICE, MiB), MEM_DEVICE);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("1 MiB alloc + free: %.0f ns\n",
           ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / N);
}

int main(void)
{
    struct diag d = {0};
    if (!mem_open(2, 256 * MiB, &d)) {
        printf("%s\n", d.text);
        return 1;
    }
    mem_view_enter(); /* where there are several devices, their memory is not the host's */
    struct sigaction action = {.sa_handler = on_fault};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sizes();
    limits();
    many();
    registered();
    described();
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    speed();
    return check_done();
}
