/* Which elements of a file are rounded as they are written: those of a file with a lossy setting
 * whose first bytes show no other format. It is decided once BALE_ROUND_BEGIN bytes from the file's
 * begin on have been written; what was written before stays exact. The decision is committed with
 * the first data that was rounded. It ends for good when the signature of HDF5 behind a user block
 * is written, in one write or in several, or was there when the setting came. With npy the header
 * says what the elements are, so that a change of it ends the rounding. The greatest step with
 * which that was done stays on record, whatever the setting becomes, until the file is truncated to
 * nothing. All under file->lock. */
#ifndef BALE_FS_CACHE_ROUNDS_H
#define BALE_FS_CACHE_ROUNDS_H

#include "fs/cache/file_state.h"

/* Begins again with the file's setting and what its record says, as at the opening. The caller sets
 * file->greatest_step. */
void bale_rounds_set(struct bale_file *file, enum bale_rounds rounds);
void bale_rounds_free(struct bale_file *file);

/* What the record of a new setting says for a file of that size: the bytes that are there count as
 * written. */
enum bale_rounds bale_rounds_first(const struct bale_setting *setting, uint64_t size);

/* Whether the file's first bytes must be read before it is written. */
bool bale_rounds_is_pending(const struct bale_file *file);
/* Reads them, and what else shows another format. Drops the lock for I/O, and to wait for those who
 * fill the cache. BALE_E_NOMEM. */
int bale_rounds_load(struct bale_file *file, struct bale_scratch *scratch);

/* Before bytes are copied into the extent, from its byte `from` on, which cannot fail any more: takes
 * note of those at the file's begin, and decides if that completes them. Of the blocks at the ends,
 * what is not written is valid or zeros. Nothing is pending. BALE_E_NOMEM. */
int bale_rounds_note(const struct bale_extent *extent, uint64_t from, const uint8_t *data,
                     size_t length);
/* Before bytes that are there are rounded: ends the rounding, also before it has begun, if they show
 * another format, as bale_rounds_note does for those that are written. */
void bale_rounds_look(struct bale_file *file, uint64_t offset, const uint8_t *data, size_t length);
/* The bytes from [from, to) on are cut off, punched or zeroed, or a gap begins there: they do not
 * count as written. */
void bale_rounds_forget(struct bale_file *file, uint64_t from, uint64_t to);
/* The file is as its user wants it, though it may be shorter than BALE_ROUND_BEGIN: decides.
 * Nothing is pending. BALE_E_NOMEM. */
int bale_rounds_decide(struct bale_file *file);

/* Elements may have been rounded with this step, too; 0: none was. */
void bale_rounds_raise(struct bale_file *file, uint64_t step);

/* What is rounded now; type BALE_FIELD_NONE: nothing. */
struct bale_field bale_rounds_field(const struct bale_file *file);
/* What a commit that contains all that was written says. */
enum bale_rounds bale_rounds_record(const struct bale_file *file);
/* What the file's data is encoded with: exact data of a lossy file as auto chooses. */
struct bale_setting bale_rounds_setting(const struct bale_file *file);

#endif
