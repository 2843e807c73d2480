/* Random sequences of API calls: see sequences.h.
 *
 *   api_sequences [seed=N] [threads=N] [steps=N] [rounds=N] [calls=N] [seconds=N] [thread=N]
 *                 [only=FAMILY,...] [hang=SECONDS] [recent=N] [verbose=1] [collect=1]
 *
 * A round is some threads that make `steps` steps each and then destroy all they have; afterwards
 * nothing may be left. Rounds go on, each with the next seed, until one of the limits is reached.
 * After each fourth a device is reset (resets.c), after each eighth, before that, threads use
 * whatever handles there are while devices are reset (storm.c). WEIR_DEVICES says how many devices
 * there are. What fails prints its seed: the same arguments again make the same calls. `thread=N`
 * runs that thread of a round alone; `collect=1` tells each code that differs and goes on. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sequences.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
/* The order of calls and resets rests on membarrier, which ThreadSanitizer does not know. */
#ifdef __SANITIZE_THREAD__
#define MAY_STORM 0
#else
#define MAY_STORM 1
#endif

enum { OPS = 200 };
static int hang_seconds = SANITIZED ? 300 : 90;

struct settings settings = {.threads = 4, .seed = 1, .steps = 2000, .recent = 30};
struct thread threads[MAX_THREADS];
struct place places[MAX_DEVICES];
pthread_rwlock_t handles = PTHREAD_RWLOCK_INITIALIZER;

static const struct op *const families[] = {ops_memory,  ops_copies,   ops_streams, ops_launches,
                                            ops_errors,  ops_pools,    ops_devices, ops_graphs,
                                            ops_capture, ops_contexts, ops_arrays,  ops_modules,
                                            ops_shared,  ops_peers,    ops_faults};
static const struct op *ops[OPS];
static unsigned op_count, weight_sum;
static int running; /* threads that have not ended; atomic */
static unsigned long calls_made, op_steps[OPS];

static bool wanted(const char *family)
{
    size_t n = strlen(family);

    for (const char *p = settings.only; p != NULL; p = strchr(p, ','), p += p != NULL)
        if (strncmp(p, family, n) == 0 && (p[n] == ',' || p[n] == 0))
            return true;
    return settings.only == NULL;
}

static void collect_ops(void)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct op *op = families[f]; op->run != NULL && op_count < OPS; op++)
            if (wanted(op->family)) {
                ops[op_count++] = op;
                weight_sum += op->weight;
            }
    if (op_count == 0) {
        printf("no such family: %s\n", settings.only);
        exit(2);
    }
}

static unsigned any_op(struct thread *t)
{
    unsigned at = below(t, weight_sum), i = 0;

    while (at >= ops[i]->weight)
        at -= ops[i++]->weight;
    return i;
}

static void step(struct thread *t)
{
    unsigned i = any_op(t);

    if (t->gate == CLOSED && t->gate_left-- <= 0) {
        t->op = "open gate";
        open_gate(t);
    }
    if (t->gate == CLOSED && ops[i]->waits)
        return;
    t->op = ops[i]->name;
    pthread_rwlock_rdlock(&handles);
    ops[i]->run(t);
    pthread_rwlock_unlock(&handles);
    __atomic_fetch_add(&op_steps[i], 1, __ATOMIC_RELAXED);
    if (settings.verbose)
        printf("%d %lu %s\n", t->number, t->steps, t->op);
}

void thread_begins(struct thread *t)
{
    t->op = "begin";
    OK_RT(cudaSetDevice(t->device));
    OK_CU(cuCtxGetCurrent(&t->primary));
    OK_RT(cudaEventCreateWithFlags(&t->event[LINK].h, cudaEventDisableTiming));
    t->event[LINK].live = true;
    OK_RT(cudaMallocHost((void **)&t->flag, sizeof *t->flag));
    *t->flag = 0;
    t->stream[LEGACY] =
        (struct stream){.state = STREAM_LIVE, .h = one_in(t, 2) ? NULL : cudaStreamLegacy};
    t->stream[PER_THREAD] =
        (struct stream){.state = STREAM_LIVE, .h = cudaStreamPerThread, .blocking = true};
    for (int i = 0; i < 2; i++)
        t->stage[i] = malloc(STAGE);
    t->scratch = malloc(STAGE);
}

