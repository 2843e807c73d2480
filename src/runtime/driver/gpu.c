/* gpu: see gpu.h. */
#include "runtime/driver/gpu.h"
#include "base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool rt_on_gpu(void) { return !RT_HAS(weir_last_message); }

void rt_gpu_tell_settings(void)
{
    static const enum env_variable settings[] = {ENV_CHECK, ENV_TRACE, ENV_STATS, ENV_SCHEDULE};

    for (size_t i = 0; i < COUNT(settings); i++) {
        const char *value = env_get(settings[i]);
        if (value != NULL && *value != '\0')
            fprintf(stderr,
                    "weir: %s=%s: Weir's CPU device does that, and a GPU's driver does not: it is "
                    "not done\n",
                    env_entry(settings[i])->name, value);
    }
}

void rt_gpu_tell_no_device(void)
{
    const char *setting = env_get(ENV_DRIVER);

    if (setting != NULL && *setting != '\0')
        fprintf(stderr, "weir: WEIR_DRIVER=%s: the driver has no device\n", setting);
}

/* ---- fat binaries of weircc ---- */

/* The head of an entry: as much as all writers agree on. */
struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t packed_bytes, options;
    uint16_t minor, major;
    uint32_t arch;
    uint32_t name, name_bytes;
    uint64_t flags;
    uint64_t reserved[2];
};
enum { KIND_PTX = 1, PACKED = 0x2000 | 0x8000 };

/* The PTX for a GPU of the capability given (90), in the form for GPUs, ended by a NUL. NULL: the
 * fat binary has none, or other kinds of code, among which the driver must choose. */
static const char *find_ptx(const struct fat_header *h, unsigned sm)
{
    const char *at = (const char *)h + h->header_bytes, *end = at + h->bytes, *best = NULL;
    unsigned best_arch = 0;

    if (h->magic != FAT_MAGIC)
        return NULL;
    while ((size_t)(end - at) >= sizeof(struct entry)) {
        const struct entry *e = (const struct entry *)at;
        const char *text = at + e->header_bytes;

        if (e->kind != KIND_PTX || (e->flags & PACKED) || e->header_bytes < sizeof *e ||
            e->header_bytes > (size_t)(end - at) || e->bytes > (size_t)(end - text) ||
            e->bytes == 0 || text[e->bytes - 1] != '\0')
            return NULL;
        if (e->arch <= sm && e->arch >= best_arch) {
            best = text;
            best_arch = e->arch;
        }
        at = text + e->bytes;
    }
    return best;
}

static unsigned capability(void)
{
    CUdevice device;
    int major = 0, minor = 0;

    if (CU(cuCtxGetDevice, &device) != CUDA_SUCCESS)
        return 0;
    CU(cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    CU(cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return (unsigned)(major * 10 + minor);
}

/* The pieces of a binary: fat binaries, closed by NULL. */
static const void *const *pieces_of(const struct rt_binary *b, const void *one[2])
{
    if (b->piece_count > 0)
        return b->pieces;
    one[0] = ((const struct fat_header *)b->image)->magic == FAT_MAGIC ? b->image : NULL;
    one[1] = NULL;
    return one;
}

/* The texts of the pieces. False: it is not all PTX, so the driver loads it as it is. */
static bool collect(const void *const *pieces, const char **texts)
{
    unsigned sm = capability();
    size_t n = 0;

    for (; pieces[n] != NULL; n++)
        if ((texts[n] = find_ptx(pieces[n], sm)) == NULL)
            return false;
    return n > 0;
}

/* ---- linking ---- */

static bool uses_device_runtime(const char *text)
{
    return strstr(text, "__cudaCDP2") != NULL || strstr(text, "cudaGraphLaunch") != NULL ||
           strstr(text, "cudaGraphSetConditional") != NULL;
}

static CUresult no_device_runtime(char *log, size_t bytes)
{
    snprintf(log, bytes,
             "the program's kernels launch kernels, or call other functions of the device runtime. "
             "On NVIDIA's driver that takes libcudadevrt.a of the CUDA toolkit, which this machine "
             "lacks: it is not beside nvcc in the PATH, nor in CUDA_HOME, CUDA_PATH or "
             "/usr/local/cuda. Install the toolkit (the package cuda-cudart-dev is enough), or set "
             "CUDA_HOME to one");
    return CUDA_ERROR_FILE_NOT_FOUND;
}

static CUresult add_pieces(CUlinkState link, const char *const *texts, size_t count,
                           bool *device_runtime)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        char name[32];

        snprintf(name, sizeof name, "piece %zu", i + 1);
        *device_runtime = *device_runtime || uses_device_runtime(texts[i]);
        result = CU(cuLinkAddData_v2, link, CU_JIT_INPUT_PTX, (void *)texts[i],
                    strlen(texts[i]) + 1, name, 0, NULL, NULL);
    }
    return result;
}

