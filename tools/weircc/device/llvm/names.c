/* Names that PTX does not allow; see names.h. */
#include "weircc/device/llvm/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The symbol that a line defines, with LLVM's escapes resolved; NULL when it defines none whose
 * name is quoted. The caller frees it. */
static char *quoted_symbol(const char *line)
{
    size_t n = strcspn(line, "\n");
    if (*line != '@' && strncmp(line, "define ", 7) != 0)
        return NULL;
    const char *p = memmem(line, n, "@\"", 2);
    if (p == NULL)
        return NULL;
    struct strbuf name = {0};
    for (p += 2; *p != '"' && *p != '\n'; p++) {
        char c = *p;
        if (c == '\\' && isxdigit((unsigned char)p[1])) {
            char hex[] = {p[1], p[2], '\0'};
            c = (char)strtol(hex, NULL, 16);
            p += 2;
        }
        sb_append(&name, &c, 1);
    }
    return name.items;
}

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80) != 0; }

/* The identifier in a mangled name that holds the first character outside ASCII; its length stands
 * before it. NULL: the name is ASCII. */
static char *find_identifier(const char *symbol)
{
    const char *p = symbol;
    while (*p != '\0' && (*p & 0x80) == 0)
        p++;
    if (*p == '\0')
        return NULL;
    for (const char *digits = symbol; digits < p;) {
        char *end;
        if (!isdigit((unsigned char)*digits)) {
            digits++;
            continue;
        }
        long n = strtol(digits, &end, 10);
        if (n > p - end && n <= (long)strlen(end))
            return xprintf("%.*s", (int)n, end);
        digits = end;
    }
    return xstrdup(symbol);
}

/* Where the source has the identifier first: "file:line:column: ", "file: " when it has it not. */
static char *find_location(const char *source, const char *identifier)
{
    char *text = file_read(source, NULL, NULL);
    size_t n = strlen(identifier);
    int line = 1;
    const char *start = text;
    static const char standard_input[] = "# 1 \"<stdin>\"\n";
    if (text != NULL && strncmp(text, standard_input, strlen(standard_input)) == 0) {
        start += strlen(standard_input);
        source = "<stdin>";
    }
    for (const char *p = start; p != NULL && *p != '\0'; p++) {
        if (*p == '\n') {
            line++;
            start = p + 1;
        } else if (strncmp(p, identifier, n) == 0 && !is_letter(p[n]) &&
                   (p == text || !is_letter(p[-1]))) {
            char *location = xprintf("%s:%d:%d: ", source, line, (int)(p - start) + 1);
            free(text);
            return location;
        }
    }
    free(text);
    return xprintf("%s: ", source);
}

int names_check(const char *llvm, const char *source, struct strbuf *errors)
{
    int count = 0;
    for (const char *line = llvm; *line != '\0';
         line += strcspn(line, "\n"), line += *line == '\n') {
        char *symbol = quoted_symbol(line);
        char *identifier = symbol != NULL ? find_identifier(symbol) : NULL;
        if (identifier != NULL) {
            char *location = find_location(source, identifier);
            sb_printf(
                errors,
                "%serror: the name '%s' has a character that is not ASCII, which PTX does not "
                "allow for device functions and variables\n",
                location, identifier);
            free(location);
            count++;
        }
        free(identifier);
        free(symbol);
    }
    return count;
}
