/* pageable: whether pages of the program's own memory may lose their rights for a while. A stack
 * may not: its thread needs it for whatever it calls, handlers of signals included. */
#include <stdio.h>
#include <string.h>

#include "races/internal.h"

enum { KNOWN = 16, GUARD_MOST = 1 << 20 };

/* Stacks of threads have pages without rights below them, that of the process a name. */
static bool read_maps(uint64_t low, uint64_t high)
{
    char line[512];
    bool may = false;
    uint64_t guard_end = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long from, to;
        char rights[8];
        if (sscanf(line, "%llx-%llx %7s", &from, &to, rights) != 3)
            continue;
        if (from <= low && high <= to) {
            may = strncmp(rights, "rw", 2) == 0 && rights[3] == 'p' &&
                  strstr(line, "[stack") == NULL && guard_end != from;
            break;
        }
        guard_end = strncmp(rights, "---", 3) == 0 && to - from <= GUARD_MOST ? to : 0;
    }
    if (maps != NULL)
        fclose(maps);
    return may;
}

static struct {
    uint64_t low, high;
    bool may;
} known[KNOWN]; /* graphs are launched again and again */

void pageable_changed(void) { memset(known, 0, sizeof known); }

bool pageable_may_close(uint64_t low, uint64_t high)
{
    static uint32_t next;
    for (int i = 0; i < KNOWN; i++)
        if (known[i].low == low && known[i].high == high && high != 0)
            return known[i].may;
    uint32_t at = next++ % KNOWN;
    known[at].low = low;
    known[at].high = high;
    known[at].may = read_maps(low, high);
    return known[at].may;
}
