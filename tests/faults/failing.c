/* failing (E2.5): with the library inject.c preloaded: does the same work again and again, each
 * time in a process of its own in which another call to the system fails: the first, the second,
 * ... Whatever fails, the work ends with success or a code, nothing crashes, hangs or ends the
 * process; and when calls no longer fail, the same process does all of it. One exception: where
 * memory ran out while LLVM held a lock, the process compiles nothing more, and says so.
 *
 *     failing KINDS [SCENARIO|all] [cold|warm] [once|persist] [weir|everyone] [MOST [FIRST [LAST]]]
 *
 * KINDS: letters of m(emory), a(ddress space), f(iles), t(hreads). MOST: at most about so many
 * processes for each scenario, evenly spread; 0: every call. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"
#include "scenarios.h"

enum {
    END_FINE,      /* all succeeded, though something may have failed */
    END_CODE,      /* a call gave a code; then everything worked */
    END_NOT_AGAIN, /* it did not work again */
    END_WRONG,     /* a wrong result */
    END_REFUSED,  /* memory ran out where LLVM held a lock: nothing more is compiled, and it says so
                   */
    LIMIT_S = 60, /* of a process */
    BAD_SHOWN = 40,
};

static struct {
    unsigned kinds;
    bool cold, persist, everyone;
    unsigned long most, first, last;
    char cache[64];
} asked;

/* What the child tells its parent. */
struct told {
    unsigned long counted, failed;
    CUresult code, again;
};

static void child(int scenario, unsigned long at, int fd)
{
    struct told t = {0};
    alarm(LIMIT_S);
    inject_begin(asked.kinds, at, asked.persist, asked.everyone);
    t.code = scenario_run(scenario);
    t.failed = inject_failed();
    t.counted = inject_end();
    if (at != 0)
        t.again = scenario_run(scenario);
    if (write(fd, &t, sizeof t) != (ssize_t)sizeof t)
        _exit(END_NOT_AGAIN);
    fflush(stdout);
    exit(scenario_wrong            ? END_WRONG
         : t.again != CUDA_SUCCESS ? END_NOT_AGAIN
         : t.code != CUDA_SUCCESS  ? END_CODE
                                   : END_FINE);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int run(int scenario, unsigned long at, struct told *t, char *output, size_t bytes)
{
    int told[2], said[2], status = 0;
    *t = (struct told){0};
    output[0] = '\0';
    if (asked.cold)
        nftw(asked.cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (pipe(told) != 0 || pipe(said) != 0)
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        close(told[0]);
        dup2(said[1], 1);
        dup2(said[1], 2);
        child(scenario, at, told[1]);
    }
    close(told[1]);
    close(said[1]);
    size_t n = 0;
    for (ssize_t r; (r = read(said[0], output + n, bytes - 1 - n)) > 0;) {
        n += (size_t)r;
        if (n == bytes - 1)
            n = bytes / 2;
    }
    output[n] = '\0';
    if (read(told[0], t, sizeof *t) < 0)
        t->counted = 0;
    close(told[0]);
    close(said[0]);
    waitpid(pid, &status, 0);
    int end = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    bool refused = end == END_NOT_AGAIN && asked.everyone && t->again == CUDA_ERROR_OUT_OF_MEMORY &&
                   strstr(output, "compiler cannot be used any more in this process") != NULL;
    return refused ? END_REFUSED : end;
}

static const char *name_of(CUresult r)
{
    const char *name = NULL;
    cuGetErrorName(r, &name);
    return name != NULL ? name : "a number that is no code";
}

static int all_of(int scenario)
{
    static char output[16384];
    struct told t;
    unsigned long fine = 0, codes = 0, refused = 0, bad = 0;
    int end;
    if (!asked.cold)
        run(scenario, 0, &t, output, sizeof output); /* fills the cache */
    if ((end = run(scenario, 0, &t, output, sizeof output)) != END_FINE) {
        printf("%s: without any failure: end %d, %s\n%s", scenario_name(scenario), end,
               name_of(t.code), output);
        return 1;
    }
    unsigned long calls = t.counted, last = asked.last != 0 ? asked.last : calls;
    unsigned long step = asked.most != 0 && calls > asked.most ? calls / asked.most : 1;
    for (unsigned long at = asked.first; at <= last; at += step) {
        end = run(scenario, at, &t, output, sizeof output);
        fine += end == END_FINE;
        codes += end == END_CODE;
        refused += end == END_REFUSED;
        if (getenv("INJECT_SHOW") != NULL)
            printf("%s", output);
        if (end == END_FINE || end == END_CODE || end == END_REFUSED)
            continue;
        if (++bad <= BAD_SHOWN)
            printf("%s: call %lu of %lu: %s %d, %s, then %s\n%s", scenario_name(scenario), at,
                   calls, end < 0 ? "signal" : "end", end < 0 ? -end : end, name_of(t.code),
                   name_of(t.again), output);
        fflush(stdout);
    }
    printf("%s: %lu calls; %lu went on, %lu gave a code, %lu compile no more, %lu wrong\n",
           scenario_name(scenario), calls, fine, codes, refused, bad);
    fflush(stdout);
    return bad != 0;
}

int main(int argc, char **argv)
{
    const char *which = argc > 2 ? argv[2] : "all";
    int bad = 0;
    if (argc < 2 || inject_begin == NULL) {
        fprintf(stderr, "usage: LD_PRELOAD=inject.so %s KINDS ...\n", argv[0]);
        return 2;
    }
    asked.kinds =
        (strchr(argv[1], 'm') ? INJECT_MEMORY : 0) | (strchr(argv[1], 'a') ? INJECT_MAP : 0) |
        (strchr(argv[1], 'f') ? INJECT_FILE : 0) | (strchr(argv[1], 't') ? INJECT_THREAD : 0);
    asked.cold = argc > 3 && strcmp(argv[3], "cold") == 0;
    asked.persist = argc > 4 && strcmp(argv[4], "persist") == 0;
    asked.everyone = argc > 5 && strcmp(argv[5], "everyone") == 0;
    asked.most = argc > 6 ? strtoul(argv[6], NULL, 10) : 0;
    asked.first = argc > 7 ? strtoul(argv[7], NULL, 10) : 1;
    asked.last = argc > 8 ? strtoul(argv[8], NULL, 10) : 0;
    snprintf(asked.cache, sizeof asked.cache, "/tmp/weir-failing-%d", (int)getpid());
    setenv("WEIR_CACHE_DIR", asked.cache, 1);
    for (int n = 0; scenario_name(n) != NULL; n++)
        if (strcmp(which, "all") == 0 || strcmp(which, scenario_name(n)) == 0)
            bad |= all_of(n);
    nftw(asked.cache, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (bad == 0)
        printf("all passed\n");
    return bad;
}
