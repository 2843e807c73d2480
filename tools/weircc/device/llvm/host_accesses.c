/* Accesses of the host to variables of the device; see host_accesses.h. */
#include "weircc/device/llvm/host_accesses.h"

#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"

static const char device_variable[] = " externally_initialized global ";

struct shadow {
    char *name;    /* in the host's text */
    bool constant; /* it is __constant__ */
};

/* An address in a function that was made of a shadow's: "%31". */
struct derived {
    char *value;
    size_t shadow; /* its number */
};

struct search {
    const char *host, *device, *headers;
    struct strbuf *messages;
    const char *function; /* its line, NULL: between functions */
    struct {
        struct shadow *items;
        size_t count, cap;
    } shadows;
    struct {
        struct derived *items;
        size_t count, cap;
    } addresses;
};

/* A name of LLVM's text after its "@" or "%". */
static size_t name_length(const char *p)
{
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-");
    return n;
}

/* The place of a text in a line that ends at `end`; NULL: it is not there. */
static const char *find_in(const char *line, const char *end, const char *text)
{
    const char *at = strstr(line, text);
    return at != NULL && at < end ? at : NULL;
}

/* The line of a global variable in a text; NULL: it has none. */
static const char *definition(const char *text, const char *name)
{
    char *start = xprintf("\n@%s = ", name);
    const char *at = strstr(text, start);
    free(start);
    return at != NULL ? at + 1 : NULL;
}

/* A name of the device's text as the host's has it: without what clang adds to that of a static
 * one.
 */
static char *host_name(const char *name)
{
    size_t n = name_length(name);
    char *whole = xprintf("%.*s", (int)n, name), *at = strstr(whole, "__static__");
    if (at != NULL && at > whole)
        *at = '\0';
    return whole;
}

/* Finds the variables of the device of which the host's text has a shadow. What the host may
 * access, a
 * __managed__ variable, is in a section of its own. */
static void find_shadows(struct search *s)
{
    for (const char *p = s->device; (p = strstr(p, device_variable)) != NULL; p++) {
        const char *line = p;
        while (line > s->device && line[-1] != '\n')
            line--;
        if (*line != '@')
            continue;
        struct shadow shadow = {host_name(line + 1), find_in(line, p, "addrspace(4)") != NULL};
        const char *host = definition(s->host, shadow.name);
        const char *end = host != NULL ? host + strcspn(host, "\n") : NULL;
        if (host != NULL && find_in(host, end, " global ") != NULL &&
            find_in(host, end, " undef") != NULL && find_in(host, end, "weir_managed") == NULL)
            vec_push(&s->shadows, shadow);
        else
            free(shadow.name);
    }
}

/* The number of the shadow that the address at `p`, a name with its "@" or "%", is in; -1: none. */
static long shadow_at(const struct search *s, const char *p)
{
    size_t n = name_length(p + 1);
    for (size_t i = 0; *p == '@' && i < s->shadows.count; i++) {
        const char *name = s->shadows.items[i].name;
        if (strlen(name) == n && strncmp(name, p + 1, n) == 0)
            return (long)i;
    }
    for (size_t i = 0; *p == '%' && i < s->addresses.count; i++) {
        const struct derived *d = &s->addresses.items[i];
        if (strlen(d->value) == n && strncmp(d->value, p + 1, n) == 0)
            return (long)d->shadow;
    }
    return -1;
}

static void forget_addresses(struct search *s)
{
    for (size_t i = 0; i < s->addresses.count; i++)
        free(s->addresses.items[i].value);
    s->addresses.count = 0;
}

/* Whether the function that is looked at is the device's, too. */
static bool is_shared(const struct search *s)
{
    const char *end = s->function + strcspn(s->function, "\n");
    const char *at = find_in(s->function, end, "@");
    if (at == NULL)
        return true;
    char *name = xprintf("%.*s(", (int)(1 + name_length(at + 1)), at);
    bool shared = false;
    for (const char *p = s->device; !shared && (p = strstr(p, name)) != NULL; p++) {
        const char *begin = p;
        while (begin > s->device && begin[-1] != '\n')
            begin--;
        shared = strncmp(begin, "define ", 7) == 0;
    }
    free(name);
    return shared;
}

