/* S7.6: a plugin whose static objects use CUDA (closing.cu) is opened, used and closed again and
 * again, and at last stays open when the process ends.
 *
 *   host_closing PLUGIN */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { PLACES = 4, ROUNDS = 3 };

static void *open_and_run(const char *path, int i, int *heard)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void (*hear)(int *) = (void (*)(int *))dlsym(library, "plugin_hear");
    int (*run)(int) = (int (*)(int))dlsym(library, "plugin_run");
    CHECK(hear != NULL && run != NULL);
    hear(heard);
    CHECK(run(i) == i * i);
    return library;
}

int main(int argc, char **argv)
{
    static int heard[PLACES];
    CHECK(argc == 2);
    mallopt(M_PERTURB, 165); /* what is freed is gone */
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(dlclose(open_and_run(argv[1], i, heard)) == 0);
        for (int place = 0; place < PLACES; place++)
            CHECK(heard[place] == 0);
    }
    open_and_run(argv[1], 7, heard);
    return check_done();
}
