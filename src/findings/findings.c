/* findings: writes them, and decides the exit status; see findings.h. */
#include "findings/findings.h"
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "findings/internal.h"

struct findings_options findings_options;

enum { LAST_MAX = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t found, told; /* told: as text */
static int report = -1;
static int log_file = -1; /* -1: stderr */
static struct descriptor_file report_opened, log_opened;
static pid_t process; /* 0: not open */
static void (*lasts[LAST_MAX])(void);
static int last_count;

/* ---- the report ---- */

/* It is complete JSON after each finding: its end is written over by the next one. Other processes
 * of the same run write to it, too. */
static void write_report(const char *check, const char *text, const char *members)
{
    static const char end[] = "\n]\n";
    struct strbuf sb = {0};
    struct stat st;
    if (report < 0 || !descriptor_is(report, &report_opened))
        return; /* none, or the program has closed it */
    bool locked = descriptor_lock(report);
    off_t at = fstat(report, &st) == 0 ? st.st_size - (off_t)strlen(end) : 0;
    sb_printf(&sb, "%s\n  {\"check\": \"%s\", %s, \"text\": ", at > 2 ? "," : "", check, members);
    finding_put_string(&sb, text);
    sb_printf(&sb, "}%s", end);
    bool whole =
        locked && lseek(report, at, SEEK_SET) == at && descriptor_write(report, sb.items, sb.count);
    int reason = errno;
    if (!whole && locked && ftruncate(report, at) == 0 && lseek(report, at, SEEK_SET) == at)
        descriptor_write(report, end, strlen(end)); /* what was there before: there is space */
    descriptor_unlock(report);
    if (!whole) {
        fprintf(stderr, "weir: WEIR_REPORT=%s: %s; the rest of the report is lost\n",
                findings_options.report, descriptor_error(reason));
        close(report);
        report = -1; /* said once */
    }
    sb_free(&sb);
}

static bool open_report(const char *path, struct diag *d)
{
    static const char empty[] = "[\n\n]\n";
    struct stat st;
    if (path == NULL || *path == '\0')
        return true;
    report = descriptor_create(path, O_RDWR);
    if (report < 0 || fstat(report, &st) != 0 || !descriptor_file(report, &report_opened))
        return diag_set(d, 0, 0, "WEIR_REPORT=%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return diag_set(d, 0, 0, "WEIR_REPORT=%s: it is no regular file", path);
    bool ok = descriptor_lock(report) && fstat(report, &st) == 0 &&
              (st.st_size > 0 || descriptor_write(report, empty, strlen(empty)));
    descriptor_unlock(report);
    return ok || diag_set(d, 0, 0, "WEIR_REPORT=%s: %s", path, descriptor_error(errno));
}

/* ---- telling ---- */

static bool count_one(const char *check, const char *text, const char *members)
{
    if (process == 0 || process != getpid() || suppress_has(check, text) ||
        kernels_suppressed(check, members) || !kernels_wanted(members))
        return false;
    found++;
    return true;
}

static void write_log(const char *text)
{
    if (log_file < 0) {
        fputs(text, stderr);
        return;
    }
    bool ours = descriptor_is(log_file, &log_opened);
    if (!ours || !descriptor_write(log_file, text, strlen(text))) {
        fprintf(stderr, "weir: WEIR_CHECK_LOG=%s: %s\n%s", findings_options.log,
                ours ? descriptor_error(errno) : "the program has closed it", text);
        if (ours)
            close(log_file);
        log_file = -1; /* the rest goes to stderr, too */
    }
}

static void write_text(const char *text)
{
    if (findings_options.limit == 0 || told < (uint64_t)findings_options.limit) {
        write_log(text);
    } else if (told == (uint64_t)findings_options.limit) {
        char *line = xprintf("weir: findings after the first %lld are counted and not written\n",
                             (long long)findings_options.limit);
        write_log(line);
        free(line);
    }
    told++;
}

bool findings_tell(const char *check, const char *text, const char *members)
{
    pthread_mutex_lock(&lock);
    bool counts = count_one(check, text, members);
    if (counts) {
        write_text(text);
        write_report(check, text, members);
    }
    pthread_mutex_unlock(&lock);
    return counts;
}

bool findings_keep(const char *check, const char *text, const char *members)
{
    pthread_mutex_lock(&lock);
    bool counts = count_one(check, text, members);
    if (counts)
        write_report(check, text, members);
    if (counts && log_file >= 0)
        write_text(text);
    pthread_mutex_unlock(&lock);
    return counts;
}

/* ---- beginning and end ---- */

bool findings_open(const struct findings_options *options, struct diag *d)
{
    findings_options = *options;
    if (!kernels_list_valid(options->kernels, d))
        return false;
    if (!open_report(options->report, d))
        return false;
    if (options->log != NULL && *options->log != '\0') {
        log_file = descriptor_create(options->log, O_WRONLY | O_APPEND);
        if (log_file < 0 || !descriptor_file(log_file, &log_opened))
            return diag_set(d, 0, 0, "WEIR_CHECK_LOG=%s: %s", options->log, strerror(errno));
    }
    if (options->suppress != NULL && *options->suppress != '\0' &&
        !suppress_read(options->suppress, d))
        return false;
    python_open();
    process = getpid();
    return true;
}

bool findings_opened(void) { return process != 0; }

void findings_at_end(void (*last)(void))
{
    pthread_mutex_lock(&lock);
    if (last_count < LAST_MAX)
        lasts[last_count++] = last;
    pthread_mutex_unlock(&lock);
}

/* After the program's own handlers; what it has printed is written first. */
static __attribute__((destructor)) void findings_end(void)
{
    if (process == 0 || process != getpid())
        return;
    for (int i = 0; i < last_count; i++)
        lasts[i]();
    if (found > 0 && findings_options.exit_code != 0) {
        fflush(NULL);
        _exit(findings_options.exit_code);
    }
}
