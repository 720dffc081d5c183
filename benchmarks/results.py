"""Write docs/results.md from all plans and ledgers: python dev.py results.

Needs no data; what the ledgers lack is said to be missing.
"""

import sys
from pathlib import Path

from cordwood import _atomic as atomic
from cordwood.compare.report.write_plots import write_pictures
from cordwood.compare.reproduction.results import EXPLANATIONS, Page, make_page

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "docs" / "results.md"

HEAD = """\
# Results

Learners compared on the data sets of the papers, by their protocols. This page is made by
`python dev.py results` from the plans in `benchmarks/plans` and the ledgers in
`benchmarks/ledgers`; nothing in it but the explanations is written by hand. To run a plan, or what
its ledger lacks, and bring the page up to date:

```
cordwood compare benchmarks/plans/NAME.toml --ledger benchmarks/ledgers/NAME.jsonl --data-dir FOLDER
python dev.py results
```
"""


def page() -> Page:
    return make_page(HEAD, HERE / "plans", HERE / "ledgers", links="../benchmarks/plans")


def main() -> None:
    made = page()
    with atomic.write(TARGET, newline="\n") as file:
        file.write(made.text)
    n_pictures = len(write_pictures(made.sections, TARGET.parent / "pictures"))
    print(f"wrote {TARGET} and {n_pictures} pictures beside it")
    print(f"large differences that nothing explains: {made.n_open}")
    for explanation in made.idle:
        print(f"{EXPLANATIONS}: explains nothing: {explanation.places}", file=sys.stderr)


if __name__ == "__main__":
    main()
