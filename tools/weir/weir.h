/* weir: the command-line tool beside the libraries.
 *
 * Each subcommand is a file with one function of this signature: it is given what follows the
 * subcommand's name, prints, and returns the exit status: 0; 1 when it failed; 2 when it was
 * called wrongly. */
#ifndef WEIR_TOOL_H
#define WEIR_TOOL_H

#include "base/base.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

int weir_info(int argc, char **argv);
int weir_dump(int argc, char **argv);
int weir_run(int argc, char **argv);
int weir_cache(int argc, char **argv);
int weir_timeline(int argc, char **argv);

/* weir info --pools, of a process by its number or a file. */
int weir_pools(const char *what);

/* Prints "weir <command>: <message>" and, for wrong calls, where help is. Return the status. */
int weir_failed(const char *command, const char *fmt, ...) WEIR_PRINTF(2, 3);
int weir_misused(const char *command, const char *fmt, ...) WEIR_PRINTF(2, 3);

/* The value of an option: `--name=value`, or `--name` and the next argument. If argv[*i] is the
 * option, sets *value (NULL when there is none), moves *i past it and returns true. */
bool weir_option(int argc, char **argv, int *i, const char *name, char **value);

/* Puts a library, by its path in weir_library_directory(), before all others of the program that
 * weir run is about to start. Where it is not there, says so, and what follows: `without`. */
void weir_preload(const char *name, const char *without);

/* Sets what Python's packages for CUDA look for in the environment of a program that weir run is
 * about to start; the PATH is still the user's. */
void weir_python_environment(char *const *command);

/* Whether NVIDIA's libnvrtc.so.<major> is there for a Python, by the path of that program; sets the
 * variable that Weir's finds it by. */
bool weir_find_nvrtc(const char *program, int major);

/* Whether the packages of a Python hold NVIDIA's libcudart.so.<major>. */
bool weir_has_runtime(const char *program, int major);

/* Reads a block's shape: "256", "16,16", "8,8,4", of 1024 threads at most. */
bool weir_block(const char *text, uint32_t block[3]);

/* What weir cache --fill was asked for; without shapes of blocks it chooses them. */
struct fill_request {
    const char *file;
    uint32_t blocks[16][3];
    int nblocks;
};
int weir_fill(const struct fill_request *r);

/* Whether a call asks for help: --help or -h among its options. Prints the text if so. */
bool weir_help(int argc, char **argv, const char *text);

/* The directory of the libraries that belong to this tool, absolute; NULL when it is not there. */
const char *weir_library_directory(void);
/* The path of the libcuda.so.1 of a GPU's driver on this machine, on the heap; NULL: there is none.
 */
char *weir_gpu_driver(void);

#endif
