/* A compiler library for tests: "compiles" kernel NAME by reading $FAKE_OBJECTS/NAME.o, the name
 * cut at a '@' so that one object can serve many kernels. Each compilation appends a line to
 * $FAKE_LOG and takes $FAKE_DELAY_MS; $FAKE_MEET=n makes it wait until n compile at once. With
 * $FAKE_OPTIMIZE_MS, first launches get baseline code, and optimizing takes so long in code of this
 * library. Kernel "abandoned" leaves a list that leads into the thread's stack, as LLVM does when
 * memory runs out in it; kernel "stuck" waits for a lock that nobody gives back. */
#include "abi/plugin.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void log_line(const char *what, const char *name)
{
    const char *path = getenv("FAKE_LOG");
    if (path == NULL)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    char line[256];
    int n = snprintf(line, sizeof line, "%s %s\n", what, name);
    if (write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

static int env_number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : 0;
}

/* Waits until `count` threads are here, ten seconds at most. */
static bool meet(int count)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
    static int here;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    pthread_mutex_lock(&lock);
    here++;
    pthread_cond_broadcast(&arrived);
    int failed = 0;
    while (here < count && !failed)
        failed = pthread_cond_timedwait(&arrived, &lock, &until);
    pthread_mutex_unlock(&lock);
    return !failed;
}

static const char *fake_cpu(void) { return "fake"; }

static bool fake_check(const struct ptx_module *m, struct diag *d)
{
    log_line("check", "");
    if (m->target_sm == 13)
        return diag_set(d, 7, 3, "line 7: instruction tex is not supported");
    return true;
}

static bool fake_info(const struct ptx_func *entry, struct jit_kernel_info *info, struct diag *d)
{
    log_line("info", entry->name);
    if (strcmp(entry->name, "no_info") == 0)
        return diag_set(d, 0, 0, "no_info has none");
    *info = (struct jit_kernel_info){.static_shared = strlen(entry->name), .max_threads = 1024};
    return true;
}

static bool fake_dump(const struct ptx_func *entry, const struct jit_options *options,
                      unsigned stages, struct strbuf *out, struct diag *d)
{
    return diag_set(d, 0, 0, "nothing to dump");
}

/* A large frame: compilations must get a large stack whatever the caller's. */
__attribute__((noinline)) static void use_stack(void)
{
    volatile char big[16 << 20];
    for (size_t i = 0; i < sizeof big; i += 4096)
        big[i] = 1;
}

/* Is busy here, where a thread may be stopped, until the time is over. */
static void be_busy(int ms)
{
    struct timespec start, t;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (volatile int n = 0; n < 1000000; n++)
            ;
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while ((t.tv_sec - start.tv_sec) * 1000 + (t.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

/* A sanitizer would not have what is tested here: that a stack is left alone. */
#define NOT_CHECKED __attribute__((noinline, no_sanitize("address", "thread")))

static struct entry {
    struct entry *next;
    int value;
} *entries;

static _Thread_local bool abandoned;
static bool fake_abandoned(void) { return abandoned; }

/* Enters itself into the list, and comes back without leaving it. */
NOT_CHECKED static void enter(void)
{
    struct entry mine = {.next = entries, .value = 4711};
    struct entry *volatile here = &mine;
    entries = here;
    __asm__ volatile("" ::: "memory"); /* it is stored, though it ends here */
}

/* As deep in the stack as the compiler's frames are. */
NOT_CHECKED static void abandon(void)
{
    char gap[64 << 10];
    __asm__ volatile("" : : "r"(gap) : "memory");
    abandoned = true;
    enter();
    __asm__ volatile("" : : "r"(gap) : "memory");
}

/* Whether all that was entered is there as it was. */
NOT_CHECKED static bool entries_are_whole(void)
{
    for (struct entry *e = entries; e != NULL; e = e->next)
        if (e->value != 4711)
            return false;
    return true;
}

static void wait_for_ever(void)
{
    static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&taken);
    pthread_mutex_lock(&taken);
}

static bool fake_compile(const struct ptx_func *entry, const struct jit_options *options,
                         struct jit_object *out, struct diag *d)
{
    log_line("compile", entry->name);
    if (strcmp(entry->name, "abandoned") == 0) {
        abandon();
        return diag_set_memory(d, entry->name);
    }
    if (strcmp(entry->name, "stuck") == 0)
        wait_for_ever();
    use_stack();
    if (!entries_are_whole())
        return diag_set(d, 0, 0, "the stack of an abandoned call was used again");
    usleep((unsigned)env_number("FAKE_DELAY_MS") * 1000);
    bool tiers = getenv("FAKE_OPTIMIZE_MS") != NULL, first = options->tier == JIT_TIER_FIRST;
    if (tiers && !first)
        be_busy(env_number("FAKE_OPTIMIZE_MS"));
    if (!meet(env_number("FAKE_MEET")))
        return diag_set(d, 0, 0, "compilations do not run at once");
    char path[4096];
    snprintf(path, sizeof path, "%s/%.*s.o", getenv("FAKE_OBJECTS"), (int)strcspn(entry->name, "@"),
             entry->name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return diag_set(d, entry->line, 1, "kernel %s: no such test object", entry->name);
    fseek(f, 0, SEEK_END);
    out->size = (size_t)ftell(f);
    rewind(f);
    out->data = malloc(out->size);
    if (fread(out->data, 1, out->size, f) != out->size)
        abort();
    fclose(f);
    out->meta =
        (struct jit_meta){.local_bytes = 11,
                          .frame_bytes = 64 * options->ntid[0],
                          .pc_count = 3,
                          .can_suspend = 1,
                          .flags = PLUGIN_BUILD | (tiers && first ? JIT_CODE_BASELINE : 0u)};
    return true;
}

const struct jit_plugin *weir_jit_plugin(void)
{
    static const struct jit_plugin table = {JIT_PLUGIN_HEAD,
                                            .cpu = fake_cpu,
                                            .check = fake_check,
                                            .kernel_info = fake_info,
                                            .dump = fake_dump,
                                            .compile = fake_compile,
                                            .abandoned = fake_abandoned};
    return &table;
}
