/* Child processes, signals and intermediate files; see work.h. */
#include "weircc/files/work.h"
#include "base/clock.h"
#include "weircc/files/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- signals ---- */

enum { MAX_CHILDREN = 4 };

static volatile sig_atomic_t caught;                 /* the signal that came, 0 while none has */
static volatile sig_atomic_t children[MAX_CHILDREN]; /* pids of those that run, 0: none */

/* All that end a process and come from outside. */
static const int ending_signals[] = {SIGINT,  SIGTERM, SIGHUP,    SIGPIPE, SIGQUIT,
                                     SIGALRM, SIGUSR1, SIGUSR2,   SIGXCPU, SIGXFSZ,
                                     SIGPROF, SIGPOLL, SIGVTALRM, SIGPWR,  SIGSTKFLT};

/* Children are told, and their end brings the main flow back, which cleans up and then dies of the
 * same signal: nothing that is unsafe in a handler is done in it. Compilers have a meaning of their
 * own for some signals. */
static void on_signal(int signal)
{
    bool known = signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
    caught = signal;
    for (size_t i = 0; i < MAX_CHILDREN; i++)
        if (children[i] > 0)
            kill((pid_t)children[i], known ? signal : SIGTERM);
}

/* Enters a child in the list in the place of another, or of none (0). Signals are blocked. */
static void replace_child(pid_t old, pid_t child)
{
    for (size_t i = 0; i < MAX_CHILDREN; i++)
        if (children[i] == old) {
            children[i] = child;
            return;
        }
}

bool work_interrupted(void) { return caught != 0; }

static void take_signals(void)
{
    for (size_t i = 0; i < WEIR_COUNT(ending_signals); i++) {
        struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        /* what the caller ignores (nohup) stays ignored */
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending_signals[i], &action, NULL);
    }
}

static void block_signals(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < WEIR_COUNT(ending_signals); i++)
        sigaddset(&set, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* ---- lists of commands ---- */

/* Appends an argument so that a shell reads it back as it is. */
static void add_quoted(struct strbuf *out, const char *arg)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    if (*arg != '\0' && strspn(arg, plain) == strlen(arg)) {
        sb_printf(out, "%s", arg);
        return;
    }
    sb_append(out, "\"", 1);
    for (; *arg != '\0'; arg++) {
        if (strchr("\"\\$`", *arg) != NULL)
            sb_append(out, "\\", 1);
        sb_append(out, arg, 1);
    }
    sb_append(out, "\"", 1);
}

char *work_quoted(const struct strlist *argv)
{
    struct strbuf line = {0};
    sb_append(&line, "", 0);
    for (size_t i = 0; i < argv->count; i++) {
        if (i > 0)
            sb_append(&line, " ", 1);
        add_quoted(&line, argv->items[i]);
    }
    return line.items;
}

/* --dryrun writes a script to standard output. Those who read standard error, as nvcc's listing is
 * read, see no commands twice on a terminal. */
static bool has_script(const struct work *w) { return w->dryrun && !isatty(STDOUT_FILENO); }

void work_script(const struct work *w, const char *text)
{
    if (!has_script(w))
        return;
    puts(text);
    fflush(stdout);
}

bool work_show(const struct work *w, const struct strlist *argv)
{
    if (w->list) {
        char *line = work_quoted(argv);
        fprintf(stderr, "#$ %s\n", line);
        work_script(w, line);
        free(line);
    }
    return !w->dryrun;
}

/* ---- intermediate files ---- */

bool work_open(struct work *w, const struct cmdline *c, struct diag *d)
{
    w->dryrun = c->given[OPT_dryrun];
    w->list = w->dryrun || c->given[OPT_verbose];
    w->time_file = c->value[OPT_time];
    w->keep = c->given[OPT_keep] || c->given[OPT_save_temps] || c->given[OPT_keep_dir];
    if (w->keep) {
        w->directory = xstrdup(c->given[OPT_keep_dir] ? c->value[OPT_keep_dir] : ".");
        struct stat st;
        if (stat(w->directory, &st) != 0 || !S_ISDIR(st.st_mode))
            return diag_set(d, 0, 0, "'%s' is no directory for intermediate files (--keep-dir)",
                            w->directory);
    }
    work_script(w, "set -e");
    take_signals();
    return true;
}

