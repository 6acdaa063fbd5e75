"""`show`, `best`, `report` and `export` of campaigns of a service."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..asks.field import keys_there
from .common import console
from .server import Asked, opened
from .terminal import print_output, show_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..asks.compare import CompareAsk
    from ..client.client import Client
    from ..messages.queue import HandedInModel

FILES = {"csv": "trials.csv", "jsonl": "trials.jsonl", "parquet": "trials.parquet", "dat": "HPL.dat"}
"""What a service gives of the formats of `export`."""


def show_there(
    asked: Asked,
    study: str | None,
    trial: int | None,
    *,
    failed: bool,
    output: bool,
    everything: bool,
    pages: "Mapping[str, int | None]",
    as_json: bool,
) -> None:
    """Print campaigns of a service, the trials of one, or one trial."""
    from ..messages.addresses import PRINTED, printed_address

    with opened(asked) as client:
        if study is None:
            lines = {} if as_json else pages
            show_printed(client, PRINTED, as_json=as_json, everything=as_json or everything, **lines)
            if not as_json:
                _print_queue(client)
        elif trial is None:
            shown = {} if as_json else {**pages, "everything": everything or None}
            _show_trials(client, study, failed, shown, as_json=as_json)
        elif output and not as_json:
            print_output(client.campaign(study).output(trial))
        else:
            show_printed(client, f"{printed_address(study)}/trials/{trial}", as_json=as_json, output=output)


def best_there(asked: Asked, name: str | None, count: int, pareto: str | None, *, whole: bool, as_json: bool) -> None:
    """Print the best configurations of a campaign of a service."""
    from ..messages.addresses import printed_address

    with opened(asked) as client:
        address = f"{printed_address(name or _newest(client))}/best"
        show_printed(client, address, as_json=as_json, count=count, pareto=pareto, whole=whole or None)


def compare_there(asked: Asked, ask: "CompareAsk", *, as_json: bool) -> None:
    """Print how campaigns of a service differ.

    Raises:
        TunerError: they cannot be compared.
    """
    from ..messages.addresses import COMPARISON

    with opened(asked) as client:
        show_printed(client, COMPARISON, as_json=as_json, **keys_there(ask))


def report_there(asked: Asked, names: "Sequence[str]", out: Path) -> None:
    """Write the report of a campaign of a service into a file here.

    Raises:
        UsageError: several are asked for.
    """
    from results.report.terminal import say

    from ..errors import UsageError
    from ..user_files import write_text

    if len(names) > 1:
        raise UsageError("a service writes the report of one campaign: name one")
    with opened(asked) as client:
        write_text(out, client.campaign(names[0] if names else _newest(client)).report_html())
    say(console(), f"Wrote {out}. Open it in a browser.")


def export_there(asked: Asked, kind: str, name: str | None, trial: int | None, out: Path | None) -> None:
    """Write a campaign of a service into a file here, or to standard output.

    Raises:
        UsageError: a service does not give this, or the terminal cannot show it.
    """
    from ..errors import UsageError
    from ..messages.addresses import campaign_address
    from ..user_files import write_byte_parts

    if kind not in FILES:
        raise UsageError(f"a service exports no {kind}: take {', '.join(FILES)}")
    if kind == "parquet" and out is None and sys.stdout.isatty():
        raise UsageError("parquet is no text for a terminal: name a file, hpltune export parquet -o FILE")
    with opened(asked) as client:
        campaign = campaign_address(name or _newest(client))
        address = f"{campaign}/{FILES[kind]}" if trial is None else f"{campaign}/trials/{trial}/HPL.dat"
        with client.connection.chunks(address) as chunks:
            if out is None:
                sys.stdout.flush()
                sys.stdout.buffer.writelines(chunks)
                return
            write_byte_parts(out, chunks)
    typer.echo(f"wrote {out}")


def standing(entry: "HandedInModel") -> str:
    """How a campaign stands in the queue, in a sentence."""
    why = f": {entry.reason}" if entry.reason else ""
    if entry.state == "queued":
        place = "" if entry.position is None else f", number {entry.position} in the queue"
        return f"Campaign {entry.name} waits for {', '.join(entry.nodes)}{place}{why}."
    if entry.state == "running" and entry.wanted != "run":
        return f"Campaign {entry.name} {'pauses after its running trial' if entry.wanted == 'pause' else 'ends now'}."
    word = {"running": "runs", "paused": "is paused", "done": "is done", "cancelled": "was cancelled"}
    return f"Campaign {entry.name} {word.get(entry.state, entry.state)}{why}."


def _show_trials(
    client: "Client", name: str, failed: bool, pages: "Mapping[str, int | None]", *, as_json: bool
) -> None:
    """Print the trials of a campaign, and how it stands in the queue; one that waits has none."""
    from ..client.problems import ServiceError
    from ..messages.addresses import printed_address

    entry = None
    with suppress(ServiceError):  # the command line of its machine began it
        entry = client.campaign(name).entry()
    try:
        show_printed(client, printed_address(name), as_json=as_json, failed=failed, **pages)
    except ServiceError as error:
        if as_json or error.status != 404 or entry is None:
            raise
    if not as_json and entry is not None and entry.state != "done":
        console().print(standing(entry))


def _print_queue(client: "Client") -> None:
    """Print a sentence for each campaign that waits, is paused, or ended before it began."""
    for entry in client.queue().all():
        if entry.state != "running":
            console().print(standing(entry))


def show_printed(client: "Client", address: str, *, as_json: bool, **query: Any) -> None:
    """Print what is at an address of a service: what people read, or what scripts are told."""
    from ..messages.printed import PrintedModel

    if not as_json:
        show_report(console(), client.connection.get(address, PrintedModel, **query).report(), as_json=False)
        return
    with client.connection.chunks(address, facts=True, **query) as chunks:
        for chunk in chunks:
            print(chunk.decode(), end="")
    print()


def _newest(client: "Client") -> str:
    """The name of the newest campaign that has begun.

    Raises:
        TunerError: there is none.
    """
    from ..errors import TunerError

    found = next(client.campaigns(), None)
    if found is None:
        raise TunerError("the service has no campaign yet: `hpltune --server URL tune` hands one in")
    return found.name
