#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve_check.py PAGE TOOL ARGUMENT... - `stackreel view --serve` serves what -o writes (PAGE), at one address of this host, and nothing else"""

import http.client
import re
import signal
import subprocess
import sys
import urllib.parse


def get(url, path=None, host=None, method="GET"):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    connection.request(method, path or parts.path, headers={"Host": host or "localhost:%d" % parts.port})
    response = connection.getresponse()
    return response.status, response.read(), response.headers


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
        # One that says nothing does not keep others out for long.
        silent = http.client.HTTPConnection("127.0.0.1", port)
        silent.connect()
        assert get(url)[0] == 200
        silent.close()
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