/* A number of a node of metadata after `key` in the node `id`: -1, there is none. */
static long field(const struct search *s, long id, const char *key)
{
    char *start = xprintf("\n!%ld = ", id);
    const char *node = id >= 0 ? strstr(s->host, start) : NULL;
    free(start);
    if (node == NULL)
        return -1;
    const char *at = find_in(node + 1, node + 1 + strcspn(node + 1, "\n"), key);
    return at != NULL ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* Appends "file:1:2: "; false where the place is not the program's or not known. */
static bool write_place(const struct search *s, const char *line, const char *end,
                        struct strbuf *out)
{
    static const char key[] = "filename: \"";
    const char *at = find_in(line, end, "!dbg !");
    long place = at != NULL ? strtol(at + 6, NULL, 10) : -1;
    long row = field(s, place, "line: "), column = field(s, place, "column: ");
    long file = field(s, field(s, place, "scope: !"), "file: !");
    char *start = xprintf("\n!%ld = ", file);
    const char *node = file >= 0 ? strstr(s->host, start) : NULL;
    free(start);
    const char *name =
        node != NULL ? find_in(node + 1, node + 1 + strcspn(node + 1, "\n"), key) : NULL;
    if (name == NULL || row <= 0)
        return false;
    name += strlen(key);
    if (strncmp(name, s->headers, strlen(s->headers)) == 0)
        return false;
    sb_printf(out, "%.*s:%ld:%ld: ", (int)strcspn(name, "\""), name, row, column > 0 ? column : 1);
    return true;
}

static void tell(struct search *s, const char *line, const char *end, const char *p, bool written)
{
    long found = shadow_at(s, p);
    if (found < 0 || is_shared(s) || !write_place(s, line, end, s->messages))
        return;
    const struct shadow *shadow = &s->shadows.items[found];
    char *name = demangle(shadow->name);
    sb_printf(s->messages, "warning: a %s variable '%s' cannot be directly %s in a host function\n",
              shadow->constant ? "__constant__" : "__device__", name, written ? "written" : "read");
    free(name);
}

/* The last address of an instruction: that of a load or a store. */
static const char *last_address(const char *line, const char *end)
{
    const char *last = NULL;
    for (const char *p = line; (p = find_in(p, end, ", ptr ")) != NULL; p += 6)
        if (p[6] == '@' || p[6] == '%')
            last = p + 6;
    return last;
}

static void look_at(struct search *s, const char *line, const char *end)
{
    const char *is = find_in(line, end, " = "), *address = last_address(line, end);
    const char *copy = find_in(line, end, "@llvm.memcpy.");
    if (copy != NULL) {
        const char *to = find_in(copy, end, "(ptr align "),
                   *from = find_in(copy, end, ", ptr align ");
        to = to != NULL ? strpbrk(to + 11, "@%,") : NULL;
        from = from != NULL ? strpbrk(from + 12, "@%,") : NULL;
        if (to != NULL && *to != ',')
            tell(s, line, end, to, true);
        if (from != NULL && *from != ',')
            tell(s, line, end, from, false);
    } else if (address == NULL) {
        return;
    } else if (strncmp(line, "  store ", 8) == 0) {
        tell(s, line, end, address, true);
    } else if (is != NULL && strncmp(is + 3, "load ", 5) == 0) {
        tell(s, line, end, address, false);
    } else if (is != NULL && strncmp(is + 3, "getelementptr ", 14) == 0) {
        const char *value = strchr(line, '%');
        long found = shadow_at(s, address);
        if (found < 0 || value == NULL || value > is)
            return;
        struct derived d = {xprintf("%.*s", (int)(is - value - 1), value + 1), (size_t)found};
        vec_push(&s->addresses, d);
    }
}

bool host_accesses_possible(const char *device) { return strstr(device, device_variable) != NULL; }

void host_accesses_find(const char *host, const char *device, const char *headers,
                        struct strbuf *messages)
{
    struct search s = {.host = host, .device = device, .headers = headers, .messages = messages};
    find_shadows(&s);
    for (const char *line = host; s.shadows.count > 0 && *line != '\0';) {
        const char *end = line + strcspn(line, "\n");
        if (strncmp(line, "define ", 7) == 0) {
            forget_addresses(&s);
            s.function = line;
        } else if (*line == '}') {
            s.function = NULL;
        } else if (s.function != NULL) {
            look_at(&s, line, end);
        }
        line = end + (*end == '\n');
    }
    forget_addresses(&s);
    free(s.addresses.items);
    for (size_t i = 0; i < s.shadows.count; i++)
        free(s.shadows.items[i].name);
    free(s.shadows.items);
}
