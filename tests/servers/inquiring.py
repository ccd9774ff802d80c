"""A server made with the SDK that asks its user, by a result or by a request as the era wants.

It also logs, shows the metadata it was sent, and has a resource that changes.
"""

import json
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("inquiring")


class Name(BaseModel):
    name: str


def ask_name() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool()
def greet(who: Annotated[Name, Resolve(ask_name)]) -> str:
    """Greet the user by name."""
    return f"hello {who.name}"


@server.tool()
def meta(ctx: Context) -> str:
    """Return the metadata of the request."""
    params = ctx.request_context.meta
    return json.dumps(params if isinstance(params, dict) else params.model_dump(by_alias=True))


@server.tool()
async def complain(ctx: Context) -> str:
    """Log at two levels."""
    await ctx.log("info", "fine")
    await ctx.log("error", "not fine")
    return "complained"


@server.tool()
async def touch(ctx: Context) -> str:
    """Change the resource and say so."""
    await ctx.notify_resource_updated("test://clock")
    return "touched"


@server.tool()
async def rearrange(ctx: Context) -> str:
    """Say that all lists changed."""
    await ctx.notify_resources_changed()
    await ctx.notify_prompts_changed()
    return "rearranged"


@server.resource("test://clock")
def clock() -> str:
    """Tell the time."""
    return "noon"


@server.resource("test://{place}/clock")
def clock_of(place: str) -> str:
    """Tell the time of a place."""
    return f"noon in {place}"


@server.prompt()
def hello(name: str) -> str:
    """Say hello."""
    return f"Hello {name}."


if __name__ == "__main__":
    server.run("stdio")
