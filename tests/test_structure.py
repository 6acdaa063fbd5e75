"""The house stays one that a newcomer can read: small files, folders and classes, one name for one thing, no circle."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tuner", "search_spaces", "results", "runners", "hpl")
MOST_LINES, MOST_FILES, MOST_FIELDS, MOST_METHODS = 400, 15, 12, 20
ANY_NUMBER_OF_FILES = {"tuner/cli"}
"""One file a command."""
PLAIN_BASES = {"BaseModel", "Part", "Document", "TypedDict", "Enum", "Protocol"}
"""Classes with these bases mirror a file or name an interface: they may have as many fields as that has."""
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


def test_no_file_is_long() -> None:
    long = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert not {path: lines for path, lines in long.items() if lines > MOST_LINES}


def test_no_folder_is_crowded() -> None:
    crowds: dict[str, int] = defaultdict(int)
    for path in modules():
        crowds[str(Path(path).parent)] += not path.endswith("__init__.py")
    crowded = {folder: count for folder, count in crowds.items() if count > MOST_FILES}
    assert not crowded.keys() - ANY_NUMBER_OF_FILES


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
    names = {".".join(Path(path).with_suffix("").parts).removesuffix(".__init__"): path for path in modules()}
    graph = {
        name: {other for other in imported(path, modules()[path]) if other in names and other != name}
        for name, path in names.items()
        if not path.endswith("__init__.py")
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' -> '.join(reversed(error.args[1]))}")
