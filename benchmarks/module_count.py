"""Count the modules of cordwood that a reader opens to follow an estimator from `fit` to the loop.

These are the modules that the estimator's own module imports, directly or through others; packages
without code of their own do not count. Before the packages were grouped by family there were 29 for
`RandomForestClassifier`, 35 for `BoostedForestClassifier`, 26 for `LinearSVMClassifier` and 37 for
`OOBStackingClassifier`.

python dev.py bench module_count [--list]
"""

import argparse
import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "cordwood"
ESTIMATORS = {
    "RandomForestClassifier": "cordwood.ensemble.forests",
    "BoostedForestClassifier": "cordwood.ensemble.boosted_forest",
    "LazyForestClassifier": "cordwood.ensemble.lazy_forest",
    "LinearSVMClassifier": "cordwood.linear_model.linear_svm",
    "OOBStackingClassifier": "cordwood.stacking.oob_stacking",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the names of the modules")
    listed = parser.parse_args().list
    paths = find_modules()
    for estimator, module in ESTIMATORS.items():
        found = follow_imports(module, paths)
        package = module.rpartition(".")[0]
        n_own = sum(name.startswith(f"{package}.") for name in found)
        print(f"{estimator:25} {len(found):2} modules, {n_own:2} of them in {package}")
        if listed:
            print("".join(f"    {name}\n" for name in sorted(found)), end="")


def find_modules() -> dict[str, Path]:
    """Map the dotted name of each module of the package to its file."""
    modules = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def follow_imports(module: str, paths: dict[str, Path]) -> set[str]:
    """Return the modules that a module needs, itself included."""
    found, pending = {module}, [module]
    while pending:
        new = find_imports(paths[pending.pop()], paths) - found
        found |= new
        pending.extend(new)
    return {name for name in found if paths[name].name != "__init__.py"}


def find_imports(path: Path, paths: dict[str, Path]) -> set[str]:
    """Return the modules of the package that a file imports by name."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                imported.add(full if full in paths else node.module)
    return imported & paths.keys()


if __name__ == "__main__":
    main()
