/* capability: what GPU the device counts as, WEIR_COMPUTE_CAPABILITY, and the limits that belong to
 * it. Instructions are the same on all of them; what changes is which code compilers make for the
 * device: for 8.x they leave out what only 9.0 has, for 10.0 and 12.0 they use what came after it.
 */
#include <string.h>

#include "base/env.h"
#include "driver/driver.h"

/* Limits of each compute capability that can be chosen, from CUDA's table of technical
 * specifications. 9.0 holds when none is. */
static const struct {
    const char *name;
    struct device_limits limits;
} capabilities[] = {
    {"8.0", {80, 2048, 32, 166912, 167936, false}},
    {"8.6", {86, 1536, 16, 101376, 102400, false}},
    {"8.7", {87, 1536, 16, 166912, 167936, false}},
    {"8.9", {89, 1536, 24, 101376, 102400, false}},
    {"9.0", {90, 2048, 32, 232448, 233472, true}},
    {"10.0", {100, 2048, 32, 232448, 233472, true}},
    {"10.3", {103, 2048, 32, 232448, 233472, true}},
    {"12.0", {120, 1536, 24, 101376, 102400, true}},
    {"12.1", {121, 1536, 24, 101376, 102400, true}},
};

enum { CAPABILITY_DEFAULT = 4 }; /* 9.0 */

static const struct device_limits *chosen = &capabilities[CAPABILITY_DEFAULT].limits;

const struct device_limits *device_limits(void) { return chosen; }

bool device_limits_begin(struct diag *d)
{
    const char *wish = env_get(ENV_COMPUTE_CAPABILITY);
    if (wish == NULL || *wish == '\0')
        return true;
    for (size_t i = 0; i < WEIR_COUNT(capabilities); i++)
        if (strcmp(wish, capabilities[i].name) == 0) {
            chosen = &capabilities[i].limits;
            return true;
        }
    return diag_set(d, 0, 0, "%s=%s: must be 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 12.0 or 12.1",
                    env_entry(ENV_COMPUTE_CAPABILITY)->name, wish);
}
