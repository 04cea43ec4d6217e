/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <rdma/ib_user_verbs.h>

#include "../hca/guard.h"
#include "../uverbs/uverbs.h"
#include "internal.h"

static const char *
command_name(uint32_t command)
{
	const struct vmlx4_fault_command *entry;
	unsigned int i;

	for (i = 0; (entry = vmlx4_fault_command_get(i)) != NULL; i++)
		if (entry->plain == (int)command || (entry->extended >= 0 && command ==
				((uint32_t)entry->extended | IB_USER_VERBS_CMD_FLAG_EXTENDED)))
			return entry->name;
	return "?";
}

static bool
is_kind(const struct vmlx4_fault_command *kind, uint32_t command)
{
	return kind == NULL || kind->plain == (int)command || (kind->extended >= 0 && command ==
		((uint32_t)kind->extended | IB_USER_VERBS_CMD_FLAG_EXTENDED));
}

/* The card has no completions in flight when a command has changed a queue. */
static bool
changes_queue(const char *name)
{
	return strncmp(name, "modify_", 7) == 0 || strncmp(name, "destroy_", 8) == 0 ||
		strncmp(name, "resize_", 7) == 0;
}

/* The rule's errno when it hits the command; first says that no other did. */
static int
try_rule(struct vmlx4_fault_rule *rule, struct vmlx4_context *ctx, uint32_t command, bool first)
{
	if (!vmlx4_fault_hits(rule) || !first)
		return 0;
	vmlx4_fault_log(rule, &rule->adapter->fault_state->stats.commands_failed, NULL,
		"%s of fd %d", command_name(command), ctx->fd);
	return -rule->spec.err;
}

/* REG_MR: would it register more than a rule allows? */
static int
try_memory(struct vmlx4_fault_rule *rule, struct vmlx4_context *ctx, uint32_t command,
	const struct vmlx4_cmd *cmd, bool first)
{
	struct vmlx4_adapter *adapter = ctx->adapter;
	struct ib_uverbs_reg_mr request;

	vmlx4_cmd_in(cmd, &request, sizeof(request));
	if (adapter->counts.mr_bytes <= rule->spec.above &&
	    request.length <= rule->spec.above - adapter->counts.mr_bytes) {
		rule->events++; /* the log counts REG_MR commands, whatever they register */
		return 0;
	}
	return try_rule(rule, ctx, command, first);
}

struct before {
	struct vmlx4_context *ctx;
	uint32_t command;
};

static void
before_run(void *arg)
{
	struct before *before = arg;
	struct vmlx4_adapter *adapter = before->ctx->adapter;

	vmlx4_fault_state_event(adapter->faults, VMLX4_FAULT_AT_COMMAND, 0);
	if (changes_queue(command_name(before->command)))
		vmlx4_fault_show_cqes(adapter, before->ctx);
}

int
vmlx4_fault_command(struct vmlx4_context *ctx, uint32_t command, const struct vmlx4_cmd *cmd)
{
	struct vmlx4_faults *faults = ctx->adapter->faults;
	struct before before = { ctx, command };
	struct vmlx4_fault_rule *rule;
	int ret = 0;

	/* It writes to the program's queues, which may be gone. */
	vmlx4_guarded(ctx->adapter, before_run, &before);
	for (rule = NULL; (rule = vmlx4_fault_next(faults, rule, VMLX4_FAULT_COMMAND)) != NULL;) {
		int err = is_kind(rule->spec.command, command) ?
			try_rule(rule, ctx, command, ret == 0) : 0;

		ret = ret != 0 ? ret : err;
	}
	if (command == IB_USER_VERBS_CMD_REG_MR)
		for (rule = NULL; (rule = vmlx4_fault_next(faults, rule,
				VMLX4_FAULT_MEMORY)) != NULL;) {
			int err = try_memory(rule, ctx, command, cmd, ret == 0);

			ret = ret != 0 ? ret : err;
		}
	return faults->dead || ctx->dead ? -EIO : ret;
}
