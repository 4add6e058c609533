#include "fs/fuse/known.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"

#define TABLE_PART 256u /* of the memory cap */
#define TABLE_MOST (1u << 20)

static const struct {
    const char *name;
    uint32_t absent, kept; /* marks; kept 0: only that it is absent is known */
} asked[] = {
    {BALE_ACL_ACCESS, BALE_MARK_NO_ACCESS_ACL, BALE_MARK_ACCESS_ACL_KEPT},
    {BALE_ACL_DEFAULT, BALE_MARK_NO_DEFAULT_ACL, BALE_MARK_DEFAULT_ACL_KEPT},
    {BALE_CAPABILITY_XATTR, BALE_MARK_INCAPABLE, 0},
};
#define ASKED (sizeof asked / sizeof *asked)

/* The value of a node that has the mark; overwritten by that of any other node. */
struct entry {
    uint64_t number;
    uint32_t generation;
    uint8_t which, length;
    char value[BALE_KNOWN_MAX];
};

struct bale_known {
    struct bale_memory *memory;
    size_t count;
    pthread_mutex_t lock;    /* guards the rest, and changes of the marks */
    _Atomic uint64_t ticket; /* the number of changes; read without the lock */
    struct entry *entries;   /* NULL until there is a value */
};

int bale_known_create(struct bale_memory *memory, struct bale_known **out)
{
    struct bale_known *known = calloc(1, sizeof *known);
    uint64_t size = bale_memory_cap(memory) / TABLE_PART;

    if (!known)
        return BALE_E_NOMEM;
    known->memory = memory;
    known->count = (size < TABLE_MOST ? size : TABLE_MOST) / sizeof(struct entry);
    pthread_mutex_init(&known->lock, NULL);
    *out = known;
    return BALE_OK;
}

void bale_known_destroy(struct bale_known *known)
{
    if (!known)
        return;
    pthread_mutex_destroy(&known->lock);
    free(known->entries);
    free(known);
}

static size_t which_of(const char *name)
{
    size_t i = 0;

    while (i < ASKED && strcmp(asked[i].name, name) != 0)
        i++;
    return i;
}

/* With the lock, and with entries. */
static struct entry *entry_of(struct bale_known *known, const struct bale_node *node, size_t which)
{
    uint64_t hash = (node->number * 2 + which) * 0x9e3779b97f4a7c15u;

    return &known->entries[(hash >> 32) % known->count];
}

static bool is_of(const struct entry *entry, const struct bale_node *node, size_t which)
{
    return entry->number == node->number && entry->generation == node->generation &&
           entry->which == which;
}

bool bale_known_get(struct bale_mount *mount, struct bale_node *node, const char *name,
                    char value[BALE_KNOWN_MAX], size_t *length, int *e)
{
    struct bale_known *known = mount->known;
    size_t which = which_of(name);
    bool found = false;

    if (which == ASKED)
        return false;
    *e = node->marks & asked[which].absent ? ENODATA : 0;
    if (*e || !(node->marks & asked[which].kept))
        return *e;
    pthread_mutex_lock(&known->lock);
    if (node->marks & asked[which].kept) {
        const struct entry *entry = entry_of(known, node, which);
        found = is_of(entry, node, which);
        *length = entry->length;
        memcpy(value, entry->value, sizeof entry->value);
    }
    pthread_mutex_unlock(&known->lock);
    return found;
}

uint64_t bale_known_ticket(struct bale_mount *mount)
{
    return atomic_load(&mount->known->ticket);
}

/* With the lock. Without memory nothing is kept. */
static void keep(struct bale_known *known, struct bale_node *node, size_t which, const char *value,
                 size_t length)
{
    if (!known->entries && (known->entries = calloc(known->count, sizeof(struct entry))))
        bale_memory_count(known->memory, (int64_t)(known->count * sizeof(struct entry)));
    if (!known->entries)
        return;
    struct entry *entry = entry_of(known, node, which);
    *entry = (struct entry){.number = node->number,
                            .generation = node->generation,
                            .which = (uint8_t)which,
                            .length = (uint8_t)length};
    memcpy(entry->value, value, length);
    atomic_fetch_or(&node->marks, asked[which].kept);
}

void bale_known_note(struct bale_mount *mount, struct bale_node *node, const char *name,
                     uint64_t ticket, int e, const char *value, size_t length)
{
    struct bale_known *known = mount->known;
    size_t which = which_of(name);

    if (which == ASKED || mount->beside || (e && e != ENODATA))
        return;
    pthread_mutex_lock(&known->lock);
    if (known->ticket == ticket && e)
        atomic_fetch_or(&node->marks, asked[which].absent);
    else if (known->ticket == ticket && asked[which].kept && length <= BALE_KNOWN_MAX)
        keep(known, node, which, value, length);
    pthread_mutex_unlock(&known->lock);
}

static void forget(struct bale_mount *mount, struct bale_node *node, uint32_t marks)
{
    pthread_mutex_lock(&mount->known->lock);
    mount->known->ticket++;
    atomic_fetch_and(&node->marks, ~marks);
    pthread_mutex_unlock(&mount->known->lock);
}

void bale_known_changed(struct bale_mount *mount, struct bale_node *node, const char *name)
{
    size_t which = which_of(name);

    if (which < ASKED)
        forget(mount, node, asked[which].absent | asked[which].kept);
}

void bale_known_mode_changed(struct bale_mount *mount, struct bale_node *node)
{
    forget(mount, node, BALE_MARK_ACCESS_ACL_KEPT | BALE_MARK_DEFAULT_ACL_KEPT);
}
