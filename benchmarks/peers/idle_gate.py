# SPDX-License-Identifier: Apache-2.0
"""Tells whether anything but the processes being timed uses the machine, from /proc."""
import os
import time

TICKS = os.sysconf("SC_CLK_TCK")
OTHERS_LIMIT = 0.08  # cores that others may use while something is timed
IDLE_LIMIT = 0.05  # cores that are used on a machine called idle


def machine_seconds():
    """CPU seconds since boot: what everything used (user, nice, system, interrupts), and what the hypervisor stole."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq) / TICKS, steal / TICKS


def session_seconds(session):
    """CPU seconds that the live processes of a session (setsid) used; a process that ended is not counted any more."""
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()  # after the command's name, which may hold spaces
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session:
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def wait_until_idle(longest):
    """True once half a second passes with almost no CPU in use; False after `longest` seconds without one."""
    end = time.monotonic() + longest
    while time.monotonic() < end:
        before, begin = sum(machine_seconds()), time.monotonic()
        time.sleep(0.5)
        if sum(machine_seconds()) - before <= IDLE_LIMIT * (time.monotonic() - begin):
            return True
    return False


class OthersMeter:
    """Cores taken since construction by processes outside the given sessions and this process, or by the hypervisor."""

    def __init__(self, sessions):
        self.sessions = sessions
        self.begin, self.own = time.monotonic(), self._own()
        self.used, self.stolen = machine_seconds()

    def _own(self):
        return sum(os.times()[:2]) + sum(session_seconds(session) for session in self.sessions)

    def read(self):
        used, stolen = machine_seconds()
        used, stolen = used - self.used, stolen - self.stolen
        # some kernels count stolen time as the process's own, so that the sum alone would hide it
        return max(used + stolen - (self._own() - self.own), stolen) / (time.monotonic() - self.begin)
