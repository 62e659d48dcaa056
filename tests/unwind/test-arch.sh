#!/bin/bash
# Compares the tables of arch/ with the headers of the kernel and of libc, for each CPU with an installed compiler: perf's register numbers
# (asm/perf_regs.h), and the place of each register in a signal frame (ucontext_t and the preceding data from the kernel). The compiler
# evaluates static assertions; no program is run.
. "$(dirname "$0")/../count.sh"
dir=$work

# The members of the kernel's struct rt_sigframe before the ucontext. Only s390x has an additional sigframe.  From
# arch/{x86/include/asm/sigframe.h,{arm64,riscv,s390}/kernel/signal.c}.
prelude() {
    echo '#include <stddef.h>'
    echo '#include <asm/perf_regs.h>'
    echo '#include <signal.h>'
    echo '#include <ucontext.h>'
    case $1 in
    # The handler's ret has popped pretcode.
    x86_64) echo 'struct frame { ucontext_t uc; };' ;;
    # ret has popped pretcode here as well. After SA_SIGINFO's frame, the frames for the trampoline, which pops the signal number.
    i386)
        echo 'struct frame { int sig; void *pinfo, *puc; siginfo_t info; ucontext_t uc; };'
        echo 'struct popped_frame { struct sigcontext sc; };'
        echo 'struct old_frame { int sig; struct popped_frame popped; };'
        ;;
    aarch64 | riscv64) echo 'struct frame { siginfo_t info; ucontext_t uc; };' ;;
    s390x)
        echo '#include <asm/sigcontext.h>'
        echo 'struct frame { unsigned char save_area[__SIGNAL_FRAMESIZE]; unsigned short svc; siginfo_t info; ucontext_t uc; };'
        echo 'struct old_frame { unsigned char save_area[__SIGNAL_FRAMESIZE]; struct sigcontext sc; _sigregs regs; };'
        ;;
    esac
}

# Makes assertions of the registers on standard input, one register per line: perf's name for it, and the frame members.
assertions() {
    awk -v arch="$1" '
        function check(what, value) {
            printf "_Static_assert(%s == %s, \"%s\");\n", what, value, $1
        }
        function member(frame, name, value) {
            if (value != "-" && value != "")
                check("offsetof(struct " frame ", " name ")", value)
            else if ($1 != "zero")
                printf "_Static_assert(0, \"%s is not in the signal frame\");\n", $1
        }
        {
            number = $1; sub(/^[a-z]+/, "", number)
            upper = toupper($1)
        }
        arch == "x86_64" {
            perf = "PERF_REG_X86_" (number == "" ? substr(upper, 2) : upper)
            check(perf, $3)
            member("frame", "uc.uc_mcontext.gregs[REG_" upper "]", $4)
        }
        arch == "i386" {
            check("PERF_REG_X86_" substr(upper, 2), $3)
            member("frame", "uc.uc_mcontext.gregs[REG_" upper "]", $4)
            # glibc'"'"'s struct sigcontext has names with the e.
            member("popped_frame", "sc." $1, $5)
            member("old_frame", "popped.sc." $1, $6)
        }
        arch == "aarch64" {
            check("PERF_REG_ARM64_" ($1 == "x30" ? "LR" : upper), $3)
            member("frame", "uc.uc_mcontext." (number == "" ? $1 : "regs[" number "]"), $4)
        }
        arch == "riscv64" {
            # The pc is in the place of x0, in both tables.
            if ($1 == "zero") next
            check("PERF_REG_RISCV_" upper, $3)
            member("frame", "uc.uc_mcontext.__gregs[" ($1 == "pc" ? 0 : $2) "]", $4)
        }
        arch == "s390x" {
            perf = $1 == "pswm" ? "MASK" : $1 == "pswa" ? "PC" : $1 ~ /^f/ ? "FP" number : upper
            name = ($1 ~ /^f/ ? "fpregs.fprs[" : "gregs[") number "]"
            if (number == "") name = $1 == "pswm" ? "psw.mask" : "psw.addr"
            check("PERF_REG_S390_" perf, $3)
            member("frame", "uc.uc_mcontext." name, $4)
            sub(/^psw/, "regs.psw", name); sub(/^gregs/, "regs.gprs", name); sub(/^fpregs/, "fpregs", name)
            member("old_frame", "regs." name, $5)
        }'
}

if [ ! -x "$O/tests/unwind/arch_table" ]; then
    echo "skip: $O/tests/unwind/arch_table is not built"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
for arch in x86_64 i386 aarch64 riscv64 s390x; do
    cc=${arch/i386/i686}-linux-gnu-gcc
    if ! echo '#include <asm/perf_regs.h>' | "$cc" -E - >/dev/null 2>&1; then
        echo "skip: $arch: no $cc, or no kernel headers for it"
        skipped=$((skipped + 1))
        continue
    fi
    "$O/tests/unwind/arch_table" $arch >"$dir/table"
    { prelude $arch && assertions $arch <"$dir/table"; } >"$dir/check.c"
    if "$cc" -D_GNU_SOURCE -fsyntax-only "$dir/check.c" >"$dir/log" 2>&1 && [ "$(grep -c _Static_assert "$dir/check.c")" -gt 30 ]; then
        passed=$((passed + 1))
        [ -z "${V-}" ] || echo "$arch: $(grep -c _Static_assert "$dir/check.c") assertions"
    else
        failed=$((failed + 1))
        echo "FAIL $arch"
        head -n 20 "$dir/log"
    fi
done
finish
