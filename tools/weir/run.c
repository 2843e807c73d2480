/* weir run: starts a program on Weir's libraries. */
#include "base/descriptor.h"
#include "base/env.h"
#include "schedules.h"
#include "timeline/timeline.h"
#include "weir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: weir run [options] program [arguments]\n"
    "\n"
    "Runs a CUDA program with Weir's libcuda.so.1 and libcudart in front of any others,\n"
    "and with Weir's ptxas and nvcc in front of any others on the PATH. Python's packages for\n"
    "CUDA find these, too; what cannot run is told at the end (docs/python.md).\n"
    "\n"
    "  --device=gpu    on the driver of this machine's GPU, with Weir's runtime (as "
    "WEIR_DRIVER=gpu);\n"
    "                  --device=cpu on Weir's, which is what happens without either\n"
    "  --workers N     threads that run kernels (as WEIR_WORKERS=N)\n"
    "  --check=memory  finds accesses of kernels outside of allocations and to freed memory, and\n"
    "                  device memory that the host touches (as WEIR_CHECK=memory)\n"
    "  --trace=FILE    writes a timeline to a file that Perfetto and chrome://tracing open: "
    "streams,\n"
    "                  kernels, copies, calls, waits (as WEIR_TRACE=FILE, which appends to a "
    "file)\n"
    "  --stats         prints to stderr, at the end, where the time went: by kernel, copy, call,\n"
    "                  stream and wait (as WEIR_STATS=on)\n"
    "  --check=races   finds accesses to the same bytes that nothing orders: by kernels, copies, "
    "host\n"
    "                  functions and the host, and by threads of one grid; and memory that is "
    "used\n"
    "                  before its allocation or after its free (as WEIR_CHECK=races)\n"
    "  --check=races=streams\n"
    "                  the same without the threads of a grid, in less time\n"
    "  --check=init    finds reads of device and shared memory that nothing has written\n"
    "                  (as WEIR_CHECK=init)\n"
    "  --check=sync    finds barriers and operations of warps that not all threads come to\n"
    "                  (as WEIR_CHECK=sync)\n"
    "  --check=leaks   finds memory, streams, events, graphs, pools and the like that are alive "
    "at\n"
    "                  the end (as WEIR_CHECK=leaks)\n"
    "  --check=calls   finds failing calls whose error nobody looks at, and calls that a GPU may\n"
    "                  refuse (as WEIR_CHECK=calls)\n"
    "  --check=all     makes all of these checks; several are named with commas between\n"
    "  --report=FILE   what checks find, as JSON (as WEIR_REPORT=FILE)\n"
    "  --log=FILE      what checks find, as text, to a file and not to stderr (as "
    "WEIR_CHECK_LOG=FILE)\n"
    "  --suppress=FILE\n"
    "                  leaves findings out: lines CHECK:PATTERN (as WEIR_SUPPRESS=FILE)\n"
    "  --error-exitcode N\n"
    "                  the exit status when a check found something; else it is the program's\n"
    "                  (as WEIR_ERROR_EXITCODE=N)\n"
    "  --schedules=N   runs the program in N orders of work that CUDA allows, and tells in which "
    "its\n"
    "                  output or its exit status differ from those in the fixed order\n"
    "                  (WEIR_SCHEDULE=SEED runs it in one of them, WEIR_SCHEDULE=fixed in that)\n"
    "  --trace-pools=FILE\n"
    "                  writes what memory pools do to a file that chrome://tracing and Perfetto\n"
    "                  open (as WEIR_POOLS_TRACE=FILE)\n"
    "  --              what follows is the program, whatever its name begins with\n";

/* Puts our directory in front of the loader's search path. */
static int prepend_library_path(void)
{
    const char *directory = weir_library_directory();
    const char *before = getenv("LD_LIBRARY_PATH");
    if (directory == NULL)
        return weir_failed("run", "Weir's libraries are not where they belong (../lib)");
    char *driver = xprintf("%s/libcuda.so.1", directory);
    bool there = access(driver, R_OK) == 0;
    free(driver);
    if (!there)
        return weir_failed("run", "%s/libcuda.so.1: %s", directory, strerror(errno));
    char *path = before != NULL && *before != '\0' ? xprintf("%s:%s", directory, before)
                                                   : xstrdup(directory);
    setenv("LD_LIBRARY_PATH", path, 1);
    free(path);
    return EXIT_OK;
}

/* The NVML that lies beside the driver of a GPU, since ours knows no GPU; NULL: there is none. */
static char *nvml_beside(const char *driver)
{
    const char *slash = strrchr(driver, '/');
    int directory = slash != NULL ? (int)(slash - driver) : 0;
    char *nvml = xprintf("%.*s/libnvidia-ml.so.1", directory, driver);
    if (slash != NULL && access(nvml, R_OK) == 0)
        return nvml;
    free(nvml);
    return NULL;
}

static void add_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char *preload =
        before != NULL && *before != '\0' ? xprintf("%s:%s", library, before) : xstrdup(library);
    setenv("LD_PRELOAD", preload, 1);
    free(preload);
}

