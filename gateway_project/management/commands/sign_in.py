"""Sign in to a remote server from a terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from gateway_project.management import question

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from gateway_project.use_cases.sign_in import Done
    from tools.store.sign_ins import Mode, RemoteServer
    from tools.upstream.oauth.loopback import Loopback

WAIT_S = 300.0
PASTED_NOTHING = "That is not the address this sign-in ends on; copy it whole."


class Command(BaseCommand):
    """`manage.py sign_in SERVER [--user NAME] [--shared] [--forget]`."""

    help = "Sign in to a remote MCP server, or forget the sign-in; see docs/oauth.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", metavar="SERVER", help="name of a remote server")
        parser.add_argument(
            "--user", metavar="NAME", help="user who signs in (default: the local admin)"
        )
        parser.add_argument(
            "--shared", action="store_true", help="make one sign-in that serves all users"
        )
        parser.add_argument(
            "--forget", action="store_true", help="delete the sign-in and give its tokens back"
        )
        parser.add_argument(
            "--yes", action="store_true", help="change without asking how the server is called"
        )
        parser.add_argument(
            "--wait",
            type=float,
            default=WAIT_S,
            metavar="S",
            help="seconds to wait for the browser (default: %(default)g)",
        )
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        from django.conf import settings

        from gateway_project.access import callers
        from gateway_project.foundation import sealing, telemetry
        from gateway_project.foundation.postgres import migrate
        from gateway_project.use_cases import sign_in

        telemetry.configure(settings.FOREGATE, process="sign_in", quiet=True)
        migrate.migrate_once()
        callers.ensure_local_admin()
        sealer = sealing.load_or_create(settings.FOREGATE.home)
        with _one_line():
            caller = callers.for_user(options["user"] or callers.LOCAL_ADMIN, kind="command")
            server = sign_in.find(caller, sealer=sealer, name=options["server"])
            if options["forget"]:
                self._forget(caller, server, as_json=options["json"])
                return
            wanted = _mode(server.mode, options)
            if wanted != server.mode:
                self._confirm(server, wanted, sure=options["yes"])
                operator = callers.for_user(callers.LOCAL_ADMIN, kind="command")
                sign_in.switch_on(operator, server, wanted)
                server = sign_in.find(caller, sealer=sealer, name=server.name)
            done = asyncio.run(self._sign_in(caller, server, wait_s=options["wait"]))
        self._report(done, as_json=options["json"])

    def _confirm(self, server: RemoteServer, wanted: Mode, *, sure: bool) -> None:
        """Ask on stderr before a server is called otherwise than so far."""
        change = f"Server {server.name!r} has authorization {server.mode}; set it to {wanted}"
        if sure:
            return
        if not question.at_terminal():
            raise CommandError(f"{change} with --yes")
        if not question.agreed(f"{change}? [y/N] "):
            raise CommandError("nothing was changed")

    async def _sign_in(self, caller: Caller, server: RemoteServer, *, wait_s: float) -> Done:
        from django.conf import settings

        from gateway_project.use_cases import sign_in
        from tools.upstream.oauth import loopback

        async with sign_in.means(settings.FOREGATE) as means, loopback.listening() as listener:
            begun = await sign_in.begin(
                caller, server, redirect_uri=listener.redirect_uri, means=means
            )
            self._invite(begun.address, wait_s)
            with self._pasting(listener):
                try:
                    async with asyncio.timeout(wait_s):
                        answer = await listener.wait(begun.state)
                except TimeoutError:
                    raise CommandError(
                        f"no browser came back within {wait_s:g} s; run the command again"
                    ) from None
            return await sign_in.finish(caller, answer, means=means)

    def _invite(self, address: str, wait_s: float) -> None:
        """Say what to do, on stderr, since stdout is for the report."""
        self.stderr.write(
            f"Open this address in a browser and sign in there (within {wait_s:g} s):\n\n"
            f"{address}\n\n"
            "If the browser runs on another machine, it ends on an address that it cannot open: "
            "copy that address and paste it here.",
            str,
        )
        self.stderr.flush()

    @contextmanager
    def _pasting(self, listener: Loopback) -> Iterator[None]:
        """Take pasted lines while waiting, where there is a terminal to paste them into."""
        if not sys.stdin.isatty():
            yield
            return
        loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()

        def read() -> None:
            line = sys.stdin.readline()
            if not line:
                loop.remove_reader(terminal)
            elif line.strip() and not listener.paste(line):
                self.stderr.write(PASTED_NOTHING, self.style.WARNING)

        loop.add_reader(terminal, read)
        try:
            yield
        finally:
            loop.remove_reader(terminal)

    def _forget(self, caller: Caller, server: RemoteServer, *, as_json: bool) -> None:
        from django.conf import settings

        from gateway_project.use_cases import sign_in

        async def run() -> bool | None:
            async with sign_in.means(settings.FOREGATE) as means:
                return await sign_in.forget(caller, server, means=means)

        given_back = asyncio.run(run())
        if as_json:
            report = {"server": server.name, "forgotten": given_back is not None}
            self.stdout.write(json.dumps({**report, "revoked": bool(given_back)}))
            return
        self.stdout.write(sign_in.forgotten(given_back))

    def _report(self, done: Done, *, as_json: bool) -> None:
        expires_at = done.expires_at.isoformat(timespec="seconds") if done.expires_at else None
        if as_json:
            self.stdout.write(
                json.dumps(
                    {
                        "server": done.key.server,
                        "user": done.key.user or None,
                        "issuer": done.issuer,
                        "scopes": done.scope.split(),
                        "renews": done.renews,
                        "expires_at": expires_at,
                    },
                    indent=2,
                )
            )
            return
        self.stdout.write(
            f"Signed in to {done.key.server} at {done.issuer} for {done.key.user or 'all users'}; "
            f"scopes: {done.scope or 'not said'}."
        )
        if not done.renews:
            until = f"until {expires_at}" if expires_at else "until the server ends it"
            self.stdout.write(f"There is no refresh token: it holds {until}.")
        self.stdout.write(f"Next: manage.py discover {done.key.server}")


def _mode(present: Mode, options: dict[str, Any]) -> Mode:
    """Return how the server is to be called; what is set stays unless --shared says otherwise."""
    if options["shared"]:
        return "oauth"
    if present != "none":
        return present
    return "oauth_per_user" if options["user"] else "oauth"


@contextmanager
def _one_line() -> Iterator[None]:
    """End the command with one line where a person can mend what is wrong."""
    from gateway_project.use_cases import sign_in

    try:
        yield
    except sign_in.EXPECTED as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"cannot listen on this machine: {error.strerror}") from None
