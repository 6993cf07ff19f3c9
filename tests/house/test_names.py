"""The public names are the listed ones, and importing them is cheap."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from types import ModuleType

import protok


def test_public_names() -> None:
    assert sorted(protok.__all__) == protok.__all__
    visible = {
        name
        for name in dir(protok)
        if (not name.startswith("_") or name == "__version__")
        and not isinstance(getattr(protok, name), ModuleType)
        and name not in {"TYPE_CHECKING", "Any", "annotations"}
    }
    assert visible == set(protok.__all__)
    for name in protok.__all__:
        assert getattr(protok, name).__doc__, name


def test_modules_export_what_they_say() -> None:
    for module in pkgutil.walk_packages(protok.__path__, "protok."):
        if "._core" not in module.name and ".cli." not in module.name:
            loaded = importlib.import_module(module.name)
            assert all(hasattr(loaded, name) for name in loaded.__all__), module.name


def modules_after(statement: str) -> set[str]:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return set(json.loads(output.splitlines()[-1]))


def test_import_is_light() -> None:
    # Counted in modules: a time would depend on the machine.
    baseline = modules_after("pass")
    assert len(modules_after("import protok") - baseline) <= 5
    loaded = modules_after("import protok; protok.load") - baseline
    assert not {"numpy", "huggingface_hub", "typer", "rich", "asyncio", "email"} & loaded
    assert len(loaded) < 90


def test_numpy_is_imported_only_for_arrays() -> None:
    encode = "import protok; enc = protok.load('protok:demo').encode('Hello'); list(enc)"
    assert "numpy" not in modules_after(encode)
    assert "numpy" in modules_after(f"{encode}; enc.ids")


def test_errors_need_no_engine() -> None:
    assert "protok._core" not in modules_after("from protok import errors")
