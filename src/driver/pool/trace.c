/* pool/trace: what happens in memory pools, to the file that WEIR_POOLS_TRACE names, as it happens:
 * in the trace event format that chrome://tracing and Perfetto open. Each stream is a track; what a
 * pool has in use and holds are curves.
 *
 * The file is an array that is complete once the process ends as it should; the format allows for
 * the end to be missing. A forked child, in which no call succeeds, writes nothing to it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/env.h"
#include "driver/objects.h"
#include "pool/pool.h"

enum {
    POOLS_SHOWN = 64,  /* whose curves are kept; of more, there are events only */
    WRITE_BYTES = 4096 /* are written at once */
};

static struct {
    pthread_mutex_t lock; /* of all here */
    int file;             /* -1: not asked for, full, or the process is a fork */
    struct descriptor_file opened;
    struct strbuf text; /* that is not written yet */
    double begin;       /* µs: the times in the file count from here */
    uint64_t used[POOLS_SHOWN], reserved[POOLS_SHOWN];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

static double now_us(void) { return (double)clock_ns() / 1e3; }

/* The pool's curves as they are now. */
static void put_curves(const struct pool_event *e, double at)
{
    uint64_t n = e->pool;
    if (n < POOLS_SHOWN)
        sb_printf(&trace.text,
                  ",\n{\"name\":\"pool %llu\",\"ph\":\"C\",\"ts\":%.3f,\"pid\":%d,\"args\":"
                  "{\"used\":%llu,\"reserved\":%llu}}",
                  (unsigned long long)n, at, (int)getpid(), (unsigned long long)trace.used[n],
                  (unsigned long long)trace.reserved[n]);
}

static void trace_count(const struct pool_event *e)
{
    if (e->pool >= POOLS_SHOWN)
        return;
    switch (e->kind) {
    case POOL_ALLOCATED: trace.used[e->pool] += e->bytes; break;
    case POOL_FREED: trace.used[e->pool] -= e->bytes; break;
    case POOL_MAPPED:
    case POOL_UNMAPPED: trace.reserved[e->pool] = e->reserved; break;
    default: break;
    }
}

static void put(const struct pool_event *e)
{
    static const char *const names[] = {[POOL_ALLOCATED] = "allocate",
                                        [POOL_FREED] = "free",
                                        [POOL_MAPPED] = "map",
                                        [POOL_UNMAPPED] = "unmap",
                                        [POOL_TRIMMED] = "trim"};
    static const char *const rules[] = {[POOL_RULE_SAME_STREAM] = "same stream",
                                        [POOL_RULE_SYNCHRONIZED] = "synchronized",
                                        [POOL_RULE_EVENT] = "event",
                                        [POOL_RULE_OPPORTUNISTIC] = "opportunistic",
                                        [POOL_RULE_INTERNAL] = "internal",
                                        [POOL_FRESH] = "fresh"};
    double at = now_us() - trace.begin;
    sb_printf(&trace.text,
              ",\n{\"name\":\"%s\",\"ph\":\"i\",\"s\":\"t\",\"ts\":%.3f,\"pid\":%d,\"tid\":%llu,"
              "\"args\":{\"pool\":%llu,\"bytes\":%llu",
              names[e->kind], at, (int)getpid(), (unsigned long long)e->stream,
              (unsigned long long)e->pool, (unsigned long long)e->bytes);
    if (e->kind != POOL_TRIMMED)
        sb_printf(&trace.text, ",\"address\":\"0x%llx\"", (unsigned long long)e->address);
    if (e->kind == POOL_ALLOCATED)
        sb_printf(&trace.text, ",\"rule\":\"%s\"", rules[e->rule]);
    if (e->has_stream)
        sb_printf(&trace.text, ",\"stream\":%llu", (unsigned long long)e->stream);
    sb_printf(&trace.text, "}}");
    put_curves(e, at);
}

/* What is not written yet, to the file; not to one that the program has opened under its number
 * since it closed ours. */
static void trace_flush(void)
{
    bool ours = descriptor_is(trace.file, &trace.opened);
    if (!ours || !descriptor_write(trace.file, trace.text.items, trace.text.count)) {
        fprintf(stderr, "weir: WEIR_POOLS_TRACE: %s: %s; the rest of the trace is lost\n",
                env_get(ENV_POOLS_TRACE),
                ours ? descriptor_error(errno) : "the program has closed it");
        if (ours)
            close(trace.file);
        trace.file = -1;
    }
    sb_free(&trace.text);
}

static void trace_watch(const struct pool_event *e)
{
    pthread_mutex_lock(&trace.lock);
    if (trace.file >= 0) {
        trace_count(e);
        put(e);
        if (trace.text.count >= WRITE_BYTES)
            trace_flush();
    }
    pthread_mutex_unlock(&trace.lock);
}

static void trace_end(void)
{
    pool_watch(NULL);
    pthread_mutex_lock(&trace.lock);
    if (trace.file >= 0) {
        sb_printf(&trace.text, "\n]\n");
        trace_flush();
    }
    if (trace.file >= 0)
        close(trace.file);
    trace.file = -1;
    pthread_mutex_unlock(&trace.lock);
}

/* What waits to be written must not be written by the child as well, nor may the child find the
 * lock taken by a thread that it has not. */
static void before_fork(void)
{
    pthread_mutex_lock(&trace.lock);
    if (trace.file >= 0)
        trace_flush();
}

static void after_fork(void) { pthread_mutex_unlock(&trace.lock); }

static void after_fork_in_child(void)
{
    if (trace.file >= 0)
        close(trace.file);
    trace.file = -1;
    pool_watch(NULL);
    pthread_mutex_unlock(&trace.lock);
}

void pool_trace_begin(void)
{
    const char *path = env_get(ENV_POOLS_TRACE);
    if (path == NULL || *path == '\0')
        return;
    trace.file = descriptor_create(path, O_WRONLY | O_TRUNC);
    if (trace.file < 0 || !descriptor_file(trace.file, &trace.opened)) {
        fprintf(stderr, "weir: WEIR_POOLS_TRACE: %s: %s\n", path, strerror(errno));
        return;
    }
    trace.begin = now_us();
    sb_printf(&trace.text,
              "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"memory "
              "pools\"}}",
              (int)getpid());
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    atexit(trace_end);
    pool_watch(trace_watch);
}
