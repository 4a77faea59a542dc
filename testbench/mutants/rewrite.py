"""Finds guards in C++ source and rewrites them so that each can be broken at run time (mutant schemata: Untch, Offutt,
Harrold, ISSTA 1993). Plain text: comments, texts and assertions are blanked out first, parentheses are matched, and
clang-format's spaces tell a comparison from a template. What does not compile is left out by the build."""

import bisect
import dataclasses
import re

INCLUDE = '#include "testbench/mutants/mutant.h"\n#line 1\n'
# What a mutant does to its guard, in the words of the table.
KINDS = {
    "never": "the condition is taken for false",
    "always": "the condition is taken for true",
    "operand": "one operand of the condition is left out",
    "bound": "the bound is off by one",
    "call": "the call is left out",
    "assign": "the assignment is left out",
    "plus": "the one is left out",
    "clamp": "the clamp is left out",
    "wrap": "the wrap-around is left out",
}
COMPARISONS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
# Statements that are not worth a mutant: what reports, and what containers are filled with.
PLAIN_CALLS = {"assert", "emit", "push_back", "emplace_back", "memcpy", "resize", "reserve", "static_assert",
               "reverse", "sort", "stable_sort", "shuffle", "iota", "happens", "note", "append", "copy", "copy_n",
               "fill", "fill_n", "write_dword", "swap", "to_string", "name", "defined", "sizeof", "decltype", "alignas",
               "rethrow_exception", "atomic_thread_fence"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    text: str  # the line of the guard, without indentation
    nth: int  # of lines of this text in the file
    kind: str
    piece: str  # what of the line is changed
    again: int  # of pieces that read alike in the line

    def key(self):
        return "\t".join(str(part) for part in dataclasses.astuple(self))


def blank(text):
    """The same text with spaces in the place of comments, texts, preprocessor lines and assertions."""
    out = list(text)

    def cover(begin, end):
        for at in range(begin, end):
            if out[at] != "\n":
                out[at] = " "

    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'',
                       re.S)
    for match in token.finditer(text):
        cover(*match.span())
    for match in re.finditer(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", text, re.M):
        cover(*match.span())
    plain = "".join(out)
    for match in re.finditer(r"\b(?:static_assert|assert|noexcept|requires|if constexpr) *\(", plain):
        cover(match.start(), closing(plain, match.end() - 1) + 1)
    return "".join(out)


def closing(text, opening):
    """Where the parenthesis at `opening` ends; the end of the text if it does not."""
    depth = 0
    for at in range(opening, len(text)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return len(text) - 1


def split(text, begin, end, operators):
    """Pieces of [begin, end) between these operators at depth 0, and the operators found."""
    pieces, found, depth, last, at = [], [], 0, begin, begin
    while at < end:
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        elif depth == 0:
            hit = next((op for op in operators if text.startswith(op, at)), None)
            if hit:
                pieces.append((last, at))
                found.append(hit)
                last = at + len(hit)
                at = last
                continue
        at += 1
    pieces.append((last, end))
    return [trim(text, *piece) for piece in pieces], found


def trim(text, begin, end):
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    return begin, end


class Source:
    """One file: its guards, and its text with chosen ones rewritten."""

    def __init__(self, name, text):
        self.name, self.text, self.plain = name, text, blank(text)
        self.starts = [0] + [match.end() for match in re.finditer("\n", text)]
        self.rows = text.split("\n")
        self.seen = {}
        self.found = []  # (mutant, edits), an edit: (begin, end, before, after) or a replacement (begin, end, text)
        self._find()

    def line_of(self, at):
        return bisect.bisect_right(self.starts, at) - 1

    def _add(self, kind, begin, end, edits):
        row = self.line_of(begin)
        text = self.rows[row].strip()
        nth = sum(1 for other in self.rows[:row] if other.strip() == text)
        piece = " ".join(self.text[begin:end].split())
        again = self.seen.get((row, kind, piece), 0)
        self.seen[row, kind, piece] = again + 1
        self.found.append((Mutant(self.name, text, nth, kind, piece, again), row, edits))

    def _find(self):
        for match in re.finditer(r"\b(if|while|for) \(", self.plain):
            begin, end = match.end(), closing(self.plain, match.end() - 1)
            if match[1] == "for":
                parts, _ = split(self.plain, begin, end, [";"])
                if len(parts) != 3:
                    continue
                begin, end = parts[1]
            self._condition(begin, end, whole=match[1] == "if")
        for match in re.finditer(r"\breturn |\bbool \w+ = ", self.plain):
            end = self._until(match.end())
            if end:
                self._condition(match.end(), end, whole=False)
        self._statements()
        self._clamps()
        self._wraps()
        for match in re.finditer(r"(?<=[\w)\]]) [+-] (1)(?![\w.'])", self.plain):
            begin, end = match.span(1)
            self._add("plus", match.start() + 1, end, [("replace", begin, end, "(mutants::on(#) ? 0 : 1)", 2)])

    def _condition(self, begin, end, whole):
        parts, _ = split(self.plain, begin, end, [";"])
        begin, end = parts[-1]
        if begin == end or "?" in self.plain[begin:end] or "<=>" in self.plain[begin:end]:
            return
        declared = re.match(r"(?:const )?[\w:<>, ]*[\w>][ *&]+(\w+) = ", self.plain[begin:end])
        if declared:
            if whole:  # true without a value has no meaning
                self._add("never", begin, end, [("replace", end, end, f"; {declared[1]} && !mutants::on(#)", 2)])
            return
        if whole:
            self._wrap("never", begin, end, "(bool(", ") && !mutants::on(#))")
            self._wrap("always", begin, end, "(bool(", ") || mutants::on(#))")
        self._operands(begin, end, top=True)

    def _operands(self, begin, end, top):
        begin, end = trim(self.plain, begin, end)
        for operator, left_out in (("||", ") && !mutants::on(#))"), ("&&", ") || mutants::on(#))")):
            pieces, found = split(self.plain, begin, end, [operator])
            if found:
                for piece in pieces:
                    self._wrap("operand", *piece, "(bool(", left_out)
                    self._operands(*piece, top=False)
                return
        inner = begin + 1 if self.plain[begin:begin + 1] == "!" else begin
        if self.plain[inner:inner + 1] == "(" and closing(self.plain, inner) == end - 1:
            self._operands(inner + 1, end - 1, top=False)
            return
        pieces, found = split(self.plain, begin, end, [" <= ", " >= ", " < ", " > "])
        if len(found) == 1 and not split(self.plain, begin, end, [" == ", " != ", ", ", " = ", " ^ "])[1]:
            (left, right), name = pieces, COMPARISONS[found[0].strip()]
            between = self.plain.index(found[0], left[1], right[0])
            self._add("bound", begin, end, [("wrap", begin, end, f"mutants::{name}(#, ", ")"),
                                            ("replace", between, between + len(found[0]), ", ", 2)])

    def _wrap(self, kind, begin, end, before, after):
        if begin < end:
            self._add(kind, begin, end, [("wrap", begin, end, before, after)])

    def _statements(self):
        call = re.compile(r"^[ \t]*((?:\w+(?:<[\w:]+>)?(?:\(\))?(?:\[[\w.]+\])?(?:\.|->|::))*([a-z]\w*)\()", re.M)
        change = re.compile(r"^[ \t]*((?:\+\+|--)[\w.\->\[\]]+;|[\w.\->\[\]]+ (?:=|\+=|-=|\|=|&=) )", re.M)
        for match in call.finditer(self.plain):
            end = closing(self.plain, match.end() - 1) + 1
            if self.plain[end:end + 1] != ";" or match[2] in PLAIN_CALLS or not self._begins(match.start(1)):
                continue
            self._omit("call", match.start(1), end)
        for match in change.finditer(self.plain):
            if "counters" in match[1] or not self._begins(match.start(1)):
                continue
            end = self._until(match.start(1))
            if end:
                self._omit("assign", match.start(1), end)

    def _omit(self, kind, begin, end):
        self._wrap(kind, begin, end, "mutants::on(#) ? void() : void(", ")")

    def _until(self, at):
        """Where the statement that contains `at` ends, unless a bracket ends before."""
        depth = 0
        for end in range(at, len(self.plain)):
            depth += (self.plain[end] in "([{") - (self.plain[end] in ")]}")
            if depth < 0:
                return None
            if depth == 0 and self.plain[end] == ";":
                return end
        return None

    def _begins(self, at):
        """Whether a statement begins here, and not the second line of one."""
        before = self.plain[:at].rstrip()
        return (before[-1:] in set(";{})]") or before.endswith("else") or
                re.search(r"(case [\w:]+|default):$", before) is not None)

    def _clamps(self):
        for match in re.finditer(r"\bstd::(min|max)(<[\w:]+>)?\(", self.plain):
            opening, end = match.end() - 1, closing(self.plain, match.end() - 1)
            pieces, found = split(self.plain, opening + 1, end, [", "])
            if len(found) != 1 or self.plain[opening + 1] == "{":
                continue
            # Both have a number in one call: the first one or the other one is what is left.
            self._add("clamp", match.start(), end + 1, [
                ("replace", match.start(), opening + 1, f"mutants::{match[1]}{match[2] or ''}(#, ", 2)])
            self._add("clamp", match.start(), end + 1, [("replace", opening + 1, opening + 1, "#, ", 0.5)])

    def _wraps(self):
        for match in re.finditer(r"(?<=[\w)\]])( (%|&) )(?=[\w(~])", self.plain):
            left = self._operand_before(match.start())
            right = self._operand_after(match.end())
            if left is None or right is None:
                continue
            name = "modulo" if match[2] == "%" else "masked"
            self._add("wrap", left, right, [("wrap", left, right, f"mutants::{name}(#, ", ")"),
                                            ("replace", match.start(), match.end(), ", ", 2)])

    def _operand_before(self, at):
        begin = at
        while begin > 0:
            if self.plain[begin - 1] in ")]":
                depth, begin = 1, begin - 1
                while begin > 0 and depth:
                    begin -= 1
                    depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(self.plain[begin], 0)
            elif re.match(r"[\w.:]", self.plain[begin - 1]):
                begin -= 1
            elif self.plain[begin - 2:begin] == "->":
                begin -= 2
            else:
                break
        # A type is no value, and what binds as tightly before it belongs to the operand.
        tight = (" * ", " / ", " % ", "!", "~", "-", "*", "&", " + ", " - ", " << ", " >> ", ">")
        if self.plain[:begin].endswith(tight):
            return None
        word = re.match(r"\w+", self.plain[begin:at])
        return None if begin == at or word and word[0] in ("auto", "const", "return", "operator") else begin

    def _operand_after(self, at):
        end = at + 1 if self.plain[at] == "~" else at
        while end < len(self.plain):
            if self.plain[end] in "([":
                end = closing(self.plain, end) + 1
            elif re.match(r"[\w.:']", self.plain[end]):
                end += 1
            elif self.plain[end:end + 2] == "->":
                end += 2
            else:
                break
        if re.match(r" (?:\*|/|%|\+|-|<<|>>|=) |<|\{", self.plain[end:]):
            return None
        return end

    def rewritten(self, numbers):
        """The text with every mutant that has a number here."""
        edits = []
        for order, (mutant, _, changes) in enumerate(self.found):
            number = numbers.get(mutant.key())
            if number is None:
                continue
            for change in changes:
                if change[0] == "replace":
                    _, begin, end, text, rank = change
                    edits.append((begin, rank, 0, order, end, text.replace("#", str(number))))
                else:
                    _, begin, end, before, after = change
                    edits.append((begin, 1, begin - end, order, begin, before.replace("#", str(number))))
                    edits.append((end, 0, end - begin, -order, end, after.replace("#", str(number))))
        if not edits:
            return self.text
        out, last = [], 0
        for begin, _, _, _, end, text in sorted(edits):
            assert begin >= last, f"{self.name}: two mutants replace the same text near {self.text[begin:begin + 40]}"
            out += [self.text[last:begin], text]
            last = end
        out.append(self.text[last:])
        return INCLUDE + "".join(out)
