/* races: begins the check for races and tells it the names that only the driver knows. */
#include "driver/error/races.h"

#include <stdlib.h>

#include "base/env.h"
#include "device/device.h"
#include "driver/error/checks.h"
#include "driver/error/symbols.h"
#include "exec/threads.h"
#include "races/races.h"

static bool checked, threads;

bool races_checked(void) { return checked; }
bool races_threads_checked(void) { return threads; }

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
    device_set_eager();
    if (threads)
        threads_compare();
    checked = true;
    return true;
}
