"""The base of every error that `hpl` raises on purpose, and of every mistake in what a user asked for."""


class HplError(Exception):
    """An error in HPL, its input or its libraries; the message is the sentence for the user."""


class AskedError(Exception):
    """A user's mistake in a field of what was asked for.

    A sentence names fields in guillemets, as ⟦budget⟧; whoever shows it puts their own name there: `--budget` on the
    command line, the key of a document, the label of a form.

    Attributes:
        sentence: what is wrong, without the field and its value where `given` is known.
        field: the one that it is about; "" where it is about no single one.
        given: what the field was given, as the message shows it first; None where the sentence says it itself.
    """

    def __init__(self, sentence: str, *, field: str = "", given: object = None) -> None:
        shown = str(given) if str(given).isprintable() else ascii(str(given))
        head = "" if given is None else f"⟦{field}⟧ {shown}".rstrip() + ": "
        super().__init__(head + sentence)
        self.sentence = sentence
        self.field = field
        self.given = given
