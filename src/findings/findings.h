/* findings: what the checks have found, on its way to people and programs: as text to stderr or to
 * a log, as JSON to the report, and as the exit status of the process; less what a file of
 * suppressions leaves out. And the places in the program that findings name.
 *
 * A check finds; how a finding is told is the same for all of them. Any thread may tell; none of
 * these functions may be called in a signal handler that has interrupted anything but the program's
 * access of memory that is watched. */
#ifndef WEIR_FINDINGS_FINDINGS_H
#define WEIR_FINDINGS_FINDINGS_H

#include "base/base.h"

/* ---- places in the program ---- */

/* A place in source code; strings that live for ever. NULL and 0: not known. */
struct finding_place {
    const char *file, *function;
    const char *kernel; /* code made of a launch: what it launches */
    int line;
    bool stub; /* all of the function is that, and who calls it is meant */
    /* The function that the code is of, where that is inlined, and where it was; NULL: it is not.
     */
    const char *inlined, *inlined_file;
    int inlined_line;
};

enum { FINDING_FRAMES = 8 };

/* Return addresses of the program's call, innermost first. */
struct finding_site {
    const void *frames[FINDING_FRAMES];
    const struct finding_place *python; /* the line of a program of Python; NULL: of none */
};

/* Where the calling thread is: this library's own frames are left out. */
void finding_site_here(struct finding_site *out);

/* The line of the program of Python that the calling thread is at; NULL: it is at none. Lives for
 * ever, one for each line. */
const struct finding_place *finding_python_here(void);
bool finding_knows_python(void); /* there is one in the process */

/* Which call of the API that was ("<<<>>>" for a launch; NULL: not known), and where in the program
 * it stands. `kernel`, which may be NULL: the name of the kernel that a launch was to run, or "".
 */
void finding_resolve(const struct finding_site *site, struct finding_place *place,
                     const char **call, struct strbuf *kernel);

/* The same for a call that is known to return to `returns`, where the site may have lost frames. */
void finding_site_from(struct finding_site *site, const void *returns);
void finding_resolve_from(const struct finding_site *site, struct finding_place *place,
                          struct strbuf *kernel);

/* ---- telling ---- */

struct findings_options {
    const char *report;   /* JSON goes to this file; NULL: none */
    const char *log;      /* text goes to this file, not to stderr; NULL: stderr */
    const char *suppress; /* file of suppressions; NULL: none */
    int64_t limit;        /* findings that are written as text; 0: all */
    int exit_code;        /* of the process when something was found; 0: its own */
    const char *kernels;  /* whose findings are told (kernels.c); NULL: all */
    const char *(*demangle)(const char *name); /* a kernel's name, for people */
    /* The line of the program's code that a call returns to. */
    bool (*host)(const void *pc, struct finding_place *out);
};

/* Once, before anything is told. False: a file cannot be opened, or read. */
bool findings_open(const struct findings_options *options, struct diag *d);

bool findings_opened(void);

/* Tells of one. `text` is whole lines; `members` those of a JSON object, without braces, to which
 * `check` and `text` are added. False: it is suppressed, or the process is a fork. */
bool findings_tell(const char *check, const char *text, const char *members);
/* The same where the text is told in another way already. */
bool findings_keep(const char *check, const char *text, const char *members);

/* Has `last` called when the program's own handlers have run, before the exit status is decided. At
 * most eight. */
void findings_at_end(void (*last)(void));

/* ---- words ---- */

/* "app.cu:12", or the function, or "an unknown place". */
void finding_put_place(struct strbuf *sb, const struct finding_place *p);
/* " (cudaMalloc)", of a call as finding_resolve names it; nothing for NULL. */
void finding_put_call(struct strbuf *sb, const char *call);
/* A string of JSON. */
void finding_put_string(struct strbuf *sb, const char *text);
/* `, "name": {"file": ..., "line": ...}`; nothing when the file is not known. */
void finding_put_json_place(struct strbuf *sb, const char *name, const struct finding_place *p);
/* `, "call": "cudaMalloc"`; nothing for NULL. */
void finding_put_json_call(struct strbuf *sb, const char *call);

/* ---- suppressions (suppress.c) ---- */

bool suppress_read(const char *path, struct diag *d);
/* Whether a line of the file leaves such a finding out. */
bool suppress_has(const char *check, const char *text);

#endif
