"""What a terminal shows of running trials."""

from io import BytesIO, StringIO, TextIOWrapper

import pytest
from engine_contract import space_of
from record_builders import finished
from rich.console import Console

from results.record import Kind
from results.report.model import Column, Report, Sentence, Table
from results.report.terminal import print_report, wrapped
from tuner.console import PlainLines, Terminal, display
from tuner.events import (
    Notice,
    PartFound,
    PhaseStarted,
    Remark,
    TrialEnded,
    TrialProgress,
    TrialStarted,
    WorkEnded,
    WorkStarted,
)
from tuner.trial.plan import legend, varying_label


def test_a_trial_that_is_announced_again_leaves_no_bar_behind_when_it_ends() -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=120)) as listener:
        listener(TrialStarted(1, "before the launch", None))
        listener(TrialStarted(1, "with what was measured", None))
        listener(TrialEnded(finished(1)))
        listener(TrialStarted(2, "the next", None))
        shown = text.tell()
    last = text.getvalue()[shown:]
    assert "#2 the next" in last
    assert "#1" not in last


def test_in_a_narrow_terminal_the_label_is_cut_and_not_the_times() -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=80)) as listener:
        listener(TrialEnded(finished(1), "95.44 GFLOPS", 0.25, "3 min 05 s, 12 trials"))
        listener(TrialStarted(2, "openblas/Cooperlake 2x1 1x2 N=9792 NB=256 and much more of it", 9.8))
    assert "#2 openblas" in text.getvalue()
    assert [time for time in ("0:00:00", "about 9.8 s") if time not in text.getvalue()] == []
    assert "3 min 05 s, 12 trials left, best 95.44" in text.getvalue()


def test_where_only_trials_are_limited_it_is_told_how_many_are_left() -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=120)) as listener:
        listener(TrialEnded(finished(1), "95.44 GFLOPS", 0.95, "1 trial"))
        listener(TrialStarted(2, "the next", None))
        assert "1 trial left, best 95.44" in text.getvalue()
        listener(TrialEnded(finished(2), "95.44 GFLOPS", 1.0))
        shown = text.tell()
        listener(TrialStarted(3, "the best again", None))
    assert "best 95.44" in text.getvalue()[shown:]
    assert "left" not in text.getvalue()[shown:]


def test_a_line_tells_what_varies_in_the_study_and_says_when_a_configuration_runs_again() -> None:
    text = StringIO()
    lines = PlainLines(Console(file=text, width=160))
    lines(TrialStarted(2, "openblas 2x1 1x2 N=4000 NB=128 DEPTH=0", None))
    lines(TrialEnded(finished(2), "48.00 GFLOPS", again=True))
    assert text.getvalue() == "#2       75.50 GFLOPS  openblas 2x1 1x2 N=4000 NB=128 DEPTH=0 (again)  best 48.00\n"


def test_the_word_caution_is_put_before_a_notice_that_is_one() -> None:
    text = StringIO()
    lines = PlainLines(Console(file=text, width=160))
    lines(Notice("the machine is busy.", caution=True))
    assert text.getvalue() == "Caution: the machine is busy.\n"


def test_the_head_of_a_part_stands_only_above_its_runs() -> None:
    text = StringIO()
    lines = PlainLines(Console(file=text, width=160))
    lines(PhaseStarted("pilot", None))
    lines(Notice("N=4000: a run should take about 2 s."))
    lines(PhaseStarted("search", 20))
    lines(Notice("Search stopped: all 20 trials are done."))
    lines(PhaseStarted("confirmation", 2))
    lines(TrialStarted(7, "openblas", None))
    lines(TrialEnded(finished(7)))
    lines(TrialEnded(finished(8)))
    assert text.getvalue().splitlines() == [
        "N=4000: a run should take about 2 s.",
        "Search stopped: all 20 trials are done.",
        "Confirmation: the best again, interleaved (2 runs)",
        "#7       75.50 GFLOPS  openblas",
        "#8       75.50 GFLOPS  ",
    ]


def test_few_parameters_that_vary_are_named_and_many_are_told_by_hpls_own_code() -> None:
    few = space_of('[parameters]\nNB = [64, 128]\nDEPTH = [0, 1]\nSWAP = ["bin", "mix"]\nEQUIL = "yes"\n')
    point = few.complete(few.point(0))
    assert varying_label(point, few.varying) == "DEPTH=0 SWAP=bin"
    assert legend(few) is None
    many = space_of(
        '[parameters]\nNB = 64\nDEPTH = [0, 1]\nNBMIN = [4, 8]\nBCAST = ["1rg", "1rM"]\nSWAP = ["bin", "mix"]\n'
    )
    assert varying_label(many.complete(many.point(0)), many.varying) == "WR00C2R4 SWAP=bin"
    assert legend(many) == (
        "HPL's own codes stand in the lines of trials: WR00C2R4, for example, means PMAP=row DEPTH=0 BCAST=1rg "
        "RFACT=crout NDIV=2 PFACT=right NBMIN=4."
    )


