/* symbols: which line of the program's host code an address is.
 *
 * Lines come from the program's debug information (compiled with -g), read by elfutils' libdw when
 * that is installed, which is opened only when a fault is told. Without it, or without debug
 * information, the function and the offset in it are named, or the file and the offset. */
#ifndef WEIR_DRIVER_ERROR_SYMBOLS_H
#define WEIR_DRIVER_ERROR_SYMBOLS_H

#include "base/base.h"

/* Strings live as long as the process. */
struct symbol {
    const char *file;     /* of the source; NULL when unknown */
    int line;             /* 0 when unknown */
    const char *function; /* demangled; NULL when unknown */
    uint64_t offset;      /* from the function's start, or from the object's */
    const char *object;   /* file name of the program or library; NULL when unknown */
    /* Code that a compiler has made of a launch: the name of the kernel; NULL: other code. Where it
     * is inlined, file and line are those of the launch. */
    const char *kernel;
    bool stub; /* all of the function is such code, and what calls it is the program's */
    /* The function that the code is of, where that is inlined, and where it was. */
    const char *inlined, *inlined_file;
    int inlined_line;
};

/* Looks up the instruction before `address`, as return addresses need it. False when nothing is
 * known. Any thread; not for signal handlers; takes milliseconds. */
bool symbol_find(const void *address, struct symbol *out);

/* Whether the calling thread is looking something up: others that do so wait for it. */
bool symbols_busy(void);

/* Appends it: " at main.cu:31", " in main+0x42", " in libfoo.so+0x1042". */
void symbol_words(const struct symbol *s, struct strbuf *out);

/* For the thread's code at `pc`, in a signal handler that interrupted it: an address in the
 * function of the program that led there, if pc is in a library of the system (memcpy, free), else
 * pc. */
const void *symbol_program_pc(const void *pc);

/* A C++ name as people write it; the name itself when it is none. Lives for ever. */
const char *symbol_demangle(const char *name);

/* The same for messages: one that is long is made short (base/short_name.h). Lives for ever. */
const char *symbol_short(const char *name);

#endif
