"""Places that text names: nothing names a place on somebody's machine, and what is named of the tree is there."""

import pathlib
import re

import tree

# A home, root's home, or a workspace at the root of the file system.
MACHINE = re.compile(r"(?<![\w.)}/-])(/(?:home|Users)/\w|/(?:root|work)/\w|[A-Z]:\\Users\\)")

# In comments and documents: a path from the root, with or without the end of the file's name; in documents also a path
# in backticks and the target of a link, from the document's folder or one above it.
FOLDERS = "abi|cmake|firmware|model|platform|sw|testbench|traces"
NAMED = re.compile(rf"(?<![\w./$>\"-])((?:{FOLDERS})/[\w./*{{}}-]*[\w*}}])")
QUOTED = re.compile(r"`([A-Za-z_]\w*/[\w./-]*\w)`")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
COMMENT = {".h": "//", ".cpp": "//", ".py": "#", ".cmake": "#", ".txt": "#", ".toml": "#", ".sh": "#", "": "#"}
OTHERS = re.compile(r"(drivers|include/linux|lib|ibv_\w*)/")  # of Linux and of other projects
PATTERN = re.compile(r"[*{]|(^|/)[A-Z]+(/|_|$)")  # *.cpp, {a,b}, corpus/NAME


def check(root):
    there = Names(root)
    findings = []
    for name in tree.files(root, tree.TEXT):
        # Planted trees; and what a fuzzer has made of a text.
        is_example = name.as_posix().startswith(("testbench/checks/", "testbench/fuzz/corpus/"))
        for number, line in tree.lines(root, name):
            found = MACHINE.search(line)
            if found:
                findings.append(f"{name}:{number}: names a place of one machine: {line[found.start():][:40]}")
            if not is_example:
                findings += [f"{name}:{number}: names {text}, which is not there"
                             for text in there.missing(name, line)]
    return findings


class Names:
    """The files and folders of a tree."""

    def __init__(self, root):
        files = tree.all_files(root)
        self.names = {path.as_posix() for path in files}
        self.names |= {parent.as_posix() for path in files for parent in path.parents}
        self.names |= {(path.parent / path.name.split(".")[0]).as_posix() for path in files}

    def missing(self, name, line):
        """What a line of file `name` names and is not in the tree, each once."""
        if name.suffix == ".md":
            # A lambda in a piece of code is no link.
            links = LINK.findall(re.sub(r"`[^`]*`", "", line))
            texts = QUOTED.findall(line) + links + NAMED.findall(line)
        elif name.suffix in COMMENT:
            texts = NAMED.findall(line.partition(COMMENT[name.suffix])[2])
        else:
            return []
        return [text for text in dict.fromkeys(texts) if not self.has(name, text)]

    def has(self, name, text):
        if OTHERS.match(text) or PATTERN.search(text):
            return True
        return any(normal(folder / text) in self.names for folder in name.parents)


def normal(path):
    """Without `..` and a last slash, as files are listed."""
    parts = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return pathlib.PurePosixPath(*parts).as_posix()


if __name__ == "__main__":
    home, root_home, work = "/".join(["", "home", "ada"]), "/".join(["", "root", "x"]), "/".join(["", "work", "y"])
    tree.run(
        check,
        planted=[
            ({"sw/a.cpp": f'auto file = "{home}/dump";\n'}, "sw/a.cpp:1"),
            ({"README.md": f"first\nsee {work}/tree\n"}, "README.md:2"),
            ({"dev": f"cd {root_home}\n"}, "dev:1"),
            ({"CONVENTIONS.md": "bump `traces/FORMAT.md`\n"}, "CONVENTIONS.md:1: names traces/FORMAT.md"),
            ({"model/README.md": "[gate](bridge/gate.h)\n"}, "names bridge/gate.h"),
            ({"README.md": "one\n`conformance/gaps.h`\n"}, "README.md:2: names conformance/gaps.h"),
            ({"sw/a.h": "// Witness: testbench/witness/a_test.cpp (linux/a.h)\n"},
             "names testbench/witness/a_test.cpp"),
            ({"cmake/a.cmake": "set(a 1) # see sw/room\n"}, "names sw/room"),
        ],
        clean={"a.cmake": "set(x ${root}/work/y)\n",
               "sw/b.cpp": 'open("/sys/bus/pci"); "net/root/a"; // host/home/x, sw/b, sw/c.h and sw\n',
               "sw/c.h": "// sw/*.h, testbench/fuzz/corpus/NAME, or https://host/sw/none\n",
               "sw/d/README.md": "[b](../b.cpp) `sw/c` `d/README.md` `drivers/pci/probe.c` [web](https://sw/x)\n"},
    )
