"""Helpers that change or forge model files, as damage or an attacker would."""

import hashlib
import json
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from cordwood import load, persist
from cordwood._schema.budget import Budget
from cordwood._schema.schema import Schema
from cordwood.exceptions import ModelFileError
from cordwood.persist import _objects, files


def members_of(file):
    with ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tree_of(file):
    return json.loads(members_of(file)["model.json"])


def write_members(content, target, *, compression=ZIP_DEFLATED, digests=True):
    """Write an archive, with valid digests by default."""
    content = dict(content)
    if digests:
        content["sha256"] = b"".join(
            f"{hashlib.sha256(content[name]).hexdigest()}  {name}\n".encode()
            for name in sorted(set(content) - {"sha256"})
        )
    with ZipFile(target, "w", compression=compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return target


def rewrite(file, target, *, tree=None, card=None, digests=True, **members):
    """Copy a model file with other content and valid digests.

    `tree` and `card` are called with the parsed JSON, and change it or return a new one. Further
    members are given by name, with "__" for ".".
    """
    content = members_of(file)
    for name, change in {"model.json": tree, "cordwood.json": card}.items():
        if change is not None:
            parsed = json.loads(content[name])
            changed = change(parsed)
            content[name] = json.dumps(parsed if changed is None else changed).encode()
    content.update({name.replace("__", "."): data for name, data in members.items()})
    return write_members(content, target, digests=digests)


def forge(model, target, **options):
    """Write a model file without the checks of `save`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Schema, "check_fitted", lambda *arguments: None)
        patch.setattr(_objects, "_check_params", lambda *arguments: None)
        patch.setattr(files, "_check_input", lambda *arguments: None)
        patch.setattr(Budget, "check", lambda *arguments: None)
        return persist.save(model, target, **options)


def load_error(file, **options):
    with pytest.raises(ModelFileError) as caught:
        load(file, **options)
    sentence = str(caught.value)
    assert str(file) in sentence
    assert "\n" not in sentence
    assert len(sentence) < len(str(file)) + 500
    return sentence


def objects_in(node):
    """All objects of a tree."""
    if isinstance(node, dict):
        if "class" in node:
            yield node
        for value in node.values():
            yield from objects_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects_in(value)
