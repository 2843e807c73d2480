/* exit_handlers: LLVM outlives the process's end.
 *
 * Objects that LLVM makes when it first needs them are destroyed by exit(), those that were made
 * last first: before the loader, whose handler was registered when compiling began, can stop the
 * thread that compiles in the background and uses them. So LLVM registers no more handlers once
 * this was called. What it has stays, and goes with the process; a compiler that others still call
 * must not be destroyed. */
#ifndef WEIR_COMPILER_EXIT_HANDLERS_H
#define WEIR_COMPILER_EXIT_HANDLERS_H

/* From now on LLVM's objects are not destroyed at exit. Called when the library has been loaded,
 * before anything is compiled. */
void exit_handlers_keep_out(void);

#endif