def test_what_may_take_long_is_a_line_in_a_log_and_is_gone_from_a_terminal_when_it_ends() -> None:
    log, text = StringIO(), StringIO()
    PlainLines(Console(file=log, width=160))(WorkStarted("apt-get update"))
    assert log.getvalue() == "apt-get update …\n"
    with display(Console(file=text, force_terminal=True, width=120)) as listener:
        listener(WorkStarted("apt-get update"))
        listener(WorkEnded())
        shown = text.tell()
        listener(TrialStarted(1, "first", None))
    assert "apt-get update" in text.getvalue()[:shown]
    assert "apt-get update" not in text.getvalue()[shown:]


def test_parts_of_a_report_are_shown_while_the_command_still_works() -> None:
    text = StringIO()
    table = Table("Tests", (Column("test"), Column("error")), (("1", "+5 %"),))
    with display(Console(file=text, width=80)) as listener:
        listener(PartFound((Sentence("The model is good."), table)))
        assert "The model is good." in text.getvalue()
        assert "│    1 │  +5 % │" in text.getvalue()


LONG = "Trial 4 was disturbed by others and may still win, so it runs again: `hpltune doctor` tells what disturbs it."


@pytest.mark.parametrize("width", [40, 80])
def test_on_a_terminal_sentences_break_between_words_and_commands_do_not_break(width: int) -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=width, color_system=None)) as listener:
        listener(Notice(LONG))
        shown = text.getvalue()
    assert [word for word in LONG.replace("`hpltune doctor`", "").split() if word not in shown] == []
    assert "`hpltune doctor`" in shown
    assert max(map(len, wrapped(LONG, width))) <= width


def test_in_a_log_a_sentence_is_one_line_without_control_characters() -> None:
    text = StringIO()
    with display(Console(file=text, width=80)) as listener:
        listener(Notice(LONG, caution=True))
    assert text.getvalue() == f"Caution: {LONG}\n"


def test_a_command_at_the_end_is_never_broken_and_neither_is_a_line_of_its_own() -> None:
    command = "hpltune run /a/long/path/to/HPL-full.dat --like default-1#17"
    assert wrapped(f"Wrote a file that you can measure, and measure it with: {command}", 40)[-1] == command
    assert wrapped(f"Measure it with\n  {command}", 40)[-1] == f"  {command}"


def test_blanks_between_the_columns_of_a_line_stay_where_it_is_broken() -> None:
    assert wrapped("#1  75.50 GFLOPS  openblas  best 75.50  2 trials left", 42) == [
        "#1  75.50 GFLOPS  openblas  best 75.50  2",
        "trials left",
    ]


def test_a_terminal_tells_cautions_once_at_the_end_and_only_their_number_before_the_first_result() -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=80, color_system=None)) as listener:
        listener(Notice("the machine is busy: stop what else runs.", caution=True))
        listener(Notice("Rpeak is too low: give it.", caution=True))
        listener(TrialEnded(finished(1)))
        listener(Notice("Rpeak is too low: give it.", caution=True))
        before = text.getvalue()
    assert "2 cautions so far, told at the end." in before
    assert "busy" not in before
    after = text.getvalue()[len(before) :]
    assert "- The machine is busy: stop what else runs." in after
    assert after.count("Rpeak") == 1
    assert after.endswith("Rpeak is too low: give it.\n\n"), "what follows stands apart"


@pytest.mark.parametrize("verbose", [True, False])
def test_details_and_hpls_own_codes_are_for_who_asks_for_them(*, verbose: bool) -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=120, color_system=None), verbose=verbose) as listener:
        listener(TrialStarted(1, "openblas NB=64 WR11C2R4 SWAP=mix", None))
        listener(TrialEnded(finished(1)))
        assert ("WR11C2R4" in text.getvalue()) is verbose
        assert ("NB=64 SWAP=mix" in text.getvalue()) is not verbose


def test_a_trial_is_told_by_what_sets_it_apart_from_the_best_so_far() -> None:
    text = StringIO()
    first, other = {"NB": 64, "BCAST": "1rM"}, {"NB": 64, "BCAST": "2rM"}
    with display(Console(file=text, force_terminal=True, width=120, color_system=None)) as listener:
        listener(TrialStarted(1, "openblas NB=64", None))
        listener(TrialEnded(finished(1, 70.0, params=first), "70.00 GFLOPS"))
        listener(TrialEnded(finished(2, 60.0, params=other), "70.00 GFLOPS"))
        listener(TrialEnded(finished(3, 69.0, params=first), "70.00 GFLOPS"))
        listener(TrialEnded(finished(4, 80.0, params={**first, "NB": 96}), "80.00 GFLOPS"))
    told = (
        "best so far: openblas NB=64",
        "like the best, but BCAST=2rM",
        "the best again",
        "best so far, now with NB=96",
    )
    assert [words for words in told if words not in text.getvalue()] == []


