import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_builders import begun, finished
from record_strategies import outcomes

from results.errors import ResultsError
from results.export.json_lines import from_json_lines, json_line
from results.record import TrialRecord


@given(st.lists(outcomes(), max_size=4))
def test_any_records_are_read_as_they_were_written(records: list[TrialRecord]) -> None:
    assert from_json_lines(to_json_lines(records)) == records


def to_json_lines(records: list[TrialRecord]) -> str:
    return "".join(map(json_line, records))


def test_a_trial_that_runs_is_read_as_it_was_written() -> None:
    assert from_json_lines(to_json_lines([begun(number=1)])) == [begun(number=1)]


def test_no_figure_is_written_that_is_not_json() -> None:
    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is no JSON")

    text = to_json_lines([finished(1, float("nan"), residual=float("inf"))])
    row = json.loads(text, parse_constant=refuse)
    assert row["gflops"] is row["residual"] is None


def test_text_is_utf_8_and_odd_file_names_survive() -> None:
    record = finished(1, reason="größer", directory="caf\udce9")
    text = to_json_lines([record]).encode().decode()
    assert "größer" in text
    assert from_json_lines(text) == [record]


def test_empty_lines_and_later_columns_do_not_matter() -> None:
    row = json.loads(to_json_lines([finished(1)]))
    assert from_json_lines("\n" + json.dumps({**row, "of_a_later_version": 1}) + "\r\n\n") == [finished(1)]


def test_a_line_of_before_there_were_parts_and_sessions_is_a_full_run_of_the_first() -> None:
    row = json.loads(to_json_lines([finished(1)]))
    old = {name: value for name, value in row.items() if name not in {"part", "session"}}
    assert from_json_lines(json.dumps(old)) == [finished(1)]


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda row: {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (without("gflops"), "study.jsonl:2: no trial of hpltune: 'gflops' is missing"),
        (
            lambda row: {**row, "state": "perfect"},
            "study.jsonl:2: no trial of hpltune: 'perfect' is not a valid TrialState",
        ),
        (lambda row: {**row, "BCAST": "9rg"}, "study.jsonl:2: no trial of hpltune: Bcast = 9rg is not legal"),
        (
            lambda row: {**row, "started_at": "yesterday"},
            "study.jsonl:2: no trial of hpltune: Invalid isoformat string",
        ),
        (lambda _row: ["a", "list"], "study.jsonl:2: no trial of hpltune: "),
        (lambda _row: None, "study.jsonl:2: no trial of hpltune: "),
    ],
)
def test_a_line_that_is_no_trial_is_named(spoil: Callable[[dict[str, Any]], object], sentence: str) -> None:
    good = to_json_lines([finished(1)])
    with pytest.raises(ResultsError, match=sentence):
        from_json_lines(good + json.dumps(spoil(json.loads(good))), "study.jsonl")


def test_a_line_that_is_no_json_is_named() -> None:
    with pytest.raises(ResultsError, match=r"study\.jsonl:1: no trial of hpltune: Expecting"):
        from_json_lines("GFLOPS 14.53", "study.jsonl")
