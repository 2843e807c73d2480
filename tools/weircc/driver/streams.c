/* Keeping what can be read but once; see streams.h. */
#include "weircc/driver/streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weircc/driver/steps.h"
#include "weircc/files/files.h"

/* ---- standard input ---- */

static bool is_standard_input(const char *input) { return strcmp(input, "-") == 0; }

static bool read_text(struct strbuf *text, struct diag *d)
{
    char buffer[16384];
    ssize_t n;
    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            sb_append(text, buffer, (size_t)n);
    return n == 0 || diag_set(d, 0, 0, "Cannot read standard input: %s", strerror(errno));
}

bool streams_read_standard_input(struct driver *dr)
{
    struct build *p = &dr->build;
    for (size_t i = 0; i < p->jobs.count; i++)
        if (is_standard_input(p->jobs.items[i].input)) {
            sb_printf(&p->standard_input, "# 1 \"<stdin>\"\n");
            return read_text(&p->standard_input, &dr->diag);
        }
    return true;
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

static int keep_standard_input(struct driver *dr, const char *path)
{
    const struct strbuf *text = &dr->build.standard_input;
    if (dr->work.dryrun)
        list_text(&dr->work, path, text);
    else if (!file_write(path, text->items, text->count, &dr->diag))
        return 1;
    return 0;
}

/* ---- any of them ---- */

static bool is_fifo(const char *input)
{
    struct stat st;
    return stat(input, &st) == 0 && S_ISFIFO(st.st_mode);
}

static const char *suffix_of(const char *input, enum input_kind kind)
{
    const char *dot = strrchr(input, '.');
    switch (kind) {
    case INPUT_CUDA: return ".cu";
    case INPUT_CXX: return ".cpp";
    case INPUT_C: return ".c";
    case INPUT_CXX_PREPROCESSED: return ".ii";
    case INPUT_C_PREPROCESSED: return ".i";
    case INPUT_PTX: return ".ptx";
    case INPUT_FATBIN: return ".fatbin";
    case INPUT_CUBIN: return ".cubin";
    case INPUT_OBJECT: break;
    }
    return dot != NULL && strchr(dot, '/') == NULL ? dot : ".o";
}

/* What distinguishes the text from that of other inputs. */
static bool name_text(struct driver *dr, const char *path, char name[33])
{
    struct hash128 h;
    size_t size = 0;
    char *text = dr->work.dryrun ? xstrdup("") : file_read(path, &size, &dr->diag);
    if (text == NULL)
        return false;
    hash_init(&h);
    hash_add(&h, text, size);
    hash_hex(&h, name);
    free(text);
    return true;
}

/* The directory from which the text includes files. */
static char *directory_of(const char *input)
{
    const char *slash = strrchr(input, '/');
    return slash == NULL ? xstrdup(".") : xprintf("%.*s", (int)(slash - input + 1), input);
}

/* Keeps one input in a file, whose path it becomes. Exit status. */
static int keep(struct driver *dr, const char **input, enum input_kind kind)
{
    struct build *p = &dr->build;
    bool standard = is_standard_input(*input);
    const char *name = standard ? STANDARD_INPUT_NAME : *input;
    struct stream stream = {.directory = directory_of(*input)};
    char *path = work_file(&dr->work, name, suffix_of(*input, kind), &dr->diag);
    if (path == NULL)
        return 1;
    /* a child reads a FIFO: it may wait for long, and signals are to end it */
    enum step step = kind <= INPUT_C_PREPROCESSED ? STEP_KEEP_TEXT : STEP_KEEP;
    int status =
        standard ? keep_standard_input(dr, path) : step_run_child(dr, step, "read", *input, path);
    if (status == 0 && !name_text(dr, path, stream.name))
        status = 1;
    stream.path = path;
    vec_push(&p->streams, stream);
    *input = path;
    return status;
}

static bool is_job(const struct build *p, size_t link_input)
{
    for (size_t i = 0; i < p->link_job.count; i++)
        if (p->link_job.items[i] == link_input)
            return true;
    return false;
}

int streams_keep(struct driver *dr)
{
    struct build *p = &dr->build;
    int status = 0;
    for (size_t i = 0; i < p->jobs.count && status == 0; i++) {
        struct job *job = &p->jobs.items[i];
        if (is_standard_input(job->input) || is_fifo(job->input))
            status = keep(dr, &job->input, job->kind);
    }
    for (size_t i = 0; i < p->link_inputs.count && status == 0; i++) {
        const char *input = p->link_inputs.items[i];
        if (is_job(p, i) || !is_fifo(input))
            continue;
        status = keep(dr, &input, INPUT_OBJECT);
        p->link_inputs.items[i] = (char *)input;
    }
    return status;
}

const char *streams_name(const struct build *p, const char *input)
{
    for (size_t i = 0; i < p->streams.count; i++)
        if (strcmp(p->streams.items[i].path, input) == 0)
            return p->streams.items[i].name;
    return NULL;
}
