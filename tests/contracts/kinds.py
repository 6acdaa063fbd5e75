"""What kinds of tests there are, told by the fixtures that a test uses: marks that choose them, and groups of a worker.

A test that starts something itself, without a fixture that is named here, says so with a mark of its own.
"""

import re
from collections.abc import Iterable, Sequence

import pytest

NEEDS = {
    "lab": {"hosts", "twelve_hosts", "slurm", "grid_engine", "root"},
    "browser": {"browser"},
    "service": {"server", "service", "running"},
    "real": {"real_hpl", "intel_mpi", "simgrid", "built", "node_bench", "node_pairs", "solo_hpl"},
    "heavy": {"mpirun"},
}
"""Fixtures of each kind; a test has the mark of each kind of which it uses a fixture."""
QUICK = "not (real or lab or browser or service or heavy)"
"""The tests that `./hpltune test` runs."""
LAST_FAILED = "cache/lastfailed"
"""Where pytest keeps the names of the tests that failed."""
POSTGRESQL = "postgresql"
"""A parameter that chooses the server of the fixture `server`."""


def require_kinds(expression: str, marks: Sequence[str]) -> None:
    """Refuse an expression of `-m` that names a kind that there is not.

    Args:
        marks: those that pytest knows, each with what it means.

    Raises:
        pytest.UsageError: it does.
    """
    known = {re.split(r"\W", mark, maxsplit=1)[0] for mark in marks}
    named = re.findall(r"[A-Za-z_]\w*", expression)
    unknown = [name for name in named if name not in known | {"and", "or", "not", "True", "False"}]
    if unknown:
        kinds = ", ".join([*NEEDS, "process", "long"])
        raise pytest.UsageError(f"-m {unknown[0]}: there is no such kind of test; the kinds are {kinds}")


def mark_kinds(item: pytest.Item) -> None:
    """Mark a test with what it needs, and give those that share something dear to one worker."""
    for kind in kinds_of(item):
        item.add_marker(kind)
    if group := group_of(item):
        item.add_marker(pytest.mark.xdist_group(group))


def kinds_of(item: pytest.Item) -> list[str]:
    """The kinds of a test's fixtures."""
    fixtures = fixtures_of(item)
    return [kind for kind, named in NEEDS.items() if named & fixtures]


def fixtures_of(item: pytest.Item) -> set[str]:
    """The names of a test's fixtures, with the server of PostgreSQL where a parameter chooses it."""
    names = set[str](getattr(item, "fixturenames", ()))
    chosen: Iterable[object] = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    return names | {"server"} if POSTGRESQL in chosen else names


def group_of(item: pytest.Item) -> str | None:
    """The group whose tests run one after another in one worker, because they share what is dear to make.

    Hosts are in three groups: together their tests would take longer than all others of a worker.
    """
    fixtures = fixtures_of(item)
    if "slurm" in fixtures:
        return "slurm"
    if fixtures & {"hosts", "twelve_hosts"}:
        folders = item.path.relative_to(item.config.rootpath / "tests").parts
        return f"hosts of {folders[0]} {folders[1]}" if folders[1] == "commands" else f"hosts of {folders[0]}"
    if "browser" in fixtures:
        return "browser"
    return item.nodeid.partition("::")[0] if shares_a_fixture(item) else None


def shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a test uses something that is made once for its module."""
    if not isinstance(item, pytest.Function):
        return False
    return any(found[-1].scope == "module" for found in item._fixtureinfo.name2fixturedefs.values() if found)


def place_of(item: pytest.Item) -> tuple[int, str]:
    """Where a test comes: long ones and groups first, because one that begins last keeps all others waiting."""
    groups = [mark.args[0] for mark in item.iter_markers("xdist_group")]
    if item.get_closest_marker("long"):
        return 0, ""
    return (1, groups[0]) if groups else (2, "")


def forget_groups(config: pytest.Config) -> None:
    """Write the tests that failed as pytest finds them again: xdist ends the name of each with `@` and its group.

    Where `--last-failed` finds none of its names, it runs all tests.
    """
    if not hasattr(config, "cache") or config.cache is None or hasattr(config, "workerinput"):
        return
    failed: dict[str, bool] = config.cache.get(LAST_FAILED, {})
    config.cache.set(LAST_FAILED, {re.sub(r"@[^]@]*$", "", name): True for name in failed})
