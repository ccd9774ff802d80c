"""Factories of rows, stored as the product would store them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import factory
from django.contrib.auth import get_user_model
from factory.django import DjangoModelFactory

from graph.models import RelationEvidence, ToolDependency
from graph.relations import EvidenceSource, RelationKind
from tools import embedding_text, models
from tools.definition import Definition
from tools.store import servers

SEEN_AT = datetime(2026, 11, 1, tzinfo=UTC)


class UserFactory(DjangoModelFactory):
    """An active user without permissions; `superuser=True` and `staff=True` grant them."""

    class Meta:
        model = get_user_model()

    class Params:
        staff = factory.Trait(is_staff=True)
        superuser = factory.Trait(is_staff=True, is_superuser=True)

    username = factory.Sequence("user{}".format)
    password = factory.django.Password("not a secret")


class TeamFactory(DjangoModelFactory):
    """A team without members."""

    class Meta:
        model = models.Team

    name = factory.Sequence("team {}".format)


def find_own_team(username: str) -> models.Team:
    """Return the private team of a user, which owns what is observed of them."""
    return models.Team.with_private.get(person__username=username)


class MembershipFactory(DjangoModelFactory):
    """A user's membership in a team."""

    class Meta:
        model = models.Membership

    user = factory.SubFactory(UserFactory)
    team = factory.SubFactory(TeamFactory)


class CategoryFactory(DjangoModelFactory):
    """A category without tools."""

    class Meta:
        model = models.Category

    name = factory.Sequence("category {}".format)


class ServerFactory(DjangoModelFactory):
    """A shared, enabled, untrusted stdio server."""

    class Meta:
        model = models.Server

    name = factory.Sequence("server{}".format)
    command = "mcp-server-nowhere"


class ToolFactory(DjangoModelFactory):
    """A tool with its pinned definition; `pinned=False` leaves it pending without one.

    What its server says of it (`title`, `description`, `input_schema`, `output_schema`,
    `annotations`) is given here and stored in the definition, hashed as the product hashes it.
    """

    class Meta:
        model = models.Tool

    server = factory.SubFactory(ServerFactory)
    name = factory.Sequence("tool{}".format)
    state = models.Tool.State.ACTIVE
    first_seen_at = SEEN_AT
    last_seen_at = SEEN_AT
    title = ""
    description = factory.LazyAttribute(lambda tool: f"What {tool.name} does.")
    input_schema = factory.LazyFunction(lambda: {"type": "object", "properties": {}})
    output_schema = None
    annotations = factory.LazyFunction(dict)
    pinned = True

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **values: Any) -> models.Tool:
        said = ("title", "description", "input_schema", "output_schema", "annotations")
        definition = Definition(name=values["name"], **{key: values.pop(key) for key in said})
        pinned, state = values.pop("pinned"), values.pop("state")
        tool: models.Tool = super()._create(
            model_class, *args, **values, state=models.Tool.State.PENDING
        )
        if pinned:
            tool.definition = store_definition(tool, definition)
            tool.state = state
            tool.save()
        return tool


def store_definition(tool: models.Tool, said: Definition) -> models.ToolDefinition:
    """Store a version of a tool's definition, approved when it was listed."""
    return models.ToolDefinition.objects.create(
        tool=tool,
        hash=said.hash,
        launch_hash=servers.launch_hash(tool.server),
        text_hash=embedding_text.compose_text(said, server=tool.server.name).digest,
        title=said.title,
        description=said.description,
        input_schema=said.input_schema,
        output_schema=said.output_schema,
        annotations=said.annotations,
        token_count=10,
        listed_at=SEEN_AT,
        approved_at=SEEN_AT,
    )


class DangerousOperationFactory(DjangoModelFactory):
    """A dangerous operation curated by an admin; its pattern is not among the seeded ones."""

    class Meta:
        model = models.DangerousOperation

    pattern = factory.Sequence("detonate {}".format)
    reason = "explodes"


class RelationFactory(DjangoModelFactory):
    """A required dependency between two tools, without evidence."""

    class Meta:
        model = ToolDependency

    source = factory.SubFactory(ToolFactory)
    target = factory.SubFactory(ToolFactory)
    kind = RelationKind.DEPENDS_ON.value


class EvidenceFactory(DjangoModelFactory):
    """A person's evidence for a relation."""

    class Meta:
        model = RelationEvidence

    relation = factory.SubFactory(RelationFactory)
    source = EvidenceSource.CURATED.value
    confidence = 1.0
    last_seen_at = SEEN_AT
