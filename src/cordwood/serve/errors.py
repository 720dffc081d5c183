"""Errors of requests: a status and one sentence."""

from typing import Any

from pydantic import ValidationError

_MAX_LENGTH = 300


class RequestError(Exception):
    """A request with an error: its status, and a sentence for its sender."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = to_sentence(sentence)
        self.retry_after = retry_after


def to_sentence(message: Any) -> str:
    """Put a message on one line of bounded length."""
    line = " ".join(str(message).split())
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def invalid(error: ValidationError) -> RequestError:
    """Describe the first error of a record: where, and what is expected."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ""
    for part in first["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    message = first["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
    return RequestError(422, f"{where} {message}".strip())
