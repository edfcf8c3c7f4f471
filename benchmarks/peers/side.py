# SPDX-License-Identifier: Apache-2.0
"""One side of the comparison as a child process that keeps to the protocol at the top of run.py."""
import json
import math
import os
import select
import signal
import subprocess
import time

SETUP_SECONDS, ANSWER_SECONDS = 600, 300


class PeerError(Exception):
    """A side could not be started, died, or does not keep to the protocol."""


class Side:
    """One child process; answers that break the protocol are PeerErrors."""

    def __init__(self, name, command, log):
        self.name, self.log, self.buffer = name, log, b""
        self.cpu_while_waiting = self.seconds_waiting = 0.0
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        except OSError as error:
            raise PeerError(f"{name}: cannot start {command[0]}: {error.strerror}") from error
        self.ready = self.receive(SETUP_SECONDS)
        if self.ready.get("ready") is not True:
            raise PeerError(f"{name}: expected a line with \"ready\": true after set-up, got {self.ready}")

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                raise PeerError(f"{self.name}: no answer within {seconds} s")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                self.log.seek(0)
                tail = self.log.read().decode(errors="replace").strip().splitlines()[-5:]
                raise PeerError(f"{self.name}: ended with code {self.process.wait()}; its last words: " + " | ".join(tail))
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            raise PeerError(f"{self.name}: answered {line[:200]!r}, which is no JSON object")
        if "error" in reply:
            raise PeerError(f"{self.name}: {reply['error']}")
        return reply

    def ask(self, command):
        try:
            self.process.stdin.write(command.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the read below tells what happened
        return self.receive(ANSWER_SECONDS)

    def steps(self, count):
        reply = self.ask(f"steps {count}")
        times, losses = reply.get("ms", []), reply.get("loss", [])
        if len(times) != count or len(losses) != count:
            raise PeerError(f"{self.name}: steps {count} was answered with {len(times)} times and {len(losses)} losses")
        if not all(math.isfinite(value) for value in times + losses) or min(times) <= 0:
            raise PeerError(f"{self.name}: a time or a loss is not a finite number")
        return times, losses

    def close(self):
        try:
            self.process.stdin.write(b"quit\n")
            self.process.stdin.close()
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session: whatever is left of it
        except ProcessLookupError:
            pass
        self.process.wait()
