/* Kernels for perf: see debugger.h. A line of the map is an address and a size, in hexadecimal, and
 * a name. */
#include "base/descriptor.h"
#include "loader/debugger.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes the stretches of code that have a line. False: none has. */
static bool write_lines(FILE *to, const char *name, struct jit_lines *lines)
{
    bool any = false;
    size_t count = lines_count(lines);
    for (size_t n = 0; n < count; n++) {
        uint64_t begin, end;
        const char *file;
        int line;
        if (!lines_stretch(lines, n, &begin, &end, &file, &line))
            continue;
        const char *slash = strrchr(file, '/');
        fprintf(to, "%llx %llx %s (%s:%d)\n", (unsigned long long)begin,
                (unsigned long long)(end - begin), name, slash != NULL ? slash + 1 : file, line);
        any = true;
    }
    return any;
}

void perf_add(const char *name, const struct image *im, struct jit_lines *lines)
{
    if (!env_lists(ENV_PERF, "lines"))
        return;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    pthread_mutex_lock(&lock);
    FILE *to = descriptor_fopen(path, "ae");
    if (to != NULL && (lines == NULL || !write_lines(to, name, lines)))
        fprintf(to, "%llx %llx %s\n", (unsigned long long)(uintptr_t)im->text,
                (unsigned long long)im->text_bytes, name);
    if (to != NULL)
        fclose(to);
    pthread_mutex_unlock(&lock);
}
