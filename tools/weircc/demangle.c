/* Names of C++ by the system's C++ library, which is opened only where a message needs it. */
#include "demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

char *demangle(const char *symbol)
{
    typedef char *demangle_fn(const char *, char *, size_t *, int *);
    if (strncmp(symbol, "_Z", 2) != 0)
        return xstrdup(symbol);
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    demangle_fn *fn =
        library != NULL ? (demangle_fn *)dlsym(library, "__cxa_demangle") : (demangle_fn *)NULL;
    int status = -1;
    char *text = fn != NULL ? fn(symbol, NULL, NULL, &status) : NULL;
    char *name = xstrdup(status == 0 && text != NULL ? text : symbol);
    free(text);
    if (library != NULL)
        dlclose(library);
    return name;
}
