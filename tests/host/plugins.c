/* S7.6: plugins with the static runtime in a host written in C: ten at once beside OpenMP, closed
 * and opened again, in a namespace of their own, and threads that outlive them.
 *
 *   host_plugins PLUGIN DIRECTORY      DIRECTORY is for copies of the plugin */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { PLUGINS = 10, ROUNDS = 5 };

typedef int run_fn(int);

static char paths[PLUGINS][4096];

static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    CHECK(in != NULL && out != NULL);
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        CHECK(fwrite(buffer, 1, n, out) == n);
    fclose(in);
    CHECK(fclose(out) == 0);
}

static void *open_one(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static int run(void *library, int n)
{
    run_fn *fn = (run_fn *)dlsym(library, "plugin_run");
    CHECK(fn != NULL);
    return fn(n);
}

static void ten_at_once(void)
{
    void *libraries[PLUGINS];
    for (int i = 0; i < PLUGINS; i++)
        libraries[i] = open_one(paths[i]);
    for (int i = 0; i < PLUGINS; i++)
        CHECK(run(libraries[i], i + 1) == 0);
    for (int i = 0; i < PLUGINS; i++)
        CHECK(dlclose(libraries[i]) == 0);
}

/* A thread that has used plugins and ends when they are closed. */
static pthread_barrier_t used, closed;

static void *user(void *libraries)
{
    for (int i = 0; i < PLUGINS; i++) {
        int (*fail)(void) = (int (*)(void))dlsym(((void **)libraries)[i], "plugin_fail");
        CHECK(run(((void **)libraries)[i], 3) == 0 && fail() == 0);
    }
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    return NULL;
}

static void threads_outlive(void)
{
    void *libraries[PLUGINS];
    pthread_t threads[2];
    pthread_barrier_init(&used, NULL, 3);
    pthread_barrier_init(&closed, NULL, 3);
    for (int i = 0; i < PLUGINS; i++)
        libraries[i] = open_one(paths[i]);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, user, libraries) == 0);
    pthread_barrier_wait(&used);
    for (int i = 0; i < PLUGINS; i++)
        CHECK(dlclose(libraries[i]) == 0);
    pthread_barrier_wait(&closed);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* A sanitizer's run time is one per process. */
#ifdef SANITIZED
enum { SEVERAL_NAMESPACES = 0 };
#else
enum { SEVERAL_NAMESPACES = 1 };
#endif

/* Twice in one process: each namespace has a driver of its own. */
static void another_namespace(void)
{
    void *library = dlmopen(LM_ID_NEWLM, paths[0], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void *again = open_one(paths[0]);
    CHECK(run(library, 5) == 0 && run(again, 6) == 0);
    CHECK(dlclose(again) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    for (int i = 0; i < PLUGINS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/plugin%d.so", argv[2], i);
        copy_file(argv[1], paths[i]);
    }
    const char *openmp = "libgomp.so.1";
    if (dlopen(openmp, RTLD_NOW | RTLD_GLOBAL) == NULL)
        fprintf(stderr, "note: without %s: %s\n", openmp, dlerror());
    for (int i = 0; i < ROUNDS; i++)
        ten_at_once();
    threads_outlive();
    if (SEVERAL_NAMESPACES)
        another_namespace();
    return check_done();
}
