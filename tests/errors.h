/* Tables of wrong calls and their codes, for the programs in tests/conformance/errors.
 *
 *   static void rows(void)           // runs in a child process, maybe several times
 *   {
 *       void *p;
 *       MUST(cudaMalloc(&p, 64));    // what rows need: every child does it
 *       ROW("no pointer", cudaMalloc((void **)nullptr, 4), cudaErrorInvalidValue);
 *   }
 *   ERROR_TABLE_MAIN(rows)
 *
 * Rows run one after the other in a child of the process. A call that crashes, hangs or leaves the
 * device with a sticky error ends the child; the next one goes on with the row after it. So a row
 * must not need what an earlier row did. Each row also checks the rule of the last error: a code
 * other than success and "not ready" is kept for cudaGetLastError.
 *
 * ROW_CRASH rows are those where NVIDIA's runtime dies of the argument: dying passes, too.
 * ROW_UNDEFINED rows are those whose answer documents leave open and a GPU's driver leaves to
 * chance (destroyed handles), or gets wrong (sizes that wrap): what it says is not looked at; only
 * a driver with this project's fault interface must give the code.
 *
 * With the argument "print", the program prints function|case|code|line for each row instead. */
#ifndef WEIR_ERRORS_H
#define WEIR_ERRORS_H

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { ROWS_MAX = 1024, ROW_SECONDS = 20 };
enum row_state { ROW_NOT_RUN, ROW_RUNNING, ROW_DONE };
enum row_kind { ROW_EXACT, ROW_MAY_CRASH, ROW_OPEN };

/* What a child found out about a row; shared with the parent. */
struct row_result {
    enum row_state state;
    enum row_kind kind;
    int code, expected; /* what the call returned and what it is to return */
    int last;           /* cudaGetLastError after it */
    int after;          /* what synchronizing the device says then */
    int line;           /* in the test's source */
    int signal; /* that ended the child in this row; 255: it ended otherwise; 0: it did not */
    char call[160], what[80]; /* the call's text and what is wrong with it */
};

static struct row_result
    *row_results;     /* ROWS_MAX of them; the last tells that a child reached the end */
static int row_next;  /* the row that comes next in this child */
static int row_first; /* the first row that this child runs: those before it are done */

/* Takes the next row's place. Returns whether the row is to be run in this child. */
static inline int row_begin(const char *call, const char *what, int line, int expected,
                            enum row_kind kind)
{
    struct row_result *r = &row_results[row_next];
    if (row_next == ROWS_MAX - 1) {
        fprintf(stderr, "more than %d rows\n", ROWS_MAX);
        _exit(3);
    }
    if (row_next++ < row_first)
        return 0;
    snprintf(r->call, sizeof r->call, "%s", call);
    snprintf(r->what, sizeof r->what, "%s", what);
    r->line = line;
    r->expected = expected;
    r->kind = kind;
    r->state = ROW_RUNNING;
    cudaGetLastError();
    alarm(ROW_SECONDS);
    return 1;
}

/* Notes what the row's call returned and what state it left. A child whose device is lost ends. */
static inline void row_end(cudaError_t code)
{
    struct row_result *r = &row_results[row_next - 1];
    r->code = (int)code;
    r->last = (int)cudaGetLastError();
    r->after = (int)cudaDeviceSynchronize();
    r->state = ROW_DONE;
    alarm(0);
    cudaGetLastError();
    if (r->after != cudaSuccess)
        _exit(0);
}

