# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces, and the links between them and the adapter's wires."""

import itertools
import os
import subprocess

from mlx4dvlib.console import PATIENCE, end_group

from .adapter import run_bounded

_serial = itertools.count()


def inside(name):
    """A prefix that runs a command in a namespace. Not "ip netns exec" or "ip -n":
    these also remount /, which a chroot does not allow."""
    return ["nsenter", "--net=/run/netns/" + name]


def ip(*arguments, netns=None):
    """One "ip" command; its error is the test's."""
    where = inside(netns) if netns else []
    done = subprocess.run([*where, "ip", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, "ip %s: %s" % (" ".join(map(str, arguments)), done.stderr)
    return done.stdout


class Namespace:
    def __init__(self, net, name):
        self.net, self.name = net, name

    def command(self, *program):
        return [*inside(self.name), *map(str, program)]

    def run(self, *program, timeout=PATIENCE, stdin=None, check=True):
        """Run to the end inside; (status, stdout, stderr)."""
        done = run_bounded(self.command(*program), timeout, stdin)
        assert not check or done[0] == 0, "$ %s\nstatus %s\n%s\n%s" % (
            " ".join(map(str, program)), *done)
        return done

    def start(self, *program, **popen):
        """Start inside; ended with the test at the latest."""
        process = subprocess.Popen(self.command(*program), process_group=0,
                                   stdin=subprocess.DEVNULL, **popen)
        self.net.processes.append(process)
        return process

    def ip(self, *arguments):
        return ip(*arguments, netns=self.name)

    def address(self, interface, *addresses, mtu=1500):
        """Bring an interface up with addresses ("10.0.0.1/24")."""
        self.ip("link", "set", interface, "mtu", mtu, "up")
        for address in addresses:
            nodad = ["nodad"] if ":" in address else []
            self.ip("addr", "add", address, "dev", interface, *nodad)


class Network:
    """Makes namespaces and links with names that no other test has; close()
    removes them all, in whatever state the test left them."""

    def __init__(self):
        self.tag = "m%x%x" % (os.getpid() & 0xfffff, next(_serial))
        self.namespaces, self.links, self.processes = [], [], []

    def name(self, what):
        name = "%s%s" % (self.tag, what)
        assert len(name) < 16, name  # IFNAMSIZ
        return name

    def namespace(self, what):
        name = self.name(what)
        ip("netns", "add", name)
        space = Namespace(self, name)
        self.namespaces.append(space)
        # Silence: only what the tests send is to be on the wire.
        space.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
        space.ip("link", "set", "lo", "up")
        return space

    def veth(self, space, inside="eth0", mtu=1500):
        """A veth pair: one end in the namespace, the name of the other returned,
        for a wire packet:NAME."""
        outside = self.name("v%d" % len(self.links))
        self.links.append(outside)
        ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space.name)
        quiet(outside)
        ip("link", "set", outside, "mtu", mtu, "up")
        space.ip("link", "set", inside, "mtu", mtu, "up")
        return outside

    def tap(self, mtu=1500):
        """A TAP for a wire tap:NAME. Give it to a namespace with move() once the
        adapter holds it."""
        name = self.name("t%d" % len(self.links))
        self.links.append(name)
        ip("tuntap", "add", name, "mode", "tap")
        quiet(name)
        ip("link", "set", name, "mtu", mtu, "up")
        return name

    def close(self):
        for process in self.processes:
            end_group(process)
        for space in self.namespaces:
            subprocess.run(["ip", "netns", "del", space.name], check=False)
        for link in self.links:
            subprocess.run(["ip", "link", "del", link], stderr=subprocess.DEVNULL, check=False)


def quiet(interface):
    """No router solicitations and the like from the host's own end."""
    setting = "/proc/sys/net/ipv6/conf/%s/disable_ipv6" % interface
    if os.path.exists(setting):
        with open(setting, "w", encoding="ascii") as file:
            file.write("1")


def move(link, space, name="eth0"):
    ip("link", "set", link, "netns", space.name, "name", name)
