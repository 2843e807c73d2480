/* Libraries with kernels and device variables of the same names, all of whose symbols are global:
 * each launches its own.
 *
 *   host_same_names LIBRARY...      the first has 1, the second 2, ... */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*run)(void) = (int (*)(void))dlsym(library, "same_names_run");
        CHECK(run != NULL);
        int got = run();
        if (got != i)
            fprintf(stderr, "%s has %d, not %d\n", argv[i], got, i);
        CHECK(got == i);
    }
    return check_done();
}
