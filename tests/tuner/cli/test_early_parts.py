"""Parts of a report that a terminal shows while a command still works."""

from results.report.model import Report, Sentence
from tuner.cli.terminal import EarlyParts
from tuner.events import Event, Notice, PartFound

FIRST, LAST = Sentence("what is known early"), Sentence("what is known at the end")
WHOLE = Report("both", (FIRST, LAST), {"fact": 1})


def test_a_part_that_was_shown_early_is_not_shown_again() -> None:
    seen: list[Event] = []
    early = EarlyParts(seen.append, shown=True)
    early(PartFound((FIRST,)))
    early(Notice("it still works"))
    assert seen == [PartFound((FIRST,)), Notice("it still works")]
    assert early.rest(WHOLE) == Report("both", (LAST,), {"fact": 1})


def test_where_the_output_is_for_scripts_no_part_is_shown_early() -> None:
    seen: list[Event] = []
    early = EarlyParts(seen.append, shown=False)
    early(PartFound((FIRST,)))
    early(Notice("it still works"))
    assert seen == [Notice("it still works")]
    assert early.rest(WHOLE) == WHOLE
