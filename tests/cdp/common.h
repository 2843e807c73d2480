/* What the tests of launches by device code share: the driver's checks, and modules from files. */
#ifndef WEIR_TEST_NESTED_H
#define WEIR_TEST_NESTED_H

#include "../driver/common.h"

/* A module from a file beside the tests. */
static inline CUmodule load_file(const char *name)
{
    char path[1024];
    CUmodule m;
    snprintf(path, sizeof path, "%s/%s", WEIR_TEST_DIRECTORY, name);
    NEED(cuModuleLoad(&m, path));
    return m;
}

/* `count` words that host and device see, zeroed. */
static inline unsigned *words(size_t count)
{
    unsigned *p;
    NEED(cuMemHostAlloc((void **)&p, count * sizeof *p, 0));
    memset(p, 0, count * sizeof *p);
    return p;
}

#endif
