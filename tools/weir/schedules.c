/* weir run --schedules=N: the program runs once in the fixed order and then in N orders that CUDA
 * allows as well (base/schedule.h); what it writes to stdout and stderr and how it ends must be the
 * same. An order in which it is not is a number, with which that run can be had again. */
#include "schedules.h"

#include "base/env.h"
#include "weir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAID_FIRST = 8 }; /* orders that differ and are told of */
enum { LINE_BYTES = 100 };

/* What came of one run. */
struct run {
    int out, err;  /* files in memory */
    int status;    /* as waitpid gives it */
    int unstarted; /* errno of a program that could not be started, else 0 */
};

static void close_run(struct run *r)
{
    if (r->out >= 0)
        close(r->out);
    if (r->err >= 0)
        close(r->err);
    r->out = r->err = -1;
}

/* The child, which says by `unstarted` why the program cannot be started: its standard streams are
 * the files. What it reads is the same each time: nothing. */
_Noreturn static void start(const struct run *r, const char *order, char **program, int unstarted)
{
    int none = open("/dev/null", O_RDONLY);
    if (none >= 0)
        dup2(none, STDIN_FILENO);
    dup2(r->out, STDOUT_FILENO);
    dup2(r->err, STDERR_FILENO);
    setenv(env_entry(ENV_SCHEDULE)->name, order, 1);
    execvp(program[0], program);
    int reason = errno;
    ssize_t told = write(unstarted, &reason, sizeof reason);
    (void)told; /* the status says it, too */
    _exit(reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE);
}

static bool run_once(struct run *r, const char *order, char **program)
{
    int unstarted[2] = {-1, -1}; /* closed when the program begins */
    *r = (struct run){.out = memfd_create("stdout", MFD_CLOEXEC),
                      .err = memfd_create("stderr", MFD_CLOEXEC)};
    fflush(NULL);
    bool fine = r->out >= 0 && r->err >= 0 && pipe2(unstarted, O_CLOEXEC) == 0;
    pid_t child = fine ? fork() : -1;
    if (child == 0)
        start(r, order, program, unstarted[1]);
    if (unstarted[1] >= 0)
        close(unstarted[1]);
    if (child > 0 && read(unstarted[0], &r->unstarted, sizeof r->unstarted) <= 0)
        r->unstarted = 0;
    if (unstarted[0] >= 0)
        close(unstarted[0]);
    if (child > 0 && waitpid(child, &r->status, 0) == child)
        return true;
    close_run(r);
    return false;
}

/* ---- comparing ---- */

struct text {
    char *bytes;
    size_t size;
};

static struct text text_of(int file)
{
    struct stat s;
    struct text t = {0};
    if (fstat(file, &s) != 0 || s.st_size == 0)
        return t;
    t.bytes = xmalloc((size_t)s.st_size + 1);
    ssize_t n = pread(file, t.bytes, (size_t)s.st_size, 0);
    t.size = n > 0 ? (size_t)n : 0;
    t.bytes[t.size] = '\0';
    return t;
}

static void show(int file, FILE *to)
{
    struct text t = text_of(file);
    fwrite(t.bytes, 1, t.size, to);
    fflush(to);
    free(t.bytes);
}

/* The line that begins there, without its end, as far as it is worth showing. */
static int line_length(const struct text *t, size_t at)
{
    size_t n = 0;
    while (at + n < t->size && t->bytes[at + n] != '\n' && n < LINE_BYTES)
        n++;
    return (int)n;
}

static void tell_line(const char *whose, const struct text *t, size_t at)
{
    if (at >= t->size)
        fprintf(stderr, "weir run:     %s: nothing more\n", whose);
    else
        fprintf(stderr, "weir run:     %s: %.*s\n", whose, line_length(t, at), t->bytes + at);
}

/* Of the text, a line with its end. */
struct line {
    const char *bytes;
    size_t size;
};

static struct line line_at(const struct text *t, size_t at)
{
    const char *end = at < t->size ? memchr(t->bytes + at, '\n', t->size - at) : NULL;
    size_t size = end != NULL ? (size_t)(end + 1 - (t->bytes + at)) : t->size - at;
    return (struct line){t->bytes + at, size};
}

/* The next character of the line: a number counts as one, '0', whatever it is. */
static int next_character(struct line *l)
{
    if (l->size == 0)
        return -1;
    size_t n = 1;
    int c = (unsigned char)l->bytes[0];
    if (isdigit(c)) {
        bool hexadecimal = l->size > 2 && c == '0' && l->bytes[1] == 'x';
        n = hexadecimal ? 2 : 1;
        while (n < l->size && (hexadecimal ? isxdigit((unsigned char)l->bytes[n])
                                           : isdigit((unsigned char)l->bytes[n])))
            n++;
        c = '0';
    }
    l->bytes += n;
    l->size -= n;
    return c;
}

