/* Module loader: kernels that take long to optimize, over several processes: baseline code comes
 * from the cache, a process waits at its end once and not in every run, and whoever runs for long
 * enough leaves optimized code to all. */
#include "check.h"
#include "loader/loader.h"
#include "loader/tier_up.h"
#include "module.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct jit_options options = {.ntid = {32, 1, 1}, .tier = JIT_TIER_FIRST};
static struct fake fake;
static char *directory;
static char *said_path; /* global: the leak check of a child that exits looks from there */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t replaced = PTHREAD_COND_INITIALIZER;
static struct jit_code *optimized;

static void replace(void *self, struct jit_code *code)
{
    pthread_mutex_lock(&lock);
    optimized = code;
    pthread_cond_signal(&replaced);
    pthread_mutex_unlock(&lock);
}

/* A process that launches the kernel. */
struct process {
    unsigned patience_ms;
    const char *optimize_ms;
    bool compiles;        /* its launch finds nothing */
    bool finds_optimized; /* ... or optimized code, else baseline code */
    bool stays;           /* until it has optimized code */
};

/* Runs in a process of its own, which ends by exit(). */
static void launch(const struct process *p)
{
    struct diag d = {0};
    struct jit_stats s;
    setenv("FAKE_OPTIMIZE_MS", p->optimize_ms, 1);
    tier_up_patience_ms = p->patience_ms;
    fake_init(&fake, 777);
    const struct ptx_func *f = fake_kernel(&fake, "basic@slow");
    struct jit_code *code = jit_get(f, &options, &fake.resolver, &d);
    CHECK_STR(d.text, "");
    jit_get_stats(&s);
    CHECK_EQ_INT(s.compiled, p->compiles);
    CHECK_EQ_INT(s.disk_hits, !p->compiles);
    CHECK(code != NULL && ((code->flags & JIT_CODE_BASELINE) == 0) == p->finds_optimized);
    if (!p->finds_optimized)
        CHECK(jit_tier_up(f, &options, &fake.resolver, replace, NULL) != NULL);
    pthread_mutex_lock(&lock);
    while (p->stays && optimized == NULL)
        pthread_cond_wait(&replaced, &lock);
    pthread_mutex_unlock(&lock);
    CHECK(!p->stays || (optimized->flags & JIT_CODE_BASELINE) == 0);
    struct jit_options list[JIT_LAUNCHED];
    CHECK_EQ_INT(jit_launched(f, list), 1);
    CHECK(list[0].ntid[0] == 32 && list[0].tier == JIT_TIER_OPTIMIZING);
    exit(checks_failed != 0);
}

/* Runs the process; what it says is in `said_path`. Returns how many milliseconds it took. */
static long run(const struct process *p)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(said_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, 2);
        launch(p);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ_INT(status, 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
}

static bool said(const char *word)
{
    char *command = xprintf("grep -q '%s' '%s'", word, said_path);
    bool yes = system(command) == 0;
    free(command);
    return yes;
}

int main(void)
{
    directory = make_directory();
    said_path = xprintf("%s/said", directory);
    fake_environment(directory);
    /* the first one waits in vain, and says so */
    CHECK(run(&(struct process){200, "600000", true, false, false}) >= 200);
    CHECK(said("kernel basic@slow (0 instructions) takes longer than"));
    /* the next ones start with its baseline code, and do not wait */
    CHECK(run(&(struct process){60000, "600000", false, false, false}) < 30000);
    CHECK(!said("takes longer"));
    CHECK_EQ_INT(log_count(directory, "compile"), 3);
    /* one that is there for long enough leaves optimized code */
    run(&(struct process){60000, "300", false, false, true});
    run(&(struct process){60000, "600000", false, true, false});
    CHECK_EQ_INT(log_count(directory, "compile"), 4);
    remove_directory(directory);
    free(said_path);
    return check_done();
}
