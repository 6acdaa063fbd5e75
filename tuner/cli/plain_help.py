"""Help in plain words: what a value is, in place of the names of Python's types."""

from typing import Any

from typer.core import TyperCommand

PLAIN: dict[Any, str] = {int: "NUMBER", float: "NUMBER", str: "TEXT"}


class PlainCommand(TyperCommand):
    """A command whose options say NUMBER or TEXT where they name no value of their own, and flags nothing."""

    def get_params(self, ctx: Any) -> Any:
        """All parameters, --help among them."""
        found = super().get_params(ctx)
        for parameter in found:
            option: Any = parameter
            if option.param_type_name == "option" and option.metavar is None:
                kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
                option.metavar = "" if getattr(option, "is_flag", False) else PLAIN.get(kind)
        return found
