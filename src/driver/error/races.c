/* races: begins the check for races and tells it the names that only the driver knows. */
#include "driver/error/races.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "device/device.h"
#include "driver/error/checks.h"
#include "driver/error/symbols.h"
#include "exec/threads.h"
#include "exec/touch.h"
#include "races/races.h"

static bool checked, threads;

bool races_checked(void) { return checked; }
bool races_threads_checked(void) { return threads; }

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* What libraries give back while they look up symbols is not the program's; and who writes a report
 * looks up symbols, while nobody else may tell of anything. */
static void on_release(const void *at, uint64_t bytes, const char *call, const void *caller,
                       bool own)
{
    if (!symbols_busy())
        races_host_releases(at, bytes, call, caller, own);
}

/* `weir run` has put a library in front that tells how threads of the program synchronize, and what
 * memory it gives back (tools/sync). */
static void listen_to_threads(void)
{
    static const struct host_sync_listener listener = {races_host_sync, __ehdr_start, _end,
                                                       on_release, &races_watching};
    void *found = dlsym(RTLD_DEFAULT, HOST_SYNC_LISTEN);
    host_sync_listen_fn *listen;
    memcpy(&listen, &found, sizeof listen);
    if (listen != NULL)
        listen(&listener);
}

bool races_begin(struct diag *d)
{
    static const struct races_names names = {check_kernel_place, check_host_place, symbol_demangle,
                                             symbol_program_pc};
    threads = env_check("races");
    if (!threads && !env_check("races=streams"))
        return true;
    if (!races_open(&names, d))
        return false;
    grid_set_host_trap(races_signal);
    listen_to_threads();
    device_set_eager();
    touch_tell();
    if (threads)
        threads_compare();
    checked = true;
    return true;
}
