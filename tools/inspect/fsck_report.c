/* What fsck prints. */
#include <inttypes.h>
#include <stdio.h>

#include "format/reason.h"
#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/inspect/fsck.h"

/* Prints a line to stdout, because problems are the result of the command. The name may contain
 * anything, so it is cleaned. */
static void print_line(struct bale_fsck *fsck, const char *below, const char *text)
{
    char clean[8192], path[8192];

    snprintf(path, sizeof path, "%s%s%s: %s", bale_store_path(fsck->reader.store),
             *below ? "/" : "", below, text);
    bale_progress_end(&fsck->progress);
    printf("%s\n", bale_clean_text(path, clean, sizeof clean));
}

/* Adds {"path", key} to list and returns it. Under lock. */
static json_t *add_text(json_t *list, const char *below, const char *key, const char *text)
{
    json_t *object = json_object();

    bale_json_path(object, "path", below);
    bale_json_path(object, key, text);
    json_array_append_new(list, object);
    return object;
}

void bale_fsck_note(struct bale_fsck *fsck, const char *below, const char *text)
{
    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json)
        add_text(fsck->notes, below, "note", text);
    else
        print_line(fsck, below, text);
    pthread_mutex_unlock(&fsck->lock);
}

void bale_fsck_problem(struct bale_fsck *fsck, const char *below, const struct bale_fault *fault)
{
    char text[512];

    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json) {
        json_array_append_new(fsck->problems, bale_fault_json(below, fault));
    } else {
        bale_fault_text(fault, text, sizeof text);
        print_line(fsck, below, text);
    }
    pthread_mutex_unlock(&fsck->lock);
}

void bale_fsck_doubt(struct bale_fsck *fsck, const char *below, const char *what,
                     const char *serves)
{
    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json)
        bale_json_text(add_text(fsck->doubts_list, below, "what", what), "serves", serves);
    else
        print_line(fsck, below, what);
    pthread_mutex_unlock(&fsck->lock);
}

void bale_fsck_repaired(struct bale_fsck *fsck, const char *below, const char *text)
{
    char line[BALE_REASON_SIZE + 16];

    pthread_mutex_lock(&fsck->lock);
    add_text(fsck->repaired, below, "what", text);
    if (!fsck->as_json) {
        snprintf(line, sizeof line, "%s: %s", fsck->plan ? "to be repaired" : "repaired", text);
        print_line(fsck, below, line);
    }
    pthread_mutex_unlock(&fsck->lock);
}

void bale_fsck_unplaced(struct bale_fsck *fsck, const char *below,
                        const struct bale_segment *segment)
{
    char text[256];

    snprintf(text, sizeof text,
             "offset %" PRIu64 ": %" PRIu32 " bytes of generation %" PRIu64 " (position %" PRIu64
             "): %s",
             segment->offset, segment->length, segment->generation, segment->position,
             fsck->salvage ? "taken, as nothing newer is known of them"
                           : "may be older than what is lost: --salvage takes them");
    pthread_mutex_lock(&fsck->lock);
    if (fsck->as_json) {
        json_t *object = json_object();
        bale_json_path(object, "path", below);
        bale_json_count(object, "offset", segment->offset);
        bale_json_count(object, "length", segment->length);
        bale_json_count(object, "position", segment->position);
        bale_json_count(object, "generation", segment->generation);
        json_array_append_new(fsck->unplaced, object);
    } else {
        print_line(fsck, below, text);
    }
    pthread_mutex_unlock(&fsck->lock);
}

void bale_fsck_unreadable(struct bale_fsck *fsck, const char *below, const char *why)
{
    pthread_mutex_lock(&fsck->lock);
    fsck->unreadable = true;
    bale_progress_end(&fsck->progress);
    bale_message("%s%s%s: %s", bale_store_path(fsck->reader.store), *below ? "/" : "", below, why);
    pthread_mutex_unlock(&fsck->lock);
}

bool bale_fsck_print(struct bale_fsck *fsck)
{
    json_t *object = json_object();

    bale_json_path(object, "store", bale_store_path(fsck->reader.store));
    bale_json_count(object, "files", fsck->files);
    bale_json_count(object, "bytes", fsck->bytes);
    bale_json_count(object, "damaged", fsck->damaged);
    json_object_set(object, "problems", fsck->problems);
    json_object_set(object, "doubts", fsck->doubts_list);
    json_object_set(object, "notes", fsck->notes);
    json_object_set(object, "repaired", fsck->repaired);
    json_object_set(object, "unplaced", fsck->unplaced);
    return bale_json_print(object);
}
