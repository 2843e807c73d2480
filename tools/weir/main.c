/* The tool's entry: chooses the subcommand; what subcommands share. */
#include "base/env.h"
#include "loader/loader.h"
#include "weir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: weir <command> [options]\n"
    "\n"
    "Weir runs CUDA programs on this machine's CPUs.\n"
    "\n"
    "  weir run [options] program [arguments]   run a program on Weir's libraries\n"
    "  weir info [--pools PID|FILE]             show devices, cache and settings, or memory pools\n"
    "  weir dump [stages] file                  show how kernels are compiled, stage by stage\n"
    "  weir cache [--clear]                     show or empty the cache of compiled kernels\n"
    "  weir cache --fill FILE                   compile the kernels of a program ahead\n"
    "  weir timeline FILE --svg OUT             draw a trace of weir run --trace\n"
    "  weir --version                           show the version\n"
    "  weir <command> --help                    show a command's options\n";

int weir_failed(const char *command, const char *fmt, ...)
{
    va_list ap;
    fflush(stdout);
    fprintf(stderr, "weir %s: ", command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

int weir_misused(const char *command, const char *fmt, ...)
{
    va_list ap;
    fprintf(stderr, "weir %s: ", command);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nTry 'weir %s --help'.\n", command);
    return EXIT_USAGE;
}

bool weir_option(int argc, char **argv, int *i, const char *name, char **value)
{
    size_t n = strlen(name);
    if (*i >= argc || strncmp(argv[*i], name, n) != 0)
        return false;
    if (argv[*i][n] == '=') {
        *value = argv[(*i)++] + n + 1;
        return true;
    }
    if (argv[*i][n] != '\0')
        return false;
    *value = *i + 1 < argc ? argv[*i + 1] : NULL;
    *i += *value != NULL ? 2 : 1;
    return true;
}

bool weir_help(int argc, char **argv, const char *text)
{
    for (int i = 0; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(text, stdout);
            return true;
        }
    return false;
}

bool weir_block(const char *text, uint32_t block[3])
{
    unsigned long long total = 1;
    block[0] = block[1] = block[2] = 1;
    for (int k = 0; k < 3; k++) {
        char *end;
        if (*text < '0' || *text > '9')
            return false;
        unsigned long value = strtoul(text, &end, 10);
        if (value < 1 || value > 1024 || (total *= value) > 1024)
            return false;
        block[k] = (uint32_t)value;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static void tell_setting(void *command, const char *line) { weir_failed(command, "%s", line); }

static int dispatch(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
        bool alone; /* does not load libcuda.so, which tells of misspelt settings itself */
    } commands[] = {{"run", weir_run, false},
                    {"info", weir_info, false},
                    {"dump", weir_dump, true},
                    {"cache", weir_cache, true},
                    {"timeline", weir_timeline, true}};
    if (argc < 2) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < WEIR_COUNT(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            if (commands[i].alone)
                env_unknown(tell_setting, argv[1]);
            return commands[i].run(argc - 2, argv + 2);
        }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        fputs(usage, stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("weir %s\n", WEIR_VERSION);
        return EXIT_OK;
    }
    fprintf(stderr, "weir: there is no %s '%s'\nTry 'weir --help'.\n",
            argv[1][0] == '-' ? "option" : "command", argv[1]);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (weir_library_directory() != NULL) {
        char *compiler = xprintf("%s/weir/libweir-jit.so", weir_library_directory());
        jit_set_plugin_path(compiler);
        free(compiler);
    }
    int status = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "weir: cannot write: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    return status;
}
