"""A server whose children do all they can to outlive it."""

import fcntl
import os
import signal
import sys

import legacy

SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]


def leave():
    """Become a grandchild in a session of its own that no signal but SIGKILL ends."""
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def escape(request_id, arguments):
    """Leave a process without parent, session, environment and streams of this one."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        leave()
        os.write(writer, b"%d" % os.getpid())
        os.closerange(0, 4096)
        os.execve(SLEEP[0], SLEEP, {})  # noqa: S606 - a shell would be one more process
    os.waitpid(child, 0)
    escaped = int(os.read(reader, 32))
    if arguments.get("kills_guard"):
        os.kill(os.getppid(), signal.SIGKILL)
    legacy.answer(request_id, str(escaped))


def multiply(request_id, arguments):
    """Leave a process that is another one every moment, and holds a lock all the time."""
    lock = os.open(arguments["lock"], os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    child = os.fork()
    if child == 0:
        for stream in (0, 1, 2):
            os.close(stream)
        while True:
            leave()
    os.waitpid(child, 0)
    os.close(lock)
    legacy.answer(request_id, str(os.getpid()))


legacy.TOOLS |= {"escape": escape, "multiply": multiply}
legacy.main()
