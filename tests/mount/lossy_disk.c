/* What is durable. See lossy.h.
 *
 * The journal is a sequence of records: length (4 bytes), type, and fields as they lie in memory:
 * it is read by the same program on the same machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mount/lossy.h"

#define JOURNAL "journal"
#define COMPACT ((off_t)4 << 20) /* a longer journal is written again */

static int dir_fd, journal_fd;
static bool renamed; /* between directories, and that is not durable yet */

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- Writing ---- */

struct record {
    uint8_t *bytes;
    size_t length, room;
};

static void put(struct record *record, const void *bytes, size_t length)
{
    if (record->length + length > record->room) {
        record->room = 2 * (record->length + length);
        record->bytes = realloc(record->bytes, record->room);
        if (!record->bytes)
            abort();
    }
    memcpy(record->bytes + record->length, bytes, length);
    record->length += length;
}

static void put_text(struct record *record, const void *text, size_t length)
{
    uint32_t size = (uint32_t)length;

    put(record, &size, sizeof size);
    put(record, text, length);
}

/* Begins a record in what may hold several; the result is for end_record. */
static size_t begin_record(struct record *record, char type)
{
    uint32_t none = 0;
    size_t at = record->length;

    put(record, &none, sizeof none);
    put(record, &type, 1);
    return at;
}

static void end_record(struct record *record, size_t at)
{
    uint32_t length = (uint32_t)(record->length - at);

    memcpy(record->bytes + at, &length, sizeof length);
}

/* All of it or, if the program is killed, none: an unfinished end is not read. */
static void append(struct record *record)
{
    if (record->length > 0 &&
        write(journal_fd, record->bytes, record->length) != (ssize_t)record->length)
        die("lossy: journal");
    free(record->bytes);
}

static void put_attributes(struct record *record, struct lossy_node *node)
{
    size_t at = begin_record(record, 'I');

    put(record, &node->id, sizeof node->id);
    put(record, &node->st, sizeof node->st);
    put_text(record, node->target ? node->target : "", node->target ? strlen(node->target) : 0);
    for (const struct lossy_xattr *x = node->xattrs; x; x = x->next) {
        put_text(record, x->name, strlen(x->name));
        put_text(record, x->value, x->size);
    }
    end_record(record, at);
    node->known = true;
}

static void put_entries(struct record *record, struct lossy_node *dir)
{
    for (const struct lossy_entry *e = dir->entries; e; e = e->next)
        if (!e->node->known)
            put_attributes(record, e->node);
    size_t at = begin_record(record, 'D');
    put(record, &dir->id, sizeof dir->id);
    for (const struct lossy_entry *e = dir->entries; e; e = e->next) {
        put(record, &e->node->id, sizeof e->node->id);
        put_text(record, e->name, strlen(e->name));
    }
    end_record(record, at);
    dir->changed = false;
}

void lossy_disk_attributes(struct lossy_node *node)
{
    struct record record = {0};

    put_attributes(&record, node);
    append(&record);
}

void lossy_disk_renamed(void)
{
    renamed = true;
}

void lossy_disk_entries(struct lossy_node *dir)
{
    struct record record = {0};

    if (!renamed && dir->changed)
        put_entries(&record, dir);
    for (struct lossy_node *node = lossy_nodes; renamed && node; node = node->next)
        if (node->changed)
            put_entries(&record, node);
    renamed = false;
    append(&record);
}

int lossy_disk_contents(uint64_t id, bool make)
{
    char name[32];

    snprintf(name, sizeof name, "%ju", (uintmax_t)id);
    int fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | (make ? O_CREAT | O_TRUNC : 0), 0600);
    if (fd < 0 && (make || errno != ENOENT))
        die("lossy: contents");
    return fd;
}

/* ---- Reading ---- */

static const uint8_t *get(const uint8_t *from, void *to, size_t length)
{
    memcpy(to, from, length);
    return from + length;
}

static const uint8_t *get_text(const uint8_t *from, char **text, size_t *length)
{
    uint32_t size;

    from = get(from, &size, sizeof size);
    *text = strndup((const char *)from, size);
    if (!*text)
        abort();
    *length = size;
    return from + size;
}

static struct lossy_node *node_with(uint64_t id)
{
    for (struct lossy_node *node = lossy_nodes; node; node = node->next)
        if (node->id == id)
            return node;
    return lossy_node_make(id, 0);
}

