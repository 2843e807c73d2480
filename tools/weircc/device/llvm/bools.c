/* Rewriting bools in LLVM text; see bools.h. */
#include "weircc/device/llvm/bools.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the text. */
struct span {
    const char *text;
    size_t size;
};

/* A value of type i1, and the byte that it was made from. */
struct flag {
    struct span value, byte;
};

/* Where the rewriting stands. Spans point into the original text. */
struct rewriting {
    struct strbuf *out;
    struct span range; /* the metadata node that says "0 or 1": "!7" */
    struct {
        struct span *items;
        size_t count, cap;
    } loaded; /* bytes of bool that the current function has loaded */
    struct {
        struct flag *items;
        size_t count, cap;
    } flags; /* of the current function */
    struct {
        struct span *items;
        size_t count, cap;
    } params;         /* bool parameters of the current function */
    bool in_function; /* between the lines "define" and "}" */
    bool at_start;    /* no instruction of the function has been copied */
    int made;         /* values that were added to the current function */
};

static bool equal(struct span a, struct span b)
{
    return a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

static bool starts(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.size >= n && memcmp(s.text, prefix, n) == 0;
}

static struct span skip(struct span s, size_t n) { return (struct span){s.text + n, s.size - n}; }

static void put(struct rewriting *r, struct span s) { sb_append(r->out, s.text, s.size); }

/* The name of a value ("%12", "%x.addr") at the start; size 0 when there is none. */
static struct span name_at(struct span s)
{
    if (s.size == 0 || s.text[0] != '%')
        return (struct span){s.text, 0};
    size_t n = 1;
    while (n < s.size && (isalnum((unsigned char)s.text[n]) || strchr("-$._", s.text[n]) != NULL))
        n++;
    return (struct span){s.text, n};
}

/* The metadata node of the range that clang gives to loads of bool. */
static struct span find_range(const char *llvm)
{
    const char *at = strstr(llvm, " = !{i8 0, i8 2}\n"), *start = at;
    while (start != NULL && start > llvm && start[-1] != '\n')
        start--;
    return (struct span){start, start != NULL ? (size_t)(at - start) : 0};
}

/* ---- values ---- */

static const struct span *find_byte(const struct rewriting *r, struct span value)
{
    for (size_t i = r->flags.count; i > 0; i--)
        if (equal(r->flags.items[i - 1].value, value))
            return &r->flags.items[i - 1].byte;
    return NULL;
}

static bool is_loaded(const struct rewriting *r, struct span byte)
{
    for (size_t i = r->loaded.count; i > 0; i--)
        if (equal(r->loaded.items[i - 1], byte))
            return true;
    return false;
}

static void add_flag(struct rewriting *r, struct span value, struct span byte)
{
    struct flag f = {value, byte};
    vec_push(&r->flags, f);
}

/* ---- parameters and arguments ---- */

/* Where the next bool of a parameter or argument list begins ("i1 noundef zeroext ..."); NULL:
 * there is none. `rest` gets what follows the type. */
static const char *next_bool(struct span s, struct span *rest)
{
    static const char *const kinds[] = {"i1 noundef zeroext", "i1 zeroext"};
    for (size_t i = 1; i < s.size; i++) {
        if (s.text[i] != 'i' || (s.text[i - 1] != '(' && s.text[i - 1] != ' '))
            continue;
        for (size_t k = 0; k < WEIR_COUNT(kinds); k++)
            if (starts(skip(s, i), kinds[k])) {
                *rest = skip(s, i + 2);
                return s.text + i;
            }
    }
    return NULL;
}

/* Past the attributes " noundef zeroext ". */
static size_t attributes_size(struct span s)
{
    size_t n = strlen(" zeroext");
    const char *at = memmem(s.text, s.size, " zeroext", n);
    n += (size_t)(at - s.text);
    return n < s.size && s.text[n] == ' ' ? n + 1 : n;
}

/* Copies the line that defines or declares a function. */
static void put_signature(struct rewriting *r, struct span line)
{
    struct span rest;
    for (const char *at; (at = next_bool(line, &rest)) != NULL; line = rest) {
        put(r, (struct span){line.text, (size_t)(at - line.text)});
        sb_printf(r->out, "i8");
        struct span name = name_at(skip(rest, attributes_size(rest)));
        if (name.size > 0) {
            vec_push(&r->params, name);
            add_flag(r, name, name);
        }
    }
    put(r, line);
}

/* Where the value of an argument ends. */
static size_t value_size(struct span s)
{
    size_t n = 0;
    while (n < s.size && strchr(",) \n", s.text[n]) == NULL)
        n++;
    return n;
}

/* Copies a call, its bool arguments as bytes; what must be made into bytes first is made before. */
static void put_call(struct rewriting *r, struct span line)
{
    struct strbuf call = {0};
    struct span rest;
    for (const char *at; (at = next_bool(line, &rest)) != NULL; line = rest) {
        size_t n = attributes_size(rest);
        sb_printf(&call, "%.*si8%.*s", (int)(at - line.text), line.text, (int)n, rest.text);
        rest = skip(rest, n);
        struct span value = {rest.text, value_size(rest)};
        const struct span *byte = find_byte(r, value);
        if (byte != NULL) {
            sb_append(&call, byte->text, byte->size);
        } else if (value.text[0] != '%') {
            sb_printf(&call, "%d", starts(value, "true"));
        } else {
            sb_printf(r->out, "  %%weir.byte.%d = zext i1 %.*s to i8\n", r->made, (int)value.size,
                      value.text);
            sb_printf(&call, "%%weir.byte.%d", r->made++);
        }
        rest = skip(rest, value.size);
    }
    sb_append(&call, line.text, line.size);
    sb_append(r->out, call.items, call.count);
    sb_free(&call);
}

/* The tests of parameters, for uses that are not conversions. */
static void put_tests(struct rewriting *r)
{
    for (size_t i = 0; i < r->params.count; i++)
        sb_printf(r->out, "  %%weir.param.%zu = icmp ne i8 %.*s, 0\n", i,
                  (int)r->params.items[i].size, r->params.items[i].text);
}

/* Copies a line, with the test of a parameter instead of each bool parameter. */
static void put_with_params(struct rewriting *r, struct span line)
{
    while (r->params.count > 0 && line.size > 0) {
        const char *at = memchr(line.text, '%', line.size);
        if (at == NULL)
            break;
        put(r, (struct span){line.text, (size_t)(at - line.text)});
        line = skip(line, (size_t)(at - line.text));
        struct span name = name_at(line);
        size_t i = 0;
        while (i < r->params.count && !equal(r->params.items[i], name))
            i++;
        if (i < r->params.count)
            sb_printf(r->out, "%%weir.param.%zu", i);
        else
            put(r, (struct span){line.text, name.size > 0 ? name.size : 1});
        line = skip(line, name.size > 0 ? name.size : 1);
    }
    put(r, line);
}

/* ---- instructions ---- */

/* "  %12 = load i8, ptr %5, align 1, !range !7": copied without the range. */
static bool put_load(struct rewriting *r, struct span line, struct span name, struct span what)
{
    static const char tag[] = ", !range ";
    if (!starts(what, "load ") || r->range.size == 0)
        return false;
    const char *at = memmem(line.text, line.size, tag, strlen(tag));
    if (at == NULL)
        return false;
    struct span rest = skip(line, (size_t)(at - line.text) + strlen(tag));
    struct span node = {rest.text, value_size(rest)};
    if (!equal(node, r->range))
        return false;
    vec_push(&r->loaded, name);
    put(r, (struct span){line.text, (size_t)(at - line.text)});
    put(r, skip(rest, node.size));
    return true;
}

/* "  %13 = trunc i8 %12 to i1": the test of a byte that was loaded. */
static bool put_test(struct rewriting *r, struct span name, struct span what)
{
    static const char op[] = "trunc i8 ", to[] = " to i1";
    if (!starts(what, op))
        return false;
    what = skip(what, strlen(op));
    struct span byte = name_at(what);
    what = skip(what, byte.size);
    if (!starts(what, to) || !is_loaded(r, byte))
        return false;
    add_flag(r, name, byte);
    sb_printf(r->out, "  %.*s = icmp ne i8 %.*s, 0", (int)name.size, name.text, (int)byte.size,
              byte.text);
    put(r, skip(what, strlen(to)));
    return true;
}

/* "  %14 = zext i1 %13 to i32", "  %14 = uitofp i1 %13 to float": a conversion of such a byte. */
static bool put_conversion(struct rewriting *r, struct span name, struct span what)
{
    static const char to[] = " to ";
    bool is_float = starts(what, "uitofp i1 ");
    if (!is_float && !starts(what, "zext i1 "))
        return false;
    what = skip(what, strlen(is_float ? "uitofp i1 " : "zext i1 "));
    struct span value = name_at(what);
    const struct span *byte = find_byte(r, value);
    what = skip(what, value.size);
    if (byte == NULL || !starts(what, to))
        return false;
    what = skip(what, strlen(to));
    size_t n = value_size(what);
    bool copy = n == 2 && starts(what, "i8");
    sb_printf(r->out, "  %.*s = ", (int)name.size, name.text);
    if (copy)
        sb_printf(r->out, "or i8 %.*s, 0", (int)byte->size, byte->text);
    else
        sb_printf(r->out, "%s i8 %.*s to %.*s", is_float ? "sitofp" : "sext", (int)byte->size,
                  byte->text, (int)n, what.text);
    put(r, skip(what, n));
    return true;
}

static void put_instruction(struct rewriting *r, struct span line)
{
    struct span what = line, rest;
    while (what.size > 0 && what.text[0] == ' ')
        what = skip(what, 1);
    struct span name = name_at(what);
    if (name.size > 0 && starts(skip(what, name.size), " = ")) {
        what = skip(what, name.size + 3);
        if (put_load(r, line, name, what) || put_test(r, name, what) ||
            put_conversion(r, name, what))
            return;
    }
    bool call = starts(what, "call ") || starts(what, "tail call ") || starts(what, "musttail ");
    if (call && next_bool(line, &rest) != NULL)
        put_call(r, line);
    else
        put_with_params(r, line);
}

/* ---- the text ---- */

static void begin_function(struct rewriting *r)
{
    r->loaded.count = r->flags.count = r->params.count = 0;
    r->made = 0;
}

static void put_line(struct rewriting *r, struct span line)
{
    bool defines = starts(line, "define ");
    if (defines || starts(line, "declare ")) {
        begin_function(r);
        put_signature(r, line);
        r->in_function = r->at_start = defines;
    } else if (r->in_function && line.text[0] == ' ') {
        if (r->at_start)
            put_tests(r);
        r->at_start = false;
        put_instruction(r, line);
    } else {
        r->in_function = r->in_function && line.text[0] != '}';
        put(r, line);
    }
}

void bools_rewrite(const char *llvm, struct strbuf *out)
{
    struct rewriting r = {.out = out, .range = find_range(llvm)};
    sb_append(out, "", 0);
    for (const char *line = llvm; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        n += line[n] == '\n';
        put_line(&r, (struct span){line, n});
        line += n;
    }
    free(r.loaded.items);
    free(r.flags.items);
    free(r.params.items);
}
