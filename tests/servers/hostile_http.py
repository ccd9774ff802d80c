"""A remote server as a process of its own that does what http_legacy.py does, and more.

Prints the addresses of two endpoints, the second of which stops reading in the middle of a large
request, and ends with its stdin, that is with whoever started it.
"""

import asyncio
import sys

from tests.servers.http_legacy import LegacyServer
from tests.servers.http_raw import Asked, Reply

STALLS_BEYOND = 100_000


async def redirect_loop(asked: Asked, reply: Reply) -> None:
    await reply.whole(307, location="/mcp")


async def redirect_away(asked: Asked, reply: Reply) -> None:
    await reply.whole(307, location=asked.json["params"]["arguments"]["to"])


async def main() -> None:
    own = {function.__name__: function for function in (redirect_loop, redirect_away)}
    async with LegacyServer(own=own) as plain, LegacyServer(own=own) as stalling:
        stalling.stalls_beyond = STALLS_BEYOND
        sys.stdout.write(f"{plain.url} {stalling.url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(main())
