/* S7.8, module compiler: LLVM registers nothing for exit(), neither when its library is loaded nor
 * later: exit_handlers LIBWEIR-JIT. Whoever ends the process while a thread compiles must not
 * destroy what that thread uses. */
#include "abi/compile.h"
#include "check.h"
#include "loader/loader.h"
#include "ptx/ptx.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int handlers, others; /* that LLVM's library registered, and all others */

/* All libraries of the process find this one first. */
__attribute__((visibility("default"))) int __cxa_atexit(void (*handler)(void *), void *argument,
                                                        void *library);
int __cxa_atexit(void (*handler)(void *), void *argument, void *library)
{
    typedef int (*register_fn)(void (*)(void *), void *, void *);
    register_fn next = (register_fn)dlsym(RTLD_NEXT, "__cxa_atexit");
    Dl_info info;
    bool is_llvm =
        library != NULL && dladdr(library, &info) != 0 && strstr(info.dli_fname, "LLVM") != NULL;
    atomic_fetch_add(is_llvm ? &handlers : &others, 1);
    return next != NULL ? next(handler, argument, library) : -1;
}

static const char text[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred %p<2>;\n"
    "    ld.param.u64 %rd1, [p];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r2, %tid.x;\n"
    "    mul.wide.u32 %rd2, %r2, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "L: ld.global.f32 %f1, [%rd3];\n    sqrt.rn.f32 %f2, %f1;\n    fma.rn.f32 %f1, %f2, %f1, %f2;\n"
    "    st.global.f32 [%rd3], %f1;\n    sub.u32 %r1, %r1, 1;\n    setp.ne.u32 %p1, %r1, 0;\n"
    "    @%p1 bra L;\n    ret;\n}\n";

static void helper_function(void) {}
static void *helper(void *self, const char *name)
{
    (void)self;
    (void)name;
    return (void *)helper_function;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    jit_set_plugin_path(argv[1]);
    struct diag d = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), &d);
    CHECK_STR(d.text, "");
    struct jit_kernel_info info;
    CHECK(jit_kernel_info(m->funcs[0], &info, &d));
    CHECK_EQ_INT(atomic_load(&handlers), 0); /* of objects that are made when it is loaded */
    struct jit_options options = {.ntid = {64, 1, 1}, .tier = JIT_TIER_OPTIMIZING};
    struct jit_resolver resolver = {.helper = helper};
    CHECK(jit_get(m->funcs[0], &options, &resolver, &d) != NULL);
    CHECK_STR(d.text, "");
    CHECK_EQ_INT(atomic_load(&handlers), 0);
    CHECK(atexit(helper_function) == 0);
    CHECK(atomic_load(&others) > 0); /* they are counted */
    return check_done();
}
