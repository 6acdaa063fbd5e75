"""`hpltune token`: who may use the service from other machines."""

from typing import Annotated

import typer

from .common import Db, Json, console, open_store, remark
from .plain_help import PlainCommand, PlainGroup
from .terminal import show_report

token = typer.Typer(
    cls=PlainGroup,
    rich_markup_mode="rich",
    help="Make, list or revoke tokens of the service.",
)


def _complete_token(incomplete: str) -> list[str]:
    """Names of tokens, for tab completion; silent where there is no database."""
    from ..commands.tokens import token_names

    try:
        with open_store(None, create=False) as store:
            return [name for name in token_names(store) if name.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - completion must never print an error into the user's line
        return []


@token.command(cls=PlainCommand)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who gets it: a person or a program.")],
    scope: Annotated[
        str,
        typer.Option(
            metavar="SCOPE",
            help="read looks; run also starts and ends campaigns of its own; admin also those of others, and tokens.",
        ),
    ] = "read",
    expires: Annotated[str, typer.Option(metavar="TIME", help="How long it works, as 30d or 12h, or never.")] = "90d",
    db: Db = None,
) -> None:
    """Make a token and print it, this one time: the database keeps only its hash.

    As soon as there is a token, the service asks everybody for one, also on this machine.

    Examples:

        hpltune token create ada --scope run

        hpltune token create grafana --scope read --expires never > grafana.token
    """
    from ..commands.tokens import create_token

    with open_store(db, create=True) as store:
        made, said = create_token(store, name, scope, expires)
    remark(said)
    print(made)


@token.command("list", cls=PlainCommand)
def list_(db: Db = None, as_json: Json = False) -> None:
    """List all tokens with their scope, and when they were used.

    Examples:

        hpltune token list

        hpltune token list --json
    """
    from ..commands.tokens import list_tokens

    with open_store(db, create=False) as store:
        show_report(console(), list_tokens(store), as_json=as_json)


@token.command(cls=PlainCommand)
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=_complete_token, help="The token.")],
    db: Db = None,
) -> None:
    """Let a token open nothing from now on.

    Examples:

        hpltune token revoke ada
    """
    from ..commands.tokens import revoke_token

    with open_store(db, create=False) as store:
        show_report(console(), revoke_token(store, name), as_json=False)
