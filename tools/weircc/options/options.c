/* The option table and the reading of a command line; see options.h. */
#include "weircc/options/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAG   FORM_FLAG
#define BOOL   FORM_BOOL
#define VALUE  FORM_VALUE
#define LIST   FORM_LIST
#define SPEC   FORM_SPEC
#define ACT    USE_ACT
#define IGNORE USE_IGNORE
#define REFUSE USE_REFUSE

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are names and initializers
const struct option option_table[OPT_COUNT] = {
#define SECTION(title)
#define OPTION(id, options_lname, options_sname, options_form, options_use, options_arg,           \
               options_values, options_text)                                                       \
    [OPT_##id] = {.lname = options_lname,                                                          \
                  .sname = options_sname,                                                          \
                  .form = options_form,                                                            \
                  .use = options_use,                                                              \
                  .arg = options_arg,                                                              \
                  .values = options_values,                                                        \
                  .text = options_text},
#include "weircc/options/options.def"
};
// NOLINTEND(bugprone-macro-parentheses)

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/* A compiler driver lives for one command, and its memory as long: there is nothing to report. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }
#endif
#endif

/* ---- lists ---- */

void list_add(struct strlist *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    vec_push(l, text);
}

void list_add_all(struct strlist *l, const char *flag, const struct strlist *from)
{
    for (size_t i = 0; i < from->count; i++) {
        if (flag != NULL)
            list_add(l, "%s", flag);
        list_add(l, "%s", from->items[i]);
    }
}

bool list_has(const struct strlist *l, const char *s)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i], s) == 0)
            return true;
    return false;
}

/* One element of a list value: its escapes resolved, quotes around the whole of it taken off. */
static void add_element(struct strlist *out, const char *text, size_t n)
{
    if (n >= 2 && text[0] == '"' && text[n - 1] == '"') {
        text++;
        n -= 2;
    }
    struct strbuf sb = {0};
    sb_append(&sb, "", 0);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\' && i + 1 < n && text[i + 1] == ',')
            i++;
        sb_append(&sb, text + i, 1);
    }
    if (sb.count > 0)
        vec_push(out, sb.items);
    else
        sb_free(&sb);
}

void list_split(struct strlist *out, const char *text)
{
    bool quoted = false;
    const char *start = text;
    const char *p = text;
    for (; *p != '\0'; p++) {
        if (*p == '\\' && p[1] == ',')
            p++;
        else if (*p == '"')
            quoted = !quoted;
        else if (*p == ',' && !quoted) {
            add_element(out, start, (size_t)(p - start));
            start = p + 1;
        }
    }
    add_element(out, start, (size_t)(p - start));
}

bool args_split(struct strlist *out, const char *text, struct diag *d)
{
    const char *p = text;
    while (true) {
        while (isspace((unsigned char)*p))
            p++;
        if (*p == '\0')
            return true;
        struct strbuf word = {0};
        sb_append(&word, "", 0);
        char quote = '\0';
        for (; *p != '\0' && (quote != '\0' || !isspace((unsigned char)*p)); p++) {
            if (quote == '\0' && (*p == '"' || *p == '\'')) {
                quote = *p;
            } else if (*p == quote) {
                quote = '\0';
            } else {
                if (*p == '\\' && quote != '\'' && p[1] != '\0')
                    p++;
                sb_append(&word, p, 1);
            }
        }
        if (quote != '\0')
            return diag_set(d, 0, 0, "A quote (%c) is not closed in '%s'", quote, text);
        vec_push(out, word.items);
    }
}

/* ---- reading ---- */

/* The arguments being read: a stack of sources would be lost on "-optf" in the middle, so response
 * files are spliced in place. */
struct reader {
    struct cmdline *c;
    struct strlist args;
    size_t next;
    int files; /* response files opened, to stop one that includes itself */
    struct diag *d;
};

enum { RESPONSE_FILES_MAX = 100 };

