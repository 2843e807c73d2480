/* init: cuInit, versions, messages, and the translation of lower layers' errors. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/env.h"
#include "base/reserve.h"
#include "base/stack.h"
#include "driver/driver.h"
#include "driver/error/checks.h"
#include "driver/error/fault.h"
#include "driver/error/site.h"
#include "driver/error/symbols.h"
#include "driver/observers.h"
#include "loader/loader.h"
#include "memory/view.h"
#include "texture/texture.h"
#include "weir/weir.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
/* Written under the lock. CUDA_ERROR_NOT_INITIALIZED: also what a setting that is wrong gives,
 * since "no device" is what programs that can do without one pass over in silence. */
static _Atomic CUresult opened = CUDA_ERROR_NOT_INITIALIZED;
static bool to_open =
    true; /* under the lock, too: where memory ran out, the next cuInit tries again */
static atomic_bool asked;
static char open_message[1024];

/* The calling thread's last message, on the heap: thread-local storage of a library that is opened
 * late must stay small. Freed when the thread ends. NULL where there is no memory for it. */
enum { MESSAGE_BYTES = 2048 };
struct message {
    bool fresh; /* said since message_begin_call */
    char text[MESSAGE_BYTES];
};
static pthread_key_t message_key;
static pthread_once_t message_once = PTHREAD_ONCE_INIT;
static void make_message_key(void) { pthread_key_create(&message_key, free); }

static struct message *init_message(void)
{
    pthread_once(&message_once, make_message_key);
    struct message *m = pthread_getspecific(message_key);
    if (m == NULL) {
        m = calloc(1, sizeof *m);
        if (m != NULL && pthread_setspecific(message_key, m) != 0) {
            free(m);
            m = NULL;
        }
    }
    return m;
}

void message_begin_call(void)
{
    struct message *m = init_message();
    if (m != NULL)
        m->fresh = false;
}

const char *message_of_call(void)
{
    const struct message *m = init_message();
    return m != NULL && m->fresh ? m->text : NULL;
}

CUresult driver_error(CUresult code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct message *m = init_message();
    if (m != NULL) {
        vsnprintf(m->text, sizeof m->text, fmt, ap);
        m->fresh = true;
    }
    va_end(ap);
    return code;
}

WEIR_API const char *weir_last_message(void)
{
    const struct message *m = init_message();
    return m != NULL ? m->text : "the host is out of memory";
}

static void on_fork(void) { slow_path_set(SLOW_PATH_NOT_READY); }

WEIR_API int weir_passed_by(int now)
{
    static atomic_bool passed;
    return now != 0 ? atomic_exchange(&passed, true) : atomic_load(&passed);
}

/* Whether the file is the one that this code is in. */
static bool is_this_library(const char *path)
{
    struct stat named, own;
    Dl_info self;
    return dladdr((void *)&opened, &self) != 0 && stat(path, &named) == 0 &&
           stat(self.dli_fname, &own) == 0 && named.st_dev == own.st_dev &&
           named.st_ino == own.st_ino;
}

/* Another driver was asked for than this one. */
static bool wanted(struct diag *d)
{
    const char *driver = env_get(ENV_DRIVER);
    if (driver == NULL || *driver == '\0' || strcmp(driver, "cpu") == 0 ||
        strcmp(driver, "auto") == 0)
        return true;
    if (strchr(driver, '/') == NULL && strcmp(driver, "gpu") != 0)
        return diag_set(d, 0, 0,
                        "WEIR_DRIVER=%s: it must be cpu, gpu, auto or the path of a libcuda.so.1, "
                        "with a slash",
                        driver);
    return is_this_library(driver) ||
           diag_set(d, 0, 0,
                    "WEIR_DRIVER=%s, but the program has loaded Weir's libcuda.so.1, which runs on "
                    "the CPU: run it with 'weir run --device=gpu'",
                    driver);
}

/* At most one word of each kind. */
static bool vectors_valid(struct diag *d)
{
    static const char *const words[] = {"512", "256", "gathers", "loads", NULL};
    if (!env_words(ENV_VECTORS, words, d))
        return false;
    if ((env_lists(ENV_VECTORS, "512") && env_lists(ENV_VECTORS, "256")) ||
        (env_lists(ENV_VECTORS, "gathers") && env_lists(ENV_VECTORS, "loads"))) {
        diag_set(d, 0, 0,
                 "WEIR_VECTORS=%s: must have one of \"512\" and \"256\" at most, and one of "
                 "\"gathers\" and \"loads\"",
                 env_get(ENV_VECTORS));
        return false;
    }
    return true;
}

