"""What stands around pages: links, and the policy of what may work in them."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote

from results.errors import NoHplDatError
from results.export.csv_lines import to_hpl_dat
from results.record import TrialRecord, TrialState
from results.report.html import Frame, page_style, script_file

SITE = (
    ("Campaigns", "/"),
    ("Compare", "/compare"),
    ("Nodes", "/node-checks"),
    ("HPL.dat", "/dat"),
    ("API", "/docs"),
)
"""Where every page leads."""
OF_ALL_TRIALS = (
    ("Trials as CSV", "trials.csv"),
    ("Trials as JSON lines", "trials.jsonl"),
    ("Trials as Parquet", "trials.parquet"),
)


@dataclass(frozen=True)
class Asset:
    """A file that pages use.

    Attributes:
        address: where it is served, with the hash of its content, so that browsers may keep it for ever.
    """

    address: str
    media_type: str
    content: bytes


def asset_of(name: str, text: str) -> Asset:
    """Make a style or a script an asset."""
    stem, _, suffix = name.rpartition(".")
    kind, content = "text/javascript" if suffix == "js" else "text/css", text.encode()
    return Asset(f"/assets/{stem}.{sha256(content).hexdigest()[:16]}.{suffix}", f"{kind}; charset=utf-8", content)


VEGA = asset_of("vega.js", script_file("vega.min"))
FRAME = Frame(site=SITE, vega=VEGA.address)
"""What is around every page that has no template of its own."""


def _hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src {_hashed(page_style())}; "
    f"script-src 'self' {' '.join(_hashed(script_file(name)) for name in ('vega.min', 'page', 'tables'))}; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}
"""Only the style and the scripts that are our own files may work in a page, whatever else is in it."""


def address_of(name: str) -> str:
    """The address of a campaign's page."""
    return f"/campaigns/{quote(name, safe='')}"


def trial_address(name: str, number: int) -> str:
    """The address of the page of one trial of a campaign."""
    return f"{address_of(name)}/trials/{number}"


def links_of(name: str, best: TrialRecord | None) -> tuple[tuple[str, str, bool], ...]:
    """Where the page of a campaign leads, and whether most readers want that.

    Args:
        best: the run that stands for the best configuration; None where none counts.
    """
    files = f"/api/v1{address_of(name)}"
    compared = [("Compare", f"/compare?studies={quote(name, safe='')}", False)] if best else []
    return (*(_of_best(files, best) if best else ()), *compared, ("Report", f"{files}/report.html", False))


def links_of_trial(record: TrialRecord, trials: int) -> tuple[tuple[str, str], ...]:
    """Where the page of a trial leads: to its campaign, the trials beside it, and its files.

    Args:
        trials: how many its campaign has.
    """
    campaign, number = address_of(record.study), record.number
    beside = (
        (label, at) for label, at in (("trial before", number - 1), ("next trial", number + 1)) if 0 < at <= trials
    )
    files = [("HPL.dat" if record.hpl else "input file", "HPL.dat")] if _has_dat(record) else []
    if record.state is not TrialState.RUNNING:
        files += [("output", "output.txt"), ("standard error", "errors.txt")]
    return (
        (f"Campaign {record.study}", campaign),
        *((label, trial_address(record.study, at)) for label, at in beside if 0 < at <= trials),
        *((label, f"/api/v1{trial_address(record.study, number)}/{file}") for label, file in files),
    )


def _has_dat(record: TrialRecord) -> bool:
    """Whether its parameters make an HPL.dat."""
    try:
        to_hpl_dat(record)
    except NoHplDatError:
        return False
    return True


def _of_best(files: str, best: TrialRecord) -> Iterator[tuple[str, str, bool]]:
    if _has_dat(best):
        yield "Download HPL.dat" if best.hpl else "Download its input file", f"{files}/HPL.dat", True
    if best.command and not best.simulated:
        yield "Copy command", f"{files}/command.sh", False
