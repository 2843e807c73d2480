/* demangle: names of C++ as people write them. */
#ifndef WEIR_BASE_DEMANGLE_H
#define WEIR_BASE_DEMANGLE_H

/* The name that a symbol stands for; the symbol itself where it is none of C++, or there is no C++
 * library that knows. To be freed. Any thread; not in handlers of signals. */
char *demangle(const char *symbol);

#endif
