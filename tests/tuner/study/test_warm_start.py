"""What is known before a study begins."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_contract import CONDITIONAL, SMALL, space_of
from record_builders import a_study, begun, finished

from hpl.dat import HplDat, render
from hpl.params import HplParams
from results.record import TrialState
from results.store.store import Store
from tuner.engines.base import Engine
from tuner.engines.outcomes import Outcome
from tuner.engines.registry import make_engine
from tuner.errors import TunerError
from tuner.options import TuneOptions
from tuner.study.seeding import seed_engine
from tuner.study.warm_start import Advice, Known, Source, advice, advise, contradictions, read_source

OUTPUT = """
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4        4000   128     2     2               1.00              4.2700e+01
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0045000 ...... PASSED
WR01C2R4        4000    64     2     2               0.80              5.3380e+01
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0045000 ...... PASSED
================================================================================
"""
BANNER = """================================================================================
HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018
Written by A. Petitet and R. Clint Whaley,  Innovative Computing Laboratory, UTK
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "hpltune.db") as opened:
        yield opened


def test_an_earlier_study_is_told_and_its_best_are_tried_first(store: Store) -> None:
    space = space_of(SMALL)
    store.create_study(a_study("before"))
    for number in (0, 5, 11):
        params = {**space.complete(space.point(number)), "N": 9000, "layout": "2x1"}
        key = space.key(params)
        store.finish(finished(store.begin(begun("before", key=key)), 50.0 + number, "before", params=params, key=key))
    found = advice(read_source(store, "before"), space)
    assert found.sentence == "Warm start from study before: all configurations are in this space."
    engine = make_engine("hpl", space, 0)
    first = advise(engine, [found])
    assert space.key(first[0]) == space.key(space.point(11))
    assert engine.choice() is None


def test_what_another_space_had_is_left_out_and_said() -> None:
    space = space_of(SMALL)
    known = (Known({"NB": 128, "DEPTH": 0}, 50.0), Known({"NB": 77, "DEPTH": 0}, 60.0))
    found = advice(Source("study other", known), space)
    assert len(found.points) == 1
    assert "1 of its 2 configurations is in this space" in found.sentence


def test_a_source_of_another_space_ends_no_study_and_says_why_nothing_of_it_is_used() -> None:
    space = space_of(SMALL)
    known = (Known({"NB": 77, "DEPTH": 99}, 50.0), Known({"NB": 77, "DEPTH": 0}, 60.0))
    found = advice(Source("study other", known), space)
    assert found.points == ()
    assert found.sentence == (
        f"Nothing of study other is used: none of its 2 configurations is in the space {space.name}, "
        "not even the nearest, for its NB=77."
    )


def test_a_source_that_ranks_the_same_configurations_the_other_way_round_is_told() -> None:
    space = space_of(SMALL)
    told_apart = {space.key(point): point for point in space}

    def source(name: str, rates: list[float]) -> Advice:
        known = (Known(point, rate) for point, rate in zip(told_apart.values(), rates, strict=False))
        return advice(Source(name, tuple(known)), space)

    one, alike, reverse = source("a", [1, 2, 3, 4]), source("b", [10, 20, 40, 30]), source("c", [4, 3, 2, 1])
    assert contradictions([one, alike], space) == []
    assert contradictions([one, source("d", [3, 2, 1])], space) == []
    assert contradictions([one, alike, reverse], space) == [
        "a and c contradict each other: what is fast in one of them is slow in the other (4 configurations).",
        "b and c contradict each other: what is fast in one of them is slow in the other (4 configurations).",
    ]


