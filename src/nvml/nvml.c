/* nvml: libnvidia-ml of Weir's devices. It begins and ends, says what the system is, and finds out
 * which devices there are.
 *
 * Programs ask NVML where they do not want to start CUDA, which a child that they fork later could
 * not use then. So a process that has not started it learns of the devices from a child, which asks
 * the driver and ends. */
#include "nvml/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_DEVICES = 16, CUDA_VERSION_NUMBER = 13000 };

typedef int describe_function(int index, struct weir_device_description *out);
typedef int init_function(unsigned flags);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int uses;  /* nvmlInit without nvmlShutdown */
static int count; /* of devices */
static struct nvmlDevice_st devices[MOST_DEVICES];
static describe_function *describe;

/* ---- which devices there are ---- */

/* Asks in this process, which has started CUDA. Returns how many there are. */
static int ask(struct nvmlDevice_st *out)
{
    int n = 0;
    while (n < MOST_DEVICES && describe(n, &out[n].is) != 0)
        n++;
    return n;
}

static void tell_parent(init_function *init, int pipe)
{
    struct nvmlDevice_st found[MOST_DEVICES];
    memset(found, 0, sizeof found);
    (void)init(0);
    size_t size = (size_t)ask(found) * sizeof *found, done = 0;
    while (done < size) {
        ssize_t n = write(pipe, (const char *)found + done, size - done);
        if (n <= 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    _exit(0);
}

static int read_from_child(int pipe)
{
    size_t done = 0;
    ssize_t n;
    while (done < sizeof devices &&
           ((n = read(pipe, (char *)devices + done, sizeof devices - done)) > 0 ||
            (n < 0 && errno == EINTR)))
        done += n > 0 ? (size_t)n : 0;
    return (int)(done / sizeof *devices);
}

static nvmlReturn_t ask_in_child(init_function *init)
{
    int ends[2];
    if (pipe(ends) != 0)
        return NVML_ERROR_OPERATING_SYSTEM;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        tell_parent(init, ends[1]);
    }
    close(ends[1]);
    if (child > 0)
        count = read_from_child(ends[0]);
    close(ends[0]);
    int status;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 ? NVML_SUCCESS : NVML_ERROR_OPERATING_SYSTEM;
}

static nvmlReturn_t find_devices(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    void *functions[2] = {NULL, NULL};
    init_function *init;
    if (driver != NULL) {
        functions[0] = dlsym(driver, "weir_describe_device");
        functions[1] = dlsym(driver, "cuInit");
    }
    if (functions[0] == NULL || functions[1] == NULL) /* a GPU's, which has an NVML of its own */
        return NVML_ERROR_DRIVER_NOT_LOADED;
    memcpy(&describe, &functions[0], sizeof describe);
    memcpy(&init, &functions[1], sizeof init);
    count = ask(devices);
    nvmlReturn_t r = count > 0 ? NVML_SUCCESS : ask_in_child(init);
    return r == NVML_SUCCESS && count == 0 ? NVML_ERROR_DRIVER_NOT_LOADED : r;
}

int nvml_count(void)
{
    pthread_mutex_lock(&lock);
    int n = uses > 0 ? count : -1;
    pthread_mutex_unlock(&lock);
    return n;
}

nvmlDevice_t nvml_device(int index) { return &devices[index]; }

nvmlReturn_t nvml_index(nvmlDevice_t device, int *index)
{
    int known = nvml_count();
    if (known < 0)
        return NVML_ERROR_UNINITIALIZED;
    for (*index = 0; *index < known; ++*index)
        if (device == &devices[*index])
            return NVML_SUCCESS;
    return NVML_ERROR_INVALID_ARGUMENT;
}

unsigned long long nvml_free_bytes(int index)
{
    struct weir_device_description now;
    return describe(index, &now) != 0 ? now.memory_free : devices[index].is.memory_free;
}

/* ---- begin and end ---- */

NVML_API nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    if ((flags & ~(unsigned)(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH)) != 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    nvmlReturn_t r = uses == 0 ? find_devices() : NVML_SUCCESS;
    if (r == NVML_SUCCESS)
        uses++;
    pthread_mutex_unlock(&lock);
    return r;
}

NVML_API nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

NVML_API nvmlReturn_t nvmlShutdown(void)
{
    pthread_mutex_lock(&lock);
    nvmlReturn_t r = uses > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    uses -= uses > 0;
    pthread_mutex_unlock(&lock);
    return r;
}

NVML_API const char *nvmlErrorString(nvmlReturn_t result)
{
    static const char *const texts[] = {
        [NVML_SUCCESS] = "The operation was successful",
        [NVML_ERROR_UNINITIALIZED] = "Uninitialized",
        [NVML_ERROR_INVALID_ARGUMENT] = "Invalid Argument",
        [NVML_ERROR_NOT_SUPPORTED] = "Not Supported",
        [NVML_ERROR_NO_PERMISSION] = "Insufficient Permissions",
        [NVML_ERROR_ALREADY_INITIALIZED] = "Already Initialized",
        [NVML_ERROR_NOT_FOUND] = "Not Found",
        [NVML_ERROR_INSUFFICIENT_SIZE] = "Insufficient Size",
        [NVML_ERROR_INSUFFICIENT_POWER] = "Insufficient External Power",
        [NVML_ERROR_DRIVER_NOT_LOADED] = "Driver Not Loaded",
        [NVML_ERROR_TIMEOUT] = "Timeout",
        [NVML_ERROR_LIBRARY_NOT_FOUND] = "NVML Shared Library Not Found",
        [NVML_ERROR_FUNCTION_NOT_FOUND] = "Function Not Found",
        [NVML_ERROR_OPERATING_SYSTEM] = "The operating system refused",
        [NVML_ERROR_ARGUMENT_VERSION_MISMATCH] = "Argument version mismatch",
    };
    size_t n = (size_t)result;
    return n < sizeof texts / sizeof *texts && texts[n] != NULL ? texts[n] : "Unknown Error";
}

/* ---- the system ---- */

static nvmlReturn_t answer(const char *text, char *out, unsigned length)
{
    if (nvml_count() < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (out == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return answer(WEIR_VERSION, version, length);
}

NVML_API nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    return answer(NVML_API_VERSION_STR "." WEIR_VERSION, version, length);
}

/* As NVIDIA's, it needs no nvmlInit. */
NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = CUDA_VERSION_NUMBER;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

NVML_API nvmlReturn_t nvmlUnitGetCount(unsigned int *units)
{
    if (nvml_count() < 0)
        return NVML_ERROR_UNINITIALIZED;
    if (units == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    *units = 0;
    return NVML_SUCCESS;
}
