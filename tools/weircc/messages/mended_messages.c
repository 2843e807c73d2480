/* Choosing between messages about the source and about mended text; see mended_messages.h. */
#include "weircc/messages/mended_messages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/messages/excerpts.h"
#include "weircc/messages/messages.h"

static void free_list(struct strlist *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
}

/* "file:line: error: text": a message without its column, which mending and macros move. The caller
 * frees it. */
static char *key_of(const char *message)
{
    static const char *const heads[] = {": fatal error: ", ": error: ", ": warning: "};
    char *plain = excerpts_plain(message, strlen(message)), *key = NULL;
    for (size_t i = 0; i < WEIR_COUNT(heads) && key == NULL; i++) {
        const char *at = strstr(plain, heads[i]);
        if (at == NULL)
            continue;
        const char *end = at, *begin = at;
        while (end > plain && isdigit((unsigned char)end[-1]))
            end--;
        while (begin > plain && begin[-1] != '\n')
            begin--;
        bool column = end < at && end > plain && end[-1] == ':';
        key = xprintf("%.*s%.*s", (int)((column ? end - 1 : at) - begin), begin,
                      (int)strcspn(at, "\n"), at);
    }
    free(plain);
    return key != NULL ? key : xstrdup("");
}

bool mended_messages_any(const struct strbuf *messages)
{
    if (messages->count == 0)
        return false;
    char *plain = excerpts_plain(messages->items, messages->count);
    bool any = strstr(plain, " error: ") != NULL;
    free(plain);
    return any;
}

static size_t count_of(const struct strlist *keys, const char *key)
{
    size_t n = 0;
    for (size_t i = 0; i < keys->count; i++)
        n += strcmp(keys->items[i], key) == 0;
    return n;
}

/* The message with the n-th of such keys. */
static const char *find(const struct strlist *messages, const struct strlist *keys, const char *key,
                        size_t n)
{
    for (size_t i = 0; i < messages->count; i++)
        if (strcmp(keys->items[i], key) == 0 && n-- == 0)
            return messages->items[i];
    return NULL;
}

/* What the source's messages say in place of message i of those about mended text; NULL: nothing.
 * Where one text says a thing more often of a line than the other, none of them are known to be
 * the same. */
static const char *same_of_source(const struct strlist *keys, size_t i,
                                  const struct strlist *source, const struct strlist *source_keys)
{
    const char *key = keys->items[i];
    const struct strlist before = {.items = keys->items, .count = i};
    if (*key == '\0' || count_of(keys, key) != count_of(source_keys, key))
        return NULL;
    return find(source, source_keys, key, count_of(&before, key));
}

static void add_keys(const struct strlist *messages, struct strlist *keys)
{
    for (size_t i = 0; i < messages->count; i++)
        vec_push(keys, key_of(messages->items[i]));
}

void mended_messages_choose(const struct strbuf *mended, struct strbuf *source)
{
    struct strlist after = {0}, before = {0}, after_keys = {0}, before_keys = {0};
    messages_split(mended->items, &after);
    messages_split(source->count > 0 ? source->items : "", &before);
    add_keys(&after, &after_keys);
    add_keys(&before, &before_keys);
    struct strbuf out = {0};
    for (size_t i = 0; i < after.count; i++) {
        const char *same = same_of_source(&after_keys, i, &before, &before_keys);
        struct strbuf shown = {0};
        sb_printf(&shown, "%s", same != NULL ? same : after.items[i]);
        if (same == NULL)
            excerpts_restore_mended(&shown);
        sb_append(&out, shown.items, shown.count);
        sb_free(&shown);
    }
    free_list(&before_keys);
    free_list(&after_keys);
    free_list(&before);
    free_list(&after);
    sb_free(source);
    *source = out;
}
