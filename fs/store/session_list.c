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
    *to = (struct bale_session_list){.first = from->first, .last = from->last};
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

bool bale_session_is_of_this_boot(const struct bale_sessions *sessions,
                                  const struct bale_session_entry *entry)
{
    if (sessions->first && entry->session >= sessions->first)
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