#define ROW_OF_KIND(kind, what, call, expected)                                                    \
    do {                                                                                           \
        if (row_begin(#call, what, __LINE__, (int)(expected), kind))                               \
            row_end((cudaError_t)(call));                                                          \
    } while (0)
/* A wrong call: what is wrong with it, the call, and the code that it is to return. */
#define ROW(what, call, expected) ROW_OF_KIND(ROW_EXACT, what, call, expected)
/* The same where NVIDIA's runtime may die instead. */
#define ROW_CRASH(what, call, expected) ROW_OF_KIND(ROW_MAY_CRASH, what, call, expected)
/* The same where only this project's driver must return the code. */
#define ROW_UNDEFINED(what, call, expected) ROW_OF_KIND(ROW_OPEN, what, call, expected)
/* What rows need must succeed: otherwise the child says so and ends, and the test fails. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        cudaError_t must_code = (call);                                                            \
        if (must_code != cudaSuccess) {                                                            \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(must_code));     \
            fflush(stdout);                                                                        \
            _exit(3);                                                                              \
        }                                                                                          \
    } while (0)

/* Runs the rows from row_first on in a child. Returns how it ended, as waitpid says it. */
static inline int rows_child(void (*rows)(void))
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        row_next = 0;
        signal(SIGALRM, SIG_DFL);
        rows();
        row_results[ROWS_MAX - 1].state = ROW_DONE; /* the end was reached */
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

/* Runs all rows, in as many children as that takes. */
static inline void rows_run(void (*rows)(void))
{
    for (;;) {
        int last = 0, status = rows_child(rows);

        if (row_results[ROWS_MAX - 1].state == ROW_DONE)
            return;
        while (last < ROWS_MAX && row_results[last].state != ROW_NOT_RUN)
            last++;
        if (last <= row_first) { /* not one row: what all need fails */
            printf("the rows cannot run (status %d)\n", status);
            CHECK(last > row_first);
            return;
        }
        if (row_results[last - 1].state == ROW_RUNNING)
            row_results[last - 1].signal = WIFSIGNALED(status) ? WTERMSIG(status) : 255;
        row_first = last;
    }
}

/* Prints what a row gave, in one line. */
static inline void row_print(const struct row_result *r)
{
    size_t name = strcspn(r->call, "(");

    printf("%.*s|%s|", (int)name, r->call, r->what);
    if (r->signal)
        printf("signal %d", r->signal);
    else
        printf("%s", cudaGetErrorName((cudaError_t)r->code));
    printf("|%d", r->line);
    if (!r->signal && r->after)
        printf("|then %s", cudaGetErrorName((cudaError_t)r->after));
    if (!r->signal && r->last != r->code)
        printf("|last %s", cudaGetErrorName((cudaError_t)r->last));
    if (r->signal || r->code != r->expected)
        printf("|expected %s", cudaGetErrorName((cudaError_t)r->expected));
    printf("\n");
}

/* Checks what a row gave; ours: by this project's driver. */
static inline void row_check(const struct row_result *r, int ours)
{
    int kept = r->code == cudaErrorNotReady ? 0 : r->code;

    if (r->kind == ROW_OPEN && !ours)
        return;
    if (r->signal) {
        int may = r->kind == ROW_MAY_CRASH && !ours;
        if (!check_count(may))
            printf("line %d: %s (%s): signal %d\n", r->line, r->call, r->what, r->signal);
        return;
    }
    if (!check_count(r->code == r->expected))
        printf("line %d: %s (%s): %s, not %s\n", r->line, r->call, r->what,
               cudaGetErrorName((cudaError_t)r->code), cudaGetErrorName((cudaError_t)r->expected));
    if (!check_count(r->last == kept && r->after == cudaSuccess))
        printf("line %d: %s (%s): last error %s, then %s\n", r->line, r->call, r->what,
               cudaGetErrorName((cudaError_t)r->last), cudaGetErrorName((cudaError_t)r->after));
}

/* Whether the driver is this project's. Asked in a child: loading a driver into the parent would be
 * seen by all children. */
static inline int rows_ours(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
        _exit(driver != NULL && dlsym(driver, "weir_last_fault") != NULL ? 1 : 0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* Runs the rows and checks or prints them. Returns the exit status. */
static inline int rows_main(void (*rows)(void), int print)
{
    int ours;

    row_results =
        (struct row_result *)mmap(NULL, sizeof *row_results * ROWS_MAX, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rows_run(rows);
    ours = rows_ours();
    for (int i = 0; i < ROWS_MAX - 1 && row_results[i].state != ROW_NOT_RUN; i++)
        if (print)
            row_print(&row_results[i]);
        else
            row_check(&row_results[i], ours);
    return print ? 0 : check_done();
}

/* The test's main. */
#define ERROR_TABLE_MAIN(rows)                                                                     \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return rows_main(rows, argc > 1 && strcmp(argv[1], "print") == 0);                         \
    }

#endif