/* The driver of a GPU goes before all other libraries: a program may have a search path to Weir's.
 */
static int set_device(const char *value)
{
    if (value != NULL && strcmp(value, "cpu") == 0) {
        setenv(env_entry(ENV_DRIVER)->name, "cpu", 1);
        return EXIT_OK;
    }
    if (value != NULL && strchr(value, ',') != NULL)
        return weir_misused("run", "--device=%s: a process has one driver, so one kind of device",
                            value);
    if (value == NULL || strcmp(value, "gpu") != 0)
        return weir_misused("run", "--device must be cpu or gpu");
    char *driver = weir_gpu_driver();
    if (driver == NULL)
        return weir_failed("run",
                           "--device=gpu: this machine has no libcuda.so.1 of a GPU's driver");
    char *nvml = nvml_beside(driver);
    if (nvml != NULL)
        add_preload(nvml);
    add_preload(driver);
    setenv(env_entry(ENV_DRIVER)->name, driver, 1);
    free(nvml);
    free(driver);
    return EXIT_OK;
}

/* The toolkit's programs, ptxas first of all, for clients that call them. */
static void prepend_path(void)
{
    const char *before = getenv("PATH");
    char *path = xprintf("%s/weir/cuda/bin%s%s", weir_library_directory(),
                         before != NULL ? ":" : "", before != NULL ? before : "");
    setenv("PATH", path, 1);
    free(path);
}

/* Checks the number here: the program would only say that there is no device. */
static int set_workers(const char *value)
{
    struct diag d = {0};
    int64_t workers;
    if (value == NULL || *value == '\0')
        return weir_misused("run", "--workers needs a number");
    setenv(env_entry(ENV_WORKERS)->name, value, 1);
    if (!env_int(ENV_WORKERS, 1, 4096, 1, &workers, &d))
        return weir_misused("run", "--workers %s: must be a whole number from 1 to 4096", value);
    return EXIT_OK;
}

static int set_check(const char *value)
{
    struct diag d = {0};
    if (value == NULL || *value == '\0')
        return weir_misused("run", "--check needs the name of a check");
    setenv(env_entry(ENV_CHECK)->name, value, 1);
    if (!env_words(ENV_CHECK, env_checks, &d))
        return weir_misused("run", "--check %s", strstr(d.text, "=") + 1);
    return EXIT_OK;
}

/* As for the workers. */
static int set_exit_code(const char *value)
{
    struct diag d = {0};
    int64_t code;
    if (value == NULL || *value == '\0')
        return weir_misused("run", "--error-exitcode needs a number");
    setenv(env_entry(ENV_ERROR_EXITCODE)->name, value, 1);
    if (!env_int(ENV_ERROR_EXITCODE, 0, 255, 0, &code, &d))
        return weir_misused("run", "--error-exitcode %s: must be a whole number from 0 to 255",
                            value);
    return EXIT_OK;
}

static int set_schedules(const char *value, uint64_t *count)
{
    char *end;
    errno = 0;
    long long n = value != NULL ? strtoll(value, &end, 10) : 0;
    if (value == NULL || errno != 0 || *end != '\0' || n < 1 || n > 1000000)
        return weir_misused("run", "--schedules needs a number from 1 to 1000000");
    *count = (uint64_t)n;
    return EXIT_OK;
}

/* The files that the options name, which are made when the whole command line is understood: a
 * forgotten file name must not cost the user his program. */
struct run_files {
    const char *trace, *report, *log;
};

static int name_file(const char *option, const char *value, const char **file)
{
    if (value == NULL || *value == '\0')
        return weir_misused("run", "%s needs a file", option);
    if (access(value, X_OK) == 0)
        return weir_misused("run",
                            "%s %s: that is a program or a directory, not a file to write to",
                            option, value);
    *file = value;
    return EXIT_OK;
}

