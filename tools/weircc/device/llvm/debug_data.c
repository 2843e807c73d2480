/* Compile units without their imports, in LLVM text; see debug_data.h. */
#include "weircc/device/llvm/debug_data.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The field of a metadata node that names the list of imports, ", imports: !12", with its length in
 * *size. Strings among the fields, as the command line may be one, are passed over. */
static const char *find_imports(const char *node, size_t *size)
{
    static const char field[] = ", imports: !";
    bool quoted = false;
    for (const char *p = node; *p != '\0' && *p != '\n'; p++) {
        quoted ^= *p == '"';
        if (quoted || strncmp(p, field, strlen(field)) != 0)
            continue;
        *size = strlen(field);
        while (isdigit((unsigned char)p[*size]))
            ++*size;
        return p;
    }
    return NULL;
}

/* Whether the line is "!9 = distinct !DICompileUnit(...)". */
static bool is_unit(const char *line)
{
    static const char unit[] = " = distinct !DICompileUnit(";
    if (line[0] != '!' || !isdigit((unsigned char)line[1]))
        return false;
    line++;
    while (isdigit((unsigned char)*line))
        line++;
    return strncmp(line, unit, strlen(unit)) == 0;
}

void debug_data_rewrite(const char *llvm, struct strbuf *out)
{
    sb_append(out, "", 0);
    for (const char *line = llvm, *next; *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n"), size = 0;
        n += line[n] == '\n';
        next = line + n;
        const char *imports = is_unit(line) ? find_imports(line, &size) : NULL;
        if (imports != NULL) {
            sb_append(out, line, (size_t)(imports - line));
            line = imports + size;
        }
        sb_append(out, line, (size_t)(next - line));
    }
}
