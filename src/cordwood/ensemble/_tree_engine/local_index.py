"""A query's neighbours as a data set of their own: the words they hold, and who holds each.

The average word of a neighbourhood is in two or three of its documents, so that a list of these
is shorter than a mask over all of them. Lists are made once for a query and never change; a tree
keeps what is its own, the documents of its node and their weights, beside them.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._jit import Int, Record, Singles, Words, inlined, piece

_ZERO, _ONE, _TWO = np.uint32(0), np.uint32(1), np.uint32(2)

# Words are drawn in strata by how many documents hold them: four or more, two or three, one.
N_STRATA = 3

# Up to this length an insertion sort does.
_SHORT = 40


@inlined
def meet(rows: Record, hood: Record, neighbors: NDArray[np.int32]) -> tuple[Int, Int]:
    """Number the neighbours' classes, and the neighbours class by class; count both.

    Document p of the neighbourhood is row `row[p]`, and of the class `class_of[label[p]]`, whose
    first one is `origin[label[p]]`. One more document, which is none and never has a weight, fills
    lists up.
    """
    class_of, number, counts = hood.class_of, hood.number, hood.counts
    n_docs, n_classes = 0, 0
    while n_docs < len(neighbors) and neighbors[n_docs] >= 0:
        code = rows.codes[neighbors[n_docs]]
        if number[code] < 0:
            number[code] = n_classes
            class_of[n_classes] = code
            counts[n_classes] = 0
            n_classes += 1
        counts[number[code]] += 1
        n_docs += 1
    p = 0
    for label in range(n_classes):
        number[class_of[label]] = p
        p += counts[label]
    for i in range(n_docs):
        code = rows.codes[neighbors[i]]
        hood.row[number[code]] = neighbors[i]
        number[code] += 1
    p = 0
    for label in range(n_classes):
        hood.origin[label] = p
        for _ in range(counts[label]):
            hood.label[p] = label
            p += 1
        number[class_of[label]] = -1
    hood.origin[n_classes] = n_docs
    hood.label[n_docs] = 0
    hood.live[n_docs] = 0
    hood.load[n_docs] = 0
    return n_docs, n_classes


@inlined
def settle(rows: Record, hood: Record, n_docs: Int) -> Int:
    """List the neighbours' words, and for each the documents that hold it; count the words.

    Word w stands in the documents `doc[start[w]:start[w + 1]]`, with the values beside them, the
    greatest first; `is_even[w]` tells whether they are all the same. Words are numbered stratum by
    stratum, which keeps together what is drawn together. `place` leads from columns to words. It is
    -1 for each column before and, once `leave` was called, after.
    """
    place, column, start, doc, value = hood.place, hood.column, hood.start, hood.doc, hood.value
    n_words = _ZERO
    for p in range(n_docs):
        row = hood.row[p]
        for i in range(rows.indptr[row], rows.indptr[row + 1]):
            c = np.uint32(rows.indices[i])
            w = place[c]
            if w < 0:
                w = np.int32(n_words)
                place[c] = w
                column[n_words] = c
                hood.length[n_words] = _ZERO
                n_words = np.uint32(n_words + _ONE)
            hood.length[np.uint32(w)] += _ONE
    line_up(place, column, hood.length, start, hood.border, hood.reach, n_words)
    for w in range(hood.border[1], hood.border[2]):
        doc[np.uint32(start[w] + _TWO)] = n_docs
    for p in range(n_docs):
        row = hood.row[p]
        for i in range(rows.indptr[row], rows.indptr[row + 1]):
            w = np.uint32(place[np.uint32(rows.indices[i])])
            at = hood.length[w]
            doc[at] = p
            value[at] = rows.data[i]
            hood.length[w] = at + _ONE
    for w in range(n_words):
        first, last = start[w], start[np.uint32(w + _ONE)]
        if hood.length[w] < last:
            value[hood.length[w]] = value[first]
        hood.is_even[w] = are_equal(value, first, last)
        if not hood.is_even[w]:
            sort(doc, value, first, last)
        hood.active[w] = w
    return n_words


@piece
def are_equal(value: Singles, first: Int, last: Int) -> bool:
    """Tell whether a list has only one value, as most have."""
    for i in range(first, last):
        if value[i] != value[first]:
            return False
    return True


@piece
def line_up(
    place: NDArray[np.int32],
    column: Words,
    length: Words,
    start: Words,
    border: NDArray[np.int64],
    reach: NDArray[np.int64],
    n_words: Int,
) -> None:
    """Number the words anew, stratum by stratum, and tell where the list of each begins.

    `border` receives where each stratum begins, `reach` the length of its longest list; `length`
    becomes where the next entry of each list goes. Lists of two are made as long as those of
    three: a loop that is always as long is foreseen by the processor.
    """
    border[:] = 0
    reach[:] = 0
    for w in range(n_words):
        stratum = stratum_of(length[w])
        border[stratum + 1] += 1
        reach[stratum] = max(reach[stratum], np.int64(length[w]))
    for stratum in range(N_STRATA):
        border[stratum + 1] += border[stratum]
    following = border.copy()
    for w in range(n_words):
        stratum = stratum_of(length[w])
        place[column[w]] = following[stratum]
        start[following[stratum]] = length[w] + np.uint32(length[w] == _TWO)
        following[stratum] += 1
    at = _ZERO
    for w in range(n_words):
        room = start[w]
        start[w] = at
        length[w] = at
        at = np.uint32(at + room)
    start[n_words] = at


@piece
def stratum_of(length: Int) -> Int:
    """Tell the stratum of a word by the length of its list."""
    return np.int64(length < 4) + np.int64(length < 2)


@piece
def sort(doc: Words, value: Singles, first: Int, last: Int) -> None:
    """Sort a list by value, the greatest first; most lists are all ones."""
    if last - first > _SHORT:
        values, docs = value[first:last], doc[first:last]
        order = np.argsort(-values)
        values[:] = values[order]
        docs[:] = docs[order]
        return
    for i in range(np.uint32(first + _ONE), last):
        moved, v = doc[i], value[i]
        j = np.uint32(i)
        while j > first and value[np.uint32(j - _ONE)] < v:
            value[j], doc[j] = value[np.uint32(j - _ONE)], doc[np.uint32(j - _ONE)]
            j = np.uint32(j - _ONE)
        value[j], doc[j] = v, moved


@inlined
def ask(
    hood: Record,
    indices: NDArray[np.int32],
    data: Singles,
    first: Int,
    last: Int,
    n_words: Int,
) -> Int:
    """Lay out a query's values by the neighbours' words; count its words that none of them has."""
    hood.x[:n_words] = np.float32(0.0)
    n_strange = 0
    for i in range(first, last):
        w = hood.place[np.uint32(indices[i])]
        if w >= 0:
            hood.x[w] = data[i]
        else:
            n_strange += 1
    return n_strange


@inlined
def leave(hood: Record, n_words: Int) -> None:
    """Forget the words."""
    for w in range(n_words):
        hood.place[hood.column[w]] = np.int32(-1)
