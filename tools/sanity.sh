#!/usr/bin/env bash
# ansible-test sanity from a plain checkout, with nothing reachable but the package index.
# ansible-test wants to download a bootstrap script for pip 24.2 from its own host; its error message offers the cache as the way out.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="$HOME/.ansible/test/cache"
if [ ! -s "$cache/get_pip_24_2.py" ]; then
    mkdir -p "$cache"
    python -m pip --disable-pip-version-check download --quiet --no-deps pip==24.2 -d "$cache"
    cat >"$cache/get_pip_24_2.py" <<'PY'
import pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).with_name("pip-24.2-py3-none-any.whl")))
from pip._internal.cli.main import main

sys.exit(main(["install", *(a for a in sys.argv[1:] if a not in ("--no-setuptools", "--no-wheel"))]))
PY
fi
version=$(python -c 'import sys; print(f"{sys.version_info.major}.{sys.version_info.minor}")')
export ANSIBLE_TEST_CONTENT_ROOT="$PWD/collections/ansible_collections/tandem/campaign"
exec ansible-test sanity --python "$version" "$@"
