/* list: doubly linked lists through the items' own fields: `next`, and `link`, the address of the
 * pointer that points to the item, so that an item is removed without its list (as in BSD's
 * sys/queue.h). Arguments are evaluated several times. */
#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <stddef.h>

/* Makes the item the first of the list whose first pointer `head` is. */
#define LIST_INSERT(head, item)                                                                    \
    do {                                                                                           \
        (item)->next = (head);                                                                     \
        (item)->link = &(head);                                                                    \
        if ((item)->next != NULL)                                                                  \
            (item)->next->link = &(item)->next;                                                    \
        (head) = (item);                                                                           \
    } while (0)

#define LIST_REMOVE(item)                                                                          \
    do {                                                                                           \
        *(item)->link = (item)->next;                                                              \
        if ((item)->next != NULL)                                                                  \
            (item)->next->link = (item)->link;                                                     \
    } while (0)

#endif