/* Lists what a script must do to have the directory, and to remove it however the script ends. */
static void list_directory(const struct work *w)
{
    struct strlist make = {0}, trap = {0};
    struct strbuf remove = {0};
    sb_printf(&remove, "rm -rf ");
    add_quoted(&remove, w->directory);
    list_add(&make, "mkdir");
    list_add(&make, "-p");
    list_add(&make, "-m");
    list_add(&make, "700");
    list_add(&make, "%s", w->directory);
    work_show(w, &make);
    list_add(&trap, "trap");
    list_add(&trap, "%s", remove.items);
    list_add(&trap, "EXIT");
    work_show(w, &trap);
    sb_free(&remove);
}

static bool make_directory(struct work *w, struct diag *d)
{
    if (w->directory != NULL)
        return true;
    const char *base = getenv("TMPDIR");
    if (base == NULL || *base == '\0')
        base = "/tmp";
    char *path = xprintf("%s/" LEFTOVERS_PREFIX "XXXXXX", base);
    sigset_t before;
    block_signals(&before);
    if (mkdtemp(path) == NULL) {
        diag_set(d, 0, 0, "Cannot make a directory for intermediate files in '%s': %s", base,
                 strerror(errno));
        free(path);
        path = NULL;
    }
    w->directory = path;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (path != NULL && !w->dryrun) {
        leftovers_remove(base);
        leftovers_mark(path);
    }
    if (path != NULL && w->dryrun) { /* only its name is wanted: no other run has the same */
        rmdir(path);
        list_directory(w);
    }
    return path != NULL;
}

char *stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return xprintf("%.*s", dot != NULL && dot != base ? (int)(dot - base) : (int)strlen(base),
                   base);
}

char *work_file(struct work *w, const char *source, const char *suffix, struct diag *d)
{
    if (!make_directory(w, d))
        return NULL;
    char *stem = stem_of(source);
    char *path = xprintf("%s/%s%s", w->directory, stem, suffix);
    for (int n = 2; list_has(&w->files, path); n++) {
        free(path);
        path = xprintf("%s/%s-%d%s", w->directory, stem, n, suffix);
    }
    list_add(&w->files, "%s", path);
    free(stem);
    return path;
}

static void write_times(const struct work *w)
{
    bool standard = strcmp(w->time_file, "-") == 0;
    FILE *file = standard ? NULL : fopen(w->time_file, "a");
    FILE *f = standard ? stdout : file;
    if (f == NULL) {
        fprintf(stderr, "weircc warning : cannot write '%s': %s\n", w->time_file, strerror(errno));
        return;
    }
    if (standard || ftell(f) == 0)
        fputs("phase name , output file , tool , metric , unit\n", f);
    for (size_t i = 0; i < w->timing.count; i++)
        fputs(w->timing.items[i], f);
    if (file != NULL)
        fclose(file);
}

void work_close(struct work *w)
{
    if (!w->keep && w->dryrun && w->directory != NULL) {
        struct strlist remove = {0};
        list_add(&remove, "rm");
        list_add(&remove, "-rf");
        list_add(&remove, "%s", w->directory);
        work_show(w, &remove);
    }
    if (!w->keep && !w->dryrun && w->directory != NULL) {
        for (size_t i = 0; i < w->files.count; i++)
            unlink(w->files.items[i]);
        leftovers_unmark(w->directory);
        rmdir(w->directory);
    }
    if (w->time_file != NULL && !w->dryrun && caught == 0)
        write_times(w);
    if (caught != 0) {
        signal(caught, SIG_DFL);
        raise(caught);
    }
}

/* ---- commands ---- */

