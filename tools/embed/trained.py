"""Loads what was trained on top of the packaged model: its adapter and its reader.

People say "raise a ticket" where a tool's description says "create an issue". The adapter
(`benchmarks/fit_adapter.py`) changes how queries are embedded; vectors of tools stay as they are.
The reader (`benchmarks/reader`) tells which arguments a request states. Both were trained on
everyday wishes for tools of real servers.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from tools.embed.quantize import Floats

ROUNDED = "|values"
"""Ends the name of a tensor stored in 8 bits; see `quantize.quantize_rows`."""
SCALES = "|scales"
"""Ends the name of its scales."""


def load_trained(file: str | None) -> dict[str, Floats]:
    """Return tensors by name from a file beside this module; empty without one.

    For each changed linear layer `NAME.down` of shape (rank, inputs) and `NAME.up` of shape
    (outputs, rank): the layer's output changes by up @ down @ input.

    References:
        Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, ICLR 2022.
    """
    if file is None:
        return {}
    with resources.files("tools.embed").joinpath(file).open("rb") as stream:
        stored = np.load(stream)
        found = {
            name: stored[name].astype(np.float32)
            for name in stored.files
            if not name.endswith(SCALES)
        }
        return {
            name.removesuffix(ROUNDED): values * stored[name.removesuffix(ROUNDED) + SCALES]
            if name.endswith(ROUNDED)
            else values
            for name, values in found.items()
        }
