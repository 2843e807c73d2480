/* compute-sanitizer: a front end of `weir run --check=` with the command line of NVIDIA's program
 * of this name, so that scripts carry over. It starts the program, prints what the checks of all
 * its processes have found, each line with a prefix, and a summary. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "options.h"

enum { EXIT_MISUSED = 1 };

static const char help[] =
    "usage: compute-sanitizer [options] program [arguments]\n"
    "\n"
    "Runs a CUDA program on Weir and checks it (weir run --check=).\n"
    "\n"
    "  --tool TOOL               memcheck (the default), racecheck, initcheck or synccheck\n"
    "  --leak-check full|no      memory, streams and the like that are alive at the end (no)\n"
    "  --report-api-errors all|explicit|no\n"
    "                            failing calls whose error nobody looks at (no)\n"
    "  --error-exitcode N        the exit status when something is found (the program's own)\n"
    "  --log-file FILE           what is found, to a file; %p in its name is the process's number\n"
    "  --print-limit N           findings that are printed (100; 0: all)\n"
    "  --prefix TEXT             what each line begins with (=========)\n"
    "  --target-processes all|application-only\n"
    "                            whether processes that the program starts are checked, too (all)\n"
    "  --kernel-name FILTER      only these kernels: kernel_name=NAME (kne=), "
    "kernel_substring=TEXT "
    "(kns=)\n"
    "  --kernel-name-exclude FILTER\n"
    "                            all but these kernels\n"
    "  -q, --quiet               only what is found\n"
    "  -V, --version\n";

/* Files in memory that the processes of the run write to. */
static int log_memory = -1, report_memory = -1;

static void set(enum env_variable v, const char *value) { setenv(env_entry(v)->name, value, 1); }

static void set_memory(enum env_variable v, int file)
{
    char *path = xprintf("/proc/%d/fd/%d", getpid(), file);
    set(v, path);
    free(path);
}

static void set_checks(const struct sanitizer_options *o)
{
    char *checks =
        xprintf("%s%s%s", o->check, o->leaks ? ",leaks" : "", o->api_errors ? ",calls" : "");
    char *limit = xprintf("%ld", o->limit);
    set(ENV_CHECK, checks);
    set(ENV_CHECK_LIMIT, limit);
    set(ENV_FAULTS, "off"); /* they are in the log */
    set_memory(ENV_CHECK_LOG, log_memory);
    set_memory(ENV_REPORT, report_memory);
    if (o->kernels.count > 0)
        set(ENV_CHECK_KERNELS, o->kernels.items);
    free(checks);
    free(limit);
}

/* bin/weir, from lib/weir/cuda/bin. */
static char *find_weir(void)
{
    char *self = realpath("/proc/self/exe", NULL);
    char *slash = self != NULL ? strrchr(self, '/') : NULL;
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    char *weir = xprintf("%s/../../../../bin/weir", self);
    free(self);
    return weir;
}

static pid_t start(const struct sanitizer_options *o, int argc, char **argv)
{
    char *weir = find_weir();
    char **words = xcalloc((size_t)(argc - o->first) + 4, sizeof *words);
    int n = 0;
    words[n++] = weir;
    words[n++] = "run";
    words[n++] = "--";
    for (int i = o->first; i < argc; i++)
        words[n++] = argv[i];
    pid_t child = fork();
    if (child == 0) {
        set_checks(o);
        if (o->only_first) { /* weir run becomes the program: its number stays */
            char *number = xprintf("%d", getpid());
            set(ENV_CHECK_PROCESS, number);
        }
        execv(weir, words);
        fprintf(stderr, "compute-sanitizer: %s: %s\n", weir, strerror(errno));
        _exit(EXIT_MISUSED);
    }
    free(words);
    free(weir);
    return child;
}

static char *read_memory(int file)
{
    off_t size = lseek(file, 0, SEEK_END);
    char *text = xcalloc((size_t)size + 1, 1);
    for (off_t at = 0; at < size;) {
        ssize_t n = pread(file, text + at, (size_t)(size - at), at);
        if (n <= 0)
            break;
        at += n;
    }
    return text;
}

/* Each finding is one line of the report (findings/findings.c). */
static unsigned count_findings(void)
{
    char *text = read_memory(report_memory);
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, "\n  {\"check\": ")) != NULL; at++)
        count++;
    free(text);
    return count;
}

static void print_lines(FILE *out, const char *prefix)
{
    char *text = read_memory(log_memory), *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (*line == '\0')
            continue;
        if (strncmp(line, "weir: ", 6) == 0)
            fprintf(out, "%s %s\n", prefix, line + 6);
        else
            fprintf(out, "%s     %s\n", prefix, line + strspn(line, " "));
    }
    free(text);
}

/* "log.%p.txt" with the process's number. */
static FILE *open_log(const char *name, pid_t child)
{
    struct strbuf path = {0};
    for (; *name != '\0'; name++) {
        if (name[0] == '%' && name[1] == 'p') {
            sb_printf(&path, "%d", child);
            name++;
        } else {
            sb_append(&path, name, 1);
        }
    }
    FILE *f = fopen(path.items, "we");
    if (f == NULL)
        fprintf(stderr, "compute-sanitizer: --log-file %s: %s\n", path.items, strerror(errno));
    sb_free(&path);
    return f;
}

static int status_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(const struct sanitizer_options *o, int argc, char **argv)
{
    int status;
    log_memory = memfd_create("log", 0);
    report_memory = memfd_create("report", 0);
    if (log_memory < 0 || report_memory < 0) {
        fprintf(stderr, "compute-sanitizer: %s\n", strerror(errno));
        return EXIT_MISUSED;
    }
    pid_t child = start(o, argc, argv);
    signal(SIGINT, SIG_IGN); /* it is the program's */
    signal(SIGQUIT, SIG_IGN);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    FILE *out = o->log != NULL ? open_log(o->log, child) : stdout;
    if (out == NULL)
        return EXIT_MISUSED;
    unsigned found = count_findings();
    if (!o->quiet)
        fprintf(out, "%s COMPUTE-SANITIZER\n", o->prefix);
    print_lines(out, o->prefix);
    if (!o->quiet || found > 0)
        fprintf(out, "%s ERROR SUMMARY: %u error%s\n", o->prefix, found, found == 1 ? "" : "s");
    if (out != stdout)
        fclose(out);
    return found > 0 && o->error_exitcode != 0 ? o->error_exitcode : status_of(status);
}

int main(int argc, char **argv)
{
    struct sanitizer_options o;
    struct diag d = {0};
    if (!sanitizer_read(argc, argv, &o, &d)) {
        fprintf(stderr, "compute-sanitizer: %s\nTry 'compute-sanitizer --help'.\n", d.text);
        return EXIT_MISUSED;
    }
    if (o.help || o.version) {
        printf("%s", o.help ? help : "compute-sanitizer of Weir " WEIR_VERSION "\n");
        return 0;
    }
    if (o.first == argc) {
        fprintf(stderr, "compute-sanitizer: no program given\nTry 'compute-sanitizer --help'.\n");
        return EXIT_MISUSED;
    }
    int status = run(&o, argc, argv);
    sb_free(&o.kernels);
    return status;
}
