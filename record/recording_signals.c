/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/quantity.h"
#include "record/recording_internal.h"

/* `timeout' and a terminal may send the signal to end twice at once. */
#define HURRY_AFTER (500 * REEL_NS_PER_MS)

struct reel_error *recording_block_signals(struct recording *recording)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGUSR2);
	sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &signals, &recording->signals.old))
		return reel_error_os(errno, "blocking signals");
	/* A closed reader of our output shows as EPIPE. */
	signal(SIGPIPE, SIG_IGN);
	recording->signals.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return recording->signals.fd < 0 ? reel_error_os(errno, "signalfd") : NULL;
}

void recording_ask_end(struct recording *recording, enum reel_end_reason reason)
{
	if (recording->end.asked)
		return;
	recording->end.asked = true;
	recording->end.time = reel_now();
	recording->end.reason = reason;
}

/* One that comes before its predecessor is handled means the same. */
static void set_protect(struct recording_signals *signals, const struct signalfd_siginfo *signal)
{
	if (signals->protect)
		return;
	signals->protect = true;
	signals->protect_time = reel_now();
	signals->protect_sender = signal->ssi_pid;
}

void recording_read_signals(struct recording *recording)
{
	struct recording_end *its_end = &recording->end;
	struct signalfd_siginfo signal;

	while (read(recording->signals.fd, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGUSR2)
			set_protect(&recording->signals, &signal);
		recording->signals.child |= signal.ssi_signo == SIGCHLD;
		if (signal.ssi_signo == SIGUSR2 || signal.ssi_signo == SIGCHLD)
			continue;
		its_end->hurries |= its_end->asked && reel_now() - its_end->time > HURRY_AFTER;
		recording_ask_end(recording, REEL_END_SIGNAL);
	}
}
