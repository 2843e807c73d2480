/* pool/report: the statistics of pools for the program (weir/pools.h) and for people who ask from
 * outside.
 *
 * From the first pool on, a thread answers whoever connects to the process's socket: one of Linux's
 * abstract names, which are in no directory and go with the process. It tells the same user and
 * root only. What a process had at its end, it writes to WEIR_POOLS_FILE. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/env.h"
#include "driver/objects.h"
#include "weir/pools.h"

_Static_assert((int)WEIR_POOL_RULES == (int)POOL_RULES, "the same rules");
_Static_assert((int)WEIR_POOL_SIZES == (int)POOL_SIZES, "the same sizes");

WEIR_API int weir_pool_get_figures(void *pool, struct weir_pool_figures *out)
{
    CUresult r = driver_ready();
    if (r == CUDA_SUCCESS)
        r = pool_check_own(pool);
    if (r == CUDA_SUCCESS && out == NULL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r != CUDA_SUCCESS)
        return (int)r;
    struct pool_statistics f;
    pool_get_statistics(((CUmemoryPool)pool)->pool, &f);
    *out = (struct weir_pool_figures){
        .reserved = f.reserved,
        .reserved_high = f.reserved_high,
        .used = f.used,
        .used_high = f.used_high,
        .max_size = f.max_bytes,
        .threshold = f.threshold,
        .allocations = f.live,
        .free_bytes = f.free_bytes,
        .largest_free = f.largest_free,
        .fresh = f.fresh,
        .taken = f.taken,
        .released = f.released,
        .streams = f.streams,
    };
    for (int i = 0; i < POOL_SIZES; i++)
        out->free_blocks[i] = f.free_blocks[i];
    for (int i = 0; i < POOL_RULES; i++)
        out->reused[i] = f.reused[i];
    return 0;
}

/* ---- in words ---- */

static void put_bytes(struct strbuf *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int unit = 0;
    for (; n >= 1024 && unit < 4; unit++)
        n /= 1024;
    if (unit == 0)
        sb_printf(out, "%llu bytes", (unsigned long long)bytes);
    else
        sb_printf(out, "%.1f %s", n, units[unit]);
}

static void put_sizes(struct strbuf *out, const struct pool_statistics *f)
{
    for (int i = 0; i < POOL_SIZES; i++)
        if (f->free_blocks[i] > 0) {
            sb_printf(out, "\n    up to ");
            put_bytes(out, (uint64_t)POOL_GRANULE << i);
            sb_printf(out, ": %llu", (unsigned long long)f->free_blocks[i]);
        }
}

static void put_pool(void *self, struct pool *p, const struct pool_config *config, bool destroyed)
{
    static const char *const rules[] = {"same stream", "synchronized", "event", "opportunistic",
                                        "internal"};
    struct strbuf *out = self;
    struct pool_statistics f;
    CUmemoryPool standard = NULL;
    bool graphs = false;
    int number = driver_device_number(config->device);
    pool_get_statistics(p, &f);
    if (number >= 0) {
        standard = pool_standard_if_made(number);
        graphs = pool_of_graphs_if_made(number) == p;
    }
    sb_printf(out, "pool of ");
    if (config->device >= 0)
        sb_printf(out, "device %d", number);
    else
        sb_printf(out, "%s memory", config->kind == MEM_MANAGED ? "managed" : "host");
    sb_printf(out, "%s%s%s\n  reserved ",
              standard != NULL && config->user == standard ? ", default" : "",
              graphs           ? ", of graphs"
              : config->shared ? ", shareable"
                               : "",
              destroyed ? ", destroyed with memory outstanding" : "");
    put_bytes(out, f.reserved);
    sb_printf(out, " (high ");
    put_bytes(out, f.reserved_high);
    sb_printf(out, "; keeps ");
    if (f.threshold == UINT64_MAX)
        sb_printf(out, "all");
    else
        put_bytes(out, f.threshold);
    sb_printf(out, " at synchronizations)\n  used ");
    put_bytes(out, f.used);
    sb_printf(out, " in %llu allocations (high ", (unsigned long long)f.live);
    put_bytes(out, f.used_high);
    sb_printf(out, "), %llu streams\n  free ", (unsigned long long)f.streams);
    put_bytes(out, f.free_bytes);
    sb_printf(out, ", the largest block ");
    put_bytes(out, f.largest_free);
    double scattered =
        f.free_bytes > 0 ? 100.0 - 100.0 * (double)f.largest_free / (double)f.free_bytes : 0;
    sb_printf(out, ": fragmentation %.0f %%; blocks:", scattered);
    put_sizes(out, &f);
    sb_printf(out, "\n  allocations from fresh memory %llu; reused by",
              (unsigned long long)f.fresh);
    for (int i = 0; i < POOL_RULES; i++)
        sb_printf(out, "%s %s %llu", i > 0 ? "," : "", rules[i], (unsigned long long)f.reused[i]);
    sb_printf(out, "\n  from the system ");
    put_bytes(out, f.taken);
    sb_printf(out, ", given back ");
    put_bytes(out, f.released);
    sb_printf(out, "\n");
}

