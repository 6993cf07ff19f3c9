"""The errors of protok: each says what happened, where, and what to do.

This module needs nothing but Python; the compiled engine raises these classes.
"""

from __future__ import annotations

from os import PathLike

__all__ = [
    "ArtifactError",
    "ArtifactWarning",
    "InputError",
    "LimitError",
    "ProtokError",
    "SpecialTokenError",
    "TemplateError",
    "UnknownIdError",
    "VerificationError",
    "unreadable",
]


class ProtokError(Exception):
    """The base of every error that protok raises on purpose.

    Parameters
    ----------
    message
        The whole message. When absent it is composed as ``location: what hint``.
    what
        What happened, as a full sentence.
    location
        Where: a JSON path, a line of a file, ``byte 17``, ``item 3 of the batch``.
    hint
        What to do about it.
    position
        The position in the input: a code point of a ``str``, a byte of ``bytes``, or an item of a
        sequence.
    value
        The offending value as text: a token, an id, a field.

    Examples
    --------
    >>> from protok import InputError
    >>> error = InputError(what="The id is negative.", location="item 2", value="-5", position=2)
    >>> print(error)
    item 2: The id is negative.
    >>> error.position, error.value
    (2, '-5')
    """

    what: str
    location: str | None
    hint: str | None
    position: int | None
    value: str | None

    def __init__(
        self,
        message: str | None = None,
        *,
        what: str | None = None,
        location: str | None = None,
        hint: str | None = None,
        position: int | None = None,
        value: str | None = None,
    ) -> None:
        if message is None:
            where = f"{location}: " if location else ""
            advice = f" {hint}" if hint else ""
            message = f"{where}{what or type(self).__name__}{advice}"
        super().__init__(message)
        self.what = what if what is not None else message
        self.location = location
        self.hint = hint
        self.position = position
        self.value = value

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.what, self.location, self.hint, self.position, self.value)
        return _restore, (type(self), str(self), *fields)


def _restore(
    cls: type[ProtokError],
    message: str,
    what: str,
    location: str | None,
    hint: str | None,
    position: int | None,
    value: str | None,
) -> ProtokError:
    return cls(message, what=what, location=location, hint=hint, position=position, value=value)


class ArtifactError(ProtokError):
    """A tokenizer file is missing, malformed, or says something protok cannot do exactly."""


class InputError(ProtokError, ValueError):
    """The text or an argument cannot be processed."""


class SpecialTokenError(InputError):
    """Ordinary text spells a control token; ``special=`` decides what that means."""


class UnknownIdError(InputError):
    """The vocabulary has no such id; ``unknown="skip"`` leaves such ids out."""


class TemplateError(ProtokError):
    """A chat template is malformed, forbidden, or refused the messages."""


def unreadable(
    path: str | PathLike[str],
    error: OSError,
    kind: type[ProtokError] = InputError,
    hint: str = "Check the path.",
) -> ProtokError:
    """Say that a file cannot be read, and why."""
    what = f"The file cannot be read: {error.strerror or error}."
    return kind(location=str(path), what=what, hint=hint, value=str(path))


class LimitError(ProtokError):
    """A bound on time, memory or size was reached."""


class VerificationError(ProtokError):
    """A check of a lock file did not hold."""


class ArtifactWarning(UserWarning):
    """The files of a tokenizer disagree; the message says about what, and what can be done.

    Examples
    --------
    >>> import warnings, protok
    >>> warnings.filterwarnings("ignore", category=protok.ArtifactWarning)
    """
