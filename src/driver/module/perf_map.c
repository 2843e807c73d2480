/* perf_map: appends to the file of this process; see perf_map.h. */
#include "driver/module/perf_map.h"
#include "base/descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "driver/error/symbols.h"

void perf_map_add(const char *name, const void *text, uint64_t bytes)
{
    if (!env_lists(ENV_PERF, "on") || text == NULL)
        return;
    char *path = xprintf("/tmp/perf-%d.map", getpid());
    char *line = xprintf("%llx %llx %s\n", (unsigned long long)(uintptr_t)text,
                         (unsigned long long)bytes, symbol_demangle(name));
    /* Nobody else's file, and whole lines: other threads write, too. */
    int file =
        descriptor_own(open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file >= 0) {
        ssize_t n = write(file, line, strlen(line));
        (void)n; /* names are a help only */
        close(file);
    }
    free(path);
    free(line);
}
