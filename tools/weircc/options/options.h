/* options: nvcc's command line as data.
 *
 * options.def lists every option once; here it becomes an enumeration and a table, and a command
 * line becomes a struct cmdline, in which each option's value is found under its id. Spelling is
 * nvcc's: a long name with two dashes, a short one with one; a value follows after a space or '=',
 * and after a one-letter name directly; lists are split at commas. */
#ifndef WEIRCC_OPTIONS_H
#define WEIRCC_OPTIONS_H

#include "base/base.h"

/* A list of strings; items and strings live until the process ends. */
struct strlist {
    char **items;
    size_t count, cap;
};

/* Appends a formatted string. */
void list_add(struct strlist *l, const char *fmt, ...) WEIR_PRINTF(2, 3);
/* Appends every string of `from`, each preceded by `flag` as an argument of its own unless NULL. */
void list_add_all(struct strlist *l, const char *flag, const struct strlist *from);
/* True when the list holds this very string. */
bool list_has(const struct strlist *l, const char *s);

enum option_id {
#define SECTION(title)
#define OPTION(id, lname, sname, form, use, arg, values, text) OPT_##id,
#include "weircc/options/options.def"
#undef SECTION
#undef OPTION
    OPT_COUNT
};

enum option_form {
    FORM_FLAG,  /* no value */
    FORM_BOOL,  /* true or false */
    FORM_VALUE, /* one value; the last one holds */
    FORM_LIST,  /* values, split at commas; all hold */
    FORM_SPEC,  /* as a list, but each argument is kept whole */
};

enum option_use {
    USE_ACT,    /* does something */
    USE_IGNORE, /* accepted: ignoring it is harmless here */
    USE_REFUSE, /* an error: ignoring it would not be harmless */
};

struct option {
    const char *lname; /* without dashes */
    const char *sname; /* without the dash; NULL when there is none */
    enum option_form form;
    enum option_use use;
    const char *arg;    /* how the help writes the value */
    const char *values; /* allowed values "a|b|c", "#number", or NULL for any */
    const char *text;   /* what it does, why it is ignored or why it is refused */
};
extern const struct option option_table[OPT_COUNT];

/* What the link line takes in the order given. */
struct link_item {
    enum { ITEM_INPUT, ITEM_LIBRARY, ITEM_LINKER_OPTION } kind;
    char *text; /* file, library name, option */
};

struct cmdline {
    bool given[OPT_COUNT];
    char *value[OPT_COUNT];         /* FORM_VALUE and FORM_BOOL: the last value */
    struct strlist list[OPT_COUNT]; /* FORM_LIST and FORM_SPEC: all values */
    struct strlist macros;          /* -D and -U as they came: the last about a name holds */
    struct {
        struct link_item *items;
        size_t count, cap;
    } order;                         /* inputs, libraries and linker options as they came */
    struct strlist unknown_compiler; /* unknown options for the host compiler, when asked for */
    struct strlist unknown_linker;   /* and for the linker */
    struct strlist warnings;         /* worth telling, without prefix */
};

/* Reads the arguments (without argv[0]). Response files and the environment's NVCC_PREPEND_FLAGS
 * and NVCC_APPEND_FLAGS are part of them. False and a message when one is not understood. */
bool cmdline_parse(struct cmdline *c, int argc, char **argv, struct diag *d);

/* The truth of a FORM_BOOL option that may not be given. */
bool cmdline_bool(const struct cmdline *c, enum option_id id, bool fallback);

/* Splits a list value at commas, as nvcc does: not inside double quotes, not at "\,"; quotes
 * around a whole element are taken off. */
void list_split(struct strlist *out, const char *text);

/* Splits text into arguments as a shell would, without expanding anything. False on an open quote.
 */
bool args_split(struct strlist *out, const char *text, struct diag *d);

#endif
