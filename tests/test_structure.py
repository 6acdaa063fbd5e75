"""The house stays one that a newcomer can read: one idea a file, one duty a class, a name for one thing, no circle."""

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from plug_ins import REGISTRIES, ROOT, imported, modules, named, names_of_modules, plug_ins, readers

IMPORTS = (ast.Import, ast.ImportFrom)
COUNTED = ("statements", "classes", "functions", "files")
MOST_LINES, SMALL_LINES, FEWEST_MODULES, MOST_FIELDS, MOST_METHODS = 600, 80, 4, 12, 20
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
"""What each room holds, and what registries name. A room may only shrink: what is added takes its place from what it
makes superfluous. Of a new plug-in its file, a hundred lines of tests and a hundred words of pages are free."""
ROOMS = {
    "study": (
        "tuner/study",
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


FREE = "(free)"
"""How the table of `docs/architecture.md` marks what is a plug-in."""
Counts = Mapping[str, Mapping[str, int]]


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


@cache
def lines_of() -> dict[str, int]:
    """The number of lines of each module."""
    return {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules()}


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


def grown(now: Counts, held: Counts, new: Mapping[str, Counter[str]]) -> list[str]:
    """What became larger by more than new plug-ins, which bring what they hold."""
    free: dict[str, Counter[str]] = defaultdict(Counter)
    for path, count in new.items():
        free[room_of(path)] += count
    free |= {"pages": Counter({"hundreds of words": len(new)}), "tests": Counter({"hundreds of lines": len(new)})}
    return [
        f"{room}: {held[room][what]} {what} became {count}"
        for room, counts in now.items()
        for what, count in counts.items()
        if count > held[room][what] + free[room][what]
    ]


def new_plug_ins(known: Collection[str]) -> dict[str, Counter[str]]:
    """What new plug-ins hold; none is new where one of the known is gone, because that may have a new name."""
    return {path: counted(modules()[path]) for path in plug_ins() - set(known) if set(known) <= named().keys()}


def test_a_room_may_only_shrink(request: pytest.FixtureRequest) -> None:
    now, stored = house(), json.loads(HOUSE.read_text("utf-8"))
    known = stored.pop("plug-ins", named())
    new = new_plug_ins(known)
    too_much = grown(now, stored, new)
    assert not too_much, (
        "Take out of the room what the change makes superfluous, or what nobody needs. Free are only files that a "
        "registry of tests/contracts/plug_ins.py names since this change, where it takes none away, here "
        f"{sorted(new)}:{one_a_line(too_much)}"
    )
    if request.config.getoption("--update"):
        lines = (f"  {json.dumps(room)}: {json.dumps(counts)}" for room, counts in now.items())
        plugged = ",\n".join(f"    {json.dumps(path)}" for path in sorted(named()))
        HOUSE.write_text("{\n" + ",\n".join(lines) + ',\n  "plug-ins": [\n' + plugged + "\n  ]\n}\n", "utf-8")
    assert (now, sorted(named())) == (stored, sorted(known)) or request.config.getoption("--update"), (
        "A room shrank, or a plug-in is new: `./hpltune test tests/test_structure.py --update` writes its numbers."
    )


def test_a_new_plug_in_is_free_and_all_else_pays() -> None:
    held = house()
    sensor = {"tuner/trial/observers/sensors/fans.py": Counter(statements=20, classes=1, functions=3, files=1)}
    now = json.loads(json.dumps(held))
    for what, count in next(iter(sensor.values())).items():
        now["study"][what] += count
    now["tests"]["hundreds of lines"] += 1
    now["pages"]["hundreds of words"] += 1
    assert grown(now, held, sensor) == []
    assert len(grown(now, held, {})) == len(COUNTED) + 2
    now["study"]["statements"] += 1
    now["reports"]["functions"] += 1
    assert [line.partition(":")[0] for line in grown(now, held, sensor)] == ["study", "reports"]
    before = named().keys() - {new := min(plug_ins())}
    assert [*new_plug_ins(before)] == [new]
    assert new_plug_ins([*before, "runners/settings/old.py"]) == {}, "a new name is no new plug-in"


def test_each_registry_has_a_row_where_a_new_thing_goes() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = [line for line in page.partition("## Where a new thing goes")[2].splitlines() if line.startswith("| ")]
    lost = [path for path in REGISTRIES if not any(f"`{Path(path).parent}/" in row and FREE in row for row in rows)]
    assert not lost, f"Say there where a file of these goes, and that it is {FREE}:{one_a_line(lost)}"


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
