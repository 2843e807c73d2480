/* The host half beside the device half; see early_host.h. */
#include "weircc/driver/early_host.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weircc/driver/steps.h"
#include "weircc/files/depfile.h"

static bool has_cpu(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}

/* Whether the host half is clang's, needs no more of the device half than the fat binary, and is to
 * be done at all. */
static bool may_begin(const struct driver *dr)
{
    return !dr->work.dryrun && dr->build.host_frontend == HOST_CLANG && !dr->build.rdc && has_cpu();
}

void early_host_begin(struct compilation *c, const char *object)
{
    struct driver *dr = c->dr;
    struct early_host *e = &c->early;
    struct diag unsaid = {0};
    if (!may_begin(dr))
        return;
    e->pipe = intermediate(dr, c->job->input, ".fatbin.pipe");
    if (e->pipe == NULL || mkfifo(e->pipe, 0600) != 0)
        return;
    e->command = (struct strlist){0};
    command_host_half(&e->command, dr, c->job->input, e->pipe);
    add_error_limit(c, &e->command);
    list_add(&e->command, "-c");
    e->rule = complete_command(c, &e->command, object);
    e->begun = work_start(&e->command, true, &e->compiler, &unsaid);
    if (!e->begun)
        unlink(e->pipe);
}

void early_host_drop(struct compilation *c)
{
    if (!c->early.begun)
        return;
    c->early.begun = false;
    work_end(&c->early.compiler);
    unlink(c->early.pipe);
}

/* The command as it is listed: that of which it gives the result. */
static void show_command(struct compilation *c)
{
    struct early_host *e = &c->early;
    struct strlist plain = {0};
    for (size_t i = 0; i < e->command.count; i++)
        list_add(&plain, "%s",
                 strcmp(e->command.items[i], e->pipe) == 0 ? e->fatbin : e->command.items[i]);
    work_show(&c->dr->work, &plain);
}

bool early_host_take(struct compilation *c, const char *phase, struct strbuf *errors, int *status)
{
    struct driver *dr = c->dr;
    struct early_host *e = &c->early;
    struct work_child feeder;
    struct strlist feed = {0};
    if (!e->begun)
        return false;
    if (c->atomics || c->mend || c->launches || c->bodies || c->constants.count > 0) {
        early_host_drop(c);
        return false;
    }
    step_add_command(&feed, dr, STEP_KEEP);
    list_add(&feed, "%s", e->fatbin);
    list_add(&feed, "%s", e->pipe);
    show_command(c);
    bool fed = work_start(&feed, false, &feeder, &dr->diag);
    if (!fed)
        work_end(&e->compiler);
    *status = fed ? work_finish(&dr->work, &e->compiler, &e->command, phase, errors, &dr->diag) : 1;
    work_end(&feeder);
    unlink(e->pipe);
    e->begun = false;
    if (*status == 0 && e->rule != NULL && !depfile_read(e->rule, &c->prerequisites, &dr->diag))
        *status = 1;
    return true;
}
