/* demangle: asks the C++ library that the process has, or the system's. It is opened only where a
 * message needs it: a program of C does without. */
#include "base/demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

char *demangle(const char *symbol)
{
    typedef char *demangle_fn(const char *, char *, size_t *, int *);
    if (strncmp(symbol, "_Z", 2) != 0)
        return xstrdup(symbol);
    demangle_fn *fn = (demangle_fn *)dlsym(RTLD_DEFAULT, "__cxa_demangle");
    void *library = NULL;
    if (fn == NULL && (library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL)) != NULL)
        fn = (demangle_fn *)dlsym(library, "__cxa_demangle");
    int status = -1;
    char *text = fn != NULL ? fn(symbol, NULL, NULL, &status) : NULL;
    char *name = xstrdup(status == 0 && text != NULL ? text : symbol);
    free(text);
    if (library != NULL)
        dlclose(library);
    return name;
}
