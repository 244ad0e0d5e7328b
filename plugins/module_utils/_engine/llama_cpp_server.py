# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts llama.cpp's OpenAI-compatible server from the wheel ``xllamacpp``, with llama.cpp's own option names.

A program of its own: it is copied to the host and run by the engine environment's Python. Options it does not know
are refused, so that a recipe can't believe in a setting that has no effect.
"""

from __future__ import annotations

import argparse
import signal
import sys


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options; names as in llama-server."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ctx-size", type=int, required=True)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--ubatch-size", type=int)
    parser.add_argument("--rope-freq-base", type=float)
    parser.add_argument("--cache-ram", type=int, help="prompt cache in MiB; 0 is off")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    """One line into the engine's log, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    options = parse()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.alias}
    params.hostnames = [options.host]
    params.port = options.port
    params.n_ctx = options.ctx_size
    params.n_parallel = options.parallel
    params.endpoint_metrics = True
    params.endpoint_props = True
    params.ui = False
    if options.threads:
        params.cpuparams.n_threads = options.threads
    if options.batch_size:
        params.n_batch = options.batch_size
    if options.ubatch_size:
        params.n_ubatch = options.ubatch_size
    if options.rope_freq_base is not None:
        params.rope_freq_base = options.rope_freq_base
    if options.cache_ram is not None:
        params.cache_ram_mib = options.cache_ram
    say(f"xllamacpp {xllamacpp.__version__}")
    server = xllamacpp.Server(params)
    say(f"listening {server.listening_address}")
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    say("stopping")


if __name__ == "__main__":
    main()
