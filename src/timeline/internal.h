/* internal: what the files of the timeline share: records and their buffers. */
#ifndef WEIR_TIMELINE_INTERNAL_H
#define WEIR_TIMELINE_INTERNAL_H

#include <stdio.h>

#include "observe/observe.h"
#include "timeline/timeline.h"

enum record_type {
    RECORD_WORK,   /* a slice of a stream's track, or of one beneath it */
    RECORD_PART,   /* a slice of a thread's track: what it did of work */
    RECORD_CALL,   /* likewise: a call of the API */
    RECORD_WAIT,   /* likewise: the host waits */
    RECORD_CODE,   /* likewise: the first launch waits for code */
    RECORD_RANGE,  /* likewise: pushed and popped */
    RECORD_SPAN,   /* a range that is started and stopped, by any threads */
    RECORD_MARK,   /* of a thread */
    RECORD_STREAM, /* a stream was made */
    RECORD_NAME,   /* a stream or a thread has a name */
    RECORD_MEMORY, /* bytes that are used of a device now */
    RECORD_POOL,   /* bytes that are used of a pool, and held by it, now */
};

/* What happened. */
struct record {
    uint8_t type;     /* enum record_type */
    uint8_t kind;     /* of work and parts: enum observe_kind; of waits: enum observe_host_wait … */
    uint8_t from, to; /* of copies: enum observe_memory_kind */
    uint16_t device;
    uint16_t lane;       /* track beneath the stream's; 0: the stream's */
    uint32_t thread;     /* gettid() of who filled it in */
    uint32_t error;      /* of calls; of work: 1: it had not ended when the process did */
    uint64_t begin, end; /* clock_ns() */
    const char *name;    /* that stays */
    struct observe_id id;
    union {
        struct record_kernel {
            uint32_t grid[3], block[3];
            uint32_t shared, params, registers;
            uint32_t code_us; /* how long its code took */
        } kernel;
        uint64_t bytes; /* of copies and sets */
        struct {
            uint64_t number;
            struct observe_id on; /* what is waited for; or by which a node's record is known */
        } event;
        struct {
            uint64_t used, held, number;
        } memory;
        struct {
            uint64_t number;
            uint32_t color;
            const char *domain;
        } range;
    };
};

/* ---- record.c ---- */

/* A record of the calling thread's buffer to fill in; it is seen when record_done is called. */
struct record *record_new(enum record_type type);
void record_done(void);
/* A copy of the string that stays: one for each text. */
const char *record_text(const char *text);

/* Calls fn for each record that was not taken, in the order of each thread. One caller at a time.
 */
void records_take(void (*fn)(const struct record *r));
/* How many bytes of them wait to be taken, about. */
uint64_t records_waiting(void);

/* ---- open.c ---- */

/* Work begins: `r` is filled in but for its lane, which depends on what runs in its root stream; it
 * is copied. Returns when that was. */
uint64_t open_add(const struct record *r, uint64_t root, const struct observe_id *parent);
/* It ends. False: it is not known. */
bool open_remove(const struct observe_id *id, struct record *out);
/* What has not ended. */
void open_visit(void (*fn)(const struct record *r));

/* ---- statistics.c ---- */

void statistics_begin(const char *(*demangle)(const char *name));
void statistics_record(const struct record *r);
void statistics_print(FILE *f);

/* ---- json.c, file.c ---- */

/* The name of the process, and where its times count from. */
void json_begin(const char *(*demangle)(const char *name));
/* Makes a record to text and puts it out. */
void json_record(const struct record *r);
/* All records of a pass are there: puts out what needed several of them. */
void json_pass(void);

bool file_open_trace(const char *path);
/* Appends an event: JSON, less than FILE_EVENT_MAX bytes. */
enum { FILE_EVENT_MAX = 3072 };
void file_event(const char *text, size_t bytes);
void file_flush(void);
void file_forget(void); /* the process is a fork, which writes nothing */

#endif