static void report(struct strbuf *out)
{
    sb_printf(out, "memory pools of process %d\n", (int)getpid());
    pool_visit(put_pool, out);
}

WEIR_API size_t weir_pools_report(char *text, size_t bytes)
{
    struct strbuf out = {0};
    report(&out);
    size_t length = out.count;
    if (bytes > 0) {
        size_t fits = length < bytes ? length : bytes - 1;
        memcpy(text, out.items, fits);
        text[fits] = '\0';
    }
    sb_free(&out);
    return length;
}

/* ---- for others ---- */

enum { PATIENCE_US = 100000 };

static int listener = -1;

static bool may_know(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

static void *report_answer(void *arg)
{
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno == EMFILE) { /* until a descriptor is free */
            usleep(PATIENCE_US);
            continue;
        }
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            return NULL;
        if (fd < 0)
            continue;
        if (may_know(fd)) {
            struct strbuf out = {0};
            struct timeval patience = {.tv_sec = 1};
            report(&out);
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
            for (size_t at = 0; at < out.count;) {
                ssize_t n = send(fd, out.items + at, out.count - at, MSG_NOSIGNAL);
                if (n <= 0)
                    break;
                at += (size_t)n;
            }
            sb_free(&out);
        }
        close(fd);
    }
}

/* A child that goes on without exec must not keep the name. */
static void on_fork(void)
{
    if (listener >= 0)
        close(listener);
    listener = -1;
}

static void write_file(void)
{
    const char *path = env_get(ENV_POOLS_FILE);
    if (path == NULL || *path == '\0' || device_forked())
        return;
    struct strbuf out = {0};
    int file = descriptor_create(path, O_WRONLY | O_TRUNC);
    report(&out);
    bool whole = file >= 0 && descriptor_write(file, out.items, out.count);
    int reason = errno;
    if (file >= 0 && close(file) != 0 && whole) {
        whole = false;
        reason = errno;
    }
    if (!whole)
        fprintf(stderr, "weir: WEIR_POOLS_FILE: %s: %s\n", path, descriptor_error(reason));
    sb_free(&out);
}

void pool_report_begin(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "weir-pools-%d", (int)getpid());
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    pthread_t thread;
    pthread_attr_t detached;
    sigset_t all, before;
    atexit(write_file);
    listener = descriptor_own(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (listener < 0 || bind(listener, (struct sockaddr *)&name, size) != 0 ||
        listen(listener, 4) != 0) {
        on_fork(); /* nobody can ask, then */
        return;
    }
    pthread_atfork(NULL, NULL, on_fork);
    sigfillset(&all); /* the program's signals are not for this thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, report_answer, NULL) != 0)
        on_fork();
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
