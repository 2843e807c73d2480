/* Warnings by nvcc's numbers; see severities.h. */
#include "weircc/messages/severities.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "weircc/messages/excerpts.h"
#include "weircc/messages/messages.h"

enum severity { AS_IT_IS, LEFT_OUT, WARNING, ERROR };

/* nvcc's numbers and tags, and how a message is known: by the name of clang's warning, by words in
 * it, or both. */
static const struct {
    const char *number, *tag, *name, *words;
} rows[] = {
    {"39", "divide_by_zero", "division-by-zero", NULL},
    {"61", "integer_overflow", "integer-overflow", NULL},
    {"62", "negative_shift_count", "shift-count-negative", NULL},
    {"63", "shift_count_too_large", "shift-count-overflow", NULL},
    {"68", "integer_sign_change", "sign-conversion", NULL},
    {"69", "integer_truncated", "constant-conversion", NULL},
    {"111", "code_is_unreachable", "unreachable-code", NULL},
    {"128", "loop_not_reachable", "unreachable-code-loop-increment", NULL},
    {"174", "expr_has_no_effect", "unused-value", NULL},
    {"174", "expr_has_no_effect", "unused-comparison", NULL},
    {"177", "declared_but_not_referenced", "unused-variable", NULL},
    {"177", "declared_but_not_referenced", "unused-const-variable", NULL},
    {"177", "declared_but_not_referenced", "unused-function", NULL},
    {"181", NULL, "format", NULL},
    {"186", "unsigned_compare_with_zero", "tautological-unsigned-zero-compare", NULL},
    {"187", "assign_where_compare_meant", "parentheses", "using the result of an assignment"},
    {"191", "cast_to_qualified_type", "ignored-qualifiers", "cast"},
    {"224", "too_few_printf_args", "format-insufficient-args", NULL},
    {"225", "too_many_printf_args", "format-extra-args", NULL},
    {"414", "delete_of_incomplete_class", "delete-incomplete", NULL},
    {"549", "used_before_set", "uninitialized", NULL},
    {"549", "used_before_set", "sometimes-uninitialized", NULL},
    {"550", "set_but_not_used", "unused-but-set-variable", NULL},
    {"550", "set_but_not_used", "unused-but-set-parameter", NULL},
    {"815", "useless_type_qualifier_on_return_type", "ignored-qualifiers", "return type"},
    {"940", "implicit_return_from_non_void_function", "return-type", NULL},
    {"997", "virtual_function_decl_hidden", "overloaded-virtual", NULL},
    {"1215", "deprecated_entity_with_custom_message", "deprecated-declarations", "deprecated: "},
    {"1444", "deprecated_entity", "deprecated-declarations", "' is deprecated"},
    {"2464", "deprecated_string_conv", "writable-strings", NULL},
    {"2809", NULL, "unused-result", NULL},
    {"20011", NULL, NULL, "warning: calling a __host__ function ("},
    {"20014", NULL, NULL, "warning: calling a __host__ function ("},
    {"20044", NULL, NULL, "is extern: without -rdc=true that is taken for its definition"},
    {"20091", NULL, NULL, "variable '%s' cannot be directly read in a host function"},
    {"20092", NULL, NULL, "variable '%s' cannot be directly written in a host function"},
};
enum { ROWS = WEIR_COUNT(rows) };

/* What holds at some place of the source. */
struct severities {
    enum severity of[ROWS];
};

/* ---- messages ---- */

struct warning {
    char *text;              /* with all that belongs to it */
    bool rows[ROWS];         /* its numbers */
    bool numbered;           /* it has one */
    char *file;              /* NULL: it is of the whole file */
    long line;               /* in it */
    struct severities there; /* what holds at its place */
};

struct warnings {
    struct warning *items;
    size_t count, cap;
};

/* Whether the line holds the words, in which %s stands for any. */
static bool says(const char *line, const char *words)
{
    const char *any = strstr(words, "%s");
    if (any == NULL)
        return strstr(line, words) != NULL;
    char *before = xprintf("%.*s", (int)(any - words), words);
    const char *at = strstr(line, before);
    free(before);
    return at != NULL && strstr(at, any + 2) != NULL;
}

/* Whether the line ends with the warning's name, "[-Wname]". */
static bool is_named(const char *line, const char *name)
{
    char *bracket = xprintf("[-W%s]", name);
    size_t n = strlen(bracket), all = strcspn(line, "\n");
    bool named = all >= n && strncmp(line + all - n, bracket, n) == 0;
    free(bracket);
    return named;
}

