#!/usr/bin/env python3
"""Completion in bash, zsh and fish, by the shells themselves: commands, the options in --usage, the words for arguments that the
programs' errors list, and files.

  O=DIR   the object directory (build)"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
O = os.path.abspath(os.environ.get("O", "build"))
environment = {"PATH": O + ":/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
passed = failed = skipped = 0


def said(*command):
    """A program's output, on either stream."""
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, check=False)
    return done.stdout + done.stderr


class Terminal:
    """A shell on a terminal, with a key that inserts all completions into the line; the line's words are then printed to a
    pipe."""

    def __init__(self, command, setup):
        os.mkfifo(work + "/words")
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(work + "/here")
            os.execvpe(command[0], command, environment)
        self.pid = pid
        threading.Thread(target=self.drain, daemon=True).start()
        self.words(f"{setup}; show() {{ printf '%s\\0' \"$@\" >{work}/words; }}; show\r")

    def drain(self):
        try:
            while os.read(self.terminal, 65536):
                pass
        except OSError:
            pass  # the shell has exited

    def words(self, keys):
        # Keys sent while the shell changes the terminal's mode can get lost on a busy machine: then they are sent again.
        for seconds in 2, 4, 8, 16, 32:
            fd = os.open(work + "/words", os.O_RDONLY | os.O_NONBLOCK)
            with open(fd, encoding="utf-8") as words:
                os.write(self.terminal, keys.encode())
                if select.select([fd], [], [], seconds)[0]:
                    os.set_blocking(fd, True)
                    return words.read().split("\0")[:-1]
                os.write(self.terminal, b"\x03")
        raise TimeoutError(keys)

    def complete(self, lines):
        for line in lines:
            # The characters before the word at the cursor, as the shell splits it.
            yield self.words(line + "\x1b*\x01show \r")[len(line.split(" ")) - 1:]

    def close(self):
        # Not SIGHUP: bash, while readline is changing the signals' handlers, loses it and goes on waiting for a key.
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.unlink(work + "/words")


def bash():
    return Terminal(["bash", "--norc", "--noprofile", "-i"],
                    f"unset HISTFILE; bind 'set completion-query-items 0'; for p in stackreel stackreel-record; do . {O}/completions/$p.bash; done")


def zsh():
    os.mkdir(work + "/functions")
    for program in "stackreel", "stackreel-record":
        shutil.copy(f"{O}/completions/{program}.zsh", f"{work}/functions/_{program}")
    return Terminal(["zsh", "-f", "-i"],
                    f"bindkey -e; fpath+=({work}/functions); autoload -Uz compinit; compinit -u -D; "
                    "all() { _main_complete; compstate[insert]=all }; zle -C all-matches complete-word all; bindkey '^[*' all-matches")


class Fish:
    def complete(self, lines):
        with open(work + "/lines", "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        script = (f"for p in stackreel stackreel-record; source {O}/completions/$p.fish; end\n"
                  f"while read line; complete -C $line; echo ====; end <{work}/lines")
        done = subprocess.run(["fish", "-N", "-c", script], capture_output=True, text=True, cwd=work + "/here", env=environment, check=False)
        for found in done.stdout.split("====\n")[:-1]:
            yield [line.split("\t")[0] for line in found.splitlines()]
        if done.stderr:
            print(done.stderr)

    def close(self):
        pass


def words_of(command, option):
    """The words that the program itself lists for an option's argument: when it refuses a wrong one, or else in --help."""
    text = said("stackreel", command, option + "=?", "/nonexistent/capture").splitlines()[0] + "."
    if "?" not in text:
        text = " ".join(said("stackreel", command, "--help").split())
    listed = re.search(r"(?: wants |fields are |is none of |\(expected (?:one of )?|does not name it: )(.*?)(?:, not `\?'|\)|\.(?= |$)| --)", text)
    return set(re.split(r", | or | and ", listed[1])) if listed else set()


def options_of(command):
    usage = said(*command, "--usage")
    return set(re.findall(r"--[a-z][a-z-]*", usage)) | {f"-{letter}" for letter in re.findall(r"\[-([a-zA-Z]) ", usage)} | \
        {f"-{letter}" for group in re.findall(r"\[-([a-zA-Z?]+)\]", usage) for letter in group}


