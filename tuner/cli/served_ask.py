"""What is asked of a service instead of this machine: it is handed in, and shown as if it ran here."""

import json
from typing import TYPE_CHECKING, Any

import typer

from ..asks.field import Ask, keys_there
from .common import console
from .server import Asked, opened
from .signals import Stopped
from .terminal import INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console

    from ..client.campaign import ServedCampaign
    from ..client.client import Client
    from ..messages.queue import HandedInModel

SHOWN = 5


def ask_there(asked: Asked, kind: str, ask: Ask, name: str | None = None, *, as_json: bool) -> dict[str, Any]:
    """Hand in what is asked, watch it to its end, and print what it found.

    Args:
        kind: of the campaign.
        name: of the campaign; None takes a free one.

    Returns:
        What scripts are told of what it found.

    Raises:
        TunerError: it is refused, or it failed.
    """
    from results.report.terminal import say

    document = {"kind": kind, **keys_there(ask), **({} if name is None else {"name": name})}
    with opened(asked) as client:
        entry = client.hand_in(document)
        say(console(stderr=as_json), f"Handed in campaign {entry.name} at {asked.server.url}.")
        return watch_there(asked, client, client.campaign(entry.name), everything=True, as_json=as_json)


def resume_there(asked: Asked, name: str | None, *, as_json: bool) -> None:
    """Let a campaign go on, watch it to its end, and print what it found.

    Raises:
        TunerError: it cannot go on, or it failed.
    """
    from ..errors import UsageError

    if name is None:
        raise UsageError("--resume needs --study NAME: which campaign of the service is to go on")
    with opened(asked) as client:
        campaign = client.campaign(name)
        campaign.resume()
        watch_there(asked, client, campaign, everything=False, as_json=as_json)


def watch_there(
    asked: Asked, client: "Client", campaign: "ServedCampaign", *, everything: bool, as_json: bool = False
) -> dict[str, Any]:
    """Show a campaign live until it ends, and print what it found; Ctrl-C leaves it running.

    Args:
        everything: begin with what has happened already.

    Returns:
        What scripts are told of what it found.

    Raises:
        TunerError: it failed.
    """
    from ..client.display import ServedDisplay
    from ..console import display
    from ..events import Notice

    out, name = console(stderr=as_json), campaign.name
    try:
        with display(out) as listener:
            shown = ServedDisplay(campaign, listener, asked.words)
            for event in campaign.events(everything=everything, notice=lambda said: listener(Notice(said))):
                shown(event)
    except Stopped as stopped:
        ask = f"`{asked.words} campaign"
        stopped.sentence = (
            f"campaign {name} goes on at {asked.server.url}; {ask} watch {name}` shows it again, "
            f"{ask} pause {name}` and {ask} cancel {name}` stop it"
        )
        raise
    return _show_end(asked, client, campaign, out, as_json=as_json)


def _show_end(
    asked: Asked, client: "Client", campaign: "ServedCampaign", out: "Console", *, as_json: bool
) -> dict[str, Any]:
    """Print what a campaign found, and how it ended.

    Returns:
        What scripts are told of it; nothing of a search.

    Raises:
        TunerError: it failed, or found nothing.
    """
    from results.report.terminal import say

    from ..client.problems import ServiceError
    from ..errors import TunerError
    from ..messages.addresses import printed_address
    from .served import show_printed, standing

    name, entry = campaign.name, _entry(campaign)
    if entry is not None and entry.state == "failed":
        raise TunerError(f"campaign {name} failed: {entry.reason or 'its log says why'}")
    search = entry is None or entry.document["kind"] == "tune"
    ended = entry.state == "done" if entry is not None and not search else campaign.info().state == "complete"
    facts = {}
    try:
        if search:
            show_printed(client, f"{printed_address(name)}/best", as_json=as_json, count=SHOWN)
        else:
            address = f"{printed_address(name)}/result"
            told = client.connection.text(address, facts=True)
            facts = json.loads(told)
            if as_json:
                print(told)
            else:
                show_printed(client, address, as_json=False)
        if search and not as_json:
            say(out, f"Its HPL.dat: {asked.words} export dat {name} > HPL.dat")
    except ServiceError as error:
        if ended or error.status not in {404, 409}:
            raise
    if not ended:
        said = f"Campaign {name} is {campaign.info().state}." if entry is None else standing(entry)
        say(out, f"{said} `{asked.words} campaign resume {name}` lets it go on.")
        raise typer.Exit(INTERRUPTED)
    return facts


def _entry(campaign: "ServedCampaign") -> "HandedInModel | None":
    """How a campaign stands in the queue; None where the command line of its machine began it.

    Raises:
        ServiceError: the service does not tell.
    """
    from ..client.problems import ServiceError

    try:
        return campaign.entry()
    except ServiceError as error:
        if error.status != 404:
            raise
        return None
