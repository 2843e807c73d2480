/* Showing clang's messages; see messages.h. */
#include "weircc/messages/messages.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/messages/arch_hints.h"
#include "weircc/messages/excerpts.h"
#include "weircc/messages/legacy_hints.h"
#include "weircc/toolkit/cccl.h"

enum line_kind {
    LINE_INCLUDED_FROM, /* "In file included from ...": belongs to the message that follows */
    LINE_HEAD,          /* a warning, an error, a remark */
    LINE_NOTE,          /* belongs to the message before */
    LINE_SUMMARY,       /* "2 warnings generated when compiling for sm_75." */
    LINE_OTHER,         /* source text, carets: belong to what is before */
};

static bool is_summary(const char *line)
{
    char *end;
    if (!isdigit((unsigned char)*line))
        return false;
    strtol(line, &end, 10);
    return (strncmp(end, " warning", 8) == 0 || strncmp(end, " error", 6) == 0) &&
           strstr(end, " generated") != NULL;
}

/* "  12 | text" and "     | ^": clang's excerpts may hold anything, so they are told first. */
static bool is_excerpt(const char *line)
{
    const char *p = line;
    while (*p == ' ' || isdigit((unsigned char)*p))
        p++;
    return p > line && *p == '|';
}

static enum line_kind classify(const char *line)
{
    static const char *const heads[] = {"fatal error: ", "error: ", "warning: ", "remark: "};
    if (is_summary(line))
        return LINE_SUMMARY;
    if (is_excerpt(line))
        return LINE_OTHER;
    if (strncmp(line, "In file included from ", 22) == 0)
        return LINE_INCLUDED_FROM;
    for (size_t i = 0; i < WEIR_COUNT(heads); i++) {
        const char *at = strstr(line, heads[i]);
        if (at != NULL && (at == line || at[-1] == ' '))
            return LINE_HEAD;
    }
    const char *note = strstr(line, "note: ");
    return note != NULL && (note == line || note[-1] == ' ') ? LINE_NOTE : LINE_OTHER;
}

static const char no_device_wait[] =
    "error: cudaDeviceSynchronize() in device code requires -DCUDA_FORCE_CDP1_IF_SUPPORTED and an "
    "architecture below sm_90; otherwise put what comes after the child grids into a kernel "
    "launched into cudaStreamTailLaunch";

/* Clearer words for what clang says about CUDA: what its message holds, a name up to the next quote
 * included, and what is said instead, before and after that name. */
static const struct {
    const char *theirs, *before, *after; /* after NULL: without the name */
} rewordings[] = {
    {"error: reference to __host__ function '__cudaPushCallConfiguration",
     "error: kernel launches from device code require separate compilation (-rdc=true)", NULL},
    {"error: reference to __host__ function 'cudaDeviceSynchronize", no_device_wait, NULL},
    {"error: no matching function for call to 'cudaDeviceSynchronize", no_device_wait, NULL},
    {"error: no matching function for call to '__weir_launch",
     "error: the configuration of the launch does not fit: <<<dim3 grid, dim3 block, size_t "
     "shared_bytes = 0, cudaStream_t stream = 0>>>",
     NULL},
    {"error: reference to __global__ function '", "error: kernel '",
     "' is launched from device code, which requires separate compilation (-rdc=true)"},
};

/* "a.cu:1:10: fatal error: 'cub/cub.cuh' file not found": says what would bring it. */
static char *reword_missing(const char *plain)
{
    static const char before[] = "fatal error: '", after[] = "' file not found";
    const char *at = strstr(plain, before), *name = at != NULL ? at + strlen(before) : NULL;
    if (name == NULL || !cccl_has(name) || strstr(name, after) == NULL)
        return NULL;
    return xprintf(
        "%.*s: Thrust, CUB and libcu++ are not on this machine, or not this header: `pip "
        "install nvidia-cuda-cccl` brings them (or WEIR_CCCL names their directory)\n",
        (int)strcspn(plain, "\n"), plain);
}

/* What clang says, with a stack dump and a request for a report, where a disk is full. */
static char *reword_unwritable(const char *plain)
{
    static const char theirs[] = "error in backend: IO failure on output stream: ";
    const char *at = strstr(plain, theirs);
    if (at == NULL)
        return NULL;
    at += strlen(theirs);
    return xprintf("%.*scannot write: %.*s\n", (int)(at - strlen(theirs) - plain), plain,
                   (int)strcspn(at, "\n"), at);
}

/* Clearer words for a message's head line; NULL when clang's own are fine. *alone: what follows it
 * is of no use. */
static char *reword(const char *plain, bool *alone)
{
    char *other = reword_unwritable(plain);
    *alone = other != NULL;
    if (other == NULL)
        other = reword_missing(plain);
    if (other != NULL)
        return other;
    for (size_t i = 0; i < WEIR_COUNT(rewordings); i++) {
        const char *at = strstr(plain, rewordings[i].theirs);
        if (at == NULL)
            continue;
        const char *name = at + strlen(rewordings[i].theirs), *after = rewordings[i].after;
        return xprintf("%.*s%s%.*s%s\n", (int)(at - plain), plain, rewordings[i].before,
                       after != NULL ? (int)strcspn(name, "'") : 0, name,
                       after != NULL ? after : "");
    }
    return NULL;
}

