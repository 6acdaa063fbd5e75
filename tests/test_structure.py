"""The house stays one that a newcomer can read: one idea a file, one duty a class, a name for one thing, no circle."""

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tuner", "search_spaces", "results", "runners", "hpl")
IMPORTS = (ast.Import, ast.ImportFrom)
COUNTED = ("statements", "classes", "functions", "files")
MOST_LINES, SMALL_LINES, FEWEST_MODULES, MOST_FIELDS, MOST_METHODS = 600, 80, 4, 12, 20
REGISTRIES = {
    "hpl/blas/registry.py": "one file a maker of BLAS libraries",
    "hpl/programs/registry.py": "one file a family of programs",
    "runners/containers/registry.py": "one file a container runtime",
    "tuner/preflight/registry.py": "one file a family of things that spoil runs",
    "runners/settings/registry.py": "one file a family of settings",
    "tuner/reports/figures/registry.py": "one file a figure",
    "tuner/service/campaigns/kinds/registry.py": "one file a kind of campaign",
    "tuner/trial/observers/energy/registry.py": "one file a source of power",
    "tuner/nodes/steps/registry.py": "one file a benchmark of a check of nodes",
    "tuner/trial/observers/registry.py": "one file an observer of a launch",
    "tuner/trial/observers/sensors/registry.py": "one file a family of sensors of nodes",
}
"""What they import are plug-ins: a new one is one file and one line, so each may be small."""
FEW_MODULES = {
    "tuner/client/as_hpltune": "it is installed as the package `hpltune`, which has one module",
    "results/export": "pandas, which takes a second to import, has a module of its own",
}
"""Folders that cannot be a file."""
PLAIN_BASES = {"BaseModel", "Part", "Document", "TypedDict", "Enum", "Protocol"}
"""Classes with these bases mirror a file or name an interface: they may have as many fields as that has."""
COLUMNS_OF_A_MODEL = {"Shapes"}
"""Has one field for each figure that the model of HPL's time needs."""

HOUSE = ROOT / "tests/house.json"
"""What each room holds. It may only shrink: a feature takes its place from what it makes superfluous."""
ROOMS = {
    "study": (
        "tuner/study",
        "tuner/tuning",
        "tuner/trial",
        "tuner/commands/campaigns",
        "tuner/scaling",
        "tuner/simulation",
        "tuner/replay",
    ),
    "nodes": ("tuner/nodes",),
    "reports": ("tuner/reports", "tuner/explain"),
    "service": ("tuner/service", "tuner/messages", "tuner/client"),
    "commands": ("tuner/cli", "tuner/asks", "tuner/commands", "tuner/preflight", "tuner/provision", "tuner/settings"),
    "engines": ("tuner/engines",),
    "machine": ("tuner/machine",),
    "leaves": ("tuner",),
    "runners": ("runners",),
    "results": ("results",),
    "search_spaces": ("search_spaces",),
    "hpl": ("hpl",),
    "benchmarks": ("benchmarks",),
}
"""The folders of each room; a folder that two rooms name belongs to the first."""


def room_of(path: str) -> str:
    """The room in which a file stands."""
    return next(room for room, folders in ROOMS.items() if path.startswith(tuple(f"{folder}/" for folder in folders)))


def counted(module: ast.Module) -> Counter[str]:
    """Statements, classes and functions of a module. Imports and texts that stand alone are no statements."""
    found = Counter(files=1)
    for node in ast.walk(module):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        found["statements"] += isinstance(node, ast.stmt) and not text and not isinstance(node, IMPORTS)
        found["classes"] += isinstance(node, ast.ClassDef)
        found["functions"] += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return found


def hundreds(files: Iterable[Path], parts: Callable[[str], Sequence[str]]) -> int:
    """How many hundred words or lines some files have."""
    return sum(len(parts(file.read_text("utf-8"))) for file in files) // 100


def house() -> dict[str, dict[str, int]]:
    """What each room holds now, the pages and the tests."""
    benches = {
        str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8")) for file in ROOT.glob("benchmarks/**/*.py")
    }
    rooms: dict[str, Counter[str]] = {room: Counter() for room in ROOMS}
    for path, module in {**modules(), **benches}.items():
        rooms[room_of(path)] += counted(module)
    pages = {"hundreds of words": hundreds([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], str.split)}
    tests = {"hundreds of lines": hundreds(ROOT.glob("tests/**/*.py"), str.splitlines)}
    return {room: {what: count[what] for what in COUNTED} for room, count in rooms.items()} | {
        "pages": pages,
        "tests": tests,
    }


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


def imported(path: str, module: ast.Module, *, late: bool = True) -> set[str]:
    """The modules of ours that a module imports, also where only types need them.

    Args:
        late: also those that it imports within functions, when they are called.
    """
    package = Path(path).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(module) if late else read_at_once(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*start, *([node.module] if node.module else [])])
            found |= {name, *(f"{name}.{alias.name}" for alias in node.names)}
    return found