/* Whether lines are the same. In those of Weir's own (`weir: `), such as the report of a fault,
 * numbers do not count: addresses differ from run to run, and which of the threads that would fault
 * comes first is the order's. */
static bool same_line(struct line a, struct line b)
{
    static const char own[] = "weir: ";
    const size_t length = sizeof own - 1;
    if (a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0))
        return true;
    if (a.size < length || b.size < length || memcmp(a.bytes, own, length) != 0)
        return false;
    int c;
    while ((c = next_character(&a)) == next_character(&b))
        if (c < 0)
            return true;
    return false;
}

/* Tells the first line that differs, if any does. */
static bool same_text(const char *what, int fixed, int other, bool tell)
{
    struct text a = text_of(fixed), b = text_of(other);
    size_t at_a = 0, at_b = 0, number = 1;
    bool same = true;
    while (same && (at_a < a.size || at_b < b.size)) {
        struct line line_a = line_at(&a, at_a), line_b = line_at(&b, at_b);
        same = same_line(line_a, line_b);
        if (!same)
            break;
        at_a += line_a.size;
        at_b += line_b.size;
        number++;
    }
    if (!same && tell) {
        fprintf(stderr, "weir run:   line %zu of %s\n", number, what);
        tell_line("fixed order", &a, at_a);
        tell_line("this order ", &b, at_b);
    }
    free(a.bytes);
    free(b.bytes);
    return same;
}

static void tell_end(const char *whose, int status)
{
    if (WIFSIGNALED(status))
        fprintf(stderr, "weir run:     %s: ended by signal %d (%s)\n", whose, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "weir run:     %s: exit status %d\n", whose, WEXITSTATUS(status));
}

/* Tells what differs, unless `tell` is false. */
static bool same(const struct run *fixed, const struct run *r, bool tell)
{
    bool out = same_text("stdout", fixed->out, r->out, tell);
    bool err = same_text("stderr", fixed->err, r->err, tell);
    if (fixed->status != r->status && tell) {
        fprintf(stderr, "weir run:   the end\n");
        tell_end("fixed order", fixed->status);
        tell_end("this order ", r->status);
    }
    return out && err && fixed->status == r->status;
}

static void tell_again(uint64_t seed, char **program)
{
    fprintf(stderr, "weir run:   again: %s=%llu weir run", env_entry(ENV_SCHEDULE)->name,
            (unsigned long long)seed);
    for (char **word = program; *word != NULL; word++)
        fprintf(stderr, " %s", *word);
    fprintf(stderr, "\n");
}

/* ---- all orders ---- */

/* How many of the orders differ; -1: they could not be run. */
static int64_t count_different(const struct run *fixed, uint64_t count, char **program)
{
    int64_t different = 0;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct run r;
        char order[24];
        snprintf(order, sizeof order, "%llu", (unsigned long long)seed);
        if (!run_once(&r, order, program))
            return -1;
        if (!same(fixed, &r, false) && different++ < SAID_FIRST) {
            fprintf(stderr, "weir run: order %llu differs\n", (unsigned long long)seed);
            same(fixed, &r, true);
            tell_again(seed, program);
        }
        close_run(&r);
    }
    return different;
}

int weir_run_schedules(uint64_t count, char **program)
{
    struct run fixed;
    /* of the comparison here; the program's own is one of checks */
    int64_t code = EXIT_FAILED;
    struct diag d = {0};
    if (!env_int(ENV_ERROR_EXITCODE, 0, 255, 0, &code, &d))
        code = 0;
    if (env_get(ENV_CHECK) == NULL)
        unsetenv(env_entry(ENV_ERROR_EXITCODE)->name);
    if (!run_once(&fixed, "fixed", program))
        return weir_failed("run", "cannot run %s: %s", program[0], strerror(errno));
    show(fixed.out, stdout);
    show(fixed.err, stderr);
    int status =
        WIFSIGNALED(fixed.status) ? 128 + WTERMSIG(fixed.status) : WEXITSTATUS(fixed.status);
    if (fixed.unstarted != 0) {
        close_run(&fixed);
        weir_failed("run", "cannot run %s: %s", program[0], strerror(fixed.unstarted));
        return status;
    }
    int64_t different = count_different(&fixed, count, program);
    close_run(&fixed);
    if (different < 0)
        return weir_failed("run", "cannot run %s: %s", program[0], strerror(errno));
    fprintf(stderr, "weir run: %lld of %llu orders differ from the fixed one\n",
            (long long)different, (unsigned long long)count);
    if (different == 0)
        return status;
    return code != 0 ? (int)code : EXIT_FAILED;
}
