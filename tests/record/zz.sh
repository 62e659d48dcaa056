PS4='+${EPOCHREALTIME} ${LINENO} '
exec 7>/tmp/trace.txt; BASH_XTRACEFD=7
set -x
. tests/record/test-record.sh
