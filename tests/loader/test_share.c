/* Module loader: many processes on one cache directory, and what a later process finds there: the
 * same code without the compiler library; other code after the compiler was rebuilt; whole code
 * after damage.
 */
#include "check.h"
#include "loader/loader.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS = 12, PROCESSES = 6 };

static const struct jit_options options = {.ntid = {32, 1, 1}};
static struct fake fake;

static void add_kernels(void)
{
    static char names[KERNELS][16];
    fake_init(&fake, 555);
    for (int i = 0; i < KERNELS; i++) {
        snprintf(names[i], sizeof names[i], "basic@%d", i);
        fake_kernel(&fake, names[i]);
    }
}

/* Gets and runs every kernel, beginning with another one in each process. */
static void use_all(int first, uint32_t flags)
{
    add_kernels();
    CHECK(jit_check(&fake.module, NULL));
    for (int k = 0; k < KERNELS; k++) {
        struct diag d = {0};
        struct jit_code *code =
            jit_get(&fake.funcs[(first + k) % KERNELS], &options, &fake.resolver, &d);
        CHECK_STR(d.text, "");
        int64_t out[16] = {0};
        if (code == NULL)
            continue;
        fake_run(code, out);
        CHECK_EQ_INT(out[4], 114);
        CHECK_EQ_INT(code->flags, flags);
        jit_release(code);
    }
}

/* Runs `count` processes at once and waits for them. */
static void run_processes(int count, void (*body)(int number))
{
    fflush(stdout);
    for (int i = 0; i < count; i++)
        if (fork() == 0) {
            body(i);
            int failed = checks_failed != 0;
            fflush(stdout);
            _exit(failed);
        }
    for (int i = 0; i < count; i++) {
        int status = -1;
        wait(&status);
        CHECK_EQ_INT(status, 0);
    }
}

static void crowd(int number)
{
    use_all(number * 2, 1);
    struct jit_stats s;
    jit_get_stats(&s);
    CHECK_EQ_INT(s.compiled + s.disk_hits, KERNELS);
    CHECK_EQ_INT(s.damaged, 0);
}

static void later(int number)
{
    setenv("FAKE_OBJECTS", "/nonexistent", 1);
    use_all(number, 1);
    struct jit_kernel_info info;
    CHECK(jit_kernel_info(&fake.funcs[0], &info, NULL) && info.static_shared == 7);
    struct jit_stats s;
    jit_get_stats(&s);
    CHECK_EQ_INT(s.disk_hits, KERNELS);
    CHECK_EQ_INT(s.compiled, 0);
    CHECK(!s.plugin_loaded);
}

static void rebuilt(int number)
{
    jit_set_plugin_path(OTHER_PLUGIN);
    use_all(number, 2);
    struct jit_stats s;
    jit_get_stats(&s);
    CHECK_EQ_INT(s.compiled, KERNELS);
}

static void missing(int number)
{
    jit_set_plugin_path("/nonexistent/libweir-jit.so");
    add_kernels();
    struct diag d = {0};
    CHECK(jit_get(&fake.funcs[0], &options, &fake.resolver, &d) == NULL);
    CHECK(strstr(d.text, "/nonexistent/libweir-jit.so") != NULL);
}

static void damaged(int number)
{
    use_all(number, 1);
    struct jit_stats s;
    jit_get_stats(&s);
    CHECK_EQ_INT(s.damaged, KERNELS + 1); /* and the module's facts */
    CHECK_EQ_INT(s.compiled, KERNELS);
}

int main(void)
{
    char *directory = make_directory();
    fake_environment(directory);
    setenv("FAKE_DELAY_MS", "3", 1);
    run_processes(PROCESSES, crowd);
    int compiled = log_count(directory, "compile");
    CHECK(compiled >= KERNELS && compiled <= KERNELS * PROCESSES);
    char *leftovers = xprintf("test -z \"$(find '%s' -name 'tmp-*')\"", directory);
    CHECK_EQ_INT(system(leftovers), 0);
    free(leftovers);
    run_processes(PROCESSES, later);
    CHECK_EQ_INT(log_count(directory, "compile"), compiled);
    run_processes(1, missing);

    /* One byte in the middle of every file. */
    char *damage = xprintf("for f in $(find '%s/cache' -type f); do "
                           "printf '\\251' | dd of=$f bs=1 seek=500 conv=notrunc status=none; "
                           "done",
                           directory);
    /* The facts of 12 kernels take more than 500 bytes too. */
    CHECK_EQ_INT(system(damage), 0);
    free(damage);
    run_processes(1, damaged);
    run_processes(1, later);
    run_processes(1, rebuilt);
    remove_directory(directory);
    return check_done();
}
