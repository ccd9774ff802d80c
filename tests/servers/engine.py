"""A container engine and its command, which keep an engine's structure of processes.

The engine starts containers with the streams that the command was given; they end when they are
stopped by name or id, and not with the command.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading


def serve(path):
    """Be the engine: run what commands ask for."""
    listener, containers = socket.create_server(path, family=socket.AF_UNIX), {}
    os.write(1, b"ready\n")
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, containers), daemon=True).start()


def answer(connection, containers):
    words, streams, _, _ = socket.recv_fds(connection, 65536, 2)
    asked = json.loads(words)
    if "stop" in asked:
        containers[asked["stop"]].kill()
        connection.sendall(b"stopped")
        return
    container = subprocess.Popen(asked["run"], stdin=streams[0], stdout=streams[1])
    for stream in streams:
        os.close(stream)
    identity = f"id-{container.pid}"
    containers[identity] = containers[asked["name"]] = container
    connection.sendall(identity.encode())
    container.wait()
    connection.close()


def option(name):
    """Return the value of an option of `run`, in either form."""
    for word, following in zip(sys.argv, [*sys.argv[1:], ""], strict=True):
        if word == name or word.startswith(f"{name}="):
            return word.partition("=")[2] or following
    return ""


def command():
    """Be the command: ask the engine, which has the streams."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.environ["ENGINE"])
    if "run" not in sys.argv:
        connection.sendall(json.dumps({"stop": sys.argv[-1]}).encode())
        connection.recv(100)
        return
    program = sys.argv[sys.argv.index("image") + 1 :]
    asked = json.dumps({"run": program, "name": option("--name")}).encode()
    socket.send_fds(connection, [asked], [0, 1])
    identity = connection.recv(100).decode()
    if file := option("--cidfile"):
        with open(file, "x") as content:
            content.write(identity)
    os.close(0)
    os.close(1)
    connection.recv(100)  # until the container has ended


if sys.argv[1] == "serve":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.argv[2])
else:
    command()
