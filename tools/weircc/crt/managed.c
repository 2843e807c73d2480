/* Tells the runtime where the __managed__ variables of a program or shared library are: weircc
 * joins this object to every object file that has some. The linker puts them all between two
 * symbols. */
#include "weircc/crt/foreign.h"

#include "runtime/program/offload.h"

extern const char __start_weir_managed[] __attribute__((visibility("hidden")));
extern const char __stop_weir_managed[] __attribute__((visibility("hidden")));

/* Many object files may bring this along; they share the variable, and the first speaks for all. */
__attribute__((weak, visibility("hidden"))) int weir_managed_registered;

/* Before the variables themselves are registered by the constructors that clang writes. */
__attribute__((constructor(200))) static void register_managed(void)
{
    if (__cudaWeirRegisterManaged == NULL)
        weir_end_without("managed variables");
    if (weir_managed_registered++ == 0)
        __cudaWeirRegisterManaged(__start_weir_managed, __stop_weir_managed);
}