void thread_ends(struct thread *t)
{
    t->op = "end";
    open_gate(t);
    for (int i = 0; i < BUFFERS; i++)
        if (t->buffer[i].live)
            check_buffer(t, &t->buffer[i]);
    for (int i = 0; i < BUFFERS; i++) {
        if (t->buffer[i].live)
            free_buffer(t, &t->buffer[i]);
        free(t->buffer[i].model);
    }
    for (int s = PER_THREAD + 1; s < STREAMS; s++)
        if (t->stream[s].state == STREAM_LIVE)
            OK_RT(cudaStreamDestroy(t->stream[s].h));
    for (int e = 0; e < EVENTS; e++)
        if (t->event[e].live)
            OK_RT(cudaEventDestroy(t->event[e].h));
    OK_RT(cudaDeviceSynchronize());
    pools_end(t);
    graphs_end(t);
    peers_end(t);
    arrays_end(t);
    MUST_EQ(__atomic_load_n(&t->host_nodes_called, __ATOMIC_SEQ_CST), t->host_nodes);
    for (int s = 0; s < STREAMS; s++)
        MUST_EQ(__atomic_load_n(&t->stream[s].called, __ATOMIC_SEQ_CST), t->stream[s].served);
    OK_RT(cudaFreeHost((void *)t->flag));
    for (int i = 0; i < 2; i++)
        free(t->stage[i]);
    free(t->scratch);
}

static void *run_thread(void *arg)
{
    struct thread *t = arg;

    pthread_rwlock_rdlock(&handles);
    thread_begins(t);
    pthread_rwlock_unlock(&handles);
    for (t->steps = 0; t->steps < settings.steps; t->steps++)
        step(t);
    pthread_rwlock_rdlock(&handles);
    thread_ends(t);
    pthread_rwlock_unlock(&handles);
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *run_storm(void *arg)
{
    struct thread *t = arg;

    t->op = "storm";
    t->stage[0] = malloc(STAGE);
    for (t->steps = 0; t->steps < settings.steps; t->steps++)
        storm_step(t);
    free(t->stage[0]);
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* ---- rounds ---- */

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Ends the process when a thread makes no call for long. */
static void watch(void)
{
    unsigned long seen[MAX_THREADS] = {0};
    double moved[MAX_THREADS];

    for (int i = 0; i < settings.threads; i++)
        moved[i] = now();
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) > 0) {
        usleep(2000);
        for (int i = 0; i < settings.threads; i++) {
            struct thread *t = &threads[i];
            unsigned long made = t->calls + t->steps;
            if (made != seen[i]) {
                seen[i] = made;
                moved[i] = now();
            } else if (now() - moved[i] > hang_seconds && t->steps < settings.steps) {
                printf("HANGS: thread %d for %d seconds\n", i, hang_seconds);
                for (int k = 0; k < settings.threads; k++)
                    print_recent(&threads[k]);
                printf("again: WEIR_DEVICES=%d api_sequences seed=%llu threads=%d steps=%lu\n",
                       settings.devices, (unsigned long long)settings.seed, settings.threads,
                       settings.steps);
                fflush(stdout);
                if (getenv("WEIR_TEST_ABORT") != NULL)
                    abort();
                _exit(3);
            }
        }
    }
}

