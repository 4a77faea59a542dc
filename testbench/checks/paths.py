"""Nothing in the tree may name a place on somebody's machine."""

import re

import tree

# A home, root's home, or a workspace at the root of the file system.
MACHINE = re.compile(r"(?<![\w.)}/-])(/(?:home|Users)/\w|/(?:root|work)/\w|[A-Z]:\\Users\\)")


def check(root):
    findings = []
    for name in tree.files(root, tree.TEXT):
        for number, line in tree.lines(root, name):
            found = MACHINE.search(line)
            if found:
                findings.append(f"{name}:{number}: names a place of one machine: {line[found.start():][:40]}")
    return findings


if __name__ == "__main__":
    home, root_home, work = "/".join(["", "home", "ada"]), "/".join(["", "root", "x"]), "/".join(["", "work", "y"])
    tree.run(
        check,
        planted=[
            ({"sw/a.cpp": f'auto file = "{home}/dump";\n'}, "sw/a.cpp:1"),
            ({"README.md": f"first\nsee {work}/tree\n"}, "README.md:2"),
            ({"dev": f"cd {root_home}\n"}, "dev:1"),
        ],
        clean={"a.cmake": "set(x ${root}/work/y)\n",
               "sw/b.cpp": 'open("/sys/bus/pci"); "net/root/a"; // host/home/x\n'},
    )
