"""What a command of a terminal prints: a service finds it out, and a client prints it in the same form."""

from pydantic import BaseModel

from results.report.model import Copied, Figure, Heading, Part, Report, Sentence, Table

from ..words import all_with_options

_KEYS = {Heading: "heading", Sentence: "sentence", Copied: "copied", Table: "table"}


class PartModel(BaseModel):
    """One part of what is printed: one of these keys has a value."""

    heading: Heading | None = None
    sentence: Sentence | None = None
    copied: Copied | None = None
    table: Table | None = None
    line: Figure | None = None
    """A diagram that a terminal shows as a line of a few characters."""

    @classmethod
    def of(cls, part: Part) -> "PartModel | None":
        """Make it of a part of a report; None of a diagram that no terminal shows."""
        if isinstance(part, Figure):
            return cls(line=part) if part.in_text else None
        key = _KEYS.get(type(part))
        return None if key is None else cls.model_validate({key: part})

    def part(self) -> Part | None:
        """The part; None where a later version of the service made one that is not known here."""
        found = (self.heading, self.sentence, self.copied, self.table, self.line)
        return next((part for part in found if part is not None), None)


class PrintedModel(BaseModel):
    """What a command prints, in its order."""

    title: str
    parts: list[PartModel]

    @classmethod
    def of(cls, report: Report) -> "PrintedModel":
        """Make it of a report, with the options of the command line, which prints it."""
        whole = all_with_options(report.parts)
        return cls(title=report.title, parts=[part for one in whole if (part := PartModel.of(one)) is not None])

    def report(self) -> Report:
        """The report, without its facts."""
        return Report(self.title, tuple(part for one in self.parts if (part := one.part()) is not None))
