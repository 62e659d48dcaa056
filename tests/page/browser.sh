# For scripts that need a browser: sets chromium and playwright, or ends with the reason why not.
# shellcheck shell=bash disable=SC2034 # the scripts use both
playwright=$PWD/tests/npm/node_modules/playwright-core

# leave WHY
leave() {
    skip "$1"
    finish
}

chromium=$(command -v chromium || command -v chromium-browser) || leave "chromium is not installed"
[ -d "$playwright" ] || leave "npm's playwright-core is not installed (make deps test-all fetches it)"
node=$(node --version 2>/dev/null | sed -nE 's/^v([0-9]+).*/\1/p')
[ "${node:-0}" -ge 20 ] || leave "playwright-core needs node 20 or newer"