/* Reads "FILE:LINE:COLUMN: warning: ...", if it is that. */
static void read_place(const char *line, struct warning *w)
{
    const char *kind = strstr(line, ": warning: "), *p = kind;
    for (int number = 0; number < 2 && p != NULL; number++) {
        while (p > line && isdigit((unsigned char)p[-1]))
            p--;
        w->line = strtol(p, NULL, 10);
        p = p > line + 1 && p[-1] == ':' ? p - 1 : NULL;
    }
    if (p != NULL)
        w->file = xprintf("%.*s", (int)(p - line), line);
}

/* Which numbers it has, by the line that says what it is. */
static void read_warning(struct warning *w)
{
    for (const char *p = w->text; *p != '\0'; p = text_next_line(p)) {
        char *line = excerpts_plain(p, strcspn(p, "\n"));
        bool head = strstr(line, " warning: ") != NULL;
        for (size_t i = 0; head && i < ROWS; i++) {
            w->rows[i] = (rows[i].name == NULL || is_named(line, rows[i].name)) &&
                         (rows[i].words == NULL || says(line, rows[i].words));
            w->numbered |= w->rows[i];
        }
        if (w->numbered)
            read_place(line, w);
        free(line);
        if (head)
            return;
    }
}

static struct warnings read_messages(const struct strbuf *messages)
{
    struct warnings all = {0};
    struct strlist list = {0};
    messages_split(messages->items, &list);
    for (size_t i = 0; i < list.count; i++) {
        struct warning w = {.text = list.items[i]};
        read_warning(&w);
        vec_push(&all, w);
    }
    free(list.items);
    return all;
}

static void free_warnings(struct warnings *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].text);
        free(all->items[i].file);
    }
    free(all->items);
}

bool severities_concern(const struct strbuf *messages)
{
    if (messages->count == 0 || strstr(messages->items, "warning: ") == NULL)
        return false;
    struct warnings all = read_messages(messages);
    bool any = false;
    for (size_t i = 0; i < all.count; i++)
        any |= all.items[i].numbered;
    free_warnings(&all);
    return any;
}

/* ---- the command line ---- */

static void set(struct severities *s, const char *name, size_t n, enum severity to)
{
    for (size_t i = 0; i < ROWS; i++)
        if ((strlen(rows[i].number) == n && strncmp(rows[i].number, name, n) == 0) ||
            (rows[i].tag != NULL && strlen(rows[i].tag) == n && strncmp(rows[i].tag, name, n) == 0))
            s->of[i] = to;
}

static struct severities of_command_line(const struct cmdline *options)
{
    static const struct {
        const char *prefix;
        enum severity to;
    } cudafe[] = {
        {"--diag_suppress=", LEFT_OUT}, {"--diag_error=", ERROR}, {"--diag_warning=", WARNING}};
    struct severities s = {0};
    const struct strlist *suppressed = &options->list[OPT_diag_suppress];
    const struct strlist *errors = &options->list[OPT_diag_error];
    const struct strlist *others = &options->list[OPT_cudafe_options];
    for (size_t i = 0; i < errors->count; i++)
        set(&s, errors->items[i], strlen(errors->items[i]), ERROR);
    for (size_t i = 0; i < suppressed->count; i++)
        set(&s, suppressed->items[i], strlen(suppressed->items[i]), LEFT_OUT);
    for (size_t i = 0; i < others->count; i++)
        for (size_t k = 0; k < WEIR_COUNT(cudafe); k++)
            if (text_starts(others->items[i], cudafe[k].prefix)) {
                const char *name = others->items[i] + strlen(cudafe[k].prefix);
                set(&s, name, strlen(name), cudafe[k].to);
            }
    return s;
}

/* ---- the source ---- */

/* What holds while the source is read. */
struct state {
    struct severities now, command_line;
    struct {
        struct severities *items;
        size_t count, cap;
    } pushed;
};

static const char *skip_blank(const char *p) { return p + strspn(p, " \t"); }

