"""Catalogues of a given size, stored, indexed and embedded by the product's own code."""

from __future__ import annotations

from datetime import UTC, datetime

from django.conf import settings

from benchmarks.definitions import definitions
from gateway_project.foundation import sealing
from tools.embed.load import make_embedder
from tools.embed_catalogue import embed_missing
from tools.registration import ServerRegistration
from tools.store import catalogue, servers

PER_SERVER = 250


def fill(count: int) -> None:
    """Store, index and embed a catalogue of `count` tools."""
    sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
    every = list(definitions(count))
    for number, start in enumerate(range(0, count, PER_SERVER)):
        name = f"bench{number}"
        servers.register_servers([ServerRegistration(name=name, command="true")], sealer=sealer)
        catalogue.record_listing(
            name, every[start : start + PER_SERVER], at=datetime.now(UTC), approve_new=True
        )
    embed_missing(make_embedder(settings.FOREGATE))