/* A word that is not known would be a wish that nobody hears. */
static bool settings_valid(struct diag *d)
{
    static const char *const on_off[] = {"on", "off", NULL};
    static const char *const perf[] = {"on", "lines", "off", NULL};
    static const char *const jit[] = {"baseline", "optimizing", "both", NULL};
    static const char *const pools[] = {"own", "driver", NULL};
    return env_words(ENV_CHECK, env_checks, d) && env_word(ENV_KEYS, on_off, d) &&
           env_word(ENV_FAULTS, on_off, d) && env_word(ENV_STATS, on_off, d) &&
           env_word(ENV_PERF, perf, d) && env_word(ENV_JIT, jit, d) && vectors_valid(d) &&
           env_word(ENV_LIBRARIES, on_off, d) && env_word(ENV_DEBUGGER, on_off, d) &&
           env_word(ENV_POOLS, pools, d);
}

static void tell_setting(void *self, const char *line)
{
    (void)self;
    fprintf(stderr, "weir: %s\n", line);
}

/* What is done once, whatever comes of it. */
static void init_once(void)
{
    env_unknown(tell_setting, NULL);
    mem_site_set_words(call_words);
    jit_set_names(symbol_short);
    observers_begin();
    texture_use_vectors(env_lists(ENV_VECTORS, "256") ? 256 : 512);
    pthread_atfork(NULL, NULL, on_fork);
    if (env_check("memory"))
        mem_check_begin();
}

/* Memory for what cannot fail. */
static bool fill_reserves(void)
{
    bool blocks = reserve_fill(), handles = handle_fill(); /* both, always */
    return blocks && handles;
}

static CUresult refuse_memory(void)
{
    return driver_error(CUDA_ERROR_OUT_OF_MEMORY, "the host is out of memory");
}

static void refuse(CUresult code, const struct diag *d)
{
    opened = code;
    snprintf(open_message, sizeof open_message, "%s", d->text);
    fprintf(stderr, "weir: %s\n", d->text);
}

static void init_open(void *unused)
{
    struct diag d = {0};
    (void)unused;
    to_open = false;
    if (!fill_reserves()) {
        to_open = true;
        opened = refuse_memory();
        snprintf(open_message, sizeof open_message, "the host is out of memory");
        return;
    }
    pthread_once(&once, init_once);
    if (!wanted(&d)) {
        refuse(CUDA_ERROR_NO_DEVICE, &d);
    } else if (settings_valid(&d) && device_limits_begin(&d) && checks_begin(&d) &&
               device_open(&d) && checks_opened(&d)) {
        if (mem_guarded())
            grid_set_host_touch(fault_host);
        driver_find_devices();
        opened = driver_device_count() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
        if (opened != CUDA_SUCCESS)
            snprintf(open_message, sizeof open_message, "CUDA_VISIBLE_DEVICES hides every device");
    } else {
        to_open = d.out_of_memory;
        refuse(to_open ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_INITIALIZED, &d);
    }
}

WEIR_API CUresult cuInit(unsigned int flags)
{
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (opened != CUDA_SUCCESS) {
        pthread_mutex_lock(&open_lock);
        if (to_open)
            stack_call(init_open, NULL);
        pthread_mutex_unlock(&open_lock);
    }
    atomic_store(&asked, true);
    if (device_forked())
        return driver_initialized();
    if (opened != CUDA_SUCCESS)
        return driver_error(opened, "%s", open_message);
    slow_path_clear(SLOW_PATH_NOT_READY);
    return CUDA_SUCCESS;
}

CUresult driver_why_not_ready(void)
{
    CU_TRY(driver_initialized());
    return fill_reserves() ? CUDA_SUCCESS : refuse_memory();
}

CUresult driver_why_not_initialized(void)
{
    if (!atomic_load_explicit(&asked, memory_order_acquire))
        return CUDA_ERROR_NOT_INITIALIZED;
    if (opened == CUDA_SUCCESS && device_forked())
        return driver_error(CUDA_ERROR_NOT_INITIALIZED,
                            "the process was forked after CUDA was initialised: the child cannot "
                            "use it");
    return opened;
}

WEIR_API CUresult cuDriverGetVersion(int *version)
{
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult driver_from_mem(enum mem_status s)
{
    switch (s) {
    case MEM_OK: return CUDA_SUCCESS;
    case MEM_OUT_OF_MEMORY: return CUDA_ERROR_OUT_OF_MEMORY;
    case MEM_ALREADY_REGISTERED: return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    case MEM_NOT_REGISTERED: return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}
