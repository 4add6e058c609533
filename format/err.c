#include "format/err.h"

#include <errno.h>
#include <stddef.h>

struct entry {
    const char *text;
    int number;
};

/* Indexed by the code's absolute value. */
static const struct entry entries[] = {
    [-BALE_OK] = {"success", 0},
    [-BALE_E_NOMEM] = {"out of memory", ENOMEM},
    [-BALE_E_IO] = {"input/output error", EIO},
    /* What ext4 and XFS answer, so that corruption can be told from a failing disk. */
    [-BALE_E_CORRUPT] = {"corrupt data", EUCLEAN},
    [-BALE_E_UNSUPPORTED] = {"unsupported version or feature", EOPNOTSUPP},
    [-BALE_E_INVALID] = {"invalid argument", EINVAL},
    [-BALE_E_NOSPACE] = {"no space left in the store", ENOSPC},
    [-BALE_E_TOOBIG] = {"too big", EFBIG},
    [-BALE_E_BUSY] = {"in use elsewhere", EBUSY},
    [-BALE_E_NOENT] = {"not found", ENOENT},
    [-BALE_E_PERM] = {"permission denied", EACCES},
    [-BALE_E_DEVICE] = {"device failed", ENODEV},
    [-BALE_E_AGAIN] = {"try again", EAGAIN},
    /* A writer that is interrupted while it waits must see EINTR. */
    [-BALE_E_CANCELLED] = {"cancelled", EINTR},
    [-BALE_E_RDONLY] = {"read-only", EROFS},
    [-BALE_E_DQUOT] = {"quota exceeded", EDQUOT},
    [-BALE_E_ENGINE] = {"engine failed", EREMOTEIO},
    [-BALE_E_QUARANTINED] = {"memory is quarantined: a device may still write to it", EINPROGRESS},
    [-BALE_E_SHORT] = {"cut short", EAGAIN},
    [-BALE_E_BLANK] = {"only zeros", EAGAIN},
    [-BALE_E_UNVERIFIED] = {"not verified yet", EAGAIN},
    [-BALE_E_STALE] = {"changed meanwhile", EAGAIN},
    [-BALE_E_NOT_LOADED] = {"not in memory", EAGAIN},
    [-BALE_E_NO_DEVICE] = {"no device is open", EAGAIN},
    /* Not EMFILE: it is not the program that has too many. */
    [-BALE_E_FILES] = {"too many open files", ENFILE},
};

_Static_assert(sizeof(entries) / sizeof(entries[0]) == -BALE_E_LAST + 1, "a code lacks its entry");

static const struct entry *entry_of(int err)
{
    if (err > BALE_OK || err < BALE_E_LAST)
        return NULL;
    return &entries[-err];
}

const char *bale_err_text(int err)
{
    const struct entry *entry = entry_of(err);

    return entry ? entry->text : "unknown error";
}

int bale_err_to_errno(int err)
{
    const struct entry *entry = entry_of(err);

    return entry ? entry->number : EIO;
}

int bale_err_from_errno(int e)
{
    switch (e) {
    case 0:
        return BALE_OK;
    case ENOMEM:
        return BALE_E_NOMEM;
    case EUCLEAN:
    case EBADMSG:
        return BALE_E_CORRUPT;
    case EOPNOTSUPP:
    case ENOSYS:
    case ENOTTY: /* an ioctl the file system does not know */
        return BALE_E_UNSUPPORTED;
    case EINVAL:
    case EBADF:
    case ENAMETOOLONG:
        return BALE_E_INVALID;
    case ENOSPC:
        return BALE_E_NOSPACE;
    case EFBIG:
    case E2BIG:
    case ERANGE:
    case EOVERFLOW:
        return BALE_E_TOOBIG;
    case EBUSY:
    case ETXTBSY:
        return BALE_E_BUSY;
    case ENOENT:
    case ENODATA: /* no such extended attribute */
        return BALE_E_NOENT;
    case EACCES:
    case EPERM:
        return BALE_E_PERM;
    case ENODEV:
    case ENXIO:
        return BALE_E_DEVICE;
    case EAGAIN:
        return BALE_E_AGAIN;
    case EINTR:
    case ECANCELED:
        return BALE_E_CANCELLED;
    case EROFS:
        return BALE_E_RDONLY;
    case EDQUOT:
        return BALE_E_DQUOT;
    case EREMOTEIO:
        return BALE_E_ENGINE;
    case EINPROGRESS:
        return BALE_E_QUARANTINED;
    case EMFILE:
    case ENFILE:
        return BALE_E_FILES;
    default:
        return BALE_E_IO;
    }
}