if not os.access(O + "/stackreel-record", os.X_OK):
    print("skip: stackreel-record was not built")
    print("0 passed, 0 failed, 1 skipped")
    raise SystemExit(0)
signal.alarm(200)
commands = re.findall(r"^  ([a-z]+) ", said("stackreel", "--help"), re.MULTILINE)
cases = {
    "stackreel ": set(commands) | {"help", "--help", "--version"},
    "stackreel re": {c for c in commands if c.startswith("re")},
    "stackreel help f": {c for c in commands if c.startswith("f")},
    "stackreel report ": {"a b.reel", "x.reel", "folder"},
    "stackreel report --by module -i x": {"x.reel"},
    "stackreel report x.reel --sor": {"--sort"},
    "stackreel report --sort=s": {"self", "samples", "symbol"},
    "stackreel report --debuginfod --sor": {"--sort"},
    "stackreel report --symfs ": {"folder"},
    "stackreel report --comm ": set(),
    "stackreel script -F comm,sy": {"sym", "symoff"},
    "stackreel record --emb": {"--embed", "--embed-limit"},
    "stackreel-record --emb": {"--embed", "--embed-limit"},
    "stackreel-record --embed ": {"hits", "modules", "none"},
    "stackreel-record -F 99 --pid=1 -- stackreel-r": {"stackreel-record"},
    "stackreel-record -o f stackreel-r": {"stackreel-record"},
    "stackreel record stackreel-r": {"stackreel-record"},
    "stackreel-record cat x": {"x.reel"},
}
for command in [["stackreel", command] for command in commands] + [["stackreel-record"]]:
    cases[" ".join(command) + " -"] = options_of(command)
with open("packaging/completions/values", encoding="utf-8") as table:
    rows = [tuple(row.split()[:2]) for row in table]
for command, option in rows:
    # An optional argument has to be attached.
    between = "=" if f"[{option}[=" in said("stackreel", command, "--usage") else " "
    cases[f"stackreel {command} {option}{between}"] = words_of(command, option)
# The other direction: every option whose error lists words is in the table.
for command in commands:
    for option in re.findall(r"\[(--[a-z-]+)=(?!\w*FILE|\w*KEY|DIR|TIME|SIZE|PERCENT|[IN]\b)", said("stackreel", command, "--usage")):
        error = said("stackreel", command, option + "=?", "/nonexistent/capture")
        if re.search(option + r"(?: wants|: '\?' is none of|: invalid [a-z ]+ '\?' \(expected(?: one of)?) (?:[\w.-]+, )*[\w.-]+(?:, | or )[\w.-]+(?:, not `\?'|\))?$", error, re.MULTILINE):
            if (command, option) in rows:
                passed += 1
            else:
                failed += 1
                print(f"FAIL: packaging/completions/values lacks {command} {option}: {error}")

with tempfile.TemporaryDirectory() as work:
    # Shells write to it.
    environment["HOME"] = work
    os.makedirs(work + "/here/folder")
    for name in "a b.reel", "x.reel":
        open(f"{work}/here/{name}", "w", encoding="utf-8").close()
    for name, start in ("bash", bash), ("zsh", zsh), ("fish", Fish):
        if not shutil.which(name):
            print(f"skip: {name} is not installed (packaging/deps.sh test)")
            skipped += 1
            continue
        shell = start()
        for (line, wanted), found in zip(cases.items(), shell.complete(cases), strict=True):
            # Three cases are written with these: an option whose argument is attached, a folder, and an option before
            # the "=".
            found = {re.sub(r"^(--[a-z-]*=(?=.)|comm,)|(?<=.)[=/]$", "", word) for word in found}
            if found == wanted:
                passed += 1
            else:
                failed += 1
                print(f"FAIL: {name}: {line}: {sorted(found - wanted)} should not be there, {sorted(wanted - found)} should")
        shell.close()
print(f"{passed} passed, {failed} failed, {skipped} skipped")
raise SystemExit(failed != 0)
