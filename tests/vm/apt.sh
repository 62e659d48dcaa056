#!/bin/bash
# apt.sh SUITE ARCH COMMAND [ARG...] - run apt-get or apt-cache with a private state for a Debian release and architecture
#
# ARCH is `source` for the release's source packages (apt-get source).
# The host's own dpkg and apt are not affected: all files are in the cache, and this apt's state has no installed packages.
# Uses the mirror of the host's apt configuration (any format), or $STACKREEL_DEBIAN_MIRROR; for Ubuntu's releases the folder ubuntu beside
# that, or $STACKREEL_UBUNTU_MIRROR.
# Fetches the package lists if they are missing or older than a day.  Status 77 if the mirror is unusable or incomplete.
# E.g. apt.sh trixie arm64 apt-cache policy libdw-dev
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 3 ] || usage
kind=deb suite=$1
if [ "$2" = source ]; then
	kind=deb-src arch=$(dpkg --print-architecture) state=$STACKREEL_CACHE/apt/$1-source
else
	arch=$(debian_arch "$2") state=$STACKREEL_CACHE/apt/$1-$(debian_arch "$2")
fi
shift 2

# mirror: the host's first source that is Debian's own archive. Field 1 is known only after the lists were fetched; otherwise guess by
# names.
mirror() {
	local id='' codename=''
	if [ -n "${STACKREEL_DEBIAN_MIRROR:-}" ]; then
		echo "$STACKREEL_DEBIAN_MIRROR"
		return
	fi
	id=$(. /etc/os-release && echo "$ID") codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
	[ "$id" = debian ] || skip "this host is $id, without a Debian mirror; set STACKREEL_DEBIAN_MIRROR to a Debian mirror's URL"
	# shellcheck disable=SC2016 # apt fills these in
	apt-get indextargets --no-release-info --format '$(ORIGIN)/$(LABEL) $(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
		awk -v codename="$codename" '
			$3 == "main" && $4 !~ /^cdrom:/ && $4 !~ /security/ {
				if ($1 == "Debian/Debian") { found = $4; exit }
				if (!guess && ($2 == codename || $2 ~ /^(oldstable|stable|testing|unstable|sid)$/)) guess = $4
			}
			END { print found ? found : guess }'
}

setup() {
	local url keyring=/usr/share/keyrings/debian-archive-keyring.gpg components=main
	url=$(mirror)
	case $suite in
	jammy | noble)
		url=${STACKREEL_UBUNTU_MIRROR:-${url%/debian*}/ubuntu} components="main universe"
		keyring=$("$vm/sysroot.sh" trixie amd64 ubuntu-archive-keyring)/usr/share/keyrings/ubuntu-archive-keyring.gpg
		;;
	esac
	[ -n "$url" ] || skip "no Debian mirror in this host's apt sources; set STACKREEL_DEBIAN_MIRROR to a Debian mirror's URL"
	[ -e $keyring ] || skip "no $keyring; install the package debian-archive-keyring"
	mkdir -p "$state"/{etc/apt/{apt.conf.d,preferences.d},var/{lib/{apt/lists/partial,dpkg},cache/apt/archives/partial,log/apt}}
	: >"$state/var/lib/dpkg/status"
	echo "$kind [signed-by=$keyring arch=$arch] $url $suite $components" >"$state/etc/apt/sources.list"
	# apt reads the host's configuration before this file: keep its proxies, clear its hooks and pins.
	cat >"$state/apt.conf" <<-END
		APT::Architecture "$arch";
		#clear APT::Architectures;
		APT::Architectures { "$arch"; };
		Dir "$state/";
		Dir::State::status "$state/var/lib/dpkg/status";
		Dir::State::lists "lists/";
		Dir::Etc::sourcelist "sources.list";
		Dir::Etc::sourceparts "sources.list.d";
		Dir::Etc::netrc "/etc/apt/auth.conf";
		Dir::Etc::netrcparts "/etc/apt/auth.conf.d";
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		#clear APT::Default-Release;
		#clear APT::Update;
		#clear DPkg::Pre-Install-Pkgs;
	END
}

cache_lock "apt-${state##*/}"
[ -e "$state/apt.conf" ] || setup
if [ -z "$(find "$state/fetched" -mtime -1 2>/dev/null)" ]; then
	# without a network, stale lists are good enough
	if apt-get -q -c "$state/apt.conf" -o APT::Update::Error-Mode=any update >"$state/update.log" 2>&1; then
		touch "$state/fetched"
	elif [ ! -e "$state/fetched" ]; then
		# No network, or a mirror in the middle of an update: not an error of ours.
		cat "$state/update.log" >&2
		skip "cannot fetch the package lists of $suite for $arch: $(grep -m 1 '^E:' "$state/update.log" | cut -c 1-200)"
	fi
fi
command=$1
shift
status=0
"$command" -q -c "$state/apt.conf" "$@" 2>"$state/errors.log" || status=$?
cat "$state/errors.log" >&2
! grep -q '^E: Failed to fetch' "$state/errors.log" || skip "the mirror of $suite for $arch is missing files that its lists contain"
exit $status
