"""Tables of the catalogue. Constraints and indexes live in the database."""

from tools.models.groups import ToolGroup
from tools.models.index import ToolEmbedding, ToolPosting, ToolText
from tools.models.pages import ServerPage
from tools.models.servers import (
    Membership,
    Server,
    ServerDiscovery,
    ServerItems,
    ServerSignIn,
    SignInAttempt,
    Team,
)
from tools.models.tools import Category, DangerousOperation, Tool, ToolDefinition

__all__ = [
    "Category",
    "DangerousOperation",
    "Membership",
    "Server",
    "ServerDiscovery",
    "ServerItems",
    "ServerPage",
    "ServerSignIn",
    "SignInAttempt",
    "Team",
    "Tool",
    "ToolDefinition",
    "ToolEmbedding",
    "ToolGroup",
    "ToolPosting",
    "ToolText",
]
