"""The files of the packages, which of them imports which, and which are plug-ins."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("tuner", "search_spaces", "results", "runners", "hpl")
REGISTRIES = {
    "tuner/engines/registry.py": "one file an engine",
    "runners/registry.py": "one file a launcher",
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
"""What names plug-ins: a new one is one file, one line there and its test, so each may be small, and it is free."""


@cache
def modules() -> dict[str, ast.Module]:
    """All modules of the packages, by their paths."""
    files = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


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


@cache
def named() -> dict[str, str]:
    """The files that a registry names, by an import or in a table, with that registry."""
    names, found = names_of_modules(), dict[str, str]()
    for registry in REGISTRIES:
        folder, module = str(Path(registry).parent), modules()[registry]
        words = (node.value for node in ast.walk(module) if isinstance(node, ast.Constant))
        own = {f"{folder.replace('/', '.')}.{word}" for word in words if isinstance(word, str)}
        paths = {names[name] for name in (imported(registry, module) | own) & names.keys()}
        found |= dict.fromkeys((path for path in paths if path.startswith(f"{folder}/")), registry)
    return found


@cache
def plug_ins() -> set[str]:
    """The files that a registry names and nobody else imports."""
    return {path for path, registry in named().items() if readers().get(path, set()) <= {registry}}
