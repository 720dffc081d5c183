"""Tokenizer of the multilingual Universal Sentence Encoder: SentencePiece's unigram model.

A text is normalized by a table of replacements, NFKC with a few exceptions. Each word, with "▁"
for the blank before it, is then split into the pieces whose log-probabilities have the largest sum.
"""

import re
from functools import lru_cache
from math import inf

import numpy as np

_UNKNOWN, _BEGIN, _END = 0, 1, 2
_BLANK = "▁"
_UNKNOWN_PENALTY = 10.0  # below the least probable piece, as in SentencePiece

# Characters that may follow the first one of a sequence that is replaced as a whole, such as a
# letter and its accent: ranges that contain them all. A test compares them with the table.
_FOLLOWING = (
    "\u0300-\u0345\u0653-\u0655\u093c-\u0ddf\u102e\u1161-\u11c2\u1b35\u3099\u309a\u3133-\u3163"
    "\uff9e-\uffdc\U000110ba-\U000115af"
)
_SEQUENCE = re.compile(f".[{_FOLLOWING}]+", re.DOTALL)

# Most words of a text occur in others: their tokens are cached, unless they are long.
_CACHED_WORDS = 2**14
_CACHED_LENGTH = 32


class UnigramTokenizer:
    """Tokenizer of a SentencePiece model file.

    The file must be the one whose digest `UniversalSentenceEncoder` checks: its layout is known,
    and nothing is validated. Special tokens such as "<s>" are recognized in texts, as by the
    package that the file comes from.
    """

    def __init__(self, model: bytes) -> None:
        pieces, scores = [], []
        start = 0
        # A piece is a message of less than 128 bytes: its text, its score, and perhaps its type.
        while model[start] == 0x0A:
            score_at = start + 5 + model[start + 3]
            pieces.append(model[start + 4 : score_at - 1].decode())
            scores.append(model[score_at : score_at + 4])
            start += 2 + model[start + 1]
        self._scores: list[float] = np.frombuffer(b"".join(scores), "<f4").tolist()
        self._unknown_score = min(self._scores) - _UNKNOWN_PENALTY
        self._max_length = max(map(len, pieces))
        # Ids of pieces; -1 for what is only the beginning of longer ones.
        self._ids = {piece[:n]: -1 for piece in pieces for n in range(1, len(piece))}
        self._ids.update(zip(pieces, range(len(pieces)), strict=True))
        # The table follows the name of the normalization, a tag and a length of three bytes.
        self._replacements = _Replacements(model[model.index(b"nmt_nfkc") + 12 :])
        self._split_cached = lru_cache(_CACHED_WORDS)(self._split)

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """Return the ids of the tokens of a text, with special ones at the beginning and the end.

        Of a text with more than `max_tokens` tokens, only a beginning with more than these is
        tokenized.
        """
        # A token has at most 16 characters, each from at most 4: enough, unless most are blank.
        n_characters = 4 * self._max_length * max_tokens
        if len(text) > n_characters:
            beginning = text[:n_characters]
            ids = self._encode(beginning.rpartition(" ")[0] or beginning, max_tokens)
            if len(ids) > max_tokens:
                return ids
        return self._encode(text, max_tokens)

    def _encode(self, text: str, max_tokens: int) -> list[int]:
        ids = [_BEGIN]
        # A blank is the beginning of a piece, or not in it, so that words are independent.
        for word in self._replacements.apply(text).split(" "):
            if len(ids) >= max_tokens:
                break
            if len(word) > _CACHED_LENGTH:
                ids += self._split(_BLANK + word[: self._max_length * max_tokens])
            elif word:
                ids += self._split_cached(_BLANK + word)
        return [*ids, _END] if len(ids) > 1 else [_BEGIN, _UNKNOWN, _END]

    def _split(self, word: str) -> list[int]:
        """Return the most probable sequence of pieces, by the Viterbi algorithm."""
        find, scores, n = self._ids.get, self._scores, len(word)
        # Of the best sequence for the beginning of each length: score, last piece, and the start of
        # the piece. The longer one wins ties. Sums of these float32 scores are exact in float64.
        best = [0.0] + [-inf] * n
        last = [_UNKNOWN] * (n + 1)
        previous = [0] * (n + 1)
        for start in range(n):
            score = best[start]
            for end in range(start + 1, min(start + self._max_length, n) + 1):
                piece = find(word[start:end])
                if piece is None:
                    break
                if piece >= 0 and score + scores[piece] > best[end]:
                    best[end], last[end], previous[end] = score + scores[piece], piece, start
            end = start + 1
            if find(word[start], -1) < 0 and score + self._unknown_score > best[end]:
                best[end], last[end], previous[end] = score + self._unknown_score, _UNKNOWN, start
        ids = []
        while n:
            ids.append(last[n])
            n = previous[n]
        return ids[::-1]


class _Replacements(dict[int, str]):
    """Replacements of characters, and of sequences of them, in a Darts-clone double array.

    Keys are UTF-8. A unit is the edge to a node: its label (bits 0-7), whether a key ends there
    (bit 8), and the distance to its children (bits 10-30, times 256 if bit 9 is set): that for a
    byte is at index XOR distance XOR byte. That for 0 is where a key's replacement begins in
    `_values`. As a mapping, it contains the characters that occurred, for `str.translate`.
    """

    def __init__(self, table: bytes) -> None:
        n_bytes = int.from_bytes(table[:4], "little")
        self._units: list[int] = np.frombuffer(table[4 : 4 + n_bytes], "<u4").tolist()
        self._values = table[4 + n_bytes :]

    def apply(self, text: str) -> str:
        """Replace the longest sequences first, from left to right."""
        if not text.isascii():
            text = _SEQUENCE.sub(lambda match: self._replace(match[0]), text)
        # What a sequence was replaced by is not changed by replacements of its characters.
        return text.translate(self)

    def __missing__(self, code: int) -> str:
        self[code] = self._replace(chr(code))
        return self[code]

    def _replace(self, sequence: str) -> str:
        # Surrogates, which are not text, are kept, and become unknown tokens.
        data = sequence.encode("utf-8", "surrogatepass")
        replaced = bytearray()
        start = 0
        while start < len(data):
            end, value = self._find_longest(data, start)
            if value is None:
                end = start + 1
                replaced.append(data[start])
            else:
                replaced += self._values[value : self._values.index(0, value)]
            start = end
        return replaced.decode("utf-8", "surrogatepass")

    def _find_longest(self, data: bytes, start: int) -> tuple[int, int | None]:
        """Return the end and the value of the longest key at a position; None if there is none."""
        found: tuple[int, int | None] = start, None
        node = _offset(self._units[0])
        for end in range(start, len(data)):
            node ^= data[end]
            unit = self._units[node]
            if unit & 0x800000FF != data[end]:
                break
            node ^= _offset(unit)
            if unit & 0x100:
                found = end + 1, self._units[node] & 0x7FFFFFFF
        return found


def _offset(unit: int) -> int:
    return (unit >> 10) << (8 if unit & 0x200 else 0)
