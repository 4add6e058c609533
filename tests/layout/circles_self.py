#!/usr/bin/python3
"""circles.py finds what it is there to find, in sources that are only here."""
import contextlib
import io
import sys

from circles import Check

HEADER = """
struct fs_op {
    int size;
    void (*done)(void *arg);
};
struct fs_ops {
    void (*read)(void);
    void (*write)(void);
};
typedef void fs_sink(int);
struct fs_log {
    fs_sink *sink;
};
void fs_submit(struct fs_op *op);
extern const struct fs_ops fs_table;
"""

DECLARED = "/* Circle: a.c b.c: one noun in\n * two sources. */\n"

# What is in a.c and b.c, the header's addition, the edges by symbols, the table, and whether there is a complaint.
CASES = {
    "nothing": ("", "", "", [], [], False),
    "one way": ("", "", "", ["ab"], [], False),
    "both ways": ("", "", "", ["ab", "ba"], [], True),
    "declared": ("", "", DECLARED, ["ab", "ba"], [], False),
    "declared, and none": ("", "", DECLARED, ["ab"], [], True),
    "a member that is assigned": (
        "static void op_done(void *arg)\n{\n}\nvoid go(struct fs_op *op)\n{\n    op->done = op_done;\n}\n",
        "void fs_submit(struct fs_op *op)\n{\n    op->done(op);\n}\n", "", ["ab"], [], True),
    "a member that is listed": (
        "static void op_done(void *arg)\n{\n}\nvoid go(struct fs_op *op)\n{\n    op->done = op_done;\n}\n",
        "void fs_submit(struct fs_op *op)\n{\n    op->done(op);\n}\n", "", ["ab"],
        ["fs_op.done | fs/x/a.c | fs/x/b.c | a completion"], False),
    "a list that is not exact": (
        "static void op_done(void *arg)\n{\n}\nvoid go(struct fs_op *op)\n{\n    op->done = op_done;\n}\n",
        "void fs_submit(struct fs_op *op)\n{\n    op->done(op);\n}\n", "", ["ab"],
        ["fs_op.done | fs/x/b.c | fs/x/b.c | a completion"], True),
    "a list that is not needed": (
        "static void op_done(void *arg)\n{\n}\nvoid go(struct fs_op *op)\n{\n    op->done = op_done;\n}\n",
        "void fs_submit(struct fs_op *op)\n{\n    op->done(op);\n}\n", "", [],
        ["fs_op.done | fs/x/a.c | fs/x/b.c | a completion"], True),
    "a parameter that is stored": (
        "static void op_done(void *arg)\n{\n}\nvoid go(void)\n{\n    fs_start(7, op_done);\n}\n",
        "void fs_start(int size, void (*done)(void *arg))\n{\n    struct fs_op op = {size, done};\n}\n"
        "void fs_end(struct fs_op *op)\n{\n    op->done(op);\n}\n", "", ["ab"], [], True),
    "an element of a table that is stored": (
        "static void op_done(void *arg)\n{\n}\nvoid go(int i)\n{\n    static fs_op_done *const all[] = {[1] = op_done};\n"
        "\n    fs_start(7, all[i]);\n}\n",
        "void fs_start(int size, void (*done)(void *arg))\n{\n    struct fs_op op = {size, done};\n}\n"
        "void fs_end(struct fs_op *op)\n{\n    op->done(op);\n}\n", "", ["ab"], [], True),
    "a table of functions": (
        "static void read(void)\n{\n}\nconst struct fs_ops fs_table = {.read = read};\n",
        "void go(void)\n{\n    fs_table.read();\n}\n", "", ["ab"], [], True),
    "another member of the table": (
        "static void read(void)\n{\n}\nconst struct fs_ops fs_table = {.read = read};\n",
        "void go(void)\n{\n    fs_table.write();\n}\n", "", ["ab"], [], False),
    "a type of functions, called by way of a variable": (
        "static void say(int x)\n{\n}\nvoid go(struct fs_log *log)\n{\n    log->sink = say;\n}\n",
        "void put(struct fs_log *log)\n{\n    fs_sink *sink = log->sink;\n    sink(1);\n}\n", "", ["ab"], [], True),
    "an inline function of a header": (
        "static void op_done(void *arg)\n{\n}\nvoid go(struct fs_op *op)\n{\n    *op = (struct fs_op){.done = op_done};\n}\n",
        "void end(struct fs_op *op)\n{\n    fs_finish(op);\n}\n",
        "static inline void fs_finish(struct fs_op *op)\n{\n    op->done(op);\n}\n", ["ab"], [], True),
    "an unknown struct": ("void go(void)\n{\n    thing->done(1);\n}\n", "", "", [], [], True),
}


def main():
    failed = 0
    for name, (a, b, header, edges, table, wanted) in CASES.items():
        texts = {"fs/x/x.h": HEADER + header, "fs/x/a.c": a, "fs/x/b.c": b}
        symbols = {(f"fs/x/{edge[0]}.c", f"fs/x/{edge[1]}.c") for edge in edges}
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = Check(texts, symbols, table).check()
        if bool(found) != wanted:
            print(f"{name}: {'no complaint' if wanted else out.getvalue()}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
