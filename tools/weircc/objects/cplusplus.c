/* An assembler file as an asm statement of C++; see cplusplus.h. */
#include "weircc/objects/cplusplus.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/files/files.h"

/* A string literal of C++98 for each line. */
static void add_literals(struct strbuf *out, const char *text)
{
    while (*text != '\0') {
        sb_append(out, "\"", 1);
        for (; *text != '\0' && *text != '\n'; text++) {
            if (*text == '"' || *text == '\\')
                sb_append(out, "\\", 1);
            sb_append(out, text, 1);
        }
        sb_printf(out, "\\n\"\n");
        text += *text == '\n';
    }
}

bool cplusplus_write(const char *assembler, const char *output, struct diag *d)
{
    char *text = file_read(assembler, NULL, d);
    if (text == NULL)
        return false;
    bool ok =
        strstr(text, "weir_managed") == NULL ||
        diag_set(d, 0, 0,
                 "-cuda is not supported for files with __managed__ variables: compile with -c");
    struct strbuf out = {0};
    if (ok) {
        sb_printf(&out, "__asm__(\n");
        add_literals(&out, text);
        sb_printf(&out, "\".text\\n\"\n);\n");
        ok = file_write(output, out.items, out.count, d);
    }
    sb_free(&out);
    free(text);
    return ok;
}
