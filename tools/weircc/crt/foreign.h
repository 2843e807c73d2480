/* What programs are told whose runtime has none of Weir's own functions: libcudart.so.13 of another
 * toolkit was found in the place of Weir's. Those functions are weak, so that a program can say so;
 * what takes them out of an archive is the strong reference here. */
#ifndef WEIRCC_FOREIGN_H
#define WEIRCC_FOREIGN_H

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#pragma weak __cudaWeirRegisterOffload
#pragma weak __cudaWeirUnregisterOffload
#pragma weak __cudaWeirRegisterManaged

int cudaRuntimeGetVersion(int *version);

/* Ends the program, with the dynamic linker's status for a function that is not there. */
static inline void weir_end_without(const char *what)
{
    Dl_info info = {0};
    int version = 0;
    (void)cudaRuntimeGetVersion(&version);
    void *function = dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion");
    if (function == NULL || dladdr(function, &info) == 0 || info.dli_fname == NULL)
        info.dli_fname = "a libcudart";
    fprintf(stderr,
            "weir: this program's %s must have Weir's libcudart.so.13, but '%s' (CUDA %d.%d) was "
            "found: start "
            "it by 'weir run', or link it with a run path to Weir's library directory\n",
            what, info.dli_fname, version / 1000, version % 1000 / 10);
    fflush(stderr);
    _exit(127);
}

#endif