static CUresult link_pieces(const char *const *texts, size_t count, CUmodule *module, char *log,
                            size_t bytes)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)bytes};
    char path[4096];
    bool device_runtime = false;
    CUlinkState link;
    CUresult result = CU(cuLinkCreate_v2, 2, options, values, &link);
    void *image = NULL;
    size_t size;

    if (result != CUDA_SUCCESS)
        return result;
    result = add_pieces(link, texts, count, &device_runtime);
    if (result == CUDA_SUCCESS && device_runtime)
        result = rt_find_device_runtime(path, sizeof path)
                     ? CU(cuLinkAddFile_v2, link, CU_JIT_INPUT_LIBRARY, path, 0, NULL, NULL)
                     : no_device_runtime(log, bytes);
    if (result == CUDA_SUCCESS)
        result = CU(cuLinkComplete, link, &image, &size);
    if (result == CUDA_SUCCESS)
        result = CU(cuModuleLoadDataEx, module, image, 2, options, values);
    CU(cuLinkDestroy, link);
    return result;
}

/* ---- relocatable code of nvcc ---- */

/* It is linked already for the GPUs that the program was compiled for; beside that are the pieces.
 * NULL: the binary is no such. */
static const struct fat_wrapper *linked_by_nvcc(const struct rt_binary *b)
{
    const struct fat_wrapper *w = b->image;

    return b->piece_count == 0 && w->magic == FAT_WRAPPER_MAGIC && w->version == 2 ? w : NULL;
}

/* For another GPU the driver links the pieces, among which is the device runtime where it is used.
 */
static CUresult link_fat_pieces(const void *const *pieces, CUmodule *module, char *log,
                                size_t bytes)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)bytes}, *image = NULL;
    CUlinkState link;
    size_t size;
    CUresult result = CU(cuLinkCreate_v2, 2, options, values, &link);

    if (result != CUDA_SUCCESS)
        return result;
    for (; *pieces != NULL && result == CUDA_SUCCESS; pieces++) {
        const struct fat_header *h = *pieces;
        result = CU(cuLinkAddData_v2, link, CU_JIT_INPUT_FATBINARY, (void *)h,
                    h->header_bytes + h->bytes, "piece", 0, NULL, NULL);
    }
    if (result == CUDA_SUCCESS)
        result = CU(cuLinkComplete, link, &image, &size);
    if (result == CUDA_SUCCESS)
        result = CU(cuModuleLoadDataEx, module, image, 2, options, values);
    CU(cuLinkDestroy, link);
    return result;
}

static CUresult load_linked(const struct fat_wrapper *w, CUmodule *module, char *log, size_t bytes)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)bytes};
    CUresult result = CU(cuModuleLoadDataEx, module, w->data, 2, options, values);

    return result == CUDA_ERROR_NO_BINARY_FOR_GPU && w->aux != NULL
               ? link_fat_pieces(w->aux, module, log, bytes)
               : result;
}

/* ---- what went wrong ---- */