static void round_of_threads(int only, void *(*body)(void *))
{
    for (int i = 0; i < settings.threads; i++) {
        struct thread *t = &threads[i];
        memset(t, 0, sizeof *t);
        t->number = i;
        t->device = i % settings.devices;
        t->seed = settings.seed;
        t->random = (settings.seed * 0x9e3779b97f4a7c15ull) ^ ((uint64_t)(i + 1) << 40) ^ 0x1234567;
        for (int k = 0; k < 8; k++)
            chance(t);
    }
    running = 0;
    for (int i = 0; i < settings.threads; i++)
        if (only < 0 || only == i) {
            __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
            pthread_create(&threads[i].id, NULL, body, &threads[i]);
        } else {
            threads[i].steps = settings.steps;
        }
    watch();
    for (int i = 0; i < settings.threads; i++)
        if (only < 0 || only == i) {
            pthread_join(threads[i].id, NULL);
            calls_made += threads[i].calls;
            places[threads[i].device].expected_count += threads[i].counted;
        }
}

/* What would take from other threads what they have. */
static void between_rounds(bool storm)
{
    struct thread *t = &threads[0];

    if (storm) {
        round_of_threads(-1, run_storm);
        storm_ends(t);
    }
    resets(t);
}

static int entries(const char *directory)
{
    int n = 0;
    DIR *d = opendir(directory);

    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

static long resident(void)
{
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f != NULL && fscanf(f, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * 4;
}

/* What is in use between rounds. */
struct usage {
    size_t device_free; /* of all devices */
    int descriptors, tasks;
    long resident; /* KiB */
};

static struct usage usage(void)
{
    struct usage u = {0};
    size_t total, unused;
    cudaMemPool_t pool;

    for (int d = settings.devices - 1; d >= 0; d--) {
        cudaSetDevice(d);
        cudaDeviceSynchronize();
        if (cudaDeviceGetDefaultMemPool(&pool, d) == cudaSuccess)
            cudaMemPoolTrimTo(pool, 0);
        cudaDeviceGraphMemTrim(d);
        if (cudaMemGetInfo(&unused, &total) == cudaSuccess)
            u.device_free += unused;
    }
    u.descriptors = entries("/proc/self/fd");
    u.tasks = entries("/proc/self/task");
    u.resident = resident();
    return u;
}

/* The counters that all threads' kernels added to. */
static void check_counters(void)
{
    struct thread *t = &threads[0];

    for (int d = 0; d < settings.devices; d++) {
        unsigned count = 0;
        cudaMemcpy(&count, places[d].counter, sizeof count, cudaMemcpyDeviceToHost);
        if (count != (unsigned)places[d].expected_count)
            fail(t, "the kernels of device %d have counted %u, not %llu", d, count,
                 places[d].expected_count);
    }
}

static void check_usage(struct usage before, unsigned round)
{
    struct usage after = usage();
    struct thread *t = &threads[0];
    /* Up to 64 freed allocations are kept (src/gpu/kept.c), which count as free by the bytes that
     * were asked for, without what the driver has rounded these up to. */
    size_t may_lack = !settings.ours ? (size_t)256 << 20 : settings.own_pools ? 1 << 20 : 0;

    if (settings.verbose)
        printf("round %u: %zu bytes free, %d descriptors, %d tasks, %ld KiB\n", round,
               after.device_free, after.descriptors, after.tasks, after.resident);
    if (after.device_free + may_lack < before.device_free)
        fail(t, "round %u leaves %zu bytes of device memory", round,
             before.device_free - after.device_free);
    /* Memory that was exported may be kept for reuse with its file. */
    if (after.descriptors > before.descriptors + 64)
        fail(t, "round %u leaves %d descriptors", round, after.descriptors - before.descriptors);
    if (after.tasks > before.tasks + 2)
        fail(t, "round %u leaves %d threads", round, after.tasks - before.tasks);
    if (!SANITIZED && after.resident > before.resident + (64 << 10))
        fail(t, "after round %u, %ld KiB more are resident", round,
             after.resident - before.resident);
}

bool place_begins(int device)
{
    struct place *p = &places[device];
    void *symbol = NULL;

    p->expected_count = 0;
    bool fine = cudaSetDevice(device) == cudaSuccess && cudaFree(NULL) == cudaSuccess &&
                cuCtxGetCurrent(&p->primary) == CUDA_SUCCESS &&
                cudaMalloc((void **)&p->counter, sizeof(unsigned)) == cudaSuccess &&
                cudaMemset(p->counter, 0, sizeof(unsigned)) == cudaSuccess &&
                cudaGetSymbolAddress(&symbol, settings.symbol_handle) == cudaSuccess &&
                shared_begins(device);
    p->symbol = symbol;
    return fine;
}

static void set_up(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    bool fine;

    settings.ours = driver != NULL && dlsym(driver, "weir_last_fault") != NULL;
    settings.own_pools = getenv("WEIR_POOLS") != NULL && strcmp(getenv("WEIR_POOLS"), "own") == 0;
    settings.symbol_handle = symbol_handle();
    fine = cuInit(0) == CUDA_SUCCESS && cudaGetDeviceCount(&settings.devices) == cudaSuccess &&
           settings.devices >= 1 && settings.devices <= MAX_DEVICES;
    for (int d = settings.devices - 1; fine && d >= 0; d--)
        fine = place_begins(d);
    if (!fine || cudaGetSymbolSize(&settings.symbol_size, settings.symbol_handle) != cudaSuccess ||
        settings.symbol_size != SYMBOL_BYTES) {
        printf("there is no device to test with\n");
        exit(2);
    }
}

static unsigned long number_of(const char *arg, const char *name, unsigned long otherwise)
{
    size_t n = strlen(name);

    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? strtoul(arg + n + 1, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    unsigned long rounds = 1, calls = 0, seconds = 0;
    long only = -1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    setenv("WEIR_FAULTS", "off", 0); /* kernels fault on purpose */
    for (int i = 1; i < argc; i++) {
        settings.seed = number_of(argv[i], "seed", settings.seed);
        settings.threads = (int)number_of(argv[i], "threads", (unsigned long)settings.threads);
        settings.steps = number_of(argv[i], "steps", settings.steps);
        settings.verbose = number_of(argv[i], "verbose", settings.verbose) != 0;
        hang_seconds = (int)number_of(argv[i], "hang", (unsigned long)hang_seconds);
        settings.recent = (unsigned)number_of(argv[i], "recent", settings.recent);
        settings.collect = number_of(argv[i], "collect", settings.collect) != 0;
        rounds = number_of(argv[i], "rounds", rounds);
        calls = number_of(argv[i], "calls", calls);
        seconds = number_of(argv[i], "seconds", seconds);
        only = (long)number_of(argv[i], "thread", (unsigned long)only);
        if (strncmp(argv[i], "only=", 5) == 0)
            settings.only = argv[i] + 5;
    }
    if (settings.threads < 1 || settings.threads > MAX_THREADS)
        settings.threads = 4;
    if (settings.seed == 0)
        settings.seed = (uint64_t)time(NULL) * 1000;
    if (settings.recent > RECENT)
        settings.recent = RECENT;
    collect_ops();
    set_up();

    double start = now();
    struct usage before = usage();
    unsigned long round = 0;
    bool limited = calls != 0 || seconds != 0;
    while (limited || round < rounds) {
        round_of_threads((int)only, run_thread);
        round++;
        check_counters();
        if (only < 0 && settings.only == NULL && settings.seed % 4 == 0)
            between_rounds(MAY_STORM && settings.ours && settings.seed % 8 == 0);
        if (round <= 16) /* what is kept for ever is there by now */
            before = usage();
        else
            check_usage(before, (unsigned)round);
        settings.seed++;
        if (limited && ((calls != 0 && calls_made >= calls) ||
                        (seconds != 0 && now() - start >= (double)seconds)))
            break;
    }
    for (unsigned i = 0; settings.verbose && i < op_count; i++)
        printf("%-10s %-24s %lu\n", ops[i]->family, ops[i]->name, op_steps[i]);
    printf("%lu calls, %lu rounds of %d threads, devices: %d, %.0f s: as the model says\n",
           calls_made, round, settings.threads, settings.devices, now() - start);
    for (int d = 0; d < settings.devices; d++)
        cudaFree(places[d].counter);
    return 0;
}
