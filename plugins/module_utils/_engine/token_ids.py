# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Token ids of one tokenizer as an engine loads it and with its library's correction. Run by the engine's own Python, beside the engine.

One argument, the snapshot's folder; one line of JSON out: ``{library, corrected, texts, texts_sha256, ids_sha256: [as loaded, corrected],
ids_differ, splits_differ, examples: [{text, as_loaded, corrected}]}``, or ``{problem}``. Nothing is asked of a network and no GPU is seen.
Source of the correction: transformers, ``_patch_mistral_regex`` (4.57.2 and newer).
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

#: One character of each class that the splitting patterns of byte-level tokenizers tell apart, and the letters that they name.
CLASSES = ("A", "b", "ǅ", "ʰ", "文", "\u0301", "7", "½", "'", "/", "§", " ", "\n", "\t", "\u00a0")
LENGTH = 4
CONTRACTIONS = [
    f"{word}'{tail}" for word in ("it", "IT", "é") for tail in ("s", "t", "re", "ve", "m", "ll", "d", "S", "LL", "x")
]
#: What people write, in several scripts.
SENTENCES = [
    "The quick brown fox can't jump 12345 fences; it's 3.14 m high.",
    "Größe, naïveté, señor — «ça va?» 100 % à 20 °C.",
    "Москва, 1703 год: 'Привет!'",
    "東京は2026年も晴れです。価格は¥1,980。",
    "अनुवाद: नमस्ते दुनिया १२३",
    "مرحبا بالعالم ٤٥٦",
    "def f(x_1, *args):\n\treturn {'a': [x_1]*2}  # TODO\n\n\nif __name__ == '__main__':\r\n    f(0x1F)",
    '{"id": 17, "tags": ["A-b", "c_D"], "ok": true}\n',
    "camelCaseHTTPServer2Go getURLFromDB IOError",
    "👩‍💻 ok 🇩🇪 ‼",
]
EXAMPLES = 5


def texts() -> Iterator[str]:
    """Every sequence of up to four classes, as a splitting pattern sees nothing else; then contractions and sentences."""
    for length in range(1, LENGTH + 1):
        yield from map("".join, itertools.product(CLASSES, repeat=length))
    yield from CONTRACTIONS
    yield from SENTENCES


def differential(corpus: list[str], loaded: Any, fixed: Any) -> dict[str, Any]:
    """Ids that differ, and splits: where these agree for every sequence of classes, no vocabulary can make ids of them that differ."""
    ids = [tokenizer(corpus, add_special_tokens=False)["input_ids"] for tokenizer in (loaded, fixed)]
    split = [tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str for tokenizer in (loaded, fixed)]
    different = [row for row in zip(corpus, *ids, strict=True) if row[1] != row[2]]
    return {
        "texts": len(corpus),
        "texts_sha256": _sha256(corpus),
        "ids_sha256": [_sha256(item) for item in ids],
        "ids_differ": len(different),
        "splits_differ": sum(split[0](text) != split[1](text) for text in corpus),
        "examples": [{"text": text, "as_loaded": old, "corrected": new} for text, old, new in different[:EXAMPLES]],
    }


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def compare(folder: str) -> dict[str, Any]:
    """``corrected``: the library says that its correction was applied to the one and not to the other; else nothing was compared."""
    os.environ.update(CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="true")
    transformers = importlib.import_module("transformers")
    load = transformers.AutoTokenizer.from_pretrained
    loaded, fixed = load(folder), load(folder, fix_mistral_regex=True)
    return {
        "library": f"transformers {transformers.__version__}",
        "corrected": is_corrected(fixed) and not is_corrected(loaded),
        **differential(list(texts()), loaded, fixed),
    }


def is_corrected(tokenizer: Any) -> bool:
    """The library's own mark, which stands on the tokenizer in its version 4 and on what is inside it in 5."""
    inner = getattr(tokenizer, "backend_tokenizer", None)
    return any(getattr(item, "fix_mistral_regex", None) is True for item in (tokenizer, inner))


def main() -> int:
    """Whatever goes wrong is told, as the caller has only this line."""
    try:
        result = compare(sys.argv[1])
    except Exception as exc:
        result = {"problem": f"{type(exc).__name__}: {exc}"[:400]}
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
