/* specifiers: __host__ and __device__ that a function's declaration and its definition do not both
 * have.
 *
 * nvcc warns and takes them together, mostly for members that are declared plain in their class and
 * defined outside of it for the device; clang refuses them, or takes them for two functions. What
 * clang says names both places. In preprocessed text each of them gets what is missing: both
 * specifiers where one of the two has both, otherwise __device__ (nvcc says that it takes such a
 * function for the host, too, and refuses calls of it there). So it is with a
 * specialization of a template, which gets both. Member templates, of which clang
 * names one place alone, are in declarations.h. */
#ifndef WEIRCC_SPECIFIERS_H
#define WEIRCC_SPECIFIERS_H

#include "base/base.h"

/* A place where a function's name is declared. */
struct specifier_place {
    char *file;  /* as clang prints it */
    long line;   /* in that file */
    char *word;  /* the name, or its first word (operator) */
    int ordinal; /* which of such words in the line, from 1 */
    bool host;   /* for the host, too */
};

struct specifier_places {
    struct specifier_place *items;
    size_t count, cap;
};

/* Adds the places that clang's messages (not coloured) name. True when there are new ones. */
bool specifiers_learn(const char *messages, struct specifier_places *places);

/* Writes the specifiers in preprocessed text; appends the result. Returns how many. */
int specifiers_write(const char *text, const struct specifier_places *places, struct strbuf *out);

/* The place that a message of clang's, which begins at `message`, shows. False: it shows none. */
bool specifier_place_read(const char *message, struct specifier_place *place);

/* Adds a place, or frees what it holds where it is known. True when it was not. */
bool specifier_places_add(struct specifier_places *places, struct specifier_place *place);

/* Reads a line marker, # LINE "FILE". False: it is none. */
bool specifier_marker_read(const char *p, struct strbuf *file, long *line);

/* Where the place is in preprocessed text; NULL: nowhere. */
const char *specifier_place_find(const char *text, const struct specifier_place *place);

#endif