def test_hpls_own_output_is_a_source(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "HPL.out"
    path.write_text(OUTPUT, encoding="utf-8")
    found = advice(read_source(store, str(path)), space_of(SMALL))
    assert [(point["NB"], point["DEPTH"], gflops) for point, gflops in found.points] == [(64, 0, 53.38), (128, 1, 42.7)]


def test_rows_whose_rate_does_not_fit_their_time_teach_nothing(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "HPL.out"
    path.write_text(OUTPUT.replace("5.3380e+01", "9.9999e+03"), encoding="utf-8")
    assert [known.gflops for known in read_source(store, str(path)).known] == [42.7]
    path.write_text(OUTPUT.replace("5.3380e+01", "9.9e+03").replace("4.2700e+01", "1.0e+00"), encoding="utf-8")
    with pytest.raises(TunerError, match=r"but 1.0 GFLOPS do not fit 1.0 s at N=4000"):
        read_source(store, str(path))


def test_of_a_file_of_gigabytes_only_so_much_is_read_as_hpl_could_have_printed(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "HPL.out"
    with path.open("wb") as file:
        file.truncate(4 * 2**30)
    tracemalloc.start()
    with pytest.raises(TunerError, match=r"HPL\.out: the file is larger than 32 MiB; keep only what HPL"):
        read_source(store, str(path))
    assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("first_line", ["HPLinpack benchmark input file", "what won on the old cluster"])
def test_an_hpl_dat_is_tried_first_whatever_its_first_line_is(store: Store, tmp_path: Path, first_line: str) -> None:
    path = tmp_path / "HPL.dat"
    _, rest = render(HplDat.of(HplParams(4000, 192, 2, 2, DEPTH=0))).split("\n", 1)
    path.write_text(f"{first_line}\n{rest}", encoding="utf-8")
    found = advice(read_source(store, str(path)), space_of(SMALL))
    engine = make_engine("random", space_of(SMALL), 0)
    (first,) = advise(engine, [found])
    assert (first["NB"], first["grid"], first["DEPTH"]) == (192, "2x2", 0)


@pytest.mark.parametrize("name", ["hpl", "bayes", "random", "one-at-a-time", "grid"])
def test_every_engine_may_be_told_and_goes_on(name: str) -> None:
    space = space_of(CONDITIONAL)
    engine: Engine = make_engine(name, space, 0)
    known = tuple(Known(space.complete(space.point(number)), 40.0 + number) for number in range(0, 60, 10))
    advise(engine, [advice(Source("study x", known), space)])
    for _ in range(6):
        point = engine.ask()
        assert point is not None
        engine.tell(point, Outcome(50.0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "there is no study and no file of that name"),
        ("hello", "neither HPL's output nor an HPL.dat .line 1: the file ends"),
        (" \n", "the file is empty"),
        ("\x7fELF\x01\x00\x00\x08", "this is no text, so neither HPL's output nor an HPL.dat"),
        (OUTPUT.replace("PASSED", "FAILED"), "HPL's output, but no result in it PASSED"),
        (BANNER, "HPL's output, but it ends before its first result"),
        (OUTPUT.split("||", maxsplit=1)[0], "HPL's output, but no result in it PASSED"),
    ],
)
def test_a_source_that_is_none_is_refused(store: Store, tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "known"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(TunerError, match=sentence):
        read_source(store, str(path))


def test_a_folder_is_no_source(store: Store, tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="a folder; name a file in it"):
        read_source(store, str(tmp_path))


def test_a_study_without_a_valid_run_ends_no_other(store: Store) -> None:
    store.create_study(a_study("empty"))
    found = advice(read_source(store, "empty"), space_of(SMALL))
    assert found.points == ()
    assert found.sentence == "Nothing of study empty is used: none of its runs was valid."


@pytest.mark.parametrize("source", [{"warm_start": ("empty",)}, {"from_simulation": "empty"}])
def test_a_study_without_a_valid_run_is_told_and_the_study_goes_on(store: Store, source: dict[str, Any]) -> None:
    store.create_study(a_study("empty", versions={"simulator": "SimGrid 3.32"}))
    store.finish(finished(store.begin(begun("empty")), None, "empty", state=TrialState.FAILED, passed=None))
    said: list[str] = []
    session: Any = SimpleNamespace(context=SimpleNamespace(store=store), space=space_of(SMALL), say=said.append)
    engine = make_engine("hpl", session.space, 0)
    assert list(seed_engine(TuneOptions(**source), session, engine)) == []
    (sentence,) = said
    assert sentence.startswith("Nothing of ")
    assert sentence.endswith(" empty is used: none of its runs was valid.")
    assert engine.ask() is not None
