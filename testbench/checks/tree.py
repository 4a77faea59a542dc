"""What the checks share: the files of a tree, and a tree of planted files to prove a check on."""

import pathlib
import subprocess
import sys
import tempfile

TEXT = {".h", ".cpp", ".py", ".cmake", ".txt", ".md", ".toml", ".json", ".sh", ""}


def all_files(root):
    """Paths below root, relative and sorted: those git knows or would add; every source file where there is no git."""
    root = pathlib.Path(root)
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
                            capture_output=True, check=False)
    if listed.returncode == 0:
        names = [pathlib.Path(name) for name in listed.stdout.decode().split("\0") if name]
    else:
        names = [path.relative_to(root) for path in root.rglob("*")]
        names = [name for name in names if name.parts[0] not in ("build", ".deps", ".git")]
    return sorted(name for name in set(names) if (root / name).is_file())


def files(root, suffixes):
    """Those with one of these suffixes."""
    return [name for name in all_files(root) if name.suffix in suffixes]


def lines(root, name):
    """Numbered lines of a text file; none of a binary one."""
    data = (pathlib.Path(root) / name).read_bytes()
    if b"\0" in data:
        return []
    return list(enumerate(data.decode("utf-8", "replace").splitlines(), 1))


def run(check, planted, clean):
    """The main program of a check.

    check(root)   returns its findings as text
    planted       rows (files as {name: text}, part of the finding that must appear)
    clean         files in which nothing may be found
    """
    if sys.argv[1:] != ["--self-test"]:
        findings = check(sys.argv[1])
        print("\n".join(findings) if findings else "nothing found")
        sys.exit(1 if findings else 0)

    missed = []
    for tree, expected in planted:
        findings = in_scratch(check, tree)
        if len(findings) != 1 or expected not in findings[0]:
            missed.append(f"planted {tree}: expected one finding with '{expected}', got {findings}")
    findings = in_scratch(check, clean)
    missed += [f"found where nothing is wrong: {finding}" for finding in findings]
    print("\n".join(missed) if missed else f"{len(planted)} planted violations found")
    sys.exit(1 if missed else 0)


def in_scratch(check, tree):
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in tree.items():
            path = pathlib.Path(scratch) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check(scratch)
