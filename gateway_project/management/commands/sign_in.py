"""Sign in to a remote server from a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError

from gateway_project.management import question
from gateway_project.management.command import JSON, GatewayCommand, argument, flag

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from gateway_project.use_cases.sign_in import CompletedSignIn
    from tools.store.sign_ins import RemoteServer, SignInMode
    from tools.upstream.oauth.loopback import LoopbackListener

BROWSER_TIMEOUT_S = 300.0
INVALID_PASTE_NOTE = "That is not the address this sign-in ends on; copy all of it."


class Command(GatewayCommand):
    """`manage.py sign_in SERVER [--user NAME] [--shared] [--forget]`."""

    help = "Sign in to a remote MCP server, or forget the sign-in; see docs/oauth.md."
    arguments = (
        argument("server", "name of a remote server", "SERVER"),
        argument("--user", "user who signs in (default: the local admin)", "NAME"),
        flag("--shared", "make one sign-in that serves all users"),
        flag("--forget", "delete the sign-in and revoke its tokens"),
        flag("--yes", "change the server's authorization without confirmation"),
        argument(
            "--wait",
            "seconds to wait for the browser (default: %(default)g)",
            "S",
            type=float,
            default=BROWSER_TIMEOUT_S,
        ),
        JSON,
    )

    def run(self, options: dict[str, Any]) -> None:
        from django.conf import settings

        from gateway_project.access import callers
        from gateway_project.foundation import sealing, telemetry
        from gateway_project.foundation.postgres import migrate
        from gateway_project.use_cases import sign_in

        telemetry.configure_logging(settings.FOREGATE, process="sign_in", quiet=True)
        migrate.migrate_once()
        callers.ensure_local_admin()
        sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
        with _report_in_one_line():
            caller = callers.caller_for_user(
                options["user"] or callers.LOCAL_ADMIN, kind="command"
            )
            server = sign_in.find_server(caller, sealer=sealer, name=options["server"])
            if options["forget"]:
                self._forget_sign_in(caller, server, as_json=options["json"])
                return
            wanted = _choose_mode(server.mode, options)
            if wanted != server.mode:
                self._confirm_mode_change(server, wanted, sure=options["yes"])
                operator = callers.caller_for_user(callers.LOCAL_ADMIN, kind="command")
                sign_in.set_sign_in_mode(operator, server, wanted)
                server = sign_in.find_server(caller, sealer=sealer, name=server.name)
            done = asyncio.run(self._sign_in(caller, server, wait_s=options["wait"]))
        self._print_report(done, as_json=options["json"])

    def _confirm_mode_change(
        self, server: RemoteServer, wanted: SignInMode, *, sure: bool
    ) -> None:
        """Ask on stderr before changing how a server is called."""
        change = f"Server {server.name!r} has authorization {server.mode}; set it to {wanted}"
        if sure:
            return
        if not question.is_terminal():
            raise CommandError(f"{change} with --yes")
        if not question.confirm(f"{change}? [y/N] "):
            raise CommandError("nothing was changed")

    async def _sign_in(
        self, caller: Caller, server: RemoteServer, *, wait_s: float
    ) -> CompletedSignIn:
        from django.conf import settings

        from gateway_project.use_cases import sign_in
        from tools.upstream.oauth import loopback

        async with (
            sign_in.load_dependencies(settings.FOREGATE) as means,
            loopback.open_loopback() as listener,
        ):
            begun = await sign_in.begin_sign_in(
                caller, server, redirect_uri=listener.redirect_uri, dependencies=means
            )
            self._print_instructions(begun.browser_url, wait_s)
            with self._accept_pasted_lines(listener):
                try:
                    async with asyncio.timeout(wait_s):
                        answer = await listener.wait_for_response(begun.state)
                except TimeoutError:
                    raise CommandError(
                        f"no browser came back within {wait_s:g} s; run the command again"
                    ) from None
            return await sign_in.finish_sign_in(caller, answer, dependencies=means)

    def _print_instructions(self, address: str, wait_s: float) -> None:
        """Print instructions on stderr, since stdout is for the report."""
        self.stderr.write(
            f"Open this address in a browser and sign in there (within {wait_s:g} s):\n\n"
            f"{address}\n\n"
            "If the browser runs on another machine, it ends on an address that it cannot open: "
            "copy that address and paste it here.",
            str,
        )
        self.stderr.flush()

    @contextmanager
    def _accept_pasted_lines(self, listener: LoopbackListener) -> Iterator[None]:
        """Accept pasted lines while waiting, if there is a terminal."""
        if not sys.stdin.isatty():
            yield
            return
        loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()

        def read() -> None:
            line = sys.stdin.readline()
            if not line:
                loop.remove_reader(terminal)
            elif line.strip() and not listener.accept_pasted_url(line):
                self.stderr.write(INVALID_PASTE_NOTE, self.style.WARNING)

        loop.add_reader(terminal, read)
        try:
            yield
        finally:
            loop.remove_reader(terminal)

    def _forget_sign_in(self, caller: Caller, server: RemoteServer, *, as_json: bool) -> None:
        from django.conf import settings

        from gateway_project.use_cases import sign_in

        async def run() -> bool | None:
            async with sign_in.load_dependencies(settings.FOREGATE) as means:
                return await sign_in.forget_sign_in(caller, server, dependencies=means)

        given_back = asyncio.run(run())
        if as_json:
            report = {"server": server.name, "forgotten": given_back is not None}
            self.write_json({**report, "revoked": bool(given_back)})
            return
        self.stdout.write(sign_in.describe_forgotten(given_back))

    def _print_report(self, done: CompletedSignIn, *, as_json: bool) -> None:
        expires_at = done.expires_at.isoformat(timespec="seconds") if done.expires_at else None
        if as_json:
            self.write_json(
                {
                    "server": done.key.server,
                    "user": done.key.user or None,
                    "issuer": done.issuer,
                    "scopes": done.scope.split(),
                    "renews": done.is_auto_renewed,
                    "expires_at": expires_at,
                }
            )
            return
        self.stdout.write(
            f"Signed in to {done.key.server} at {done.issuer} for "
            f"{done.key.user or 'all users'}; scopes: {done.scope or 'not stated'}."
        )
        if not done.is_auto_renewed:
            until = f"until {expires_at}" if expires_at else "until the server revokes it"
            self.stdout.write(f"There is no refresh token: it is valid {until}.")
        self.stdout.write(f"Next: manage.py discover {done.key.server}")


def _choose_mode(present: SignInMode, options: dict[str, Any]) -> SignInMode:
    """Return the mode of the server's sign-in; the current one stays unless --shared is set."""
    if options["shared"]:
        return "oauth"
    if present != "none":
        return present
    return "oauth_per_user" if options["user"] else "oauth"


@contextmanager
def _report_in_one_line() -> Iterator[None]:
    """Convert errors that a user can fix to a one-line CommandError."""
    from gateway_project.use_cases import sign_in

    try:
        yield
    except sign_in.EXPECTED_ERRORS as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"cannot listen on this machine: {error.strerror}") from None
