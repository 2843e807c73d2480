/* D6.2: a million children from 128 threads: none is lost, memory stays bounded. `rate print` tells
 * times: launches a second from 128 threads, nanoseconds for one in a block's order. */
#include <stdio.h>
#include <time.h>

#include "common.h"

/* The address sanitizer keeps what is freed for a while. */
#define KEEPS_FREED 0
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#undef KEEPS_FREED
#define KEEPS_FREED 1
#endif
#endif

static CUmodule module;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* KiB of memory that the process has at hand; 0 when the system does not tell. */
static unsigned long resident(void)
{
    unsigned long pages = 0, rss = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL && fscanf(f, "%lu %lu", &pages, &rss) != 2)
        rss = 0;
    if (f != NULL)
        fclose(f);
    return rss * 4;
}

/* `threads` threads of one block launch `times` children each. */
static double run(unsigned threads, unsigned times, unsigned long long stream)
{
    unsigned *p = words(16 * threads), blocks = 1, width = 1, sum = 0;
    void *params[] = {&p, &times, &blocks, &width, &stream};
    CUfunction f = kernel(module, "scattered");
    OK(launch(f, 1, threads, NULL, params)); /* compiles */
    OK(cuCtxSynchronize());
    memset(p, 0, 64 * threads);
    double begin = seconds();
    OK(launch(f, 1, threads, NULL, params));
    OK(cuCtxSynchronize());
    double end = seconds();
    for (unsigned t = 0; t < threads; t++)
        sum += p[16 * t];
    CHECK_EQ_INT(sum, threads * times);
    OK(cuMemFreeHost(p));
    return end - begin;
}

int main(int argc, char **argv)
{
    begin();
    module = load_file("launches.ptx");
    int print = argc > 1 && strcmp(argv[1], "print") == 0;
    unsigned times = 1000000 / 128 + 1;
    run(128, 10, 4);
    unsigned long before = resident();
    double free_of_order = run(128, times, 4);
    double one_stream = run(128, times, 0);
    double one_thread = run(1, 100000, 0);
    CHECK(KEEPS_FREED || before == 0 || resident() < before + 64 * 1024);
    if (print) {
        printf("fire and forget, 128 threads: %.2f million launches/s\n",
               128e-6 * times / free_of_order);
        printf("one block's stream, 128 threads: %.0f ns a launch\n",
               1e9 * one_stream / (128.0 * times));
        printf("one block's stream, 1 thread: %.0f ns a launch\n", 1e9 * one_thread / 100000);
        printf("memory: %lu KiB before, %lu after\n", before, resident());
    }
    return check_done();
}