/* One message with all that belongs to it. */
struct message {
    struct strbuf text;
    bool has_head, is_error;
    bool reworded; /* its notes speak of what was not said */
    bool alone;    /* all that follows it is left out */
};

/* The text of a message without what differs between the passes: how far into clang's own
 * definitions the command line's are. */
static char *text_of_both(const char *text)
{
    static const char builtin[] = "In file included from <built-in>:";
    size_t n = strlen(builtin);
    return xstrdup(strncmp(text, builtin, n) == 0 ? text + n + strspn(text + n, "0123456789")
                                                  : text);
}

static void finish(struct messages *m, struct message *msg)
{
    excerpts_restore(&msg->text);
    char *text = text_of_both(msg->text.count > 0 ? msg->text.items : "");
    if (msg->text.count > 0 && !list_has(&m->shown, text)) {
        fputs(msg->text.items, stderr);
        m->errors += msg->is_error;
        list_add(&m->shown, "%s", text);
    }
    free(text);
    sb_free(&msg->text);
    *msg = (struct message){0};
}

static void take_head(struct messages *m, struct message *msg, const char *plain, const char *line,
                      size_t n)
{
    if (msg->has_head)
        finish(m, msg);
    msg->has_head = true;
    msg->is_error = strstr(plain, "error: ") != NULL;
    char *other = reword(plain, &msg->alone);
    msg->reworded = other != NULL;
    char *hinted = other == NULL ? arch_hint(plain, &m->arch) : NULL;
    if (other == NULL && hinted == NULL && !m->legacy)
        hinted = legacy_hint(plain);
    if (other != NULL)
        sb_append(&msg->text, other, strlen(other));
    else if (hinted != NULL)
        sb_append(&msg->text, hinted, strlen(hinted));
    else
        sb_append(&msg->text, line, n);
    free(other);
    free(hinted);
}

void messages_show(struct messages *m, const char *text)
{
    struct message msg = {0};
    struct strbuf included = {0}; /* lines that wait for the message they belong to */
    bool in_note = false;
    for (const char *line = text, *next; line != NULL && *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        next = line + n;
        char *plain = excerpts_plain(line, n);
        enum line_kind kind = classify(plain);
        if (kind == LINE_INCLUDED_FROM) {
            sb_append(&included, line, n);
        } else if (kind == LINE_HEAD) {
            if (included.count > 0) {
                finish(m, &msg);
                sb_append(&msg.text, included.items, included.count);
            }
            take_head(m, &msg, plain, line, n);
            in_note = false;
        } else if (kind != LINE_SUMMARY) {
            in_note = in_note || kind == LINE_NOTE;
            if (!msg.alone && (!msg.reworded || !in_note)) {
                if (included.count > 0)
                    sb_append(&msg.text, included.items, included.count);
                sb_append(&msg.text, line, n);
            }
        }
        if (kind != LINE_INCLUDED_FROM)
            included.count = 0;
        free(plain);
    }
    finish(m, &msg);
    sb_free(&included);
}

/* Moves what was gathered of a message to the list. */
static void add_message(struct strlist *list, struct strbuf *message)
{
    if (message->count > 0)
        list_add(list, "%s", message->items);
    sb_free(message);
}

void messages_split(const char *text, struct strlist *list)
{
    struct strbuf message = {0}, included = {0};
    for (const char *line = text, *next; *line != '\0'; line = next) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        next = line + n;
        char *plain = excerpts_plain(line, n);
        enum line_kind kind = classify(plain);
        free(plain);
        if (kind == LINE_INCLUDED_FROM) {
            sb_append(&included, line, n);
            continue;
        }
        if (kind == LINE_HEAD)
            add_message(list, &message);
        if (kind != LINE_SUMMARY) {
            sb_append(&message, included.count > 0 ? included.items : "", included.count);
            sb_append(&message, line, n);
        }
        sb_free(&included);
    }
    add_message(list, &message);
    sb_free(&included);
}

/* Whether a message, with the lines that lead to it, is an error. */
static bool is_error(const char *message)
{
    for (const char *line = message; *line != '\0'; line = text_next_line(line)) {
        size_t n = strcspn(line, "\n");
        char *plain = excerpts_plain(line, n);
        bool head = classify(plain) == LINE_HEAD, error = strstr(plain, "error: ") != NULL;
        free(plain);
        if (head)
            return error;
    }
    return false;
}

void messages_limit(struct strbuf *messages, int limit)
{
    struct strlist list = {0};
    struct strbuf out = {0};
    int errors = 0;
    if (messages->count == 0)
        return;
    messages_split(messages->items, &list);
    for (size_t i = 0; i < list.count && errors <= limit; i++) {
        errors += is_error(list.items[i]);
        if (errors > limit)
            sb_printf(&out, "fatal error: too many errors emitted, stopping now\n");
        else
            sb_printf(&out, "%s", list.items[i]);
    }
    if (errors > limit) {
        sb_free(messages);
        *messages = out;
    } else {
        sb_free(&out);
    }
    for (size_t i = 0; i < list.count; i++)
        free(list.items[i]);
    free(list.items);
}