/* Finds the option that `arg` spells. *value: the value that came with it, or NULL. */
static enum option_id find_option(const char *arg, const char **value)
{
    bool is_long = arg[1] == '-';
    const char *name = arg + (is_long ? 2 : 1);
    const char *equals = strchr(name, '=');
    size_t n = equals != NULL ? (size_t)(equals - name) : strlen(name);
    *value = equals != NULL ? equals + 1 : NULL;
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *candidate = is_long ? option_table[i].lname : option_table[i].sname;
        if (candidate != NULL && strlen(candidate) == n && strncmp(candidate, name, n) == 0)
            return (enum option_id)i;
    }
    if (is_long)
        return OPT_COUNT;
    /* -Idir, -lm, -DX=1, -O2: only options of one letter whose value may stick to them. */
    for (int i = 0; i < OPT_COUNT; i++) {
        const char *candidate = option_table[i].sname;
        if (candidate != NULL && candidate[1] == '\0' && candidate[0] == name[0] &&
            strchr("IlLDUOt", name[0]) != NULL) {
            *value = name + 1;
            return (enum option_id)i;
        }
    }
    return OPT_COUNT;
}

/* "--long (-short)" as messages name an option. */
static const char *display_name(enum option_id id)
{
    const struct option *o = &option_table[id];
    return o->sname != NULL ? xprintf("--%s (-%s)", o->lname, o->sname) : xprintf("--%s", o->lname);
}

static bool is_number(const char *s)
{
    if (*s == '\0')
        return false;
    for (; *s != '\0'; s++)
        if (!isdigit((unsigned char)*s))
            return false;
    return true;
}

/* True when `value` is one of the alternatives in "a|b|c". */
static bool in_alternatives(const char *value, const char *alternatives)
{
    size_t n = strlen(value);
    for (const char *p = alternatives; p != NULL;
         p = strchr(p, '|') != NULL ? strchr(p, '|') + 1 : NULL) {
        size_t m = strcspn(p, "|");
        if (n == m && strncmp(p, value, n) == 0)
            return true;
    }
    return false;
}

static bool check_value(enum option_id id, const char *value, struct diag *d)
{
    const struct option *o = &option_table[id];
    if (o->values == NULL)
        return true;
    if (strcmp(o->values, "#number") == 0)
        return is_number(value) || diag_set(d, 0, 0, "'%s': expected a number", value);
    if (!in_alternatives(value, o->values))
        return diag_set(d, 0, 0, "Value '%s' is not defined for option '%s': it takes {%s}", value,
                        o->lname, o->values);
    return true;
}

/* Puts the arguments of a response file instead of the option that named it. */
static bool splice_file(struct reader *r, const char *path)
{
    if (++r->files > RESPONSE_FILES_MAX)
        return diag_set(r->d, 0, 0, "Options file '%s' includes itself", path);
    char *text = file_read(path, NULL, r->d);
    if (text == NULL)
        return false;
    struct strlist words = {0};
    if (!args_split(&words, text, r->d))
        return false;
    struct strlist all = {0};
    for (size_t i = 0; i < r->next; i++)
        vec_push(&all, r->args.items[i]);
    for (size_t i = 0; i < words.count; i++)
        vec_push(&all, words.items[i]);
    for (size_t i = r->next; i < r->args.count; i++)
        vec_push(&all, r->args.items[i]);
    r->args = all;
    free(text);
    return true;
}

/* Keeps the order of what goes on the link line. */
static void record_order(struct cmdline *c, enum option_id id, size_t from)
{
    for (size_t i = from; i < c->list[id].count; i++) {
        struct link_item item = {.text = c->list[id].items[i]};
        item.kind = id == OPT_library ? ITEM_LIBRARY : ITEM_LINKER_OPTION;
        vec_push(&c->order, item);
    }
}

/* An option for another program without its own level of escapes, as a shell gets it from nvcc. */
static char *unescaped(const char *text)
{
    struct strbuf out = {0};
    sb_append(&out, "", 0);
    for (const char *p = text; *p != '\0'; p++) {
        p += *p == '\\' && p[1] != '\0';
        sb_append(&out, p, 1);
    }
    return out.items;
}

