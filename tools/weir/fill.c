/* weir cache --fill: compiles the kernels of a program ahead, so that no launch waits for it.
 *
 * A launch's code depends on the block's shape, which the program chooses. What has been launched
 * before, by whichever program, the cache remembers; other kernels are compiled for the shape that
 * they require, or else for the shapes that programs mostly use. */
#include "base/clock.h"
#include "input.h"
#include "loader/cache.h"
#include "loader/loader.h"
#include "weir.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One kernel with the options of a launch. */
struct variant {
    const struct ptx_func *entry;
    struct jit_options options;
};

struct fill {
    struct {
        struct variant *items;
        size_t count, cap;
    } variants;
    pthread_mutex_t lock; /* guards all below */
    size_t next, compiled, found, failed;
};

static void add_variant(struct fill *f, const struct ptx_func *entry, struct jit_options options)
{
    options.tier = JIT_TIER_OPTIMIZING;
    for (size_t n = 0; n < f->variants.count; n++)
        if (f->variants.items[n].entry == entry &&
            memcmp(&f->variants.items[n].options, &options, sizeof options) == 0)
            return;
    vec_push(&f->variants, (struct variant){entry, options});
}

/* Large grids of blocks less wide than a warp have code for several of them side by side. */
static void add_joined(struct fill *f, const struct ptx_func *entry, const uint32_t block[3])
{
    struct jit_kernel_info info;
    uint32_t joined = block[0] == 8 || block[0] == 16 ? JIT_WARP / block[0] : 1;
    if (joined == 1 || JIT_WARP * block[1] * block[2] > 1024 ||
        !jit_kernel_info(entry, &info, NULL) || info.joins != JIT_JOINS)
        return;
    add_variant(f, entry,
                (struct jit_options){.ntid = {JIT_WARP, block[1], block[2]},
                                     .grid_small = 1,
                                     .lineinfo = 1,
                                     .joined = joined});
}

static void add_shape(struct fill *f, const struct ptx_func *entry, const uint32_t block[3])
{
    add_variant(f, entry,
                (struct jit_options){
                    .ntid = {block[0], block[1], block[2]}, .grid_small = 1, .lineinfo = 1});
    add_joined(f, entry, block);
}

static void add_common_shapes(struct fill *f, const struct ptx_func *entry)
{
    static const uint32_t shapes[][3] = {{256, 1, 1},  {128, 1, 1}, {512, 1, 1},
                                         {1024, 1, 1}, {16, 16, 1}, {32, 32, 1}};
    struct jit_kernel_info info;
    if (!jit_kernel_info(entry, &info, NULL))
        return;
    for (size_t n = 0; n < WEIR_COUNT(shapes); n++)
        if (shapes[n][0] * shapes[n][1] <= info.max_threads)
            add_shape(f, entry, shapes[n]);
}

static void add_kernel(struct fill *f, const struct fill_request *r, const struct ptx_func *entry)
{
    struct jit_options launched[JIT_LAUNCHED];
    int n = r->nblocks > 0 ? 0 : jit_launched(entry, launched);
    for (int k = 0; k < n; k++)
        add_variant(f, entry, launched[k]);
    for (int k = 0; k < r->nblocks; k++)
        add_shape(f, entry, r->blocks[k]);
    if (n > 0 || r->nblocks > 0)
        return;
    const uint32_t *q = entry->reqntid;
    if (q[0] != 0)
        add_shape(f, entry, (uint32_t[3]){q[0], q[1] != 0 ? q[1] : 1, q[2] != 0 ? q[2] : 1});
    else
        add_common_shapes(f, entry);
}

/* Compiles one variant and tells of it. */
static void compile(struct fill *f, size_t n)
{
    const struct variant *v = &f->variants.items[n];
    struct diag d = {0};
    bool found = false;
    const uint64_t start = clock_ns();
    bool ok = jit_compile_ahead(v->entry, &v->options, &found, &d);
    double s = (double)(clock_ns() - start) * 1e-9;
    const uint32_t *b = v->options.ntid;
    pthread_mutex_lock(&f->lock);
    size_t done = f->compiled + f->found + f->failed + 1;
    f->failed += !ok;
    f->found += ok && found;
    f->compiled += ok && !found;
    if (!ok)
        weir_failed("cache", "kernel %s: %s", v->entry->name, d.text);
    else if (!found)
        printf("%zu/%zu: %s, block %u x %u x %u: %.1f s\n", done, f->variants.count, v->entry->name,
               b[0], b[1], b[2], s);
    fflush(stdout);
    pthread_mutex_unlock(&f->lock);
}

static void *work(void *arg)
{
    struct fill *f = arg;
    for (;;) {
        pthread_mutex_lock(&f->lock);
        size_t n = f->next < f->variants.count ? f->next++ : SIZE_MAX;
        pthread_mutex_unlock(&f->lock);
        if (n == SIZE_MAX)
            return NULL;
        compile(f, n);
    }
}

/* A thread for each CPU that the process may use, this one among them. */
static void work_all(struct fill *f)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    cpu_set_t cpus;
    int count = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1, started = 0;
    for (size_t n = 1; n < f->variants.count && (int)n < count && n < MOST; n++)
        started += pthread_create(&threads[started], NULL, work, f) == 0;
    work(f);
    for (int n = 0; n < started; n++)
        pthread_join(threads[n], NULL);
}

static bool add_module(struct fill *f, const struct fill_request *r, const struct input_module *in)
{
    struct diag d = {0};
    const struct ptx_module *m = in->module;
    if (!jit_check(m, &d)) {
        weir_failed("cache", "%s: %s", in->from, d.text);
        return false;
    }
    for (int32_t i = 0; i < m->nfuncs; i++)
        if (m->funcs[i]->is_entry && m->funcs[i]->has_body)
            add_kernel(f, r, m->funcs[i]);
    return true;
}

int weir_fill(const struct fill_request *r)
{
    struct fill f = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct input in = {0};
    struct diag d = {0};
    if (!input_read(&in, r->file, &d))
        return weir_failed("cache", "%s", d.text);
    bool ok = true;
    for (size_t i = 0; i < in.count; i++)
        ok = add_module(&f, r, &in.items[i]) && ok;
    if (f.variants.count == 0 && ok) {
        weir_failed("cache", "%s has no kernels", r->file);
        ok = false;
    }
    work_all(&f);
    if (f.variants.count > 0)
        printf("%zu variants of kernels: %zu compiled, %zu were there, %zu failed\n",
               f.variants.count, f.compiled, f.found, f.failed);
    if (f.compiled > 0 && !cache_stores()) {
        weir_failed("cache", "what was compiled could not be kept in %s", cache_dir());
        ok = false;
    }
    free(f.variants.items);
    input_free(&in);
    return ok && f.failed == 0 ? EXIT_OK : EXIT_FAILED;
}
