"""traces/golden/NAME/recipe.toml: how a golden trace is recorded.

config  the platform or scenario, below the repository     set  overrides of its keys
case    a case of the guest level; its head says the rest  at   what is recorded, as `--at` has it
dump    what drivers have printed, below the repository: `hcasim trace import --dump` gets the files as one log
"""

import dataclasses
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "traces/golden"
TRACE = "trace.pcapng.zst"
MOST_BYTES = 1 << 20


class Mistake(Exception):
    """A recipe that cannot be followed; its text says which, and why."""


@dataclasses.dataclass
class Recipe:
    name: str
    config: str = ""
    case: str = ""
    dump: list = dataclasses.field(default_factory=list)
    set: list = dataclasses.field(default_factory=list)
    at: list = dataclasses.field(default_factory=list)

    @property
    def trace(self):
        return GOLDEN / self.name / TRACE


def read(path):
    known = {field.name for field in dataclasses.fields(Recipe)} - {"name"}
    try:
        values = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Mistake(f"{path}: {error}") from error
    if unknown := values.keys() - known:
        raise Mistake(f"{path}: no key is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    if sum(bool(values.get(source)) for source in ("config", "case", "dump")) != 1:
        raise Mistake(f"{path}: names either a config, a case of the guest level, or dumps")
    return Recipe(path.parent.name, **values)


def read_all(names=()):
    """Those called `names`, or all, in the order of their names."""
    there = {path.parent.name: path for path in sorted(GOLDEN.glob("*/recipe.toml"))}
    if unknown := set(names) - there.keys():
        raise Mistake(f"no golden trace is called {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    return [read(path) for name, path in there.items() if not names or name in names]
