#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve_check.py PAGE TOOL ARGUMENT... - `stackreel view --serve` serves what -o writes (PAGE), at one address of this host, and nothing else"""

import http.client
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse


def get(url, path=None, host=None, method="GET"):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    connection.request(method, path or parts.path, headers={"Host": host or "localhost:%d" % parts.port})
    response = connection.getresponse()
    return response.status, response.read(), response.headers


def send_slowly(client, stop):
    while not stop.wait(0.5):
        try:
            client.send(b"G")
        except OSError:
            return


def main():
    page, *command = sys.argv[1:]
    server = subprocess.Popen([*command, "--serve"], stderr=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://localhost:\d+/[0-9a-f]{32}/", server.stderr.readline()).group()
        status, body, headers = get(url)
        with open(page, "rb") as file:
            assert status == 200 and body == file.read(), status
        assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer", headers
        port = urllib.parse.urlsplit(url).port
        assert get(url, host="127.0.0.1:%d" % port)[0] == 200
        for path in ("/", "/favicon.ico", "/" + "0" * 32 + "/", urllib.parse.urlsplit(url).path + "x", urllib.parse.urlsplit(url).path[:-1]):
            assert get(url, path)[:2] == (404, b""), path
        assert get(url, host="evil.example:%d" % port)[0] == 404
        assert get(url, method="POST")[0] == 404
        # Clients that say nothing, or little at a time, keep nobody out, and are cut off.
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
        stop = threading.Event()
        drip = threading.Thread(target=send_slowly, args=(slow[0], stop))
        drip.start()
        assert get(url)[0] == 200
        assert not select.select(slow, [], [], 0)[0], "served only when the slow ones were cut off"
        for client in slow:
            client.settimeout(60)
            try:
                assert client.recv(1) == b""
            except ConnectionError:
                pass
        stop.set()
        drip.join()
    finally:
        server.send_signal(signal.SIGINT)
    assert server.wait(10) == -signal.SIGINT, server.returncode
    try:
        get(url)
        raise AssertionError("still there")
    except (ConnectionError, OSError):
        pass


if __name__ == "__main__":
    main()
