/* nvrtc: libnvrtc for programs that ask the vendor's one for machine code. The vendor's library
 * compiles; it is opened at the first call, from the path in WEIR_NVRTC_<version>, which `weir run`
 * sets (tools/weir/python.c), or where find.h finds it. What is asked for of sm_NN is compiled for
 * compute_NN, and the "cubin" is a container of that PTX, which libcuda loads. All else goes to the
 * vendor's library as it comes.
 *
 * Programs are the vendor's own handles; those that were compiled for sm_NN are kept in a list. */
#include "nvrtc/nvrtc.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/env.h"
#include "container/container.h"
#include "nvrtc/find.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define MAJOR           TEXT(NVRTC_MAJOR)
#if NVRTC_MAJOR == 12
#define OF_PACKAGE "-cu12"
#else
#define OF_PACKAGE ""
#endif
#define SETTING (NVRTC_MAJOR == 12 ? ENV_NVRTC_12 : ENV_NVRTC_13)

/* ---- the vendor's library ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *vendor;

static void open_vendor(void)
{
    const char *named = env_get(SETTING);
    char *path = named != NULL ? xstrdup(named) : nvrtc_find(NULL, NVRTC_MAJOR);
    if (path != NULL && path[0] == '/')
        vendor = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    free(path);
}

/* A function of the vendor's library; NULL: there is no library, or it lacks the function. */
static void *vendor_function(const char *name)
{
    pthread_once(&once, open_vendor);
    return vendor != NULL ? dlsym(vendor, name) : NULL;
}

/* The functions that this library needs itself. */
#define VENDOR(name) ((__typeof__(&(name)))vendor_function(#name))

#define FORWARD(name, parameters, arguments)                                                       \
    nvrtcResult name parameters                                                                    \
    {                                                                                              \
        __typeof__(&(name)) function = VENDOR(name);                                               \
        return function != NULL ? function arguments : NVRTC_ERROR_INTERNAL_ERROR;                 \
    }
NVRTC_FORWARDED(FORWARD)

const char *nvrtcGetErrorString(nvrtcResult result)
{
    __typeof__(&nvrtcGetErrorString) function = VENDOR(nvrtcGetErrorString);
    if (function != NULL)
        return function(result);
    if (env_get(SETTING) != NULL)
        return "WEIR_NVRTC_" MAJOR " names no libnvrtc.so." MAJOR " of NVIDIA's that can be opened";
    return "no libnvrtc.so." MAJOR " of NVIDIA's, which compiles for Weir's, was found that can be "
           "opened: pip install nvidia-cuda-nvrtc" OF_PACKAGE ", or its path in WEIR_NVRTC_" MAJOR;
}

/* ---- programs that were compiled for sm_NN ---- */

