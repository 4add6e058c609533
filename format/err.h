/* Error codes. Every function that can fail returns 0 or one of these; positive values are never
 * used, so that a function may also return a count. A code becomes an errno only through
 * bale_err_to_errno(). Pure functions, safe from any thread. */
#ifndef BALE_FORMAT_ERR_H
#define BALE_FORMAT_ERR_H

/* The numbers appear in logs and do not change; new codes are added at the end. */
enum bale_err {
    BALE_OK = 0,
    BALE_E_NOMEM = -1,        /* out of memory, or over the memory limit */
    BALE_E_IO = -2,           /* the backing store failed to read or write */
    BALE_E_CORRUPT = -3,      /* stored bytes break the format or do not match their checksum */
    BALE_E_UNSUPPORTED = -4,  /* well formed, but of a newer version or with an unknown feature */
    BALE_E_INVALID = -5,      /* the caller's argument is bad; nothing was done */
    BALE_E_NOSPACE = -6,      /* the backing store is full */
    BALE_E_TOOBIG = -7,       /* over a limit of the format or of the caller's buffer */
    BALE_E_BUSY = -8,         /* locked or mounted elsewhere */
    BALE_E_NOENT = -9,        /* no such file, extent or attribute */
    BALE_E_PERM = -10,        /* not allowed to this user */
    BALE_E_DEVICE = -11,      /* an accelerator or its driver failed; the data is unharmed */
    BALE_E_AGAIN = -12,       /* the system has not enough of something just now */
    BALE_E_CANCELLED = -13,   /* interrupted, or given up at shutdown */
    BALE_E_RDONLY = -14,      /* the backing store or the mount is read-only */
    BALE_E_DQUOT = -15,       /* over the owner's quota */
    BALE_E_ENGINE = -16,      /* an engine cannot do its work; another one can */
    BALE_E_QUARANTINED = -17, /* given up, but a device may write to its memory yet */

    /* Answers between functions: the caller handles them and asks again. */
    BALE_E_SHORT = -18,      /* more bytes are needed to decode this */
    BALE_E_BLANK = -19,      /* there are only zeros */
    BALE_E_UNVERIFIED = -20, /* the newest root must be verified first: open the container */
    BALE_E_STALE = -21,      /* what was looked up has changed: look it up again */
    BALE_E_NOT_LOADED = -22, /* a page of the index is not in memory */
    BALE_E_NO_DEVICE = -23,  /* the engine has no device open: another engine does the item */

    BALE_E_FILES = -24, /* the process, its user or the system has too many files open */
};

/* The answers between functions, and the lowest code that there is: what lies below is not a
 * bale_err. */
#define BALE_E_FIRST_ANSWER BALE_E_SHORT
#define BALE_E_LAST_ANSWER BALE_E_NO_DEVICE
#define BALE_E_LAST BALE_E_FILES

/* A short English text without a full stop, for a log line or a message. Never NULL: "unknown
 * error" for a number that is not a bale_err. Static storage. */
const char *bale_err_text(int err);

/* The positive errno a program under the mount should see; 0 for BALE_OK, EIO for a number that is
 * not a bale_err, EAGAIN for an answer between functions. */
int bale_err_to_errno(int err);

/* The bale_err nearest to a positive errno: BALE_OK for 0, BALE_E_IO for what has no nearer one.
 * Gives back err for bale_err_to_errno(err) of an error, but not the other way round: several
 * errnos share one code. */
int bale_err_from_errno(int e);

#endif
