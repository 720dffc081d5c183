"""Words that give the label away: present in one class only, and not because of its subject."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import bdtrc
from scipy.stats import false_discovery_control

_STRIP = "()[]{}<>\"'`.,;:!?*\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"
