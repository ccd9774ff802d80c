"""Plays the person who signs in to the suite's servers, with the product's own way to do it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import aiohttp
from yarl import URL

from gateway_project.access import callers
from gateway_project.foundation import config as configuration
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.use_cases import sign_in
from gateway_project.use_cases.sign_in import SignInDependencies
from tools.models import Server
from tools.sign_in_store import make_remote_with_sign_ins
from tools.store.sign_ins import RemoteServer
from tools.upstream.errors import SignInRequired
from tools.upstream.network import NetworkRules, parse_networks
from tools.upstream.oauth.sign_ins import SignInManager
from tools.upstream.pool import UpstreamPool

# The suite's authorization servers know this document without reading it.
DOCUMENT = "https://conformance-test.local/client-metadata.json"
REDIRECT_URI = "http://127.0.0.1:3000/callback"
TIMES = 3

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Person:
    """Signs in whenever a call needs it, up to a few times."""

    caller: Caller
    server: RemoteServer
    means: SignInDependencies
    sign_ins: SignInManager
    pool: UpstreamPool

    async def doing(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do some work, and again after signing in.

        Raises:
            SignInRequired: If signing in does not help.
        """
        for _ in range(TIMES - 1):
            try:
                return await work()
            except SignInRequired:
                await self._sign_in()
        return await work()

    async def _sign_in(self) -> None:
        begun = await sign_in.begin_sign_in(
            self.caller, self.server, redirect_uri=REDIRECT_URI, dependencies=self.means
        )
        async with (
            aiohttp.ClientSession() as browser,
            browser.get(begun.browser_url, allow_redirects=False) as answer,
        ):
            arrived = URL(answer.headers["Location"])
        await sign_in.finish_sign_in(self.caller, dict(arrived.query), dependencies=self.means)
        await self.sign_ins.reload()


def _registered(url: str, context: Mapping[str, Any], means: SignInDependencies) -> RemoteServer:
    callers.ensure_local_admin()
    secret = context.get("client_secret")
    row = Server.objects.create(
        name=f"suite-{os.getpid()}",
        transport="http",
        url=url,
        private_network=True,
        authorization="oauth",
        oauth_client_id=context.get("client_id", ""),
        oauth_client_secret_sealed=means.sealer.seal(secret) if secret else "",
    )
    return sign_in.find_server(_admin(), sealer=means.sealer, name=row.name)


def _admin() -> Caller:
    return callers.caller_for_user(callers.LOCAL_ADMIN, kind="command")


@asynccontextmanager
async def person(url: str, context: Mapping[str, Any]) -> AsyncIterator[Person]:
    """Register the suite's server, with whatever client it knows already."""
    config = configuration.load_config()
    async with sign_in.load_dependencies(config) as plain:
        means = replace(plain, document_url=DOCUMENT)
        server = await run_in_database_thread(_registered, url, context, means)
        spec = replace(server.spec, authorization="oauth")
        rules = NetworkRules(allowed=parse_networks(config.allow_private))
        async with (
            make_remote_with_sign_ins(sealer=means.sealer, rules=rules, listing_user="") as (
                remote,
                sign_ins,
            ),
            UpstreamPool([spec], remote=remote) as pool,
        ):
            yield Person(
                caller=await run_in_database_thread(_admin),
                server=server,
                means=means,
                sign_ins=sign_ins,
                pool=pool,
            )
