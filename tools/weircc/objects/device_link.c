/* Linking device code by itself; see device_link.h. Functions of the device runtime stay open: the
 * driver has them. */
#include "weircc/objects/device_link.h"

#include "container/container.h"
#include "weircc/files/files.h"

#include <stdlib.h>
#include <string.h>

static bool read_input(const char *path, unsigned sm, struct container_units *units, struct diag *d)
{
    size_t size;
    struct diag why = {0};
    char *data = file_read(path, &size, d);
    if (data == NULL)
        return false;
    enum container_status s = container_read(data, size, sm, units, &why);
    free(data);
    if (s == CONTAINER_OK || s == CONTAINER_NO_CODE)
        return true;
    const char *dot = strrchr(path, '.');
    if (s == CONTAINER_NO_PTX && dot != NULL && strcmp(dot, ".a") == 0)
        return true; /* a vendor's library: what it defines may be built into the driver */
    return diag_set(d, why.line, 0, "'%s': %s", path, why.text);
}

static bool link_units(const struct container_units *units, const char *output, struct diag *d)
{
    struct diag why = {0};
    if (units->count == 0)
        return diag_set(d, 0, 0, "No input holds device code to link");
    struct ptx_module *m = ptx_link(units->items, (int)units->count, &why);
    if (m == NULL)
        return diag_set(d, 0, 0, "Device code cannot be linked: %s", why.text);
    struct strbuf ptx = {0};
    bool ok = ptx_check_defined(m, d);
    if (ok)
        ptx_print(m, &ptx);
    ok = ok && file_write(output, ptx.items, ptx.count, d);
    sb_free(&ptx);
    ptx_free(m);
    return ok;
}

bool device_link_write(const char *const *files, struct diag *d)
{
    char *end;
    unsigned long sm = strtoul(files[0], &end, 10);
    struct container_units units = {0};
    if (end == files[0] || *end != '\0' || sm > 999)
        return diag_set(d, 0, 0, "'%s' is no number of an architecture", files[0]);
    bool ok = true;
    for (size_t i = 2; ok && files[i] != NULL; i++)
        ok = read_input(files[i], (unsigned)sm, &units, d);
    ok = ok && link_units(&units, files[1], d);
    container_free(&units);
    return ok;
}