def read_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """All of a module but what is in its functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from read_at_once(child)


@cache
def lines_of() -> dict[str, int]:
    """The number of lines of each module."""
    return {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules()}


def names_of_modules() -> dict[str, str]:
    """The paths of all modules, by the names under which they are imported."""
    return {".".join(Path(path).with_suffix("").parts).removesuffix(".__init__"): path for path in modules()}


@cache
def readers() -> dict[str, set[str]]:
    """Of each module the files that import it."""
    names, found = names_of_modules(), defaultdict(set)
    for reader, module in modules().items():
        for name in imported(reader, module) & names.keys():
            if names[name] != reader:
                found[names[name]].add(reader)
    return found


def is_part_of_another(path: str) -> str | None:
    """The file into which a small module belongs; None where it may stay by itself."""
    if Path(path).stem in {"__init__", "__main__"} or lines_of()[path] >= SMALL_LINES or len(readers()[path]) != 1:
        return None
    (reader,) = readers()[path]
    name = path.removesuffix(".py").replace("/", ".")
    at_once = name in imported(reader, modules()[reader], late=False)
    beside = Path(reader).parent == Path(path).parent
    return reader if beside and at_once and reader not in REGISTRIES else None


def one_a_line(found: Iterable[str]) -> str:
    return "".join(f"\n  {line}" for line in found)


def test_a_room_may_only_shrink(request: pytest.FixtureRequest) -> None:
    now, held = house(), json.loads(HOUSE.read_text("utf-8"))
    grown = [
        f"{room}: {held[room][what]} {what} became {count}"
        for room, counts in now.items()
        for what, count in counts.items()
        if count > held[room][what]
    ]
    assert not grown, f"Take out what the change makes superfluous, or what nobody needs:{one_a_line(grown)}"
    if request.config.getoption("--update"):
        lines = (f"  {json.dumps(room)}: {json.dumps(counts)}" for room, counts in now.items())
        HOUSE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    assert now == held or request.config.getoption("--update"), (
        "A room shrank: `./hpltune test tests/test_structure.py --update` writes its new numbers."
    )


@pytest.mark.heavy
def test_a_module_has_at_most_600_lines() -> None:
    long = [f"{path} has {lines} lines" for path, lines in lines_of().items() if lines > MOST_LINES]
    assert not long, (
        f"Move an idea of each into a module of its own, with a name that says what it is:{one_a_line(long)}"
    )


def test_a_small_module_that_one_file_of_its_folder_imports_is_a_part_of_that_file() -> None:
    parts = {path: reader for path in modules() if (reader := is_part_of_another(path))}
    moves = [f"{path} ({lines_of()[path]} lines) into {reader}" for path, reader in parts.items()]
    assert not moves, (
        "Nobody else needs these, and they are short, so nobody should have to open two files for them. Move each "
        "into the file that imports them (plug-ins of a registry excepted, which stands in REGISTRIES, and what is "
        f"imported within a function, when it is called):{one_a_line(moves)}"
    )


@pytest.mark.heavy
def test_a_folder_has_at_least_four_modules() -> None:
    counts = {str(Path(path).parent): 0 for path in modules()}
    for path in modules():
        counts[str(Path(path).parent)] += not path.endswith("__init__.py")
    few = [f"{folder} has {count}" for folder, count in counts.items() if count < FEWEST_MODULES]
    few = [line for line in few if line.split()[0] not in FEW_MODULES]
    assert not few, (
        f"Make each a module with the folder's name, or move its modules to the folder above:{one_a_line(few)}"
    )


def test_the_exceptions_are_still_there() -> None:
    gone = [path for path in (*REGISTRIES, *FEW_MODULES) if not (ROOT / path).exists()]
    assert not gone, f"Take these out of REGISTRIES and FEW_MODULES:{one_a_line(gone)}"


def test_every_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, cls in classes():
        places[cls.name].append(path)
    twice = [f"{name}: {', '.join(paths)}" for name, paths in places.items() if len(paths) > 1]
    assert not twice, f"Give one of each another name, which says in what it differs:{one_a_line(twice)}"


def test_every_class_has_one_duty() -> None:
    large = [
        f"{path}: {cls.name} has {len(fields(cls))} fields and {len(methods(cls))} methods"
        for path, cls in classes()
        if len(methods(cls)) > MOST_METHODS or (len(fields(cls)) > MOST_FIELDS and not is_record(cls))
    ]
    assert not large, (
        f"A class has at most {MOST_FIELDS} fields (a record any number) and {MOST_METHODS} methods. "
        f"Give some of its fields, and the methods that use them, a class of their own:{one_a_line(large)}"
    )


def test_no_imports_go_round_in_a_circle_not_even_those_for_types() -> None:
    names = names_of_modules()
    graph = {
        name: {other for other in imported(path, modules()[path]) if other in names and other != name}
        for name, path in names.items()
        if not path.endswith("__init__.py")
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        pytest.fail(f"These import each other. Move what both need into a module that imports neither: {circle}")


def test_no_program_of_ours_imports_from_the_folder_in_which_somebody_started_it() -> None:
    """`python -m` looks there first, and others may write there: -P keeps it from that."""
    found = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            words = [ast.unparse(one) for one in node.elts] if isinstance(node, ast.List | ast.Tuple) else []
            if words[:1] == ["sys.executable"] and "'-m'" in words and "'-P'" not in words:
                found.append(f"{name}: {' '.join(words)}")
    assert not found
