"""Chains of boosting, each without a share of the rows, which it can then answer for.

A row that is out of a bag has still had a say in the weights of the others: rows like it but of
another class are answered wrongly by the trees that drew it, gain weight, and outvote it where it
is not drawn. So its votes out of bag are worse than those on new rows. A chain that left the row
out altogether has no such memory of it.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._boosting_loop import Course


def share_out(
    codes: NDArray[np.uint32],
    seen: NDArray[np.bool_],
    groups: NDArray[np.intp] | None,
    cross_fit: int,
    seed: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Give for each row the chain that leaves it out; -1 where the row is in none.

    Every class is shared out evenly, its groups in one piece. A row without a weight that is of a
    group goes with the others of it, which know its label.

    Parameters
    ----------
    codes : uint32 array of shape (n_rows,)
        The rows' classes.
    seen : bool array of shape (n_rows,)
        Which rows have a weight.
    groups : intp array of shape (n_rows,), optional
        The number of each row's group.
    cross_fit : int
    seed : int64 array

    Examples
    --------
    >>> seen = np.array([True, True, False, True, True])
    >>> share_out(np.array([0, 0, 0, 1, 1]), seen, None, 2, np.array([7]))
    array([ 0,  1, -1,  0,  1])
    >>> share_out(np.array([0, 0, 0, 1, 1]), seen, np.array([2, 2, 0, 1, 0]), 2, np.array([7]))
    array([0, 0, 0, 1, 0])
    """
    shuffled = np.random.default_rng(seed).permutation(np.flatnonzero(seen))
    groups = np.arange(len(codes)) if groups is None else groups
    known, first, sizes = np.unique(groups[shuffled], return_index=True, return_counts=True)
    # A group goes by the class of the row that comes first, and large ones before small ones.
    order = np.lexsort((first, -sizes, codes[shuffled[first]]))
    chains = np.empty(len(order), np.intp)
    chains[order] = np.arange(len(order)) % cross_fit
    places = np.minimum(np.searchsorted(known, groups), len(known) - 1)
    return np.where(known[places] == groups, chains[places], -1)


def merge(courses: list[Course], left_out_by: NDArray[np.intp]) -> Course:
    """Join chains into one course, in which each has the same say.

    Parameters
    ----------
    courses : list of Course
    left_out_by : intp array of shape (n_rows,)
        As `share_out` gives it.

    Returns
    -------
    Course
        Rows have the votes of the chain that left them out, or of all if each did. It cannot be
        gone on with, so that it has no weights of rows.
    """
    totals = [sum(course.estimator_weights) for course in courses]
    merged = Course(
        weights=np.empty(0),
        oob_votes=np.zeros_like(courses[0].oob_votes),
        oob_count=np.zeros_like(courses[0].oob_count),
        importances=np.zeros_like(courses[0].importances),
    )
    for chain, (course, total) in enumerate(zip(courses, totals, strict=True)):
        factor = float(np.mean(totals)) / total
        mine = (left_out_by == chain) | (left_out_by < 0)
        merged.oob_votes[mine] += factor * course.oob_votes[mine]
        merged.oob_count[mine] += course.oob_count[mine]
        merged.importances += factor * course.importances
        merged.errors += course.errors
        merged.estimator_weights += [factor * weight for weight in course.estimator_weights]
        merged.scores += course.scores
        merged.tree_weights += [factor * weights for weights in course.tree_weights]
        merged.forests += course.forests
    return merged