static void read_attributes(const uint8_t *at, const uint8_t *end)
{
    uint64_t id;
    size_t length;

    at = get(at, &id, sizeof id);
    struct lossy_node *node = node_with(id);
    at = get(at, &node->st, sizeof node->st);
    free(node->target);
    at = get_text(at, &node->target, &length);
    while (node->xattrs)
        lossy_xattr_set(node, node->xattrs->name, NULL, 0);
    while (at < end) {
        char *name, *value;
        size_t size;
        at = get_text(at, &name, &length);
        at = get_text(at, &value, &size);
        lossy_xattr_set(node, name, value, size);
        free(name);
        free(value);
    }
    node->known = true;
}

static void read_entries(const uint8_t *at, const uint8_t *end)
{
    uint64_t id;

    at = get(at, &id, sizeof id);
    struct lossy_node *dir = node_with(id);
    while (dir->entries)
        lossy_entry_remove(dir, &dir->entries);
    while (at < end) {
        char *name;
        size_t length;
        at = get(at, &id, sizeof id);
        at = get_text(at, &name, &length);
        lossy_entry_add(dir, name, node_with(id));
        free(name);
    }
}

static void read_journal(void)
{
    off_t size = lseek(journal_fd, 0, SEEK_END);
    uint8_t *bytes = malloc((size_t)size + 1);
    uint32_t length;

    if (!bytes || pread(journal_fd, bytes, (size_t)size, 0) != (ssize_t)size)
        die("lossy: journal");
    off_t at = 0;
    for (; at + 5 <= size; at += length) {
        memcpy(&length, bytes + at, sizeof length);
        if (length > size - at)
            break;
        if (bytes[at + 4] == 'I')
            read_attributes(bytes + at + 5, bytes + at + length);
        else
            read_entries(bytes + at + 5, bytes + at + length);
    }
    if (ftruncate(journal_fd, at) != 0)
        die("lossy: journal");
    free(bytes);
}

static void mark(struct lossy_node *node)
{
    node->lookups = 1;
    for (struct lossy_entry *e = node->entries; e; e = e->next)
        if (!e->node->lookups)
            mark(e->node);
}

/* Frees the nodes to which no name leads, and removes their contents. */
static void sweep(void)
{
    mark(lossy_nodes);
    for (struct lossy_node *node = lossy_nodes, *next; node; node = next) {
        next = node->next;
        if (node->lookups)
            continue;
        while (node->entries)
            lossy_entry_remove(node, &node->entries);
    }
    for (struct lossy_node *node = lossy_nodes, *next; node; node = next) {
        char name[32];
        next = node->next;
        snprintf(name, sizeof name, "%ju", (uintmax_t)node->id);
        if (!node->lookups)
            (void)unlinkat(dir_fd, name, 0);
        if (node->lookups)
            node->lookups = 0;
        else
            lossy_node_free(node);
    }
}

static void open_contents(struct lossy_node *node)
{
    struct stat st;

    if (S_ISLNK(node->st.st_mode))
        node->data.size = strlen(node->target);
    node->data.fd = S_ISREG(node->st.st_mode) ? lossy_disk_contents(node->id, false) : -1;
    if (node->data.fd >= 0 && fstat(node->data.fd, &st) == 0)
        node->data.size = node->data.durable = (uint64_t)st.st_size;
}

static void compact(void)
{
    struct record record = {0};

    journal_fd = openat(dir_fd, JOURNAL ".new", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (struct lossy_node *node = lossy_nodes; node; node = node->next) {
        put_attributes(&record, node);
        if (S_ISDIR(node->st.st_mode))
            put_entries(&record, node);
    }
    append(&record);
    if (renameat(dir_fd, JOURNAL ".new", dir_fd, JOURNAL) != 0)
        die("lossy: journal");
}

void lossy_disk_open(const char *path)
{
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    journal_fd = openat(dir_fd, JOURNAL, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (journal_fd < 0)
        die(path);
    lossy_node_make(LOSSY_ROOT, S_IFDIR | 0755)->links = 1;
    read_journal();
    sweep();
    for (struct lossy_node *node = lossy_nodes; node; node = node->next)
        open_contents(node);
    if (lseek(journal_fd, 0, SEEK_END) > COMPACT) {
        close(journal_fd);
        compact();
    }
}
