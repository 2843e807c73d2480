/* Reading source text from standard input; see standard_input.h. */
#include "weircc/driver/standard_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weircc/files/files.h"

static bool read_text(struct strbuf *text, struct diag *d)
{
    char buffer[16384];
    ssize_t n;
    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            sb_append(text, buffer, (size_t)n);
    return n == 0 || diag_set(d, 0, 0, "Cannot read standard input: %s", strerror(errno));
}

/* Lists the text as a here-document, whose end is a line that the text does not have. */
static void list_text(const struct work *w, const char *path, const struct strbuf *text)
{
    struct strlist file = {0};
    list_add(&file, "%s", path);
    char *quoted = work_quoted(&file), *end = xstrdup("END");
    for (int n = 1; strstr(text->items, end) != NULL; n++) {
        free(end);
        end = xprintf("END%d", n);
    }
    const char *newline = text->items[text->count - 1] == '\n' ? "" : "\n";
    char *all = xprintf("cat >%s <<'%s'\n%s%s%s", quoted, end, text->items, newline, end);
    work_script(w, all);
    for (const char *line = all; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        fprintf(stderr, "#$ %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    free(quoted);
    free(end);
    free(all);
}

static const char *suffix_of(enum input_kind kind)
{
    return kind == INPUT_CUDA ? ".cu" : kind == INPUT_C ? ".c" : ".cpp";
}

static bool keep(struct driver *dr, struct job *job)
{
    struct strbuf text = {0};
    sb_printf(&text, "# 1 \"<stdin>\"\n");
    if (!read_text(&text, &dr->diag))
        return false;
    struct hash128 h;
    hash_init(&h);
    hash_add(&h, text.items, text.count);
    hash_hex(&h, dr->build.stdin_hash);
    char *path = work_file(&dr->work, STANDARD_INPUT_NAME, suffix_of(job->kind), &dr->diag);
    if (path == NULL)
        return false;
    job->input = path;
    dr->build.stdin_path = path;
    bool ok = true;
    if (dr->work.dryrun)
        list_text(&dr->work, path, &text);
    else
        ok = file_write(path, text.items, text.count, &dr->diag);
    sb_free(&text);
    return ok;
}

bool standard_input_read(struct driver *dr)
{
    for (size_t i = 0; i < dr->build.jobs.count; i++)
        if (strcmp(dr->build.jobs.items[i].input, "-") == 0)
            return keep(dr, &dr->build.jobs.items[i]);
    return true;
}
