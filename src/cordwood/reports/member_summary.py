"""Summary of the members of a stack: accuracy, weight, diversity and time."""

import time
from collections.abc import Sequence
from dataclasses import replace

from cordwood._view import ModelView
from cordwood.reports.model_records import MemberSummary, StackSummary

_N_TIMED = 100


def summarize_members(view: ModelView, texts: Sequence[str] | None) -> StackSummary | None:
    """Summarize the members of a stack, with the times of predicting texts; None if it is none."""
    stack = view.stack
    if stack is None:
        return None
    records = [record._asdict() for record in view.member_records()]
    rows = [
        MemberSummary(**{name: each for name, each in record.items() if name != "is_exact"})
        for record in records
    ]
    if texts and view.final_estimator is not None and view.converter is None:
        sample = list(texts[:: max(1, len(texts) // _N_TIMED)])[:_N_TIMED]
        for i, member in enumerate(view.members):
            start = time.process_time()
            member.whole.predict_proba(sample)
            seconds = (time.process_time() - start) / len(sample)
            rows[i] = replace(rows[i], predict_seconds=seconds)
    names = [member.name for member in view.members]
    disagreement = stack.oof_disagreement_.tolist() if len(names) > 1 else None
    return StackSummary(type(stack.final_estimator_).__name__, rows, names, disagreement)
