/* readable: how far memory can be read. Calls that load a module get a pointer without a size; an
 * image that is damaged names offsets anywhere, which must be refused and not followed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "container/container.h"

size_t container_readable(const void *data)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return SIZE_MAX;
    uintptr_t at = (uintptr_t)data, end = at;
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, maps) > 0) {
        uintptr_t first, next;
        char readable;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c", &first, &next, &readable) != 3 ||
            first > end || next <= end)
            continue;
        if (readable != 'r')
            break;
        end = next;
    }
    free(line);
    fclose(maps);
    return end - at;
}
