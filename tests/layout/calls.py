"""What the sources of the tree say about calls through pointers, for circles.py.

C is read as far as the house style needs it: a definition begins at the start of a line, every type is spelled
"struct NAME" but for those of functions, and a pointer to a function is a member or a parameter.
"""
import collections
import re

FUNCTION = re.compile(r"^(?!struct \w+ \{|static const struct|extern|typedef)([\w][\w \*\n]*?[ \*\n])(\w+)\(([^;{}]*)\)\n\{", re.M)
FUNCTION_TYPE = re.compile(r"\btypedef [^;()]*?(?:\(\*(\w+)\)|(\w+))\(")
CHAIN = r"\b((?:\w+(?:\([^()]*\))?(?:\[[^\]]*\])?(?:->|\.))+)(\w+)"  # "op->file.", "closed"
STRUCT = re.compile(r"\bstruct (\w+) \{")
POINTER = re.compile(r"\(\*\s*(?:const\s+)?(\w+)(?:\[\w*\])?\)\s*\(")


def strip(text):
    """Without comments, strings and lines of the preprocessor."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    text = re.sub(r"\s+->", "->", text)
    text = re.sub(r"'(?:[^'\\\n]|\\.)+'", "0", text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M)


def closing(text, at, pair="{}"):
    """Behind the bracket that closes the one before at."""
    depth = 1
    while depth:
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        at += 1
    return at


def split(text):
    """The parts between commas that are in no brackets."""
    parts, depth, begin = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    parts.append(text[begin:])
    return [part.strip() for part in parts if part.strip()]


class Function:
    """A definition: where, its parameters in order, its body."""

    def __init__(self, path, head, name, parameters, body):
        self.path, self.name, self.body, self.head = path, name, body, parameters
        self.static = "static" in head.split()
        self.parameters = []
        for part in split(parameters):
            pointer = POINTER.search(part)
            self.parameters.append(pointer.group(1) if pointer else (re.findall(r"\w+", part) or [""])[-1])


class Tree:
    """All structs, functions, and what is stored in and called through which pointers."""

    def __init__(self, texts):
        self.texts = {path: strip(text) for path, text in texts.items()}
        self.fields = {}     # struct: [(name, struct or None, is a pointer to a function)], in order
        self.returns = {}    # function: struct
        self.functions = collections.defaultdict(list)  # name: definitions
        self.bodies = collections.defaultdict(list)     # path: definitions
        self.unknown = set()
        self.types = {name for text in self.texts.values() for pair in FUNCTION_TYPE.findall(text) for name in pair if name}
        self.wide = {}       # variable of a file that a header declares: struct
        self.uses = collections.defaultdict(list)  # function: [(caller, where its arguments begin)]
        for path, text in self.texts.items():
            self.read_structs(text)
            self.read_functions(path, text)
        self.pointers = {name for fields in self.fields.values() for name, _, pointer in fields if pointer}
        self.sets = collections.defaultdict(set)   # (struct, member): paths whose functions are stored there
        self.calls = collections.defaultdict(set)  # (struct, member): paths that call through it
        self.inline = collections.defaultdict(set)  # an inline function of a header: members that it calls through
        self.copies = set()  # pairs of members, from and to
        for path in self.texts:
            self.read_sets(path)
        for _ in self.copies:
            for origin, copy in self.copies:
                self.sets[copy] |= self.sets[origin]
        for path in sorted(self.texts, key=lambda p: not p.endswith(".h")):
            self.read_calls(path)

    def read_structs(self, text):
        for match in STRUCT.finditer(text):
            body = text[match.end():closing(text, match.end()) - 1]
            body = re.sub(r"\b(?:struct|union|enum)(?: \w+)? \{|\}[^;{}]*;", ";", body)
            fields = []
            for part in body.split(";"):
                pointer = POINTER.search(part)
                if pointer:
                    fields.append((pointer.group(1), None, True))
                    continue
                kind = re.search(r"\bstruct (\w+)", part)
                typed = re.match(r"\s*(\w+)\b", part)
                for name in split(part):
                    words = re.findall(r"\w+", re.sub(r"\[[^\]]*\]|:.*", "", name))
                    if words:
                        fields.append((words[-1], kind.group(1) if kind else None,
                                       bool(typed) and typed.group(1) in self.types))
            self.fields.setdefault(match.group(1), fields)

    def read_functions(self, path, text):
        for match in re.finditer(r"\bstruct (\w+) \*\s*(\w+)\(", text):
            self.returns[match.group(2)] = match.group(1)
        for match in re.finditer(r"^(?:extern )?(?:const )?struct (\w+) (\w+)(?:;| = \{)", text, re.M):
            self.wide[match.group(2)] = match.group(1)
        for match in FUNCTION.finditer(text):
            body = text[match.end():closing(text, match.end()) - 1]
            function = Function(path, *match.groups(), body)
            self.functions[function.name].append(function)
            self.bodies[path].append(function)
            for use in re.finditer(r"(?<![\w.>])(\w+)\(", body):
                self.uses[use.group(1)].append((function, use.end()))

    def field(self, struct, name):
        return next((field for field in self.fields.get(struct, []) if field[0] == name), None)

    def type_of(self, chain, function, path):
        """The struct that a chain like "d->options.gpu" is of, or None."""
        parts = re.split(r"->|\.", re.sub(r"\([^()]*\)", "()", chain))
        first = re.match(r"(\w+)(\()?", parts[0])
        if not first:
            return None
        if first.group(2):
            struct = self.returns.get(first.group(1))
        else:
            scope = (function.head + ";" + function.body + ";" if function else "") + self.texts[path]
            found = re.search(r"\bstruct (\w+)\b[^;{}()=,]*?[ \*]" + first.group(1) + r"\b", scope)
            struct = found.group(1) if found else self.wide.get(first.group(1))
        for part in parts[1:]:
            field = self.field(struct, re.match(r"\w*", part).group(0))
            struct = field[1] if field else None
        return struct

    def functions_in(self, value, path):
        """Of the names in an expression, those of functions whose address it takes."""
        for match in re.finditer(r"(?<![\w.>])(\w+)\b(?!\s*[\(\w])", value):
            for function in self.functions.get(match.group(1), []):
                if function.path == path or not function.static:
                    yield function

    def tables_in(self, value, function, path):
        """The elements of each array that an expression takes an element of, where the array is given its elements."""
        scope = (function.body if function else "") + self.texts[path]
        elements = ""
        for name in re.findall(r"(?<![\w.>])(\w+)\[", value):
            table = re.search(r"\b" + name + r"\[\w*\]\)?(?:\([^;{}]*\))? = \{", scope)
            if table:
                elements += "," + scope[table.end():closing(scope, table.end()) - 1]
        return elements

    def store(self, struct, member, value, function, path, seen=()):
        """Notes whose functions a value may be: a name, an element of a table, or a parameter that callers give."""
        for target in self.functions_in(value + self.tables_in(value, function, path), path):
            self.sets[struct, member].add(target.path)
        for match in re.finditer(CHAIN + r"\b(?!\()", value):
            other = self.member(match, function, path)
            if other and other[0]:
                self.copies.add((other, (struct, member)))
        if not function:
            return
        for i, name in enumerate(function.parameters):
            if not re.search(r"(?<![\w.>])" + name + r"\b(?!\()", value) or (function.name, i) in seen:
                continue
            for caller, arguments in self.callers(function):
                if i < len(arguments):
                    self.store(struct, member, arguments[i], caller, caller.path, seen + ((function.name, i),))

    def callers(self, function):
        for caller, at in self.uses[function.name]:
            if not function.static or caller.path == function.path:
                yield caller, split(caller.body[at:closing(caller.body, at, "()") - 1])

    def scopes(self, path):
        """Each function with its body, and what is outside of all functions."""
        rest = self.texts[path]
        for function in self.bodies[path]:
            yield function, function.body
            rest = rest.replace(function.body, "")
        yield None, rest

    def read_sets(self, path):
        for function, text in self.scopes(path):
            for match in re.finditer(CHAIN + r"\s*=(?!=)\s*([^;]+);", text):
                member = self.member(match, function, path)
                if member and member[0]:
                    self.store(*member, match.group(3), function, path)
            for match in re.finditer(r"\(struct (\w+)(?:\[\w*\])?\)\s*\{|\bstruct (\w+)\s+[\w\[\] \*]+=\s*\{", text):
                self.initializer(match.group(1) or match.group(2), text[match.end():closing(text, match.end()) - 1],
                                 function, path)

    def initializer(self, struct, inside, function, path):
        """Stores what stands in the braces for a struct, or for an array of it."""
        fields = self.fields.get(struct)
        for i, part in enumerate(split(inside) if fields else []):
            part = re.sub(r"^\[[^\]]*\]\s*=\s*", "", part)
            named = re.match(r"\.(\w+)((?:\.\w+)*)\s*=\s*(.*)", part, re.S)
            if part.startswith("{"):
                self.initializer(struct, part[1:-1], function, path)
                continue
            field = self.field(struct, named.group(1)) if named else fields[i] if i < len(fields) else None
            value = named.group(3) if named else part
            if field and field[2]:
                self.store(struct, field[0], value, function, path)
            elif field and field[1] and value.startswith("{"):
                self.initializer(field[1], value[1:-1], function, path)

    def member(self, match, function, path):
        """What a match of CHAIN is, if that is a pointer to a function: (struct, member), the struct None if unknown."""
        if match.group(2) not in self.pointers:
            return None
        struct = self.type_of(re.sub(r"(->|\.)$", "", match.group(1)), function, path)
        field = self.field(struct, match.group(2))
        return (struct, match.group(2)) if not struct or (field and field[2]) else None

    def called(self, text, function, path):
        """The members that are called, or taken into a variable to be called."""
        for match in re.finditer(CHAIN + r"\(|(?:(?<![\w.>])\w+|\)) = " + CHAIN + ";", text):
            inner = re.match(r"(?:(?:\w+|\)) = )?" + CHAIN, match.group(0))
            member = self.member(inner, function, path)
            if member and not member[0] and match.group(0).endswith("("):
                self.unknown.add(f"{path}: {inner.group(0)}")
            elif member and member[0]:
                yield member

    def read_calls(self, path):
        for function, text in self.scopes(path):
            for member in self.called(text, function, path):
                self.calls[member].add(path)
                if function and path.endswith(".h"):
                    self.inline[function.name].add(member)
            for name in re.findall(r"(?<![\w.>])(\w+)\(", text) if not path.endswith(".h") else []:
                for member in self.inline.get(name, ()):
                    self.calls[member].add(path)
