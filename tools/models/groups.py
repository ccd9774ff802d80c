"""Groups of tools, to which clients can be limited."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from gateway_project.foundation.endpoint import GROUP_NAME_PATTERN
from tools.models.servers import Team


class ToolGroup(models.Model):
    """The only tools that exist for a client limited to the group.

    Members are named, not referred to, so that a group can be set up before its servers are
    discovered, and a server registered again under its name is in it again.
    """

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[
            RegexValidator(
                GROUP_NAME_PATTERN,
                "Use lower-case letters, digits, hyphens and underscores, 64 at most.",
            )
        ],
        help_text="Part of the address at which clients connect: /mcp/groups/NAME.",
    )
    description = models.CharField(max_length=500, blank=True, default="")
    team = models.ForeignKey(
        Team,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="tool_groups",
        help_text="Team whose members may be limited to it; empty: everybody.",
    )
    servers = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        help_text="Names of servers: all their tools, resources and prompts.",
    )
    categories = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        help_text="Names of categories: all their tools.",
    )
    tools = ArrayField(
        models.TextField(), default=list, blank=True, help_text="Ids of tools, server:tool."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(name__regex=GROUP_NAME_PATTERN), name="tool_group_name_fits_address"
            ),
        )

    def __str__(self) -> str:
        return self.name
