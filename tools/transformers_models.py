"""Write the table of tokenizer classes by model type from an installed ``transformers``.

    python tools/transformers_models.py            write it
    python tools/transformers_models.py --check    compare: exit code 1 on a difference

The version must be the one that ``as_loaded_by="transformers"`` follows.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

VERSION = "5.24.0"
TABLE = (
    Path(__file__).resolve().parents[1] / "crates/protok-core/src/formats/transformers/models.rs"
)
TEMPLATE = """\
//! Which tokenizer class `transformers` {version} takes for a `model_type` of `config.json`.
//!
//! Written by `tools/transformers_models.py`; do not edit.

/// The class, and the model types it is registered for.
#[rustfmt::skip]
const REGISTERED: &[(&str, &str)] = &[
{registered}
];

/// Model types whose published `tokenizer_class` is known to be wrong: the registered one counts.
#[rustfmt::skip]
const MISNAMED: &str =
    "{misnamed}";

/// Model types of which there is no configuration, so that they name no class by themselves.
#[rustfmt::skip]
const UNCONFIGURED: &str =
    "{unconfigured}";

/// The class that is registered for a model type.
pub(super) fn registered(model_type: &str) -> Option<&'static str> {{
    let listed = |names: &str| names.split_whitespace().any(|name| name == model_type);
    REGISTERED.iter().find(|(_, types)| listed(types)).map(|(class, _)| *class)
}}

/// Whether the class that a folder names does not count for its model type.
pub(super) fn is_misnamed(model_type: &str) -> bool {{
    MISNAMED.split_whitespace().any(|name| name == model_type)
}}

/// Whether `config.json` of a model type names a class where nothing else does.
pub(super) fn is_configured(model_type: &str) -> bool {{
    !UNCONFIGURED.split_whitespace().any(|name| name == model_type)
}}
"""


def words(names: Iterable[str], indent: int) -> str:
    """Join names as the text of a Rust string over several lines."""
    lines = textwrap.wrap(
        " ".join(sorted(names)), 90, break_on_hyphens=False, break_long_words=False
    )
    return (" \\\n" + " " * indent).join(lines)


def unconfigured() -> list[str]:
    """Return the model types with a tokenizer, but no configuration."""
    from transformers.models.auto import configuration_auto, tokenization_auto  # noqa: PLC0415

    names = tokenization_auto.TOKENIZER_MAPPING_NAMES.items()
    configured = configuration_auto.CONFIG_MAPPING_NAMES
    return sorted(kind for kind, name in names if name and kind not in configured)


def table() -> str:
    """Read the tables of ``transformers``."""
    import transformers  # noqa: PLC0415  (not a dependency)
    from transformers.models.auto import tokenization_auto as auto  # noqa: PLC0415

    if transformers.__version__ != VERSION:
        raise SystemExit(f"transformers {VERSION} is wanted, not {transformers.__version__}")
    by_class: dict[str, list[str]] = defaultdict(list)
    for model_type, name in auto.TOKENIZER_MAPPING_NAMES.items():
        if name:
            by_class[name.removesuffix("Fast")].append(model_type)
    entries = (f'    ("{name}", "{words(by_class[name], 4)}"),' for name in sorted(by_class))
    return TEMPLATE.format(
        version=VERSION,
        registered="\n".join(entries),
        misnamed=words(auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS, 4),
        unconfigured=words(unconfigured(), 4),
    )


def main() -> int:
    """Write the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        same = TABLE.read_text("utf-8") == table()
        print("the table is up to date" if same else "the table differs")
        return int(not same)
    TABLE.write_text(table(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
