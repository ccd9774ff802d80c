"""Pages of servers, which hosts show for results (MCP Apps), and their skills."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from tools.models.servers import Server


class ServerPage(models.Model):
    """A page or a skill of a server; clients get it as long as it is as it was pinned."""

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="pages")
    uri = models.CharField(max_length=500, help_text="Its URI at the server, ui://…")
    pinned = models.JSONField(null=True, help_text="The approved page; empty: none is.")
    pinned_hash = models.CharField(max_length=64, blank=True, default="")
    listed = models.JSONField(help_text="The page as it was read last; approval pins it.")
    listed_hash = models.CharField(max_length=64)
    findings = models.JSONField(default=list, blank=True, help_text="Of the page as read last.")
    listed_at = models.DateTimeField(help_text="When it was first read as it is now.")
    approved_at = models.DateTimeField(null=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Empty although approved_at is set: pinned as it was first read.",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["server", "uri"], name="page_once_per_server"),
            models.CheckConstraint(condition=~Q(uri=""), name="page_named"),
        )

    def __str__(self) -> str:
        return f"{self.uri} of {self.server}"
