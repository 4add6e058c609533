#include "fs/store/session_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/store/internal.h"
#include "kernels/base/array.h"

bool bale_session_list_add(struct bale_session_list *list, uint32_t session, const char *boot)
{
    struct bale_session_entry *grown =
        bale_array_grow(list->entries, list->count, &list->capacity, sizeof *list->entries);

    if (!grown)
        return false;
    list->entries = grown;
    grown[list->count].session = session;
    snprintf(grown[list->count].boot, BALE_IDENTITY, "%s", boot);
    list->count++;
    return true;
}

bool bale_session_list_copy(struct bale_session_list *to, const struct bale_session_list *from)
{
    *to = *from;
    to->entries = NULL;
    to->count = to->capacity = 0;
    for (size_t i = 0; i < from->count; i++)
        if (!bale_session_list_add(to, from->entries[i].session, from->entries[i].boot)) {
            free(to->entries);
            return false;
        }
    return true;
}

bool bale_session_list_has(const struct bale_session_list *list, uint32_t session)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].session == session)
            return true;
    return false;
}

static void join_closest(struct bale_session_list *list)
{
    struct bale_session_range *ranges = list->earlier;
    size_t closest = 1;

    for (size_t i = 2; i < list->earlier_count; i++)
        if (ranges[i].first - ranges[i - 1].last < ranges[closest].first - ranges[closest - 1].last)
            closest = i;
    ranges[closest - 1].last = ranges[closest].last;
    list->earlier_count--;
    for (size_t i = closest; i < list->earlier_count; i++)
        ranges[i] = ranges[i + 1];
}

void bale_session_list_add_range(struct bale_session_list *list, uint32_t first, uint32_t last)
{
    struct bale_session_range *ranges = list->earlier;
    size_t at;

    if (list->earlier_count == BALE_SESSION_RANGES)
        join_closest(list);
    for (at = list->earlier_count; at > 0 && ranges[at - 1].first > first; at--)
        ranges[at] = ranges[at - 1];
    ranges[at] = (struct bale_session_range){first, last};
    list->earlier_count++;
}

bool bale_session_list_owns(const struct bale_session_list *list, uint32_t first, uint32_t last)
{
    for (size_t i = 0; i < list->earlier_count; i++)
        if (first <= list->earlier[i].last && list->earlier[i].first <= last)
            return true;
    return list->first > 0 && first <= list->last && list->first <= last;
}

bool bale_session_is_of_this_boot(const struct bale_sessions *sessions,
                                  const struct bale_session_entry *entry)
{
    if (sessions->first && entry->session >= sessions->first &&
        entry->session <= atomic_load(&sessions->current))
        return true;
    return entry->boot[0] != '\0' && strcmp(entry->boot, sessions->identity) == 0;
}

void bale_session_list_drop_before(struct bale_session_list *list,
                                   const struct bale_sessions *sessions, uint64_t session)
{
    size_t left = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].session >= session ||
            !bale_session_is_of_this_boot(sessions, &list->entries[i]))
            list->entries[left++] = list->entries[i];
    list->count = left;
}

void bale_session_list_taint(struct bale_session_list *list, const struct bale_sessions *sessions)
{
    for (size_t i = 0; i < list->count; i++)
        if (bale_session_is_of_this_boot(sessions, &list->entries[i]))
            list->entries[i].boot[0] = '\0';
}