/* What NVIDIA's words about a function or variable that nobody defines come from. */
static const struct {
    const char *found, *meaning;
} meanings[] = {
    {"cudaDeviceSynchronize", "GPUs have no cudaDeviceSynchronize in device code since sm_90: use "
                              "cudaStreamTailLaunch, or run it on Weir's CPU device"},
    {"__weir_launch", "GPUs do not launch from the device as it was before sm_90: compile with "
                      "-arch=sm_90"},
    {"'__nv_", "the program was compiled where no library of mathematical functions for GPUs had "
               "this one: compile it where the CUDA toolkit is, so that weircc finds libdevice"},
    {"address_of_a_managed_variable", "the initial value of a variable has the address of a "
                                      "managed variable: on GPUs that is known only when the "
                                      "program runs, so set it in main"},
};

/* Adds it to the driver's log. */
static void explain(char *log, size_t bytes)
{
    size_t used = strnlen(log, bytes);

    for (size_t i = 0; i < COUNT(meanings); i++)
        if (strstr(log, meanings[i].found) != NULL) {
            while (used > 0 && log[used - 1] == '\n')
                used--;
            snprintf(log + used, bytes - used, "\n%s", meanings[i].meaning);
            return;
        }
}

CUresult rt_gpu_load(const struct rt_binary *b, CUmodule *module, char *log, size_t bytes)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(bytes / 2)}; /* the rest is for explanations */
    const void *one[2];
    const void *const *pieces = pieces_of(b, one);
    size_t count = b->piece_count > 0 ? b->piece_count : 1;
    const char **texts;
    CUresult result;

    if (linked_by_nvcc(b) != NULL)
        return load_linked(linked_by_nvcc(b), module, log, bytes);
    texts = calloc(count, sizeof *texts);
    if (texts == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (collect(pieces, texts) && (count > 1 || uses_device_runtime(texts[0])))
        result = link_pieces(texts, count, module, log, bytes / 2);
    else
        result = CU(cuModuleLoadDataEx, module, b->piece_count == 1 ? b->pieces[0] : b->image, 2,
                    options, values);
    free(texts);
    if (result != CUDA_SUCCESS)
        explain(log, bytes);
    return result;
}

/* ---- managed variables ---- */

/* The host's variable as memory that the device reaches: the pages of all of the program's managed
 * variables at once, since some share pages. */
static CUresult register_variable(const struct rt_variable *v, CUdeviceptr *device)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from, to;
    const char *begin = v->host, *end = begin + v->size;
    CUresult result;

    rt_managed_section(v->host, &begin, &end);
    from = (uintptr_t)begin & ~(page - 1);
    to = ((uintptr_t)end + page - 1) & ~(page - 1);
    result = CU(cuMemHostRegister_v2, (void *)from, to - from,
                CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        return result;
    return CU(cuMemHostGetDevicePointer_v2, device, (void *)v->host, 0);
}

static CUresult bind_variable(const struct rt_variable *v, CUmodule module, bool keep)
{
    CUdeviceptr initial, pointer, device;
    CUresult result = CUDA_SUCCESS;
    size_t size, pointer_size;
    char name[1024];
    int n = snprintf(name, sizeof name, "__weir_managed_%s", v->name);

    if (n < 0 || (size_t)n >= sizeof name)
        return CUDA_ERROR_INVALID_SOURCE;
    result = CU(cuModuleGetGlobal_v2, &initial, &size, module, v->name);
    if (result == CUDA_SUCCESS)
        result = CU(cuModuleGetGlobal_v2, &pointer, &pointer_size, module, name);
    if (result == CUDA_SUCCESS && !keep)
        result = CU(cuMemcpyDtoH_v2, (void *)v->host, initial, size < v->size ? size : v->size);
    if (result == CUDA_SUCCESS)
        result = register_variable(v, &device);
    if (result == CUDA_SUCCESS)
        result = CU(cuMemcpyHtoD_v2, pointer, &device, sizeof device);
    return result;
}

cudaError_t rt_gpu_bind_managed(struct rt_binary *b, CUmodule module, bool elsewhere)
{
    for (struct rt_variable *v = b->variables; v != NULL; v = v->next)
        if (v->kind == RT_MANAGED && !v->pointer)
            CU_TRY(bind_variable(v, module, elsewhere));
    return cudaSuccess;
}