struct compiled {
    struct compiled *next;
    nvrtcProgram program;
    unsigned sm;
    bool relocatable;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct compiled *list;

static void forget(nvrtcProgram program)
{
    pthread_mutex_lock(&lock);
    for (struct compiled **at = &list; *at != NULL; at = &(*at)->next)
        if ((*at)->program == program) {
            struct compiled *c = *at;
            *at = c->next;
            free(c);
            break;
        }
    pthread_mutex_unlock(&lock);
}

static bool remember(struct compiled compiled)
{
    struct compiled *c = malloc(sizeof *c);
    if (c == NULL)
        return false;
    *c = compiled;
    pthread_mutex_lock(&lock);
    c->next = list;
    list = c;
    pthread_mutex_unlock(&lock);
    return true;
}

/* Whether the program was compiled for sm_NN, and how. */
static bool recall(nvrtcProgram program, struct compiled *out)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (struct compiled *c = list; c != NULL; c = c->next)
        if (c->program == program) {
            *out = *c;
            found = true;
        }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- options ---- */

/* The value of an option in one word, --gpu-architecture=sm_90; NULL: it is another one. */
static const char *value_of(const char *option, const char *name)
{
    size_t n = strlen(name);
    return strncmp(option, name, n) == 0 && option[n] == '=' ? option + n + 1 : NULL;
}

/* Where an option names the target, sm_90 of its text; NULL: it does not. `value`: the option
 * before was one without its value. */
static const char *target_of(const char *option, bool value)
{
    const char *target = value ? option : value_of(option, "--gpu-architecture");
    if (target == NULL)
        target = value_of(option, "-arch");
    if (target == NULL)
        target = value_of(option, "--gpu-arch");
    return target != NULL && strncmp(target, "sm_", 3) == 0 && isdigit((unsigned char)target[3])
               ? target
               : NULL;
}

static bool is_one_of(const char *option, const char *const *names, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (strcmp(option, names[n]) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(option, ...)                                                                     \
    is_one_of(option, (const char *const[]){__VA_ARGS__},                                          \
              WEIR_COUNT(((const char *const[]){__VA_ARGS__})))

/* The options, with compute_NN for sm_NN, which `c` keeps. NULL where nothing is to be changed:
 * what is compiled to LTO-IR gives no cubin. The caller frees them with the text that was changed,
 * `*text`. */
static const char **change_options(int count, const char *const *options, struct compiled *c,
                                   char **text)
{
    const char **changed = malloc(((size_t)count + 1) * sizeof *changed);
    bool value = false, intermediate = false;
    for (int n = 0; changed != NULL && n < count; n++) {
        const char *option = options[n] != NULL ? options[n] : "";
        const char *target = target_of(option, value);
        value = IS_ONE_OF(option, "--gpu-architecture", "-arch", "--gpu-arch");
        changed[n] = options[n];
        if (target != NULL) {
            c->sm = (unsigned)strtoul(target + 3, NULL, 10);
            free(*text);
            *text = xprintf("%.*scompute_%s", (int)(target - option), option, target + 3);
            changed[n] = *text;
        }
        c->relocatable |=
            IS_ONE_OF(option, "--relocatable-device-code=true", "-rdc=true", "--device-c", "-dc");
        intermediate |= IS_ONE_OF(option, "--dlink-time-opt", "-dlto");
    }
    if (c->sm != 0 && !intermediate)
        return changed;
    free(changed);
    return NULL;
}

/* ---- functions ---- */

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options)
{
    __typeof__(&nvrtcCompileProgram) compile = VENDOR(nvrtcCompileProgram);
    if (compile == NULL)
        return NVRTC_ERROR_INTERNAL_ERROR;
    forget(program);
    if (count <= 0 || options == NULL)
        return compile(program, count, options);
    struct compiled c = {.program = program};
    char *text = NULL;
    const char **changed = change_options(count, options, &c, &text);
    nvrtcResult result = compile(program, count, changed != NULL ? changed : options);
    if (result == NVRTC_SUCCESS && changed != NULL && !remember(c))
        result = NVRTC_ERROR_OUT_OF_MEMORY;
    free(changed);
    free(text);
    return result;
}

/* Makes the container of what was compiled for sm_NN. */
static nvrtcResult make_container(const struct compiled *c, struct strbuf *out)
{
    size_t size = 0;
    nvrtcResult result = nvrtcGetPTXSize(c->program, &size);
    char *ptx = result == NVRTC_SUCCESS && size > 0 ? malloc(size) : NULL;
    if (ptx == NULL)
        return result != NVRTC_SUCCESS ? result : NVRTC_ERROR_OUT_OF_MEMORY;
    result = nvrtcGetPTX(c->program, ptx);
    if (result == NVRTC_SUCCESS)
        container_write(ptx, strnlen(ptx, size), c->sm, c->relocatable, out);
    free(ptx);
    return result;
}

/* The container: its size, or its bytes, whichever is asked for. */
static nvrtcResult give_container(const struct compiled *c, size_t *size, char *bytes)
{
    struct strbuf image = {0};
    nvrtcResult result = make_container(c, &image);
    if (result == NVRTC_SUCCESS && size != NULL)
        *size = image.count;
    if (result == NVRTC_SUCCESS && bytes != NULL)
        memcpy(bytes, image.items, image.count);
    sb_free(&image);
    return result;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size)
{
    struct compiled c;
    if (recall(program, &c))
        return size != NULL ? give_container(&c, size, NULL) : NVRTC_ERROR_INVALID_INPUT;
    __typeof__(&nvrtcGetCUBINSize) function = VENDOR(nvrtcGetCUBINSize);
    return function != NULL ? function(program, size) : NVRTC_ERROR_INTERNAL_ERROR;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *out)
{
    struct compiled c;
    if (recall(program, &c))
        return out != NULL ? give_container(&c, NULL, out) : NVRTC_ERROR_INVALID_INPUT;
    __typeof__(&nvrtcGetCUBIN) function = VENDOR(nvrtcGetCUBIN);
    return function != NULL ? function(program, out) : NVRTC_ERROR_INTERNAL_ERROR;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program)
{
    if (program != NULL)
        forget(*program);
    __typeof__(&nvrtcDestroyProgram) function = VENDOR(nvrtcDestroyProgram);
    return function != NULL ? function(program) : NVRTC_ERROR_INTERNAL_ERROR;
}
