/* steps: what weircc itself does to a file between two commands.
 *
 * --verbose and --dryrun list a step as "weircc --step=NAME FILE...", a command that a shell can
 * run. Such a command reads no options, from the environment or elsewhere. */
#ifndef WEIRCC_STEPS_H
#define WEIRCC_STEPS_H

#include "weircc/driver/driver.h"

enum step {
    STEP_FATBIN,         /* PTX, fat binary: writes the container */
    STEP_FATBIN_BOTH,    /* PTX, its form for GPUs (gpu/form.h), fat binary: the same with both */
    STEP_CUBIN,          /* PTX, container: the same for the one that stands for a cubin */
    STEP_DEVICE_LINK,    /* architecture, PTX, any files: links their device code (device_link.h) */
    STEP_DEVICE_SYMBOLS, /* fat binary, assembler text: writes what puts it into an object */
    STEP_BOOLS,          /* LLVM text: rewrites it in place (bools.h) */
    STEP_CASTS,          /* LLVM text: rewrites it in place (casts.h, math_calls.h,
                             asm_strings.h) */
    STEP_FLUSHES,        /* LLVM text: rewrites it in place (flushes.h) */
    STEP_CASTS_LOWER,    /* LLVM text after LLVM's passes: the same */
    STEP_CONSTANT_MEMORY,  /* LLVM text: rewrites it in place (constant_memory.h) */
    STEP_GRID_CONSTANTS,   /* LLVM text: rewrites it in place (grid_constants.h) */
    STEP_DEBUG_DATA,       /* LLVM text: rewrites it in place (debug_data.h) */
    STEP_MODIFIERS,        /* PTX: rewrites it in place (modifiers.h) */
    STEP_STACK_ALIGNMENTS, /* likewise */
    STEP_HOST_TEXT,        /* preprocessed text, C++: writes the host half (ccbin/host_text.h) */
    STEP_HOST_RECORDS, /* fat binary, assembler text: adds what it registers (ccbin/host_records.h)
                        */
    STEP_HOST_RECORDS_RDC, /* the same for relocatable device code */
    STEP_PROTECT,          /* object file: rewrites it in place (entities.h) */
    STEP_PROTECT_TEXT,     /* assembler text: the same */
    STEP_CPLUSPLUS,        /* assembler text, C++: writes what -cuda asks for (cplusplus.h) */
    STEP_KEEP,             /* any file, file: copies what can be read but once (driver/streams.h) */
    STEP_KEEP_TEXT,        /* the same for source text, whose name comes first */
};

/* Carries a step out, or only lists it. Files that the step does not have are NULL. Exit status. */
int step_run(struct driver *dr, enum step step, const char *first, const char *second,
             const char *third);
/* The same for a step that has any number of files. */
int step_run_all(struct driver *dr, enum step step, const struct strlist *files);

/* The same by a child, for a step that may wait for others. */
int step_run_child(struct driver *dr, enum step step, const char *phase, const char *first,
                   const char *second);

/* The command that carries a step out, without its files. */
void step_add_command(struct strlist *argv, const struct driver *dr, enum step step);

/* The command "weircc --step=NAME FILE...". Exit status, -1 when the arguments are none. */
int step_command(int argc, char **argv);

#endif
