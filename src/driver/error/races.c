/* races: begins the check for races and tells it the names that only the driver knows. */
#include "driver/error/races.h"

#include <stdlib.h>

#include "base/env.h"
#include "device/device.h"
#include "driver/error/symbols.h"
#include "driver/objects.h"
#include "races/races.h"

static bool checked;

bool races_checked(void) { return checked; }

static bool kernel_place(const void *kernel, const void *pc, struct races_place *out)
{
    const struct grid_kernel *k = kernel;
    const char *file;
    int line;
    if (k->user == NULL || !variant_find_line(k->user, (const char *)pc - 1, &file, &line))
        return false;
    *out = (struct races_place){.file = symbol_demangle(file), .line = line};
    return true;
}

static bool host_place(const void *pc, struct races_place *out)
{
    struct symbol s = {0};
    if (!symbol_find(pc, &s))
        return false;
    *out = (struct races_place){.file = s.file, .function = s.function, .line = s.line};
    return true;
}

bool races_begin(struct diag *d)
{
    int64_t exit_code = 0;
    if (!env_lists(ENV_CHECK, "races=streams"))
        return true;
    if (!env_int(ENV_ERROR_EXITCODE, 0, 255, 0, &exit_code, d))
        return false;
    struct races_options options = {
        .report = env_get(ENV_REPORT),
        .exit_code = (int)exit_code,
        .names = {kernel_place, host_place, symbol_demangle, symbol_program_pc}};
    if (!races_open(&options, d))
        return false;
    grid_set_host_trap(races_signal);
    device_set_eager();
    checked = true;
    return true;
}
