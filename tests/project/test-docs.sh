#!/bin/bash
# README.md and the pages in docs/. Each ```sh block runs exactly as written, in a folder per page, and its output must have the lines of
# the ```text block that follows, except for numbers. ```yaml blocks must parse; the scripts of a job that compares captures are run, other
# scripts are only parsed. Links must lead to existing files.
#
# A loop replaces Slurm (tests/rewrite/test-slurm.sh uses the real one), and folders replace other hosts (ssh, scp). A file copied from a
# "host" is removed there, so that reports cannot use anything else.
#
#   O=DIR           the object directory (build)
#   KUBERNETES=DIR  a folder whose node_modules contains kubernetes-models, for its Job schema (tests/npm)
#
# run.sh: records thorough
# checks: docs README.md SPEC.md CONTRIBUTING.md SECURITY.md tests/README.md cli =record =record/options
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }
root=$PWD
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 HOSTS=$work/hosts

# ---- replacements ---------------------------------------------------------------------------------

mkdir -p "$work/bin" "$HOSTS/prod" "$HOSTS/laptop" "$HOSTS/buildhost/build"
ln -s "$O/stackreel" "$work/bin/"
cat >"$work/bin/ssh" <<'END'
#!/bin/bash
cd "$HOSTS/$1" && shift && exec bash -c "$*"
END
cat >"$work/bin/scp" <<'END'
#!/bin/bash
place() {
    case $1 in *:*) echo "$HOSTS/${1%%:*}/${1#*:}" ;; *) echo "$1" ;; esac
}
cp "$(place "$1")" "$(place "$2")" || exit
case $1 in prod:*) rm -f "$HOSTS/prod/shopd" ;; esac
END
printf '#!/bin/bash\nexec "$@"\n' >"$work/bin/sudo"
cat >"$work/bin/sbatch" <<'END'
#!/bin/bash
[ "$1" = --wait ] && [[ $2 == --array=1-* ]] || exit
last=${2#--array=1-}
shift 2
for SLURM_ARRAY_TASK_ID in $(seq "$last"); do
    export SLURM_ARRAY_TASK_ID
    bash "$@" || exit
done
END
chmod +x "$work/bin/"*
PATH=$work/bin:$PATH

can_record=
if "$O/stackreel-record" -q -o "$work/try.reel" true >/dev/null 2>"$work/err"; then
    can_record=yes
    ln -s "$O/stackreel-record" "$work/bin/"
fi

# ---- pages ---------------------------------------------------------------------------

# blocks PAGE: its fenced blocks, as files NN.sh, NN.text, NN.yaml in $work/blocks.
blocks() {
    rm -rf "$work/blocks" && mkdir "$work/blocks"
    awk -v folder="$work/blocks" '/^```[a-z]/ { name = sprintf("%s/%02d.%s", folder, ++n, substr($0, 4)); next }
        /^```$/ { name = ""; next }
        name { print >name }' "$1"
}

# plain: replaces numbers and runs of blanks, which may differ.
plain() {
    sed -E 's/0x[0-9a-f]+|[0-9][0-9.,]*/0/g; s/ ?[-+] ?0/ 0/g; s/[ │├└─]+/ /g; s/^ //; s/ (ns|us|ms|s)( |$)/ T\2/g'
}

# run_blocks PAGE: runs the page's blocks in the current folder.
run_blocks() {
    local block lines=0
    for block in "$work"/blocks/*; do
        case $block in
        *.sh)
            bash -eu -o pipefail "$block" >"$work/out" 2>"$work/err"
            count $? "$1: $(head -n 3 "$block")"
            ;;
        *.text)
            cat "$work/err" >>"$work/out"
            plain <"$work/out" >"$work/plain"
            while read -r line; do
                grep -qF -- "$line" "$work/plain"
                count $? "$1: prints a line like: $line: $(grep -v '^#' "$work/plain" | head -n 20)"
                lines=$((lines + 1))
            done < <(plain <"$block")
            ;;
        esac
    done
    [ "$lines" -gt 0 ]
    count $? "$1: has output to compare"
}

# ---- pages ----------------------------------------------------------------------------------------

for page in README.md CONTRIBUTING.md SECURITY.md tests/README.md docs/*.md; do
    while read -r link; do
        [ -e "$(dirname "$page")/$link" ]
        count $? "$page: $link exists"
    done < <(grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/.$//')
done
for page in docs/[a-z]*.md; do
    grep -qF "](${page#docs/})" docs/README.md
    count $? "docs/README.md links to $page"
done

for test in tests/*/test-*; do
    grep -qF "${test##*/}" tests/README.md
    count $? "tests/README.md has $test"
done

blocks docs/arm64-on-x86.md
mkdir "$work/arm64" && ln -s "$root/testdata" "$work/arm64/"
cd "$work/arm64" && run_blocks arm64-on-x86.md
cd "$root" || exit

blocks docs/reading-reports.md
mkdir "$work/reports" && ln -s "$root/testdata" "$work/reports/"
cd "$work/reports" && run_blocks reading-reports.md
cd "$root" || exit

# A fleet of ten hosts.
blocks docs/fleet.md
mkdir -p "$work/fleet/captures" && ln -s "$root/docs/fleet" "$work/fleet/fleet"
cp testdata/x86_64/jit/*.reel testdata/i386/orders/orders.reel testdata/x86_64/chains/gcc/{exception,threads,jump}.reel "$work/fleet/captures"
if command -v parallel >/dev/null; then
    cd "$work/fleet" && run_blocks fleet.md
    cd "$root" || exit
else
    skip "fleet.md: GNU parallel is not installed"
fi
if python3 -c 'import yaml' 2>/dev/null; then python=python3; else python=/usr/bin/python3; fi
if "$python" -c 'import yaml' 2>/dev/null; then
    ok "the Job is YAML" "$python" - "$work" <<'END'
import json
import sys
import yaml
job = yaml.safe_load(open("docs/fleet/kubernetes.yaml"))
json.dump(job, open(sys.argv[1] + "/job.json", "w"))
spec = job["spec"]
container, = spec["template"]["spec"]["containers"]
names = {variable["name"]: variable["value"] for variable in container["env"]}
assert spec["completions"] == spec["parallelism"] == int(names["PARTS"])
mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
assert {names["CAPTURES"], names["PROFILES"], names["DEBUGINFOD_CACHE_PATH"]} == mounts
assert {volume["name"] for volume in spec["template"]["spec"]["volumes"]} == {mount["name"] for mount in container["volumeMounts"]}
assert container["command"] == ["/bin/sh", "-euc"]
script, = container["args"]
open(sys.argv[1] + "/job.sh", "w").write(script)
END
    mkdir "$work/profiles"
    ls "$work"/fleet/captures/*.reel >"$work/fleet/captures/list"
    for index in 0 1 2; do
        JOB_COMPLETION_INDEX=$index PARTS=3 CAPTURES=$work/fleet/captures PROFILES=$work/profiles /bin/sh -euc "$(cat "$work/job.sh")" ||
            count 1 "pod $index failed"
    done
    "$O/stackreel" aggregate "$work"/profiles/{1,2,3}-of-3.profile | cmp - <("$O/stackreel" aggregate -q --files-from "$work/fleet/captures/list")
    count $? "the pods make the same profile"
    models=${KUBERNETES:-$root/tests/npm}
    if (cd "$models" && node -e 'require.resolve("kubernetes-models/batch/v1/Job")') 2>/dev/null; then
        ok "the Job conforms to Kubernetes' schema" env -C "$models" node -e '
            const { validate } = require("./node_modules/kubernetes-models/_schemas/IoK8sApiBatchV1Job.js");
            // The schema allows names that it does not know; the API server would drop these. So: what it never asks for.
            const watch = (value, path, unknown) => {
                if (value === null || typeof value !== "object") return value;
                for (const name of Object.keys(value)) unknown.add(path + "/" + name);
                return new Proxy(value, { get(object, name) {
                    unknown.delete(path + "/" + String(name));
                    return watch(object[name], path + "/" + String(name), unknown);
                } });
            };
            const wrong = (job) => {
                const unknown = new Set();
                const valid = validate(watch(job, "", unknown));
                return valid ? [...unknown] : JSON.stringify(validate.errors);
            };
            const job = JSON.parse(require("fs").readFileSync(process.argv[1]));
            console.log(wrong(job));
            if (wrong(job).length) process.exit(1);
            // And it must not take what is none: a wrong name, a wrong type.
            for (const spec of [{ completionsx: 8 }, { completions: "8" }])
                if (!wrong({ ...job, spec: { ...job.spec, ...spec } }).length) process.exit(1);' "$work/job.json"
    else
        skip "the Job's schema: kubernetes-models is not installed (run 'npm ci --ignore-scripts' in tests/npm)"
    fi
else
    skip "the Job in fleet/kubernetes.yaml: python3-yaml is not installed"
fi

if [ -n "$can_record" ]; then
    g++ -O2 -g -o "$HOSTS/buildhost/build/shopd" testdata/programs/orders.cc && strip -g -o "$HOSTS/prod/shopd" "$HOSTS/buildhost/build/shopd"
    (cd "$HOSTS/prod" && exec ./shopd 600 >/dev/null) &
    server=$!
    blocks docs/prod-to-laptop.md
    mkdir "$work/laptop" && cp -L "$O/stackreel-record" "$work/laptop/"
    cd "$work/laptop" && run_blocks prod-to-laptop.md
    cd "$root" && kill "$server" && wait "$server" 2>/dev/null
    server=
else
    skip "prod-to-laptop.md, tour.md, frame-pointers.md, regressions.md: cannot record here: $(head -n 1 "$work/err")"
fi

if [ -n "$can_record" ]; then
    for page in tour frame-pointers; do
        blocks docs/$page.md
        mkdir "$work/$page"
        cd "$work/$page" && run_blocks $page.md
        cd "$root" || exit
    done
    blocks docs/waiting.md
    mkdir "$work/waiting" && gcc -O2 -g -pthread -o "$work/waiting/till" tests/programs/till.c
    cd "$work/waiting"
    if stackreel-record -q -e off-cpu -o try.reel -- true 2>"$work/err"; then run_blocks waiting.md; else skip "waiting.md: $(head -n 1 "$work/err")"; fi
    cd "$root" || exit
    ok "frame-pointers.md: the script prints a row of its table" grep -xE '\| perl \| [1-9][0-9]* \|( [0-9.]+ \|){6}' <(O=$O bench/frame-pointers.sh perl 2>&1)
fi

mkdir "$work/shop"
blocks docs/regressions.md
if [ -n "$can_record" ]; then
    gcc -O2 -g -o "$work/shop/shop-1.4" testdata/programs/diff.c && gcc -O2 -g -DPARSE=200 -o "$work/shop/shop-1.5" testdata/programs/diff.c
    cd "$work/shop" && run_blocks regressions.md
    for run in 1 2 3 4 5; do
        ln -s shop-1.4-$run.reel old-$run.reel
        ln -s shop-1.5-$run.reel new-$run.reel
    done
    mkdir tools && ln -s "$O/stackreel" tools/
    cd "$root" || exit
fi
# Each job's script, in its own file.
if python3 -c 'import yaml' 2>/dev/null; then python=python3; else python=/usr/bin/python3; fi
if "$python" -c 'import yaml' 2>/dev/null; then
    ok "both jobs are valid YAML and have scripts" "$python" - "$work"/blocks/*.yaml <<'END'
import sys
import yaml
for path in sys.argv[1:]:
    job = yaml.safe_load(open(path))
    if "jobs" in job:
        assert job[True] == "pull_request"  # YAML 1.1's idea of `on'
        steps = job["jobs"]["compare"]["steps"]
        assert all(("run" in step) != ("uses" in step) for step in steps)
        scripts = [step["run"] for step in steps if "run" in step]
    else:
        scripts = job["performance"]["script"]
    assert len(scripts) == 3 and all(isinstance(script, str) for script in scripts), scripts
    for number, script in enumerate(scripts):
        open("%s.%d.script" % (path, number), "w").write(script)
END
    for script in "$work"/blocks/*.script; do
        ok "$(head -n 1 "$script"): valid syntax" bash -n "$script"
        grep -q 'stackreel diff' "$script" && [ -n "$can_record" ] || continue
        (cd "$work/shop" && GITHUB_STEP_SUMMARY=$work/summary.md bash -eu "$script") >"$work/out" 2>"$work/err"
        [ $? = 3 ]
        count $? "exit status 3 of: $(cat "$script")"
    done
    [ -z "$can_record" ] || ok "both jobs wrote the same summary" cmp "$work/summary.md" "$work/shop/summary.md"
else
    skip "the jobs in regressions.md: python3-yaml is not installed"
fi
finish