/* Options for other programs go through a shell with nvcc, so one value may hold several words, and
 * quotes keep words together and are gone then. What has no end to its quotes stays as it is. */
static void split_words(struct strlist *list, size_t from)
{
    struct strlist words = {0};
    struct diag ignored = {0};
    for (size_t i = from; i < list->count; i++) {
        size_t before = words.count;
        char *text = unescaped(list->items[i]);
        if (!args_split(&words, text, &ignored)) {
            words.count = before;
            list_add(&words, "%s", list->items[i]);
        }
        free(text);
    }
    list->count = from;
    for (size_t i = 0; i < words.count; i++)
        vec_push(list, words.items[i]);
}

/* Keeps the order of definitions and what takes them back. */
static void record_macros(struct cmdline *c, enum option_id id, size_t from)
{
    for (size_t i = from; i < c->list[id].count; i++)
        list_add(&c->macros, "-%s%s", option_table[id].sname, c->list[id].items[i]);
}

static bool store_value(struct reader *r, enum option_id id, const char *value)
{
    struct cmdline *c = r->c;
    const struct option *o = &option_table[id];
    if (o->form == FORM_LIST || o->form == FORM_SPEC) {
        size_t before = c->list[id].count;
        if (o->form == FORM_SPEC)
            list_add(&c->list[id], "%s", value);
        else
            list_split(&c->list[id], value);
        if (id == OPT_compiler_options || id == OPT_linker_options)
            split_words(&c->list[id], before);
        for (size_t i = before; i < c->list[id].count; i++)
            if (!check_value(id, c->list[id].items[i], r->d))
                return false;
        if (id == OPT_library || id == OPT_linker_options)
            record_order(c, id, before);
        if (id == OPT_define_macro || id == OPT_undefine_macro)
            record_macros(c, id, before);
        for (size_t i = before; id == OPT_options_file && i < c->list[id].count; i++)
            if (!splice_file(r, c->list[id].items[i]))
                return false;
        return true;
    }
    if (o->form == FORM_BOOL && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return diag_set(r->d, 0, 0, "'%s': expected true or false", value);
    if (!check_value(id, value, r->d))
        return false;
    if (c->value[id] != NULL && strcmp(c->value[id], value) != 0)
        list_add(
            &c->warnings,
            "incompatible redefinition for option '%s', the last value of this option was used",
            o->lname);
    c->value[id] = xstrdup(value);
    return true;
}

/* How many characters must be added, removed, changed or swapped with their neighbour to make `a`,
 * of `n` characters, into `b`. At most LIMIT characters of each are looked at. */
static size_t distance(const char *a, size_t n, const char *b)
{
    enum { LIMIT = 48 };
    size_t m = strlen(b), rows[3][LIMIT + 1];
    n = n < LIMIT ? n : LIMIT;
    m = m < LIMIT ? m : LIMIT;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two_above[j - 2] + 1 < best)
                best = two_above[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

/* The option whose name is nearest to `arg`, spelt with its dashes; NULL: none is near. */
static char *nearest_option(const char *arg)
{
    const char *name = arg + strspn(arg, "-"), *nearest = NULL;
    size_t n = strcspn(name, "="), least = n / 4 + 1;
    if (n < 3)
        return NULL;
    bool is_short = false;
    for (int id = 0; id < OPT_COUNT; id++) {
        const char *names[] = {option_table[id].lname, option_table[id].sname};
        for (size_t k = 0; k < WEIR_COUNT(names); k++) {
            size_t far = names[k] != NULL && strlen(names[k]) > 1 ? distance(name, n, names[k]) : n;
            if (far < least || (far == least && nearest == NULL)) {
                least = far;
                nearest = names[k];
                is_short = k == 1 && strcmp(names[1], names[0]) != 0;
            }
        }
    }
    return nearest != NULL ? xprintf("%s%s", is_short ? "-" : "--", nearest) : NULL;
}

static bool unknown_option(const char *arg, struct diag *d)
{
    char *nearest = nearest_option(arg);
    bool host = arg[1] != '\0' && arg[1] != '-' && strchr("fmW", arg[1]) != NULL;
    if (nearest != NULL)
        diag_set(d, 0, 0, "Unknown option '%s': did you mean '%s'?", arg, nearest);
    else if (host)
        diag_set(d, 0, 0, "Unknown option '%s': the host compiler's options follow -Xcompiler",
                 arg);
    else
        diag_set(d, 0, 0, "Unknown option '%s'", arg);
    free(nearest);
    return false;
}

static bool read_option(struct reader *r, const char *arg)
{
    const char *value;
    enum option_id id = find_option(arg, &value);
    struct cmdline *c = r->c;
    if (id == OPT_COUNT) {
        bool both = c->given[OPT_forward_unknown_opts];
        bool compiler = both || c->given[OPT_forward_unknown_to_host_compiler];
        bool linker = both || c->given[OPT_forward_unknown_to_host_linker];
        if (!compiler && !linker)
            return unknown_option(arg, r->d);
        if (compiler)
            list_add(&c->unknown_compiler, "%s", arg);
        if (linker)
            list_add(&c->unknown_linker, "%s", arg);
        return true;
    }
    const struct option *o = &option_table[id];
    if (o->use == USE_REFUSE)
        return diag_set(r->d, 0, 0, "Option '%s' is not supported: %s", display_name(id), o->text);
    c->given[id] = true;
    if (o->form == FORM_FLAG) {
        if (value != NULL)
            return diag_set(r->d, 0, 0, "no argument expected after '%.*s'",
                            (int)(strchr(arg, '=') - arg), arg);
        return true;
    }
    if (value == NULL) {
        if (r->next >= r->args.count)
            return diag_set(r->d, 0, 0, "argument expected after '%s'", arg);
        value = r->args.items[r->next++];
    }
    return store_value(r, id, value);
}

static bool append_environment(struct strlist *args, const char *name, struct diag *d)
{
    const char *text = getenv(name);
    return text == NULL || args_split(args, text, d);
}

/* Forwarding of unknown options holds for the whole line, wherever it is asked for. */
static void find_forwarding(struct cmdline *c, const struct strlist *args)
{
    static const enum option_id ids[] = {OPT_forward_unknown_opts,
                                         OPT_forward_unknown_to_host_compiler,
                                         OPT_forward_unknown_to_host_linker};
    for (size_t i = 0; i < args->count; i++)
        for (size_t k = 0; k < WEIR_COUNT(ids); k++) {
            const char *name = option_table[ids[k]].lname;
            const char *arg = args->items[i];
            if (arg[0] == '-' && strcmp(arg + (arg[1] == '-' ? 2 : 1), name) == 0)
                c->given[ids[k]] = true;
        }
}

bool cmdline_parse(struct cmdline *c, int argc, char **argv, struct diag *d)
{
    struct reader r = {.c = c, .d = d};
    if (!append_environment(&r.args, "NVCC_PREPEND_FLAGS", d))
        return false;
    for (int i = 0; i < argc; i++)
        list_add(&r.args, "%s", argv[i]);
    if (!append_environment(&r.args, "NVCC_APPEND_FLAGS", d))
        return false;
    find_forwarding(c, &r.args);
    while (r.next < r.args.count) {
        char *arg = r.args.items[r.next++];
        if (arg[0] == '-' && arg[1] != '\0') {
            if (!read_option(&r, arg))
                return false;
        } else if (arg[0] != '\0') {
            struct link_item item = {.kind = ITEM_INPUT, .text = arg};
            vec_push(&c->order, item);
        }
    }
    return true;
}

bool cmdline_bool(const struct cmdline *c, enum option_id id, bool fallback)
{
    return c->value[id] != NULL ? strcmp(c->value[id], "true") == 0 : fallback;
}
