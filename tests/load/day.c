/* A9.5: a day's load in short: processes that work on many streams and threads in little device
 * memory, some of which share memory; random ones are killed at any moment and started again. What
 * survives must have its data whole and its memory flat, and nothing may be left over.
 *
 *   load_day WORKER SECONDS [SEED]
 *
 * This process uses no device: it starts, kills, watches and judges. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "check.h"
#include "control.h"
#include "processes.h"

enum { MAY_GROW_KIB = 48 << 10, LAST_SECONDS = 300 };

static struct control *control;
static int control_fd;
static const char *worker;
static pid_t process[PLACES];
static unsigned chance_state;
static long kills;
static char cache[64];

static unsigned below(unsigned n)
{
    chance_state = chance_state * 1664525u + 1013904223u;
    return (chance_state >> 8) % n;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void start(int place)
{
    char descriptor[16], number[16];
    fflush(stdout);
    snprintf(descriptor, sizeof descriptor, "%d", control_fd);
    snprintf(number, sizeof number, "%d", place);
    pid_t pid = fork();
    if (pid == 0) {
        execl(worker, worker, descriptor, number, (char *)NULL);
        _exit(PROCESSES_NO_PROGRAM);
    }
    process[place] = pid;
}

static void judge(int place)
{
    const struct place *p = &control->place[place];
    if (!check_count(p->failures == 0))
        printf("place %d: %ld failures, the first: %s\n", place, p->failures, p->failure);
    if (!check_count(p->resident_at <= p->resident + MAY_GROW_KIB))
        printf("place %d: %ld KiB are resident, %ld once it was warm\n", place, p->resident_at,
               p->resident);
}

static void kill_some(void)
{
    int place = 1 + (int)below(SERVER - 1);
    kill(process[place], SIGKILL);
    int status = end_of(process[place]);
    /* It may have failed just before. */
    if (!check_count(status == 1000 + SIGKILL))
        printf("place %d had ended with %d\n", place, status);
    kills++;
    start(place);
}

/* Those that nobody kills must live. */
static void check_survivors(void)
{
    for (int place = 0; place < PLACES; place += SERVER) {
        int status;
        if (process[place] > 0 && waitpid(process[place], &status, WNOHANG) == process[place]) {
            CHECK(!"a process that nobody kills has ended");
            printf("place %d ended with status 0x%x\n", place, status);
            start(place);
        }
    }
}

static void end_all(void)
{
    double limit = now() + LAST_SECONDS;
    __atomic_store_n(&control->stop, 1, __ATOMIC_SEQ_CST);
    for (int place = 0; place < PLACES; place++) {
        int status = 0;
        while (waitpid(process[place], &status, WNOHANG) == 0) {
            if (now() > limit) {
                printf("place %d does not end\n", place);
                kill(process[place], SIGKILL);
                limit = now() + 10;
            }
            usleep(10000);
        }
        if (!check_count(WIFEXITED(status) && WEXITSTATUS(status) == 0))
            printf("place %d ended with status 0x%x\n", place, status);
    }
    CHECK_EQ_INT(waitpid(-1, NULL, WNOHANG), -1); /* no other children */
}

/* ---- what is left over ---- */

static int ours_in(const char *directory)
{
    int n = 0;
    DIR *d = opendir(directory);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += strncasecmp(e->d_name, "weir", 4) == 0 || strncasecmp(e->d_name, "cuda", 4) == 0;
    if (d != NULL)
        closedir(d);
    return n;
}

/* Files of the cache that are no records: what a killed writer was writing, at most one each. */
static int unfinished(void)
{
    int n = 0;
    DIR *root = opendir(cache);
    for (struct dirent *e; root != NULL && (e = readdir(root)) != NULL;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
        if (e->d_name[0] == '.')
            continue;
        CHECK_EQ_INT(strspn(e->d_name, "0123456789abcdef"), 2); /* directories of records alone */
        DIR *d = opendir(path);
        for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;)
            n += f->d_name[0] != '.' && strspn(f->d_name, "0123456789abcdef") != 30;
        if (d != NULL)
            closedir(d);
    }
    if (root != NULL)
        closedir(root);
    return n;
}

static void remove_cache(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", cache);
    CHECK_EQ_INT(system(command), 0);
}

static void load(double seconds)
{
    double start_time = now(), told = start_time;
    for (int place = PLACES - 1; place >= 0; place--)
        start(place);
    while (now() - start_time < seconds) {
        usleep(50000 + below(350000));
        kill_some();
        check_survivors();
        if (now() - told > (seconds > 300 ? 60 : 5)) {
            told = now();
            printf("%.0f s, %ld kills, %ld + %ld rounds, %ld KiB\n", told - start_time, kills,
                   control->place[0].iterations, control->place[SERVER].iterations,
                   control->place[0].resident_at);
            fflush(stdout);
        }
    }
    end_all();
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    worker = argv[1];
    chance_state = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
    control = shared_new(sizeof *control, &control_fd);
    int before_shm = ours_in("/dev/shm");
    snprintf(cache, sizeof cache, "/tmp/load-cache.%d", (int)getpid());
    setenv("WEIR_CACHE_DIR", cache, 1);
    setenv("WEIR_DEVICE_MEMORY", "64M", 1);
    load(strtod(argv[2], NULL));

    for (int place = 0; place < PLACES; place++)
        judge(place);
    CHECK(control->place[0].iterations > 0);
    CHECK(control->place[SERVER].iterations > 0);
    CHECK_EQ_INT(ours_in("/dev/shm"), before_shm);
    int left = unfinished();
    CHECK(left <= kills);
    remove_cache();
    long rounds = 0, operations = 0, refused = 0;
    for (int place = 0; place < PLACES; place++) {
        rounds += control->place[place].iterations;
        operations += control->place[place].operations;
        refused += control->place[place].refused;
    }
    printf(
        "%ld kills, %ld rounds, %ld operations, %ld allocations refused; resident %ld -> %ld and "
        "%ld -> %ld KiB; %d unfinished files in the cache\n",
        kills, rounds, operations, refused, control->place[0].resident,
        control->place[0].resident_at, control->place[SERVER].resident,
        control->place[SERVER].resident_at, left);
    return check_done();
}
