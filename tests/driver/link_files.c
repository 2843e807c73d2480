/* link_files jitlink|driver FILE...: links device code by libnvJitLink or by cuLink*, loads what
 * comes out and prints what the kernel `answer` stores; or why that failed. The kind of an input
 * follows from its name. With one container and the word `load` nothing is linked. */
#include "common.h"

#include <dlfcn.h>
#include <stdint.h>

enum { CUBIN = 1, PTX, LTOIR, FATBIN, OBJECT, LIBRARY };

static int kind_of(const char *path)
{
    static const struct {
        const char *suffix;
        int kind;
    } kinds[] = {{".cubin", CUBIN},   {".ptx", PTX},  {".ltoir", LTOIR},
                 {".fatbin", FATBIN}, {".o", OBJECT}, {".a", LIBRARY}};
    const char *suffix = strrchr(path, '.');
    for (size_t n = 0; suffix != NULL && n < sizeof kinds / sizeof *kinds; n++)
        if (strcmp(suffix, kinds[n].suffix) == 0)
            return kinds[n].kind;
    return CUBIN;
}

/* Parameters that are not known here: the functions by the names of the newest headers. */
#define JITLINK(name, ...) ((int (*)(__VA_ARGS__))dlsym(library, "__nvJitLink" name "_13_0"))

static void *by_jitlink(int count, char **files)
{
    const char *options[] = {"-arch=sm_90", "-O3", "-lineinfo"};
    void *link, *image = NULL;
    size_t size = 0;
    char log[4096] = "";
    void *library = dlopen("libnvJitLink.so.13", RTLD_NOW);
    if (library == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    int r = JITLINK("Create", void **, uint32_t, const char *const *)(&link, 3, options);
    for (int n = 0; r == 0 && n < count; n++)
        r = JITLINK("AddFile", void *, int, const char *)(link, kind_of(files[n]), files[n]);
    if (r == 0)
        r = JITLINK("Complete", void *)(link);
    if (r == 0)
        r = JITLINK("GetLinkedCubinSize", void *, size_t *)(link, &size);
    if (r == 0) {
        image = malloc(size);
        r = JITLINK("GetLinkedCubin", void *, void *)(link, image);
    }
    JITLINK("GetErrorLogSize", void *, size_t *)(link, &size);
    if (size <= sizeof log)
        JITLINK("GetErrorLog", void *, char *)(link, log);
    JITLINK("Destroy", void **)(&link);
    if (r != 0)
        printf("result %d: %s\n", r, log);
    return image;
}

static void *by_driver(int count, char **files)
{
    static const CUjitInputType types[] = {
        [CUBIN] = CU_JIT_INPUT_CUBIN,   [PTX] = CU_JIT_INPUT_PTX,
        [LTOIR] = CU_JIT_INPUT_NVVM,    [FATBIN] = CU_JIT_INPUT_FATBINARY,
        [OBJECT] = CU_JIT_INPUT_OBJECT, [LIBRARY] = CU_JIT_INPUT_LIBRARY};
    CUlinkState link;
    void *image = NULL, *copy = NULL;
    size_t size = 0;
    NEED(cuLinkCreate(0, NULL, NULL, &link));
    CUresult r = CUDA_SUCCESS;
    for (int n = 0; r == CUDA_SUCCESS && n < count; n++)
        r = cuLinkAddFile(link, types[kind_of(files[n])], files[n], 0, NULL, NULL);
    if (r == CUDA_SUCCESS)
        r = cuLinkComplete(link, &image, &size);
    if (r == CUDA_SUCCESS) {
        copy = malloc(size);
        memcpy(copy, image, size);
    } else {
        printf("%s: %s\n", result_name(r), weir_last_message());
    }
    NEED(cuLinkDestroy(link));
    return copy;
}

int main(int argc, char **argv)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr out;
    unsigned value = 0;
    if (argc < 2)
        return 1;
    begin();
    if (argc == 3 && strcmp(argv[1], "load") == 0) {
        CUresult r = cuModuleLoad(&m, argv[2]);
        if (r != CUDA_SUCCESS) {
            printf("%s: %s\n", result_name(r), weir_last_message());
            return 1;
        }
    } else {
        void *image = strcmp(argv[1], "jitlink") == 0 ? by_jitlink(argc - 2, argv + 2)
                                                      : by_driver(argc - 2, argv + 2);
        if (image == NULL)
            return 1;
        NEED(cuModuleLoadData(&m, image));
        free(image);
    }
    NEED(cuModuleGetFunction(&f, m, "answer"));
    NEED(cuMemAlloc(&out, 4));
    NEED(cuLaunchCooperativeKernel(f, 2, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&out}));
    NEED(cuCtxSynchronize());
    NEED(cuMemcpyDtoH(&value, out, 4));
    printf("%u\n", value);
    NEED(cuMemFree(out));
    NEED(cuModuleUnload(m));
    return 0;
}
