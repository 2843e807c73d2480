// Whether the driver of the process is Weir's: for what a GPU answers otherwise or not at all.
#ifndef ON_WEIR_H
#define ON_WEIR_H

#include <dlfcn.h>

static inline bool on_weir(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver != nullptr && dlsym(driver, "weir_last_fault") != nullptr;
}

#endif
