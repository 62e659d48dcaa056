#!/usr/bin/env python3
"""A debuginfod server on 127.0.0.1 that fails as requested.

    debuginfod_server.py MODE LOG [FILE]    prints its port; LOG gets a line for each request: its path
    debuginfod_server.py --wait PORT PATH   until a real server there has the path; status 1 if it never does
    debuginfod_server.py --free             prints an unused port

MODE: `404` or another number: that status. `drip`: a byte now and then, for ever. `silent`: no answer. `send`: FILE, for any
request. `late`: FILE, after a second. `cut`: half of FILE. `endless`: a body without end. `together-N`: 404, once N requests have arrived at the same time;
500 if they never do. `redirect`: to the same path again.
"""

import http.server
import socket
import sys
import threading
import time
import urllib.error
import urllib.request

SECONDS_MAX = 60


class Handler(http.server.BaseHTTPRequestHandler):
    mode = log = file = barrier = None

    def answer(self, status, size=None):
        self.send_response(status)
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()

    def send(self, parts, pause=0.0):
        try:
            for part in parts:
                self.wfile.write(part)
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            pass  # the client hung up

    def bytes(self):
        with open(self.file, "rb") as file:
            return file.read()

    def together(self):
        try:
            self.barrier.wait(SECONDS_MAX)
        except threading.BrokenBarrierError:
            return self.answer(500, 0)
        return self.answer(404, 0)

    def do_GET(self):
        with open(self.log, "a", encoding="utf-8") as log:
            log.write(self.path + "\n")
        if self.mode.isdigit():
            self.answer(int(self.mode), 0)
        elif self.mode == "redirect":
            self.send_response(302)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.mode == "drip":
            self.answer(200, 1 << 20)
            self.send((b"x" for _ in iter(int, 1)), 0.1)
        elif self.mode == "silent":
            time.sleep(3600)
        elif self.mode == "send":
            body = self.bytes()
            self.answer(200, len(body))
            self.send([body])
        elif self.mode == "late":
            time.sleep(1)
            body = self.bytes()
            self.answer(200, len(body))
            self.send([body])
        elif self.mode == "cut":
            body = self.bytes()
            self.answer(200, len(body))
            self.send([body[:len(body) // 2]])
        elif self.mode == "endless":
            self.answer(200)
            self.send(bytes(1 << 16) for _ in iter(int, 1))
        else:
            self.together()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


def wait(port, path):
    for _ in range(10 * SECONDS_MAX):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%s%s" % (port, path), timeout=SECONDS_MAX):
                return 0
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    return 1


def main():
    if sys.argv[1] == "--wait":
        return wait(*sys.argv[2:])
    if sys.argv[1] == "--free":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            print(free.getsockname()[1])
        return 0
    Handler.mode, Handler.log, Handler.file = (sys.argv[1:] + [None])[:3]
    if Handler.mode.startswith("together-"):
        Handler.barrier = threading.Barrier(int(Handler.mode.split("-")[1]))
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
