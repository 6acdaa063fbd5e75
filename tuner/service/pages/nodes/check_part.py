"""The part of the page of a check that changes while the check goes on."""

from dataclasses import dataclass
from hashlib import sha256

from results.report.model import Sentence, Table, Tone
from results.stats.nodes.check import BENCHMARKS
from results.store.nodes.kept_check import NodeCheckState
from results.store.service.campaign_entry import CampaignEntry, QueueState
from results.store.store import Store

from ....commands.nodes.kept import ShownCheck, show_check
from ....messages.plain_paths import without_paths
from ....words import counted
from ..filled import rendered
from ..queue.actions import Buttons, buttons_of
from ..queue.standing import why_failed
from .node_map import node_map

TONES = {Tone.BAD: "bad", Tone.CAUTION: "caution", Tone.GOOD: "good"}


@dataclass(frozen=True)
class CheckPart:
    """What a page shows of a check.

    Attributes:
        html: what changes; `buttons` those of its campaign, inside a form.
        mark: a hash of both.
        goes_on: it may change by itself.
    """

    html: str
    buttons: str
    mark: str
    goes_on: bool


def check_part(store: Store, number: int) -> CheckPart:
    """Read a check and show it.

    Raises:
        ResultsError: there is none, or it is damaged.
    """
    shown = show_check(store, str(number))
    campaign = shown.line.campaign
    entry = None if campaign is None else store.queue.find(campaign)
    running = shown.line.state is NodeCheckState.RUNNING and _is_at_work(entry, campaign)
    report = shown.report()
    told = [part for part in report.parts if isinstance(part, Sentence)][1:]
    failed = why_failed(entry) if entry is not None and entry.state is QueueState.FAILED else ""
    html = rendered(
        "nodes/check.html.j2",
        headline=_headline(shown, told, running=running),
        failed=failed,
        told=[_plain(one) for one in (told if running else told[1:])],
        map=node_map(shown.result.verdict),
        tables=[one for one in report.parts if isinstance(one, Table)],
        running=running,
    )
    buttons = rendered("queue/buttons.html.j2", buttons=buttons_of(entry) if entry and running else Buttons())
    return CheckPart(html, buttons, sha256((html + buttons).encode()).hexdigest()[:12], running)


def _is_at_work(entry: CampaignEntry | None, campaign: str | None) -> bool:
    """Whether somebody works on a check that has not ended; of the command line nobody knows."""
    return campaign is None or (entry is not None and entry.state is QueueState.RUNNING)


def _headline(shown: ShownCheck, told: list[Sentence], *, running: bool) -> str:
    check = shown.result.verdict.check
    if running:
        done = [BENCHMARKS[name].title for name in shown.result.verdict.results]
        last = f", last {done[-1]}" if done else ""
        verb = "is" if len(check.nodes) == 1 else "are"
        return f"{counted(len(check.nodes), 'node')} {verb} measured: {counted(len(done), 'benchmark')} so far{last}."
    if shown.line.state is not NodeCheckState.COMPLETE:
        return "This check was stopped; what it had measured until then:"
    return told[0].text if told else ""


def _plain(sentence: Sentence) -> tuple[str, str]:
    return TONES.get(sentence.tone, ""), without_paths(sentence.text)
