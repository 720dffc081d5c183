"""Validation of the records of a ledger, a text file that may have been edited or damaged."""

from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    FiniteFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from cordwood.compare.runner.ledger import Ledger
from cordwood.exceptions import DataError


def read_records(ledger: Ledger) -> list[dict[str, Any]]:
    """Read all records of a ledger; raise a DataError that names an invalid line and its field."""
    records = ledger.records()
    # Each line has one record.
    for number, record in enumerate(records, start=1):
        try:
            _Record.model_validate(record)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            message = first["msg"].removeprefix("Value error, ")
            raise DataError(
                f"{ledger.path}, line {number} is not a valid record "
                f"({f'{field}: ' if field else ''}{message}); restore the file from a backup, or "
                "delete the line and run its trial again"
            ) from None
    return records


class _Table(BaseModel):
    """A JSON object, of which only the fields below are validated."""

    model_config = ConfigDict(extra="ignore", strict=True)


class _Trial(_Table):
    dataset: str


class _Record(_Table):
    """A failed trial with its error, or a finished trial with its results."""

    key: str
    data: str
    trial: _Trial
    error: str | None = None
    scores: dict[str, FiniteFloat] | None = None
    n_train: PositiveInt | None = None
    n_test: PositiveInt | None = None
    tune_cpu_seconds: FiniteFloat = 0.0
    fit_cpu_seconds: FiniteFloat = 0.0
    predict_cpu_seconds: FiniteFloat = 0.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.scores is None:
            if self.error is None:
                raise ValueError("it must have scores or an error")
            return self
        for metric in ("micro_f1", "macro_f1"):
            if metric not in self.scores:
                raise ValueError(f"its scores have no {metric}")
        if self.n_train is None or self.n_test is None:
            raise ValueError("n_train or n_test is missing")
        return self
