"""Debian packages, fetched and unpacked without touching the machine: an apt state of its own, then dpkg -x.

Works on Debian 12 and 13, needs neither root nor a chroot; maintainer scripts do not run. Mirrors are those that the
machine already uses.
"""

import os
import platform
import re
import subprocess

import progress

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEBIAN, SECURITY = "http://deb.debian.org/debian/", "http://deb.debian.org/debian-security/"

CONFIGURATION = """\
Dir::Etc::sourcelist "{state}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "{state}/preferences";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::Lists "{state}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{state}";
APT::Sandbox::User "";
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Default-Release "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
"""


def mirror(security):
    """The machine's own mirror of its release, or of the release's security updates."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"],
                            capture_output=True, text=True, check=False).stdout
    try:
        release = platform.freedesktop_os_release().get("VERSION_CODENAME", "trixie")
    except OSError:
        release = "trixie"
    for row in map(str.split, listed.splitlines()):
        if row[1:] == [release + "-security" if security else release, "main"]:
            return row[0]
    return SECURITY if security else DEBIAN


class Packages:
    """The packages of some suites; `state` is a directory for what apt wants to remember."""

    def __init__(self, state, suites, pinned=None):
        """pinned: (package patterns, suite) to be preferred from that suite, by its code name."""
        self.state = state
        for part in ("lists/partial", "archives/partial"):
            (state / part).mkdir(parents=True)
        (state / "sources.list").write_text("".join(
            f"deb [signed-by={KEYRING}] {mirror(suite.endswith('-security'))} {suite} main\n" for suite in suites))
        # By n=, the code name: a= never matches backports.
        (state / "preferences").write_text(
            f"Package: {pinned[0]}\nPin: release n={pinned[1]}\nPin-Priority: 900\n" if pinned else "")
        (state / "apt.conf").write_text(CONFIGURATION.format(state=state))
        self.environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf"), "LC_ALL": "C.UTF-8"}
        progress.run(f"lists of {', '.join(suites)}", ["apt-get", "-q", "--error-on=any", "update"],
                     failure=progress.Unreachable, env=self.environment)

    def matching(self, pattern):
        """The packages whose names match."""
        listed = subprocess.run(["apt-cache", "search", "--names-only", pattern], capture_output=True, text=True,
                                env=self.environment, check=True).stdout
        return [line.split()[0] for line in listed.splitlines()]

    def newest(self, pattern):
        """The package whose name matches and whose numbers are highest."""
        names = self.matching(pattern)
        if not names:
            raise progress.Failure(f"no package is named {pattern}; the sources are\n"
                                   f"{(self.state / 'sources.list').read_text()}")
        return max(names, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])

    def unpack(self, what, names, into, dependencies=True):
        """Fetches the packages (and all that they depend on) and unpacks them below `into`."""
        archives = self.state / "archives"
        how = ["-o", f"Dir::Cache::archives={archives}", "--download-only", "install"] if dependencies else ["download"]
        progress.run(f"fetching {what}", ["apt-get", "-q", "-y", *how, *names], watched=archives, cwd=archives,
                     env=self.environment)
        into.mkdir(parents=True, exist_ok=True)
        # base-files first: it holds the links from /bin to /usr/bin.
        found = sorted(archives.glob("*.deb"), key=lambda path: (not path.name.startswith("base-files_"), path.name))
        if not found:
            raise progress.Failure(f"fetching {what}: apt-get brought nothing for {' '.join(names)}")
        script = 'into=$1; shift; for archive; do dpkg-deb -x "$archive" "$into" || exit 1; done'
        progress.run(f"unpacking {len(found)} packages for {what}", ["sh", "-c", script, "sh", into, *found])
        for archive in found:
            archive.unlink()
