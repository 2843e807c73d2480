/* perf_map: appends to the file of this process; see perf_map.h. */
#include "driver/module/perf_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/env.h"
#include "driver/error/symbols.h"
#include "loader/lines.h"

/* Appends the stretches of code that have a line. False: none has. */
static bool put_lines(struct strbuf *out, const char *name, struct jit_lines *lines)
{
    bool any = false;
    size_t count = lines != NULL ? lines_count(lines) : 0;
    for (size_t n = 0; n < count; n++) {
        uint64_t begin, end;
        const char *file;
        int line;
        if (!lines_stretch(lines, n, &begin, &end, &file, &line))
            continue;
        const char *slash = strrchr(file, '/');
        sb_printf(out, "%llx %llx %s (%s:%d)\n", (unsigned long long)begin,
                  (unsigned long long)(end - begin), name, slash != NULL ? slash + 1 : file, line);
        any = true;
    }
    return any;
}

/* Nobody else's file, and in one write: other threads write, too. */
static void append(const struct strbuf *text)
{
    char *path = xprintf("/tmp/perf-%d.map", getpid());
    int file = descriptor_own(
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat s;
    if (file >= 0 && fstat(file, &s) == 0 && S_ISREG(s.st_mode))
        descriptor_write(file, text->items, text->count); /* names are a help only */
    if (file >= 0)
        close(file);
    free(path);
}

void perf_map_add(const char *name, const struct jit_code *code)
{
    bool lines = env_lists(ENV_PERF, "lines");
    if ((!lines && !env_lists(ENV_PERF, "on")) || code->text == NULL)
        return;
    struct strbuf text = {0};
    const char *plain = symbol_demangle(name);
    if (!lines || !put_lines(&text, plain, code->lines))
        sb_printf(&text, "%llx %llx %s\n", (unsigned long long)(uintptr_t)code->text,
                  (unsigned long long)code->text_bytes, plain);
    append(&text);
    sb_free(&text);
}
