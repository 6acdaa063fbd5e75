"""Texts that others wrote: no TOML file is more than a sentence, and no pattern takes more than linear time."""

import ast
import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import RunnerError
from runners.hosts.cluster import load_real_cluster
from runners.virtual.load import load_cluster
from search_spaces.errors import SpaceError
from search_spaces.load import describe, load
from search_spaces.machine import BlasFacts, Machine
from tuner.errors import TunerError
from tuner.simulation.design import read_designs

_constants: ModuleType = import_module("re._constants")
_parser: ModuleType = import_module("re._parser")

MACHINE = Machine(4, 2**35, {"openblas": BlasFacts(("SkylakeX",))}, 4000)
ROOT = Path(__file__).parents[3]
READERS: dict[str, Callable[[Path], object]] = {
    "space": lambda file: load(str(file), MACHINE),
    "description": lambda file: describe(str(file)),
    "real cluster": load_real_cluster,
    "virtual cluster": lambda file: load_cluster(str(file)),
    "designs": read_designs,
}
FAILURES = (SpaceError, RunnerError, TunerError)
HEADS = ("", "[parameters]\n", "[node]\n", "[[design]]\n", 'base = "kronos"\n[[design]]\n', "[[nodes]]\n", "[core]\n")
KEYS = (
    "N", "NB", "grid", "layout", "by", "name", "cores", "hosts", "ssh", "count", "clock_ghz", "base", "node.cores",
    "a.b",
)  # fmt: skip
VALUES = (
    "9" * 4301, "9" * 400, "0x" + "f" * 5000, "1e999", "nan", "[" * 1500 + "]" * 1500, "[[1]]", "{}", "''", "-1",
    "true",
)  # fmt: skip
LINES = st.builds(
    "{}{} = {}\n".format,
    st.sampled_from(HEADS),
    st.sampled_from(KEYS),
    st.one_of(st.sampled_from(VALUES), st.text(max_size=9)),
)


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("N = " + "9" * 4301, "a whole number is larger than 64 bits"),
        ("N = 0x" + "f" * 5000, "a whole number is larger than 64 bits"),
        ("N = 9223372036854775808", "a whole number is larger than 64 bits"),
        ("N = " + "[" * 1500 + "]" * 1500, "tables or lists are more than 50 deep"),
        (".".join("a" * 2000) + " = 1", "tables or lists are more than 50 deep"),
        ("#" * 2**21, "the file is larger than 1 MiB"),
    ],
    ids=["digits", "hexadecimal digits", "65 bits", "brackets", "dots", "size"],
)
def test_what_no_toml_file_may_hold_is_a_sentence_with_the_file(
    kind: str, text: str, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(FAILURES) as caught:
        READERS[kind](file)
    assert "mine.toml" in str(caught.value)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("kind", READERS)
@given(lines=st.lists(LINES, max_size=6), garbage=st.text(max_size=20))
def test_no_text_makes_a_reader_of_toml_fail(
    kind: str, lines: list[str], garbage: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(("".join(lines) + garbage).encode("utf-8", "surrogatepass"))
    with contextlib.suppress(*FAILURES):
        READERS[kind](file)


PACKAGES = ("hpl", "results", "runners", "search_spaces", "tuner")


def patterns() -> Iterator[tuple[str, str]]:
    """Every pattern that the code gives to `re` as a text, with its file; a name in it stands for a letter."""
    for file in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(ast.Attribute(ast.Name("re")), [ast.Constant(text), *_]):
                    yield str(file.relative_to(ROOT)), str(text)
                case ast.Call(ast.Attribute(ast.Name("re")), [ast.JoinedStr(parts), *_]):
                    words = [str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts]
                    yield str(file.relative_to(ROOT)), "".join(words)


def nested(parsed: object, *, within: bool = False) -> bool:
    """Whether a repetition without an upper bound stands within another."""
    if isinstance(parsed, _parser.SubPattern | list):
        return any(nested(item, within=within) for item in parsed)
    if not isinstance(parsed, tuple):
        return False
    endless = len(parsed) == 2 and parsed[0] in {_constants.MAX_REPEAT, _constants.MIN_REPEAT}
    endless = endless and parsed[1][1] is _constants.MAXREPEAT
    return (endless and within) or any(nested(item, within=within or endless) for item in parsed)


def test_no_pattern_repeats_a_repetition() -> None:
    assert nested(_parser.parse(r"(?:a+b?)*"))
    assert not nested(_parser.parse(r"a+(?:b*)?"))
    found = list(patterns())
    assert len(found) > 50
    assert [f"{place}: {text}" for place, text in found if nested(_parser.parse(text))] == []