/* In the child: becomes the command, or tells the parent why not. */
static void become(const struct strlist *argv, int error_pipe, int start_pipe,
                   const sigset_t *before)
{
    for (size_t i = 0; i < WEIR_COUNT(ending_signals); i++) {
        struct sigaction old;
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == on_signal)
            signal(ending_signals[i], SIG_DFL);
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it may wait for what this process is to give it */
    sigprocmask(SIG_SETMASK, before, NULL);
    if (error_pipe >= 0)
        dup2(error_pipe, STDERR_FILENO);
    char **args = xcalloc(argv->count + 1, sizeof *args);
    for (size_t i = 0; i < argv->count; i++)
        args[i] = argv->items[i];
    setenv("LLVM_DISABLE_SYMBOLIZATION", "1", 0); /* a clang that fails leaves files of its own */
    execvp(args[0], args);
    int reason = errno;
    (void)!write(start_pipe, &reason, sizeof reason);
    _exit(127);
}

static void read_all(int fd, struct strbuf *out)
{
    char buffer[16384];
    ssize_t n;
    while ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            sb_append(out, buffer, (size_t)n);
}

static double now_ms(void) { return (double)clock_ns() * 1e-6; }

static void record_time(struct work *w, const struct strlist *argv, const char *phase, double ms)
{
    const char *out = "";
    for (size_t i = 0; i + 1 < argv->count; i++)
        if (strcmp(argv->items[i], "-o") == 0)
            out = argv->items[i + 1];
    list_add(&w->timing, "%s , %s , %s , %.4f , ms\n", phase, out, argv->items[0], ms);
}

bool work_start(const struct strlist *argv, bool keeps_errors, struct work_child *child,
                struct diag *d)
{
    int start[2], error[2] = {-1, -1};
    *child = (struct work_child){.start_pipe = -1, .error_pipe = -1};
    if (pipe2(start, O_CLOEXEC) != 0 || (keeps_errors && pipe2(error, O_CLOEXEC) != 0))
        return diag_set(d, 0, 0, "Cannot run '%s': %s", argv->items[0], strerror(errno));
    child->began = now_ms();
    fflush(NULL);
    sigset_t before;
    block_signals(&before);
    pid_t pid = caught == 0 ? fork() : -1;
    int reason = errno;
    if (pid == 0)
        become(argv, error[1], start[1], &before);
    if (pid > 0)
        replace_child(0, pid);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(start[1]);
    if (keeps_errors)
        close(error[1]);
    if (pid < 0) {
        close(start[0]);
        if (keeps_errors)
            close(error[0]);
        return diag_set(d, 0, 0, "Cannot run '%s': %s", argv->items[0], strerror(reason));
    }
    child->pid = pid;
    child->start_pipe = start[0];
    child->error_pipe = error[0];
    return true;
}

/* Waits for a child; its status. */
static int wait_for(struct work_child *child)
{
    int status = 127 << 8;
    sigset_t before;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    block_signals(&before);
    replace_child(child->pid, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(child->start_pipe);
    if (child->error_pipe >= 0)
        close(child->error_pipe);
    child->pid = 0;
    return status;
}

int work_finish(struct work *w, struct work_child *child, const struct strlist *argv,
                const char *phase, struct strbuf *errors, struct diag *d)
{
    int reason;
    if (read(child->start_pipe, &reason, sizeof reason) != sizeof reason)
        reason = 0;
    if (errors != NULL)
        read_all(child->error_pipe, errors);
    int status = wait_for(child);
    record_time(w, argv, phase, now_ms() - child->began);
    if (caught != 0)
        return 128 + caught;
    if (reason != 0) {
        diag_set(d, 0, 0, "Cannot run '%s': %s", argv->items[0], strerror(reason));
        return 127;
    }
    if (WIFSIGNALED(status)) {
        diag_set(d, 0, 0, "'%s' died due to signal %d (%s)", argv->items[0], WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

void work_end(struct work_child *child)
{
    if (child->pid <= 0)
        return;
    kill(child->pid, SIGTERM);
    wait_for(child);
}

int work_run(struct work *w, const struct strlist *argv, const char *phase, struct strbuf *errors,
             struct diag *d)
{
    struct work_child child;
    if (!work_show(w, argv))
        return 0;
    if (!work_start(argv, errors != NULL, &child, d))
        return caught != 0 ? 128 + caught : 127;
    return work_finish(w, &child, argv, phase, errors, d);
}
