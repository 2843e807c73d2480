/* driver: what one call of weircc does, decided before anything is run.
 *
 * The command line becomes a build: one phase to end with, one job per source file with the
 * names of all files it reads and writes, one list for the linker. compile.c carries out jobs,
 * link.c what comes after. */
#ifndef WEIRCC_DRIVER_H
#define WEIRCC_DRIVER_H

#include "weircc/files/work.h"
#include "weircc/options/arch.h"
#include "weircc/options/options.h"
#include "weircc/toolkit/toolchain.h"

#define WEIRCC_CUDA_MAJOR 13
#define WEIRCC_CUDA_MINOR 0

enum phase {
    PHASE_LINK,         /* program or shared library */
    PHASE_LIB,          /* static library */
    PHASE_DLINK,        /* object that registers relocatable device code */
    PHASE_COMPILE,      /* objects */
    PHASE_CPLUSPLUS,    /* C++ for a host compiler (-cuda) */
    PHASE_PTX,          /* device code only */
    PHASE_FATBIN,       /* the same in its container */
    PHASE_CUBIN,        /* the same in the one that stands for machine code */
    PHASE_SYNTAX,       /* device code, checked only */
    PHASE_PREPROCESS,   /* source text */
    PHASE_DEPENDENCIES, /* rules for make */
};

enum input_kind {
    INPUT_CUDA,
    INPUT_CXX,
    INPUT_C,
    INPUT_CXX_PREPROCESSED, /* .ii */
    INPUT_C_PREPROCESSED,   /* .i */
    INPUT_PTX,
    INPUT_FATBIN,
    INPUT_CUBIN,  /* a container that stands for one */
    INPUT_OBJECT, /* also archives and shared libraries: for the linker as they are */
};

/* One input that is compiled. */
struct job {
    const char *input;
    const char *name; /* of the input, for people and for names of outputs: "stdin" for "-" */
    enum input_kind kind;
    char *output;  /* what the phase makes of it: object, PTX, fat binary; NULL for standard output
                      or when it is an intermediate object */
    char *depfile; /* where its rule goes; NULL: nowhere, or to standard output for -M */
    char *target;  /* of the rule */
    bool joins_rules; /* its rule follows that of an input before it in one file (-MF) */
};

/* Who compiles the host half of CUDA inputs. */
enum host_frontend {
    HOST_CLANG,
    HOST_CCBIN,        /* the host compiler, as --host-frontend=ccbin asks */
    HOST_CCBIN_OPENMP, /* the host compiler, for its OpenMP; clang where that does not do */
};

/* An input that could be read but once (streams.h). */
struct stream {
    const char *path;      /* the intermediate file that has what came in */
    const char *directory; /* from which it includes files */
    char name[33];         /* a hash of what came in */
};

struct build {
    enum phase phase;
    enum host_frontend host_frontend;
    bool rdc;             /* relocatable device code */
    enum phase linked_as; /* of PHASE_DLINK: itself, or PHASE_CUBIN, PHASE_FATBIN: device code */
    bool dependencies;    /* a rule is written */
    bool skip_system;     /* without system headers */
    bool run_after;       /* -run */
    const char *program;  /* -run of a program that is already built, else NULL */
    struct arch arch;     /* of device code */
    char *output;         /* of the linking phases */
    struct strbuf standard_input; /* the text of the input "-" */
    struct {
        struct stream *items;
        size_t count, cap;
    } streams; /* inputs that could be read but once */
    struct {
        struct job *items;
        size_t count, cap;
    } jobs;
    struct strlist link_inputs; /* objects, libraries and linker options, in order; the objects of
                                   jobs are put in when they are compiled: see link_job */
    struct {
        size_t *items;
        size_t count, cap;
    } link_job; /* positions in link_inputs that stand for jobs 0, 1, ... */
};

struct driver {
    struct cmdline options;
    struct toolchain tools;
    struct work work;
    struct build build;
    struct diag diag; /* the one fatal message */
};

/* Exit statuses other than 1 and those of the programs that are run. They are nvcc's, by what
 * refuses the input there: the front end, or ptxas and nvlink. */
enum { STATUS_FRONT_END = 2, STATUS_DEVICE_CODE = 255 };

/* Decides. False and a message when the request makes no sense. */
bool build_decide(struct driver *dr);

/* Carries one job out; `object` is set to the object file in the linking phases. The result is an
 * exit status. */
int compile_job(struct driver *dr, const struct job *job, char **object);

/* Deletes what the build would have written (--clean-targets). */
void build_clean(const struct build *build);

/* The phases after compilation, on build.link_inputs. Exit status. */
int link_program(struct driver *dr);
int link_library(struct driver *dr);
int link_device(struct driver *dr);
int run_program(struct driver *dr);

/* An object file that holds a fat binary as relocatable device code. Exit status. */
int wrap_device_code(struct driver *dr, const char *fatbin, const char *object);

/* Writes the assembler text that puts a fat binary into an object; its name, NULL on failure. */
char *rdc_text(struct driver *dr, const char *fatbin);

/* The command lines (command.c): everything but input and output. */
enum pass { PASS_DEVICE, PASS_HOST };
void command_cuda(struct strlist *argv, const struct driver *dr, enum pass pass, const char *input);
/* The host pass of code that is not relocatable, with its device code. */
void command_host_half(struct strlist *argv, const struct driver *dr, const char *input,
                       const char *fatbin);
/* Whether programs find what CUDA has dropped. */
bool command_has_legacy_api(const struct driver *dr);
/* Whether the device pass is asked for the lines that its code came from. */
bool command_has_lines(const struct cmdline *c);
/* Whether it is also asked for the variables of the source, which then stay in memory. */
bool command_has_variables(const struct cmdline *c);
/* Whether device code takes denormals of single precision for zero. */
bool command_flushes_denormals(const struct cmdline *c);
/* The same command for text that is preprocessed already. */
void command_preprocessed(struct strlist *argv, const struct strlist *command);
void command_host(struct strlist *argv, const struct driver *dr, enum input_kind kind);
/* Whether an option is given to the host compiler. */
bool command_has_host_option(const struct cmdline *c, const char *option);
/* The host compiler for the host half of CUDA inputs (HOST_CCBIN): it preprocesses the source, and
 * makes assembler text of what weircc makes of that (ccbin/host_text.h), from which it makes the
 * object. `rdc_text`: as in rdc_text, or NULL. */
void command_host_preprocess(struct strlist *argv, const struct driver *dr, const char *rdc_text);
void command_host_assembler(struct strlist *argv, const struct driver *dr);
/* Defines a macro as a string in C, with `text` as its value, or as an assembler reads it from
 * there. */
enum reader { READER_C, READER_ASSEMBLER };
void command_define_string(struct strlist *argv, const char *macro, const char *text,
                           enum reader reader);
/* LLVM's passes and the PTX backend, for text that the front end made. */
void command_llvm(struct strlist *argv, const struct driver *dr);
/* Functions of the device library that the text leaves open. */
void command_device_library(struct strlist *argv, const struct driver *dr);

/* --help, --version. */
void print_help(void);
void print_version(void);

#endif
