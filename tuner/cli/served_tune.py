"""`tune` on a service: hands the search in, and shows it as if it ran here."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from .common import given
from .server import Asked, opened
from .signals import Stopped
from .terminal import INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console

    from ..client.campaign import ServedCampaign
    from ..client.client import Client

KEYS = {
    "set_": "set",
    "study": "name",
    "xhpl": "program",
    "rpeak": "rpeak_gflops",
    "price": "price_usd",
    "power": "power_w",
}
"""Keys of a document that have another name than the parameter of `tune`."""
NO_KEYS = frozenset({"as_json", "resume"})
SHOWN = 5


def tune_there(asked: Asked, context: typer.Context, *, as_json: bool) -> None:
    """Hand in a search with the options that were given, watch it to its end, and print what it found.

    Raises:
        TunerError: it is refused, or it failed.
    """
    document = _document(context)
    with opened(asked) as client:
        entry = client.hand_in(document)
        _console(as_json=as_json).print(f"Handed in campaign {entry.name} at {asked.server.url}.", soft_wrap=True)
        watch_there(asked, client, client.campaign(entry.name), everything=True, as_json=as_json)


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
) -> None:
    """Show a campaign live until it ends, and print what it found; Ctrl-C leaves it running.

    Args:
        everything: begin with what has happened already.

    Raises:
        TunerError: it failed.
    """
    from ..client.display import ServedDisplay
    from ..console import display
    from ..events import Notice

    console, name = _console(as_json=as_json), campaign.name
    try:
        with display(console) as listener:
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
    _show_end(asked, client, campaign, console, as_json=as_json)


def _show_end(asked: Asked, client: "Client", campaign: "ServedCampaign", console: "Console", *, as_json: bool) -> None:
    """Print what a campaign found, and how it ended.

    Raises:
        TunerError: it failed, or found nothing.
    """
    from ..client.problems import ServiceError
    from ..errors import TunerError
    from ..messages.addresses import printed_address
    from .served import show_printed, standing

    info, name = campaign.info(), campaign.name
    if info.in_queue == "failed":
        raise TunerError(f"campaign {name} failed: {campaign.entry().reason or 'its log says why'}")
    ended = info.state == "complete"
    try:
        show_printed(client, f"{printed_address(name)}/best", as_json=as_json, count=SHOWN)
        if not as_json:
            console.print(f"Its HPL.dat: {asked.words} export dat {name} > HPL.dat", soft_wrap=True)
    except ServiceError as error:
        if ended or error.status not in {404, 409}:
            raise
    if not ended:
        said = standing(campaign.entry()) if info.in_queue is not None else f"Campaign {name} is {info.state}."
        console.print(f"{said} `{asked.words} campaign resume {name}` lets it go on.", soft_wrap=True)
        raise typer.Exit(INTERRUPTED)


def _console(*, as_json: bool) -> "Console":
    from ..console import output

    return output(stderr=as_json)


def _document(context: typer.Context) -> dict[str, Any]:
    """The options that were given, as the document that a service takes.

    Raises:
        UsageError: one of them names a file of this machine, or cannot be read.
    """
    names = {parameter.name or "" for parameter in context.command.params} - NO_KEYS
    document: dict[str, Any] = {"kind": "tune"}
    for name in sorted(names):
        if given(context, {name}):
            value = context.params[name]
            document[KEYS.get(name, name)] = READERS.get(name, _same)(value)
    return document


def _same(value: Any) -> Any:
    return value


def _named(option: str, what: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        return _name(option, what, str(value))

    return read


def _all_named(option: str, what: str) -> Callable[[Sequence[str]], list[str]]:
    def read(values: Sequence[str]) -> list[str]:
        return [_name(option, what, value) for value in values]

    return read


def _name(option: str, what: str, value: str) -> str:
    """A name that the service knows; no file of this machine.

    Raises:
        UsageError: it is a path.
    """
    from ..errors import UsageError

    if "/" in value or "=" in value or Path(value).suffix in {".toml", ".so", ".out", ".dat"}:
        raise UsageError(f"{option} {value}: a service reads no file of this machine: name {what} that it offers")
    return value


def _values(given_: Sequence[str]) -> dict[str, list[Any]]:
    from ..options import parse_overrides

    return {name: [_number(value) for value in values] for name, values in parse_overrides(given_).items()}


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def _price(text: str) -> float | None:
    from ..units import parse_price_usd

    return parse_price_usd(text)


READERS: dict[str, Callable[[Any], Any]] = {
    "space": _named("--space", "a space"),
    "cluster": _named("--cluster", "a cluster"),
    "xhpl": _named("--xhpl", "a program"),
    "blas": _all_named("--blas", "a library"),
    "warm_start": _all_named("--warm-start", "a study"),
    "set_": _values,
    "price": _price,
}
"""How options become what a document has, where that is something else."""
