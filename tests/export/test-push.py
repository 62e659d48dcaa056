#!/usr/bin/env python3
# checks: cli/push
"""stackreel export --push, to servers on 127.0.0.1 that fail, hang, refuse and accept: what they receive, and how
often.

    O=DIR   the object directory (build)
"""

import base64
import concurrent.futures
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import counting

TOOL = os.path.join(ROOT, os.environ.get("O", "build"), "stackreel")
CAPTURE = os.path.join(ROOT, "testdata/golden/i386-orders.reel")
# Without its start time.
TIMELESS = os.path.join(ROOT, "testdata/golden/x86_64-perf-dwarf.reel")

count = counting.Count()
lock = threading.Lock()


def ok(name, condition, why=""):
    with lock:
        count.ok(name, condition, str(why) if why else "")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server.requests.append((self.path, self.headers, body))
        answer = server.answers[min(len(server.requests), len(server.answers)) - 1]
        if answer == "hang":
            server.done.wait(30)
            return
        self.send_response(answer)
        self.end_headers()
        try:
            self.wfile.write(b"said \x1b[31m%d\nand more" % answer)
        except OSError:
            pass  # the client hung up

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Gives one answer after the other, and repeats the last one."""

    daemon_threads = True

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests, self.done = answers, [], threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.done.set()
        self.shutdown()
        self.server_close()

    def url(self, path=""):
        return "http://127.0.0.1:%d%s" % (self.server_address[1], path)


def run(*arguments, capture=CAPTURE, stdin=subprocess.DEVNULL, env=None):
    return subprocess.run([TOOL, "export", "--no-host-files", *arguments, capture], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env=dict(os.environ, **(env or {})))


def profile(capture=CAPTURE, stdin=subprocess.DEVNULL):
    return run("--format=pprof", capture=capture, stdin=stdin).stdout


def pyroscope():
    """A server that fails, then hangs, then accepts it."""
    times = sorted(json.loads(line)["wall_time"] for line in run("--format=ndjson").stdout.splitlines())
    with Server(503, "hang", 200) as server:
        done = run("--push=pyroscope:" + server.url("/"), "--push-timeout=5", "--push-name=shop {a=b}&c", env={"STACKREEL_PUSH_HEADERS": "X-Scope-OrgID: us\nAuthorization: Bearer x"})
        ok("pyroscope: after two failures", done.returncode == 0 and len(server.requests) == 3, "%d requests, %r" % (len(server.requests), done.stderr))
        ok("pyroscope: they are reported", b"503" in done.stderr and done.stderr.count(b"retrying") == 2, done.stderr)
        ok("pyroscope: nothing controls the terminal", b"\x1b" not in done.stderr, done.stderr)
        for path, headers, body in server.requests:
            url = urllib.parse.urlsplit(path)
            query = dict(urllib.parse.parse_qsl(url.query))
            ok("pyroscope: body", body == profile(), "%d bytes" % len(body))
            ok("pyroscope: name", url.path == "/ingest" and query["name"] == "shop {a=b}&c" and query["format"] == "pprof", path)
            first, last = (int(query[key]) for key in ("from", "until"))
            ok("pyroscope: times", [first, last] == [times[0] // 10**9, times[-1] // 10**9 + 1], path)
            ok("pyroscope: headers", headers["X-Scope-OrgID"] == "us" and headers["Authorization"] == "Bearer x" and headers["Content-Type"] == "application/octet-stream", headers)


def parca():
    with Server(200) as server, open(CAPTURE, "rb") as capture:
        done = run("--push=parca:" + server.url(), '--push-name=a"b', capture="-", stdin=capture)
        ok("parca: from standard input, which is read in the sandbox", done.returncode == 0 and len(server.requests) == 1, done.stderr)
        if not server.requests:
            return
        path, headers, body = server.requests[0]
        series = json.loads(body)["series"][0]
        labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
        ok("parca: path and labels", path == "/api/profiles/writeraw" and labels == {"__name__": "stackreel", "job": 'a"b'} and headers["Content-Type"] == "application/json", labels)
        capture.seek(0)
        ok("parca: body", base64.b64decode(series["samples"][0]["rawProfile"], validate=True) == profile("-", capture))


def refused_by_answer():
    with Server(401) as server:
        done = run("--push=pyroscope:" + server.url())
        ok("an answer that stays the same", done.returncode == 1 and len(server.requests) == 1 and rb"answered 401: said \x1b[31m401" in done.stderr, done.stderr)


def nobody():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        begin = time.monotonic()
        done = run("--push=parca:http://127.0.0.1:%d" % free.getsockname()[1])
        ok("nobody listens", done.returncode == 1 and done.stderr.count(b"pushing to parca") == 4 and 7 <= time.monotonic() - begin < 40, done.stderr)


def usage():
    with Server(200) as server:
        url = "--push=pyroscope:" + server.url()
        for arguments in (["--push=" + server.url()], ["--push=jaeger:" + server.url()], ["--push=parca:file:///etc/passwd"], [url, "--format=csv"], [url, "-o", "x"],
                          [url, "--push-timeout=0"]):
            done = run(*arguments)
            ok(" ".join(arguments[1:]) or arguments[0], done.returncode == 2, done.stderr)
        done = run(url, capture=TIMELESS)
        ok("no time", done.returncode == 1 and b"no start time" in done.stderr, done.stderr)
        done = run(url, capture=os.path.join(ROOT, "testdata/format/bad-chain.reel"), env={"TMPDIR": os.path.join(ROOT, "testdata/format/README.md")})
        ok("no place for temporary files", done.returncode == 1, done.stderr)
        done = run(url, capture="/nonexistent.reel")
        ok("no capture", done.returncode == 1, done.stderr)
        ok("nothing was sent", not server.requests)


def main():
    said = run("--push=parca:http://127.0.0.1:1", capture="/nonexistent").stderr
    for why in (b"libcurl", b"built without protobuf-c"):
        if why in said:
            count.skip(said.decode().strip())
            return
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for case in [pool.submit(case) for case in (pyroscope, parca, refused_by_answer, nobody, usage)]:
            case.result()


main()
sys.exit(count.finish())
