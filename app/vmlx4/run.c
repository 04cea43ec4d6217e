/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

static void
child(struct launch *launch, const sigset_t *mask, pid_t parent, int report)
{
	int err;

	/* Should this launcher be killed, the program must not outlive its sysfs tree. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_USAGE);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(launch->path, launch->program);
	err = errno;
	if (write(report, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(EXIT_USAGE);
}

/* Wait for the exec: 0, or the errno with which it failed. */
static int
exec_result(int report)
{
	int err = 0;
	ssize_t got;

	do {
		got = read(report, &err, sizeof(err));
	} while (got < 0 && errno == EINTR);
	return got == sizeof(err) ? err : 0;
}

static int
wait_for(pid_t pid, const sigset_t *signals)
{
	siginfo_t info;
	int status;

	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (ended < 0 && errno != EINTR) {
			complain("waitpid: %s", strerror(errno));
			return EXIT_USAGE;
		}
		if (sigwaitinfo(signals, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		/* A key at the terminal reached the program, too: it is in our group. */
		if (info.si_code <= 0)
			kill(pid, info.si_signo);
	}
}

int
run_program(struct launch *launch)
{
	sigset_t signals, before;
	pid_t parent = getpid(), pid;
	int report[2];
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	/* Whoever started us may have ignored it; then no wait would see the end. */
	signal(SIGCHLD, SIG_DFL);

	if (pipe2(report, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return complain("cannot start %s: %s", launch->path, strerror(errno));
	if (pid == 0) {
		close(report[0]);
		child(launch, &before, parent, report[1]);
	}
	close(report[1]);
	err = exec_result(report[0]);
	close(report[0]);
	if (err != 0)
		complain("%s: %s: name a program that this machine can run", launch->path,
			strerror(err));
	return wait_for(pid, &signals);
}
