import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from cordwood._base.progress import report_progress
from cordwood.oof.fit import fit_with_oof
from cordwood.stacking import OOBStackingClassifier

X, Y = np.eye(3)[np.arange(30) % 3], np.arange(30) % 3


def _collect(fit):
    calls = []
    with report_progress(lambda *call: calls.append(call)):
        fit()
    return calls


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_fit_is_reported(n_jobs):
    members = [("nb", MultinomialNB()), ("lr", LogisticRegression())]
    stack = OOBStackingClassifier(members, cv=3, n_jobs=n_jobs, check_leakage=False)
    calls = _collect(lambda: stack.fit(X, Y))
    n_fits = 2 * (1 + 3)
    expected = [("fitting models", done, n_fits) for done in [*range(n_fits + 1), n_fits]]
    assert calls == expected


def test_only_the_outer_fits_are_reported():
    inner = OOBStackingClassifier([("nb", MultinomialNB())], cv=2, check_leakage=False)
    stack = OOBStackingClassifier([("inner", inner)], cv=3, use_oob=False, check_leakage=False)
    totals = {total for _, _, total in _collect(lambda: stack.fit(X, Y))}
    assert totals == {1 + 3}


def test_a_failed_fit_ends_the_step():
    def fit():
        with pytest.raises(ValueError, match="Negative"):
            fit_with_oof(MultinomialNB(), -X, Y)

    _, done, total = _collect(fit)[-1]
    assert done == total
    assert _collect(lambda: fit_with_oof(MultinomialNB(), X, Y))[0][1] == 0
