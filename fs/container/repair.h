/* Repairing a container that nothing else has open. */
#ifndef BALE_FS_CONTAINER_REPAIR_H
#define BALE_FS_CONTAINER_REPAIR_H

#include "fs/container/container.h"

/* A page of the index that cannot be read, or is not the one that was written. */
struct bale_lost_page {
    uint64_t position;
    uint32_t length;
    uint64_t first, end;  /* of the file's range whose segments it has */
    const uint8_t *bytes; /* what it was; NULL: that is not known */
};

/* Makes lost pages of the index again from the frames and pages in the container. A page is known
 * if what was made has its checksum, so that nothing comes back that was overwritten, punched or
 * cut off. Calls lost for each lost page, on this thread and with the writer lock; if that returns
 * true, a page that is known is written in its place, and synced at the end. The container is open
 * for writing, and nothing else has it. The index that was read before is not used: open the
 * container again. Errors of reading the container and of writing. */
int bale_container_restore(struct bale_container *container,
                           bool (*lost)(void *arg, const struct bale_lost_page *page), void *arg);

/* What bale_container_salvage has found. */
struct bale_salvage {
    uint64_t ranges; /* of the file whose part of the index is lost; 0: nothing is to be done */
    uint64_t placed; /* bytes in them that a frame was found for */
    uint64_t lost;   /* bytes that stay lost */
};

/* Makes a new index: of the segments that can be read and, where they cannot, of the frames that
 * are whole, the newest first. So what was overwritten or cut off may come back. Calls found (may
 * be NULL) for each segment that it takes from them, on this thread and with the writer lock. If
 * the lengths of all frames do not sum to what the root says, some are missing: then what has no
 * frame in the lost ranges gives BALE_E_CORRUPT when it is read, until it is written; else it is a
 * hole.
 *
 * With write, everything is written behind what the container has, and nothing but the root slots
 * is replaced: by a durable root, and one that confirms it. The container is as after
 * bale_container_open otherwise, and is to be closed. BALE_E_TOOBIG: too many extents would have to
 * be marked as lost. Errors of reading, and of a commit. */
int bale_container_salvage(struct bale_container *container, bool write,
                           void (*found)(void *arg, const struct bale_segment *segment), void *arg,
                           struct bale_salvage *salvage);

/* Opens a container none of whose slots is valid, to be salvaged: as a file with the greatest size
 * and generation that its frames show, whose whole index is lost. Owns io from then on.
 * BALE_E_CORRUPT: it has no frame, or does not look like a container. */
int bale_container_open_rootless(struct bale_io *io, const struct bale_container_config *config,
                                 const struct bale_container_attr *defaults,
                                 struct bale_container **container);

/* Whether the container may have data although no slot is valid: 1 if there is a frame in it, 0 if
 * not, or an error. */
int bale_container_has_frames(struct bale_container *container);

/* What a repair may do, and what it did. */
struct bale_repair {
    bool write;   /* else it only says what it would do */
    bool settle;  /* keeps the root in use, even if something below it is damaged; never makes a
                     file that has frames an empty one */
    bool salvage; /* calls bale_container_salvage; also keeps a root with damage below it */
    bool stuck;   /* the container does not open by the rules */

    /* Called before [position, position + length) of the container is replaced; false: it must not
     * be. found: as for bale_container_salvage, whether or not that is allowed. */
    bool (*keep)(void *arg, uint64_t position, uint32_t length);
    void (*found)(void *arg, const struct bale_segment *segment);
    void *arg;

    unsigned pages;               /* that were restored */
    bool slot;                    /* a lost root slot was written again */
    bool settled;                 /* because of settle or salvage */
    struct bale_salvage salvaged; /* with salvage; else what it would do */
};

/* Which root a repair works on. err, recovery: of opening the container by the rules; wanted: the
 * root that somebody chose for a container in doubt, or BALE_PICK_BY_RULES. False: nothing of the
 * container may be changed, because an older root is whole and is used. If a page of the newest
 * root were restored, that root would be used instead, and bytes that its commit never wrote would
 * look like damage. */
bool bale_repair_root(int err, enum bale_recovery recovery, bool settle, enum bale_root_pick wanted,
                      enum bale_root_pick *pick);

/* Repairs a container that was opened at that root, for writing if anything is to be written; it is
 * to be closed then. Errors of reading and of a commit; BALE_E_NOSPACE if keep said no. */
int bale_container_repair(struct bale_container *container, struct bale_repair *repair);

#endif
