/* nvrtc LIBRARY: Weir's libnvrtc before another one (vendor.c): what is asked for of sm_NN is
 * compiled for compute_NN and comes as a container; all else goes through as it is. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "check.h"
#include "container/container.h"
#include "nvrtc/nvrtc.h"

static const char source[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

static void *library;
#define CALL(name) ((__typeof__(&(name)))dlsym(library, #name))

/* Compiles; checks what the other library was given, and whether a container comes out. */
static void compiled(nvrtcProgram program, const char *const *options, const char *given,
                     bool container)
{
    int count = 0;
    while (options[count] != NULL)
        count++;
    char log[512] = "";
    CHECK(CALL(nvrtcCompileProgram)(program, count, options) == 0);
    CHECK(CALL(nvrtcGetProgramLog)(program, log) == 0);
    CHECK(strcmp(log, given) == 0);
    size_t size = 0, length = 0;
    CHECK(CALL(nvrtcGetCUBINSize)(program, &size) == 0);
    CHECK((size > 0) == container);
    if (!container)
        return;
    char *image = malloc(size);
    struct diag d = {0};
    CHECK(CALL(nvrtcGetCUBIN)(program, image) == 0);
    const char *ptx = container_find_ptx(image, size, &length, &d);
    CHECK(ptx != NULL && strcmp(ptx, source) == 0);
    free(image);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    nvrtcProgram program, other;
    CHECK(CALL(nvrtcCreateProgram)(&program, source, NULL, 0, NULL, NULL) == 0);
    CHECK(CALL(nvrtcCreateProgram)(&other, source, NULL, 0, NULL, NULL) == 0);
    compiled(program, (const char *[]){"--std=c++17", "--gpu-architecture=sm_90a", NULL},
             "--std=c++17 --gpu-architecture=compute_90a ", true);
    compiled(program, (const char *[]){"-arch", "sm_80", "-rdc=true", NULL},
             "-arch compute_80 -rdc=true ", true);
    compiled(other, (const char *[]){"-arch=sm_75", NULL}, "-arch=compute_75 ", true);
    /* the last target counts, and what was made before is gone */
    compiled(program, (const char *[]){"-arch=compute_90", NULL}, "-arch=compute_90 ", false);
    compiled(program, (const char *[]){"-DN=sm_90", NULL}, "-DN=sm_90 ", false);
    compiled(program, (const char *[]){"-arch=sm_90", "-dlto", NULL}, "-arch=sm_90 -dlto ", false);
    size_t size;
    CHECK(CALL(nvrtcGetCUBINSize)(other, &size) == 0 && size > 0);
    CHECK(CALL(nvrtcCompileProgram)(other, 2, (const char *[]){"-arch=sm_75", "--wrong"}) ==
          NVRTC_ERROR_COMPILATION);
    CHECK(CALL(nvrtcGetCUBINSize)(other, &size) == 0 && size == 0);
    /* the other library lacks this one */
    int count;
    CHECK(CALL(nvrtcGetNumSupportedArchs)(&count) == NVRTC_ERROR_INTERNAL_ERROR);
    CHECK(CALL(nvrtcDestroyProgram)(&program) == 0 && CALL(nvrtcDestroyProgram)(&other) == 0);
    return check_done();
}
