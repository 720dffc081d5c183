"""Summary of the members of a stack: accuracy, weight, diversity and time."""

import time
from collections.abc import Sequence
from typing import Any

from cordwood._view import ModelView

_N_TIMED = 100


def summarize_members(view: ModelView, texts: Sequence[str] | None) -> dict[str, Any] | None:
    """Summarize the members of a stack; with texts, the time of predictions is measured."""
    stack = view.stack
    if stack is None:
        return None
    rows: list[dict[str, Any]] = [
        {**record._asdict(), "predict_seconds": None} for record in view.member_records()
    ]
    if texts and view.final_estimator is not None and view.converter is None:
        sample = list(texts[:: max(1, len(texts) // _N_TIMED)])[:_N_TIMED]
        for row, member in zip(rows, view.members, strict=False):
            start = time.process_time()
            member.whole.predict_proba(sample)
            row["predict_seconds"] = (time.process_time() - start) / len(sample)
    names = [member.name for member in view.members]
    return {
        "combiner": type(stack.final_estimator_).__name__,
        "members": rows,
        "names": names,
        "disagreement": stack.oof_disagreement_.tolist() if len(names) > 1 else None,
    }
