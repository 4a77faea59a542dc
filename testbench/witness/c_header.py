"""Reads structures, enumerations and constants out of the Linux mlx5 headers.

Two dialects: `struct mlx5_ifc_X_bits`, where a `u8 name[N]` is N bits, and ordinary structures of fixed-size integers.
The result of a structure is a list of `Member`; members of unnamed structures and unions are flattened into it, members
of named inner ones get dotted names. A structure that needs more of C than that is left out, not guessed at.
"""
import re
from collections import namedtuple

Member = namedtuple("Member", "name bit width nested")
Struct = namedtuple("Struct", "members width")

SCALARS = {"u8": 8, "uint8_t": 8, "__u8": 8, "u16": 16, "__be16": 16, "u32": 32, "uint32_t": 32, "__be32": 32,
           "u64": 64, "__be64": 64}


class Unsupported(Exception):
    pass


class Headers:
    def __init__(self, texts):
        self.text = "\n".join(re.sub(r"/\*.*?\*/|//[^\n]*", " ", t, flags=re.S) for t in texts)
        self.constants = {}
        self.enumerations = {}
        self._read_enumerations()
        code = re.sub(r"^[ \t]*#.*(?:\\\n.*)*$", "", self.text, flags=re.M)
        code = re.sub(r"DECLARE_FLEX_ARRAY\([^)]*\);", "", code)
        code = re.sub(r"struct_group\(\w+,((?:[^()]|\([^()]*\))*)\);", r"\1", code)
        self._bodies = {}
        for m in re.finditer(r"^(struct|union)\s+(\w+)\s*\{", code, flags=re.M):
            self._bodies.setdefault(m[2], (m[1], code, m.end()))
        self._done = {}

    def _read_enumerations(self):
        for m in re.finditer(r"\benum\b\s*(\w*)\s*\{([^}]*)\}", self.text):
            value, names = -1, {}
            for entry in m[2].split(","):
                if not entry.strip():
                    continue
                name, _, expression = entry.partition("=")
                try:
                    value = self._evaluate(expression) if expression.strip() else value + 1
                except Unsupported:
                    break
                names[name.strip()] = value
            self.constants.update(names)
            if m[1]:
                self.enumerations[m[1]] = names
        for m in re.finditer(r"^#define[ \t]+((?:MLX5|IB)_\w+)[ \t]+(\(?0x[0-9a-fA-F]+\)?|\(?\d+\)?)[ \t]*$", self.text,
                             flags=re.M):
            self.constants[m[1]] = int(m[2].strip("()"), 0)

    def _evaluate(self, expression):
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", expression).strip()
        if not re.fullmatch(r"[\w\s()<|+*-]+", text):
            raise Unsupported(text)
        try:
            return eval(text, {"__builtins__": {}}, self.constants)
        except (NameError, SyntaxError, TypeError) as e:
            raise Unsupported(text) from e

    def struct(self, name):
        """The structure of that name, or None."""
        if name not in self._done:
            self._done[name] = None
            if name in self._bodies:
                try:
                    kind, code, at = self._bodies[name]
                    members, width, _ = self._body(kind, code, at, 1 if name.startswith("mlx5_ifc_") else 8)
                    self._done[name] = Struct(members, width)
                except Unsupported:
                    pass
        return self._done[name]

    def _body(self, kind, code, at, byte):
        """Members from just behind '{'; returns them, the width in bits and the position behind '}'."""
        members, bit, end = [], 0, 0
        while True:
            m = re.compile(r"\s*(?:(\})|(struct|union)\s+(\w+)?\s*(\{)?|(\w+)\s+)").match(code, at)
            if not m:
                raise Unsupported(code[at:at + 40])
            at = m.end()
            if m[1]:
                return members, max(end, bit) if kind == "union" else bit, at
            nested, inner, unit = None, None, None
            if m[4]:  # an inner definition
                inner, unit, at = self._body(m[2], code, at, byte)
            elif m[2]:  # a structure defined elsewhere
                nested, struct = m[3], self.struct(m[3])
                if struct is None:
                    raise Unsupported(nested)
                unit = struct.width
            elif m[5] in SCALARS:
                unit = SCALARS[m[5]] if byte == 8 else 1
            else:
                raise Unsupported(m[5])
            d = re.compile(r"\s*(?:__packed\s*)?(\w*)((?:\s*\[[^]]*\])*)\s*(?::\s*(\d+))?\s*;").match(code, at)
            if not d:
                raise Unsupported(code[at:at + 40])
            at, name = d.end(), d[1]
            width = unit
            if d[3]:  # counts, but has no place: that is the compiler's choice
                width, name = int(d[3]), ""
            for size in re.findall(r"\[([^]]*)\]", d[2]):
                width *= self._evaluate(size) if size.strip() else 0
            if inner is not None:
                prefix = name + "." if name else ""
                members += [Member(prefix + i.name, bit + i.bit, i.width, i.nested) for i in inner]
            if name:
                members.append(Member(name, bit, width, nested))
            end = max(end, bit + width)
            if kind == "struct":
                bit += width