/* A file for findings, which all processes of this run share, or of suppressions. */
static int set_file(const char *option, const char *value, enum env_variable variable, bool fresh)
{
    if (value == NULL || *value == '\0')
        return weir_misused("run", "%s needs a file", option);
    int file = fresh ? descriptor_create(value, O_WRONLY | O_TRUNC)
                     : open(value, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return weir_failed("run", "%s: %s", value, strerror(errno));
    if (variable == ENV_REPORT && write(file, "[\n\n]\n", 5) != 5) /* nothing is found yet */
        return weir_failed("run", "%s: %s", value, strerror(errno));
    close(file);
    char *path = realpath(value, NULL);
    setenv(env_entry(variable)->name, path != NULL ? path : value, 1);
    free(path);
    return EXIT_OK;
}

/* A file of its own for this run. Processes that the program starts append to it, wherever they are
 * started. */
static int set_trace(const char *value)
{
    if (!timeline_create(value, true))
        return weir_failed("run", "%s: %s", value, strerror(errno));
    char *path = realpath(value, NULL);
    setenv(env_entry(ENV_TRACE)->name, path != NULL ? path : value, 1);
    free(path);
    return EXIT_OK;
}

static int make_files(const struct run_files *files)
{
    int status = EXIT_OK;
    if (files->trace != NULL)
        status = set_trace(files->trace);
    if (status == EXIT_OK && files->report != NULL)
        status = set_file("--report", files->report, ENV_REPORT, true);
    if (status == EXIT_OK && files->log != NULL)
        status = set_file("--log", files->log, ENV_CHECK_LOG, true);
    return status;
}

/* The NVTX headers load this library and tell it of ranges and marks. */
static void set_nvtx(void)
{
    char *driver = xprintf("%s/libcuda.so.1", weir_library_directory());
    setenv("NVTX_INJECTION64_PATH", driver, 0);
    free(driver);
}

void weir_preload(const char *name, const char *without)
{
    const char *before = getenv("LD_PRELOAD");
    char *library = xprintf("%s/%s", weir_library_directory(), name);
    char *preload =
        before != NULL && *before != '\0' ? xprintf("%s:%s", library, before) : xstrdup(library);
    if (access(library, R_OK) == 0)
        setenv("LD_PRELOAD", preload, 1);
    else
        weir_failed("run", "%s cannot be read, so %s; build or install all of Weir", library,
                    without);
    free(preload);
    free(library);
}

/* A rank that a launcher of MPI has started: device pointers go into calls of MPI (tools/mpi). On a
 * GPU that is the business of its MPI library. */
static void set_mpi(void)
{
    static const char *const launched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK"};
    const char *device = getenv(env_entry(ENV_DRIVER)->name);
    bool rank = false;
    for (size_t i = 0; i < WEIR_COUNT(launched); i++)
        rank = rank || getenv(launched[i]) != NULL;
    if (!rank || (device != NULL && *device != '\0' && strcmp(device, "cpu") != 0))
        return;
    weir_preload("weir/libweir-mpi.so", "MPI may be given device pointers that it cannot follow");
}

/* What the check for races hears of locks and the like of the program (tools/sync). */
static void set_sync(void)
{
    if (env_check("races") || env_check("races=streams"))
        weir_preload("weir/libweir-sync.so",
                     "locks of the program's threads are not seen: what they order may be "
                     "reported as a race");
}

int weir_run(int argc, char **argv)
{
    if (weir_help(argc, argv, help))
        return EXIT_OK;
    int i = 0;
    uint64_t schedules = 0;
    struct run_files files = {0};
    bool gpu = false;
    const char *other = NULL; /* an option that a GPU's driver knows nothing of */
    while (i < argc && argv[i][0] == '-') {
        char *value;
        const char *option = argv[i];
        if (strcmp(option, "--") == 0) {
            i++;
            break;
        }
        if (weir_option(argc, argv, &i, "--device", &value)) {
            int status = set_device(value);
            if (status != EXIT_OK)
                return status;
            gpu = strcmp(value, "gpu") == 0;
            option = NULL;
        } else if (weir_option(argc, argv, &i, "--workers", &value)) {
            int status = set_workers(value);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--schedules", &value)) {
            int status = set_schedules(value, &schedules);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--check", &value)) {
            int status = set_check(value);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--trace", &value)) {
            int status = name_file("--trace", value, &files.trace);
            if (status != EXIT_OK)
                return status;
        } else if (strcmp(argv[i], "--stats") == 0) {
            setenv(env_entry(ENV_STATS)->name, "on", 1);
            i++;
        } else if (weir_option(argc, argv, &i, "--error-exitcode", &value)) {
            int status = set_exit_code(value);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--report", &value)) {
            int status = name_file("--report", value, &files.report);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--log", &value)) {
            int status = name_file("--log", value, &files.log);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--suppress", &value)) {
            int status = set_file("--suppress", value, ENV_SUPPRESS, false);
            if (status != EXIT_OK)
                return status;
        } else if (weir_option(argc, argv, &i, "--trace-pools", &value)) {
            if (value == NULL || *value == '\0')
                return weir_misused("run", "--trace-pools needs a file");
            setenv(env_entry(ENV_POOLS_TRACE)->name, value, 1);
        } else {
            return weir_misused("run", "unknown option '%s'", argv[i]);
        }
        if (other == NULL)
            other = option;
    }
    if (gpu && other != NULL)
        return weir_misused("run",
                            "%.*s: Weir's CPU device does that, and a GPU's driver does not: leave "
                            "out --device=gpu",
                            (int)strcspn(other, "="), other);
    if (i == argc)
        return weir_misused("run", "no program given");
    int status = make_files(&files);
    if (status == EXIT_OK)
        status = prepend_library_path();
    if (status != EXIT_OK)
        return status;
    set_nvtx();
    set_mpi();
    set_sync();
    setenv(env_entry(ENV_LIBRARIES)->name, "on", 0);
    weir_python_environment(argv + i);
    prepend_path();
    if (schedules != 0)
        return weir_run_schedules(schedules, argv + i);
    execvp(argv[i], argv + i);
    int reason = errno;
    weir_failed("run", "cannot run %s: %s", argv[i], strerror(reason));
    return reason == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
}
