"""The house stays one that a newcomer can read: whole ideas in one room, one name for one thing, no circle."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tuner", "search_spaces", "results", "runners", "hpl")
MOST_LINES, MOST_FIELDS, MOST_METHODS = 600, 12, 20
CRUMB_LINES, FEWEST_MODULES = 80, 4
"""A module with fewer lines that one neighbour alone reads belongs into it; a folder has at least so many modules."""
PLUG_INS = {
    "hpl/blas": "one file a BLAS library, one line in its registry",
    "runners/launchers": "one file a launcher, one line in runners/registry.py",
    "tuner/engines/baselines": "one file an engine, one line in tuner/engines/registry.py",
    "tuner/reports/figures": "one file a figure, one line in its registry",
    "tuner/service/campaigns/kinds": "one file a kind of campaign, one line in its registry",
    "tuner/cli": "one file a command, one line in its __init__",
    "runners/network/sysctl.py": "a kind of settings of a node, read by their registry",
}
"""Folders and files that their registry alone reads, however short they are."""
SMALL_FOLDERS = {"tuner/client/as_hpltune": "is installed under another name: `from hpltune.client import Client`"}
PLAIN_BASES = {"BaseModel", "Part", "Document", "TypedDict", "Enum", "Protocol"}
"""Classes with these bases mirror a file or name an interface: they may have as many fields as that has."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
COLUMNS_OF_A_MODEL = {"Shapes"}
"""Has one field for each figure that the model of HPL's time needs."""


@cache
def modules() -> dict[str, ast.Module]:
    """All modules of the packages, by their paths."""
    files = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """All classes with their files."""
    for path, module in modules().items():
        yield from ((path, node) for node in ast.walk(module) if isinstance(node, ast.ClassDef))


def is_record(cls: ast.ClassDef) -> bool:
    """Whether a class only holds data: a frozen dataclass, or a mirror of a file."""
    if cls.name in COLUMNS_OF_A_MODEL:
        return True
    frozen = any("frozen=True" in ast.unparse(decorator) for decorator in cls.decorator_list)
    return frozen or any(ast.unparse(base).rpartition(".")[2] in PLAIN_BASES for base in cls.bases)


def fields(cls: ast.ClassDef) -> set[str]:
    """Fields of a dataclass, and attributes that __init__ sets."""
    found = {ast.unparse(node.target) for node in cls.body if isinstance(node, ast.AnnAssign)}
    for method in functions(cls):
        if method.name == "__init__":
            stored = (node for node in ast.walk(method) if isinstance(node, ast.Attribute))
            found |= {
                node.attr for node in stored if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
            }
    return found


def functions(cls: ast.ClassDef) -> Sequence[ast.FunctionDef]:
    return [node for node in cls.body if isinstance(node, ast.FunctionDef)]


def methods(cls: ast.ClassDef) -> Sequence[ast.FunctionDef]:
    """Methods with names of their own, those of Python's protocols not counted."""
    return [node for node in functions(cls) if not (node.name.startswith("__") and node.name.endswith("__"))]


def imported(path: str, module: ast.Module) -> set[str]:
    """The modules of ours that a module imports, also where only types need them."""
    package = Path(path).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*start, *([node.module] if node.module else [])])
            found |= {name, *(f"{name}.{alias.name}" for alias in node.names)}
    return found


def names() -> dict[str, str]:
    """Paths of all modules by their dotted names."""
    return {".".join(Path(path).with_suffix("").parts).removesuffix(".__init__"): path for path in modules()}


def line_count(path: str) -> int:
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def readers() -> dict[str, set[str]]:
    """Which modules import each module, by paths."""
    paths, found = names(), defaultdict(set)
    for path, module in modules().items():
        for name in imported(path, module) & paths.keys():
            found[paths[name]].add(path)
    return found


def imports_late(reader: str, path: str) -> bool:
    """Whether a module imports another only when it is called: a file of its own is what makes that possible."""
    at_once = ast.Module([node for node in modules()[reader].body if not isinstance(node, FUNCTIONS)], [])
    return path not in {names().get(name) for name in imported(reader, at_once)}


def test_no_module_is_longer_than_one_idea_needs() -> None:
    long = {path: line_count(path) for path in modules() if line_count(path) > MOST_LINES}
    assert not long, f"split these by their ideas: {long}"


def test_what_one_neighbour_alone_reads_lives_in_that_neighbour() -> None:
    crumbs = {}
    for path, reading in readers().items():
        folder = Path(path).parent
        (only, *others) = reading
        if others or Path(only).parent != folder or path.endswith("__init__.py") or imports_late(only, path):
            continue
        if {path, str(folder)}.isdisjoint(PLUG_INS) and line_count(path) < CRUMB_LINES:
            crumbs[path] = only
    assert not crumbs, f"merge each into the file that reads it: {crumbs}"


def test_a_folder_has_at_least_four_modules_or_is_a_file() -> None:
    counts: dict[str, int] = defaultdict(int)
    for path in modules():
        counts[str(Path(path).parent)] += not path.endswith("__init__.py")
    small = {folder: count for folder, count in counts.items() if count < FEWEST_MODULES}
    assert small.keys() == SMALL_FOLDERS.keys(), f"make each a file, or move its modules to its parent: {small}"


def test_every_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, cls in classes():
        places[cls.name].append(path)
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_every_class_has_one_duty() -> None:
    large = {
        f"{path}:{cls.name}": (len(fields(cls)), len(methods(cls)))
        for path, cls in classes()
        if len(methods(cls)) > MOST_METHODS or (len(fields(cls)) > MOST_FIELDS and not is_record(cls))
    }
    assert not large


def test_no_imports_go_round_in_a_circle_not_even_those_for_types() -> None:
    paths = names()
    graph = {
        name: {other for other in imported(path, modules()[path]) if other in paths and other != name}
        for name, path in paths.items()
        if not path.endswith("__init__.py")
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' -> '.join(reversed(error.args[1]))}")
