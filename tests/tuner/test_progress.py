"""What a terminal shows of running trials."""

from io import StringIO

from record_builders import finished
from rich.console import Console

from tuner.events import TrialEnded, TrialStarted
from tuner.progress import display


def test_a_trial_that_is_announced_again_leaves_no_bar_behind_when_it_ends() -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=120)) as listener:
        listener(TrialStarted(1, "before the launch", None))
        listener(TrialStarted(1, "with what was measured", None))
        listener(TrialEnded(finished(1), None, 1.0, None))
        listener(TrialStarted(2, "the next", None))
        shown = text.tell()
    last = text.getvalue()[shown:]
    assert "#2 the next" in last
    assert "#1" not in last


def test_in_a_narrow_terminal_the_label_is_cut_and_not_the_times() -> None:
    text = StringIO()
    with display(Console(file=text, force_terminal=True, width=80)) as listener:
        listener(TrialEnded(finished(1), 95.44, 60.0, 185.0))
        listener(TrialStarted(2, "openblas/Cooperlake 2x1 1x2 N=9792 NB=256 and much more of it", 9.8))
    assert "#2 openblas" in text.getvalue()
    assert "0:00:00" in text.getvalue()
    assert "about 9.8 s" in text.getvalue()
    assert "3 min 05 s left, best 95.44 GFLOPS" in text.getvalue()
