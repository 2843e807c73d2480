/* Finds the PTX in a file: see input.h. */
#include "input.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static bool add_text(struct input *in, const char *from, const char *text, size_t size,
                     struct diag *d)
{
    struct diag own = {0};
    struct ptx_module *m = ptx_parse(text, size, &own);
    if (m == NULL) {
        if (own.line > 0)
            return diag_set(d, own.line, own.column, "%s:%d:%d: %s", from, own.line, own.column,
                            own.text);
        return diag_set(d, 0, 0, "%s: %s", from, own.text);
    }
    struct input_module item = {xstrdup(from), m};
    vec_push(in, item);
    return true;
}

static bool is_text(const char *data, size_t size) { return memchr(data, '\0', size) == NULL; }

bool input_read(struct input *in, const char *path, struct diag *d)
{
    size_t size;
    char *data = file_read(path, &size, d);
    if (data == NULL)
        return false;
    bool ok;
    if (is_text(data, size))
        ok = add_text(in, path, data, size, d);
    else
        ok = diag_set(d, 0, 0, "%s is not PTX", path);
    free(data);
    if (!ok)
        input_free(in);
    return ok;
}

void input_free(struct input *in)
{
    for (size_t i = 0; i < in->count; i++) {
        free(in->items[i].from);
        ptx_free(in->items[i].module);
    }
    free(in->items);
    *in = (struct input){0};
}
