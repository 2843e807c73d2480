/* demangle: names of C++ as people write them. */
#ifndef WEIRCC_DEMANGLE_H
#define WEIRCC_DEMANGLE_H

/* The name that a symbol stands for, or the symbol itself; the caller frees it. */
char *demangle(const char *symbol);

#endif
