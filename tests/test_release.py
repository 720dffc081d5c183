"""Metadata that a release needs is consistent."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import cordwood

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def direct_dependencies():
    project = PROJECT["project"]
    listed = [*project["dependencies"], *PROJECT["dependency-groups"]["test"]]
    listed += [line for extra in project["optional-dependencies"].values() for line in extra]
    return [Requirement(line) for line in listed]


def read_lock_file(name):
    """Return the versions of each package; there may be several, with environment markers."""
    versions = {}
    for line in (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            (specifier,) = requirement.specifier
            assert specifier.operator == "=="
            versions.setdefault(requirement.name, []).append(specifier.version)
    return versions


@pytest.mark.parametrize("requirement", direct_dependencies(), ids=str)
def test_minimum_lock_file_has_the_lower_bound(requirement):
    (lower,) = [each.version for each in requirement.specifier if each.operator in (">=", "==")]
    (locked,) = read_lock_file("minimum")[canonicalize_name(requirement.name)]
    assert Version(locked) == Version(lower), "run: python dev.py lock"


@pytest.mark.parametrize("name", ["minimum", "newest"])
@pytest.mark.parametrize("requirement", direct_dependencies(), ids=str)
def test_lock_files_satisfy_the_requirements(name, requirement):
    locked = read_lock_file(name).get(canonicalize_name(requirement.name), [])
    assert locked, "run: python dev.py lock"
    assert all(requirement.specifier.contains(version) for version in locked)


def test_lock_file_of_the_documentation_satisfies_its_group():
    locked = read_lock_file("docs")
    for requirement in map(Requirement, PROJECT["dependency-groups"]["docs"]):
        versions = locked.get(canonicalize_name(requirement.name), [])
        assert versions, "run: python dev.py lock"
        assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.parametrize("name", ["minimum", "newest", "docs"])
def test_lock_files_contain_versions_only(name):
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    pinned = r"[a-z0-9-]+==[a-z0-9.]+( ; [\w .*=<>'!()]+)?"
    assert [line for line in text.splitlines() if not re.fullmatch(rf"#.*|{pinned}", line)] == []
    assert "://" not in text and "file:" not in text


def test_lower_bound_is_declared_once():
    bounds = {}
    for requirement in direct_dependencies():
        bounds.setdefault(canonicalize_name(requirement.name), set()).add(
            str(requirement.specifier)
        )
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}


def test_citation_has_the_version_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {cordwood.__version__}\n" in citation