/* The words after `#pragma`, which begin at p. */
static void take_pragma(struct state *s, const char *p)
{
    static const struct {
        const char *word;
        enum severity to;
        bool back; /* to what the command line says */
    } words[] = {{"nv_diag_suppress", LEFT_OUT, false},
                 {"nv_diag_remark", LEFT_OUT, false},
                 {"nv_diag_warning", WARNING, false},
                 {"nv_diag_error", ERROR, false},
                 {"nv_diag_default", AS_IT_IS, true}};
    size_t n = strcspn(p, " \t=\n");
    const char *list = skip_blank(p + n);
    if (n == strlen("nv_diagnostic") && text_starts(p, "nv_diagnostic")) {
        if (text_starts(list, "push"))
            vec_push(&s->pushed, s->now);
        else if (text_starts(list, "pop") && s->pushed.count > 0)
            s->now = s->pushed.items[--s->pushed.count];
        return;
    }
    for (size_t i = 0; i < WEIR_COUNT(words); i++) {
        if (strlen(words[i].word) != n || strncmp(words[i].word, p, n) != 0)
            continue;
        list = skip_blank(list + (*list == '='));
        for (size_t length; (length = strcspn(list, " \t,\n")) > 0;) {
            set(&s->now, list, length, words[i].to);
            for (size_t k = 0; words[i].back && k < ROWS; k++)
                if (s->now.of[k] == AS_IT_IS)
                    s->now.of[k] = s->command_line.of[k];
            list = skip_blank(list + length);
            if (*list != ',')
                break;
            list = skip_blank(list + 1);
        }
    }
}

/* Reads `# LINE "FILE"`; the file's name is not ended by NUL. */
static bool read_marker(const char *p, long *line, const char **file, size_t *n)
{
    char *end;
    if (p[0] != '#' || p[1] != ' ' || !isdigit((unsigned char)p[2]))
        return false;
    *line = strtol(p + 2, &end, 10);
    if (end[0] != ' ' || end[1] != '"')
        return false;
    *file = end + 2;
    *n = strcspn(*file, "\"\n");
    return true;
}

/* Tells each warning what holds at the last line that is not after its own, or at the end. */
static void find_places(struct warnings *all, const char *source, struct state *s)
{
    const char *file = "";
    size_t n = 0;
    long line = 0;
    bool here = false; /* warnings are of this file */
    for (const char *p = source; *p != '\0'; p = text_next_line(p)) {
        if (read_marker(p, &line, &file, &n)) {
            here = false;
            for (size_t i = 0; i < all->count; i++) {
                const char *own = all->items[i].file;
                here |= own != NULL && strlen(own) == n && strncmp(own, file, n) == 0;
            }
            continue;
        }
        const char *pragma = *p == '#' ? skip_blank(p + 1) : "";
        if (text_starts(pragma, "pragma "))
            take_pragma(s, skip_blank(pragma + strlen("pragma ")));
        for (size_t i = 0; here && i < all->count; i++) {
            struct warning *w = &all->items[i];
            if (w->file != NULL && w->line >= line && strlen(w->file) == n &&
                strncmp(w->file, file, n) == 0)
                w->there = s->now;
        }
        line++;
    }
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].file == NULL)
            all->items[i].there = s->now;
}

/* ---- what is left ---- */

static enum severity severity_of(const struct warning *w, bool all_errors)
{
    enum severity is = all_errors && strstr(w->text, "warning: ") != NULL ? ERROR : AS_IT_IS;
    for (size_t i = 0; i < ROWS; i++)
        if (w->rows[i] && w->there.of[i] != AS_IT_IS)
            return w->there.of[i] == WARNING && all_errors ? ERROR : w->there.of[i];
    return is;
}

/* Appends the message, whose first warning becomes an error. */
static void put_error(struct strbuf *out, const char *text)
{
    static const char warning[] = "warning: ";
    const char *at = strstr(text, warning);
    if (at == NULL) {
        sb_printf(out, "%s", text);
        return;
    }
    sb_append(out, text, (size_t)(at - text));
    sb_printf(out, "error: %s", at + strlen(warning));
}

void severities_apply(struct strbuf *messages, const char *source, const struct cmdline *options)
{
    bool all_errors = list_has(&options->list[OPT_Werror], "all-warnings");
    if (messages->count == 0)
        return;
    struct warnings all = read_messages(messages);
    struct state s = {.now = of_command_line(options), .command_line = of_command_line(options)};
    for (size_t i = 0; i < all.count; i++)
        all.items[i].there = s.now;
    if (source != NULL)
        find_places(&all, source, &s);
    sb_free(messages);
    sb_append(messages, "", 0);
    for (size_t i = 0; i < all.count; i++) {
        enum severity is = severity_of(&all.items[i], all_errors);
        if (is == ERROR)
            put_error(messages, all.items[i].text);
        else if (is != LEFT_OUT)
            sb_printf(messages, "%s", all.items[i].text);
    }
    free(s.pushed.items);
    free_warnings(&all);
}
