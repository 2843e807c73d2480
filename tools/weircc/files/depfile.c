/* Reading and writing rules for make; see depfile.h. */
#include "weircc/files/depfile.h"
#include "weircc/files/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the prerequisites start: after the colon that ends the target (one followed by a blank). */
static const char *skip_target(const char *p)
{
    for (; *p != '\0'; p++) {
        if (*p == '\\' && p[1] != '\0')
            p++;
        else if (*p == ':' && (p[1] == ' ' || p[1] == '\n' || p[1] == '\0'))
            return p + 1;
    }
    return p;
}

bool depfile_read(const char *path, struct strlist *files, struct diag *d)
{
    char *text = file_read(path, NULL, d);
    if (text == NULL)
        return false;
    const char *p = skip_target(text);
    while (*p != '\0' && *p != '\n') {
        if (*p == ' ' || *p == '\t') {
            p++;
        } else if (*p == '\\' && p[1] == '\n') {
            p += 2;
        } else {
            struct strbuf name = {0};
            for (; *p != '\0' && *p != ' ' && *p != '\t' && *p != '\n'; p++) {
                if (*p == '\\' && p[1] == '\n')
                    break;
                if ((*p == '\\' && (p[1] == ' ' || p[1] == '#' || p[1] == '\\')) ||
                    (*p == '$' && p[1] == '$'))
                    p++;
                sb_append(&name, p, 1);
            }
            if (list_has(files, name.items))
                sb_free(&name);
            else
                vec_push(files, name.items);
        }
    }
    free(text);
    return true;
}

/* Writes a name with make's special characters escaped. */
static void put_name(FILE *f, const char *name)
{
    for (; *name != '\0'; name++) {
        if (*name == ' ' || *name == '#')
            fputc('\\', f);
        else if (*name == '$')
            fputc('$', f);
        fputc(*name, f);
    }
}

static bool is_skipped(const struct depfile_rule *rule, const char *file)
{
    if (rule->skip_file != NULL && strcmp(file, rule->skip_file) == 0)
        return true;
    for (size_t i = 0; i < WEIR_COUNT(rule->skip_directories); i++) {
        const char *directory = rule->skip_directories[i];
        size_t n = directory != NULL ? strlen(directory) : 0;
        if (n > 0 && strncmp(file, directory, n) == 0 && file[n] == '/')
            return true;
    }
    return false;
}

bool depfile_write(const char *path, const struct depfile_rule *rule, const struct strlist *files,
                   struct diag *d)
{
    FILE *f = path != NULL ? fopen(path, rule->follows ? "a" : "w") : stdout;
    if (f == NULL)
        return diag_set(d, 0, 0, "Cannot write '%s': %s", path, strerror(errno));
    if (rule->as_given)
        fputs(rule->target, f);
    else
        put_name(f, rule->target);
    fputs(" :", f);
    bool first = true;
    for (size_t i = 0; i < files->count; i++) {
        if (is_skipped(rule, files->items[i]))
            continue;
        fputs(first ? " " : " \\\n    ", f);
        put_name(f, files->items[i]);
        first = false;
    }
    fputc('\n', f);
    /* the first file is the source itself */
    for (size_t i = 1; rule->phony_targets && i < files->count; i++) {
        if (is_skipped(rule, files->items[i]))
            continue;
        fputc('\n', f);
        put_name(f, files->items[i]);
        fputs(":\n", f);
    }
    bool ok = ferror(f) == 0;
    if ((path != NULL ? fclose(f) : fflush(f)) != 0)
        ok = false;
    if (ok)
        return true;
    diag_set(d, 0, 0, "Cannot write '%s': %s", path != NULL ? path : "standard output",
             strerror(errno));
    file_remove(path);
    return false;
}
