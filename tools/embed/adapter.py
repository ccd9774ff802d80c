"""Loads the low-rank changes that adapt a model to queries.

People say "raise a ticket" where a tool's description says "create an issue". The adapter was
trained on everyday wishes for tools of real servers (`benchmarks/fit_adapter.py`) and changes how
queries are embedded; vectors of tools stay as they are.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from tools.embed.quantize import Floats
from tools.embed.recipes import ModelRecipe


def load_adapter(recipe: ModelRecipe) -> dict[str, Floats]:
    """Return the changes of a model's linear layers; empty if it has no adapter.

    For each layer `NAME.down` of shape (rank, inputs) and `NAME.up` of shape (outputs, rank): the
    layer's output changes by up @ down @ input.

    References:
        Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, ICLR 2022.
    """
    if recipe.adapter is None:
        return {}
    with resources.files("tools.embed").joinpath(recipe.adapter).open("rb") as file:
        stored = np.load(file)
        return {name: stored[name].astype(np.float32) for name in stored.files}
