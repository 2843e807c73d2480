/* findings: writes them, and decides the exit status; see findings.h. */
#include "findings/findings.h"
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "findings/internal.h"

struct findings_options findings_options;

enum { LAST_MAX = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t found, told; /* told: as text */
static int report = -1;
static FILE *log_file; /* NULL: stderr */
static pid_t process;  /* 0: not open */
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
    if (report < 0)
        return;
    flock(report, LOCK_EX);
    off_t at = fstat(report, &st) == 0 ? st.st_size - (off_t)strlen(end) : 0;
    sb_printf(&sb, "%s\n  {\"check\": \"%s\", %s, \"text\": ", at > 2 ? "," : "", check, members);
    finding_put_string(&sb, text);
    sb_printf(&sb, "}%s", end);
    if (pwrite(report, sb.items, sb.count, at) != (ssize_t)sb.count)
        fprintf(stderr, "weir: WEIR_REPORT=%s: %s\n", findings_options.report, strerror(errno));
    flock(report, LOCK_UN);
    sb_free(&sb);
}

static bool open_report(const char *path, struct diag *d)
{
    static const char empty[] = "[\n\n]\n";
    struct stat st;
    if (path == NULL || *path == '\0')
        return true;
    report = descriptor_own(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (report < 0)
        return diag_set(d, 0, 0, "WEIR_REPORT=%s: %s", path, strerror(errno));
    flock(report, LOCK_EX);
    bool ok = fstat(report, &st) == 0 &&
              (st.st_size > 0 || pwrite(report, empty, strlen(empty), 0) == (ssize_t)strlen(empty));
    flock(report, LOCK_UN);
    return ok || diag_set(d, 0, 0, "WEIR_REPORT=%s: %s", path, strerror(errno));
}

/* ---- telling ---- */

static bool count_one(const char *check, const char *text, const char *members)
{
    if (process == 0 || process != getpid() || suppress_has(check, text) ||
        !kernels_wanted(members))
        return false;
    found++;
    return true;
}

static void write_text(const char *text)
{
    FILE *out = log_file != NULL ? log_file : stderr;
    if (findings_options.limit == 0 || told < (uint64_t)findings_options.limit) {
        fputs(text, out);
    } else if (told == (uint64_t)findings_options.limit) {
        fprintf(out, "weir: findings after the first %lld are counted and not written\n",
                (long long)findings_options.limit);
    }
    told++;
    if (log_file != NULL)
        fflush(log_file);
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
    if (counts && log_file != NULL)
        write_text(text);
    pthread_mutex_unlock(&lock);
    return counts;
}

/* ---- beginning and end ---- */

bool findings_open(const struct findings_options *options, struct diag *d)
{
    findings_options = *options;
    if (!open_report(options->report, d))
        return false;
    if (options->log != NULL && *options->log != '\0') {
        log_file = descriptor_fopen(options->log, "ae");
        if (log_file == NULL)
            return diag_set(d, 0, 0, "WEIR_CHECK_LOG=%s: %s", options->log, strerror(errno));
    }
    if (options->suppress != NULL && *options->suppress != '\0' &&
        !suppress_read(options->suppress, d))
        return false;
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