def test_the_rates_so_far_are_drawn_where_the_terminal_has_the_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    text = TextIOWrapper(BytesIO(), encoding="utf-8")
    with display(Console(file=text, force_terminal=True, width=80, color_system=None)) as listener:
        for number, gflops in enumerate((50.0, 60.0, 70.0), start=1):
            listener(TrialEnded(finished(number, gflops), "70.00 GFLOPS", 0.1 * number))
        listener(TrialEnded(finished(4, 500.0, kind=Kind.SMALL), "70.00 GFLOPS", 0.4))
        listener(TrialStarted(5, "the next", None))
    text.flush()
    assert "rates ▁▅█ 50.00 to 70.00 GFLOPS" in text.buffer.getvalue().decode()


def test_the_first_configuration_is_told_whole_and_of_others_the_first_values_and_how_many_more() -> None:
    text = StringIO()
    first = {"NB": 64, "net.rx_usecs": 117}
    others = {**dict.fromkeys(("P1", "P2", "P3", "P4", "P5", "P6"), 1), "NB": 96, "net.rx_usecs": 117}
    whole = "atlas 8x1 2x4 N=12300 NB=180 BCAST=1rM SWAP=mix mtu=9000 rx_usecs=117"
    with display(Console(file=text, force_terminal=True, width=60, color_system=None)) as listener:
        listener(TrialStarted(1, whole, None))
        listener(TrialEnded(finished(1, 70.0, params=first), "70.00 GFLOPS"))
        listener(TrialEnded(finished(2, 60.0, params=others), "70.00 GFLOPS"))
        listener(TrialEnded(finished(3, 80.0, params=others), "80.00 GFLOPS"))
    assert [
        word for word in whole.split() if f"{word}\n" not in text.getvalue() and f"{word} " not in text.getvalue()
    ] == []
    assert "like the best, but P1=1 P2=1 P3=1 …" in text.getvalue()
    assert "best so far, now with P1=1 P2=1 P3=1 P4=1 P5=1 and 2 more" in " ".join(text.getvalue().split())


def test_the_lower_lines_stay_in_place_before_between_and_during_runs() -> None:
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=80, color_system=None)
    with display(console) as listener:
        assert "preparing" in text.getvalue()
        listener(Notice("Timing openblas: ⟦blas⟧ with each kernel", detail=True, doing=True))
        listener(PhaseStarted("search", None))
        listener(TrialStarted(1, "openblas", 0.2))
        listener(TrialProgress(1, 0.99, 0.5))
        listener(TrialEnded(finished(1), "95.44 GFLOPS", 0.25, "3 min"))
        shown = text.getvalue()
    assert "Timing openblas: --blas with each kernel" in shown
    assert "preparing the next run" in shown[shown.rindex("openblas") :]
    assert "about 1.0 s" in shown
    assert "0.0051 s left" not in shown
    assert {frame.count("0:00:0") for frame in shown.split("search")[1:]} == {2}, "there are always two lines"


def test_a_dumb_terminal_gets_plain_lines_and_no_spinner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=80, color_system=None)) as listener:
        listener(TrialStarted(1, "openblas", None))
        listener(TrialEnded(finished(1)))
    assert text.getvalue() == "#1       75.50 GFLOPS  openblas\n"


HOSTILE = "\x1b]0;title\x07node\x1b[2J \u202e\x9b31m"
ESCAPED = r"\x1b]0;title\x07node\x1b[2J \u202e\x9b31m"


@pytest.mark.parametrize("colours", [True, False], ids=["terminal", "pipe"])
def test_text_of_a_node_cannot_steer_the_terminal(*, colours: bool) -> None:
    text = StringIO()
    console = Terminal(file=text, force_terminal=colours, width=400)
    with display(console) as listener:
        listener(Notice(HOSTILE))
        listener(TrialStarted(1, HOSTILE, None))
        listener(TrialEnded(finished(1)))
    print_report(console, Report(HOSTILE, (Table(HOSTILE, (Column(HOSTILE),), ((HOSTILE,),)), Sentence(HOSTILE))))
    assert not {"\x07", "\x9b", "\u202e"} & set(text.getvalue())
    assert "\x1b]" not in text.getvalue()
    assert "\x1b[2J" not in text.getvalue()
    assert text.getvalue().count(r"\x1b]0;title") >= 5


def test_a_remark_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    PlainLines(Terminal(file=StringIO()))(Remark(HOSTILE))
    assert capsys.readouterr().err == f"hpltune: {ESCAPED}\n"
