/* open: opening the devices, once per process. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/env.h"
#include "base/schedule.h"
#include "device/internal.h"

static struct {
    pthread_mutex_t lock;
    bool fine;
    struct diag diag; /* why it failed, for good: nothing of that was for want of memory */
    int count;
    struct device devices[MEM_MAX_DEVICES];
} machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_fork(void) { slow_path_set(SLOW_PATH_FORKED); }

static void open_locked(struct diag *d)
{
    int64_t workers, count;
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                            : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (!env_int(ENV_WORKERS, 1, 4096, cores > 0 ? cores : 1, &workers, d) ||
        !env_int(ENV_DEVICES, 1, MEM_MAX_DEVICES, 1, &count, d) || !schedule_open(d) ||
        !mem_open((int)count, 0, d))
        return;
    for (int i = 0; i < (int)count; i++)
        machine.devices[i].ordinal = i;
    machine.count = (int)count;
    grid_install_handlers();
    sched_open((uint32_t)workers);
    commands_open();
    pthread_atfork(NULL, NULL, on_fork);
    machine.fine = true;
}

bool device_open(struct diag *d)
{
    struct diag why = {0};
    pthread_mutex_lock(&machine.lock);
    if (!machine.fine && machine.diag.text[0] == '\0')
        open_locked(&why);
    if (!machine.fine && !why.out_of_memory && machine.diag.text[0] == '\0')
        machine.diag = why;
    bool fine = machine.fine;
    pthread_mutex_unlock(&machine.lock);
    if (!fine && d != NULL && d->text[0] == '\0')
        *d = why.out_of_memory ? why : machine.diag;
    return fine;
}

int device_count(void) { return machine.count; }

struct device *device_get(int ordinal)
{
    return ordinal >= 0 && ordinal < machine.count ? &machine.devices[ordinal] : NULL;
}

int device_ordinal(const struct device *dev) { return dev->ordinal; }
