/* import --move into a mount. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/output_path.h"
#include "tools/transfer/import.h"
#include "tools/transfer/move.h"

bool bale_import_is_mounted(const char *path)
{
    struct bale_location location;
    bool missing;
    bool mounted = bale_location_around(path, &location, &missing) == BALE_OK && location.mounted;

    bale_location_free(&location);
    return mounted;
}

/* Opens the target directory and makes it if only its last name is missing. -1 after a message. */
static int open_target(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        bale_message("%s: cannot be made: %s", path, strerror(errno));
        return -1;
    }
    int to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        bale_message("%s: cannot be opened: %s", path, strerror(errno));
    return to;
}

/* Whether from lies outside of the mount and of its store. Prints a message if not. */
static bool may_come_from(const struct bale_transfer *transfer, int from, int to)
{
    struct bale_location location = {0};
    struct stat source, target;
    bool may = fstat(from, &source) == 0 && fstat(to, &target) == 0;

    if (may && source.st_dev == target.st_dev) {
        bale_message("%s: lies in the same mount as %s: use mv", transfer->from_top,
                     transfer->to_top);
        return false;
    }
    may = may && bale_location_find(transfer->to_top, &location) == BALE_OK;
    may = may && (!location.store || access(location.store, F_OK) != 0 ||
                  bale_output_path_check_store(location.store, transfer->from_top,
                                               "move something else") == BALE_OK);
    bale_location_free(&location);
    return may;
}

static int run_import(struct bale_transfer *transfer, int from, int to)
{
    transfer->file = bale_import_mounted_file;
    transfer->entered = bale_import_mounted_entered;
    transfer->move->same = bale_import_mounted_same;
    transfer->rules.acls = true;
    bale_transfer_signals();
    int err = bale_transfer_run(transfer, from, to, "", "imported");
    if (err != BALE_OK) {
        bale_message("cannot start threads: %s", bale_err_text(err));
        return BALE_EXIT_FAILED;
    }
    if (atomic_load(&bale_transfer_signal))
        bale_message("%s: interrupted: run it again to complete it", transfer->to_top);
    if (atomic_load(&bale_transfer_stop))
        return BALE_EXIT_FAILED;
    bale_import_report(transfer);
    return transfer->failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}

int bale_import_mounted(struct bale_transfer *transfer, int from)
{
    int to = open_target(transfer->to_top), status = BALE_EXIT_FAILED;

    if (to < 0 || !may_come_from(transfer, from, to) ||
        bale_control_open(transfer->to_top, &transfer->move->control) != BALE_OK) {
        close(from);
        if (to >= 0)
            close(to);
        return status;
    }
    status = run_import(transfer, from, to);
    close(transfer->move->control);
    return status;
}
