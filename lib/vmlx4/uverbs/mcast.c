/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "../profile.h"
#include "../sysfs/sysfs.h"
#include "uverbs.h"

/*
 * Multicast groups: which UD QPs get a copy of what is sent to one. A QP may join
 * before it has a port; what it hears then is of the port it gets.
 */

#define FIRST_MULTICAST_LID 0xc000u
#define PERMISSIVE_LID 0xffffu

struct member {
	TAILQ_ENTRY(member) next;
	struct vmlx4_qp *qp;
	uint16_t lid;
};

struct vmlx4_mcast {
	TAILQ_ENTRY(vmlx4_mcast) next;
	TAILQ_HEAD(, member) members;
	uint32_t count;
	uint8_t gid[VMLX4_GID_SIZE];
};

static bool
is_group(const uint8_t gid[VMLX4_GID_SIZE])
{
	return gid[0] == 0xff || (vmlx4_gid_is_ipv4(gid) && (gid[12] & 0xf0) == 0xe0);
}

/* InfiniBand has multicast LIDs; on Ethernet the number means nothing. */
static bool
lid_fits(const struct vmlx4_qp *qp, uint16_t lid)
{
	const struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	bool matters = qp->port != NULL && qp->port->infiniband;
	unsigned int i;

	for (i = 0; qp->port == NULL && i < adapter->options.ports; i++)
		matters |= adapter->ports[i].infiniband;
	return !matters || (lid >= FIRST_MULTICAST_LID && lid != PERMISSIVE_LID);
}

static struct vmlx4_mcast *
find_group(const struct vmlx4_adapter *adapter, const uint8_t gid[VMLX4_GID_SIZE])
{
	struct vmlx4_mcast *group;

	TAILQ_FOREACH(group, &adapter->mcast, next)
		if (memcmp(group->gid, gid, VMLX4_GID_SIZE) == 0)
			return group;
	return NULL;
}

static struct member *
find_member(const struct vmlx4_mcast *group, const struct vmlx4_qp *qp, uint16_t lid)
{
	struct member *member;

	TAILQ_FOREACH(member, &group->members, next)
		if (member->qp == qp && member->lid == lid)
			return member;
	return NULL;
}

static int
new_group(struct vmlx4_adapter *adapter, const uint8_t gid[VMLX4_GID_SIZE],
	struct vmlx4_mcast **result)
{
	struct vmlx4_mcast *group;
	uint32_t groups = 0;

	TAILQ_FOREACH(group, &adapter->mcast, next)
		groups++;
	group = groups < adapter->profile->max_mcast_grp ? calloc(1, sizeof(*group)) : NULL;
	if (group == NULL)
		return -ENOMEM;
	TAILQ_INIT(&group->members);
	memcpy(group->gid, gid, VMLX4_GID_SIZE);
	TAILQ_INSERT_TAIL(&adapter->mcast, group, next);
	*result = group;
	return 0;
}

static void
leave(struct vmlx4_adapter *adapter, struct vmlx4_mcast *group, struct member *member)
{
	TAILQ_REMOVE(&group->members, member, next);
	member->qp->obj.users--;
	free(member);
	if (--group->count > 0)
		return;
	TAILQ_REMOVE(&adapter->mcast, group, next);
	free(group);
}

static int
join(struct vmlx4_qp *qp, const uint8_t gid[VMLX4_GID_SIZE], uint16_t lid)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_mcast *group = find_group(adapter, gid);
	struct member *member;
	int ret;

	/* Twice is once. */
	if (group != NULL && find_member(group, qp, lid) != NULL)
		return 0;
	if (group != NULL && group->count >= adapter->profile->max_mcast_qp_attach)
		return -ENOMEM;
	member = calloc(1, sizeof(*member));
	if (member == NULL)
		return -ENOMEM;
	ret = group == NULL ? new_group(adapter, gid, &group) : 0;
	if (ret < 0) {
		free(member);
		return ret;
	}
	member->qp = qp;
	member->lid = lid;
	TAILQ_INSERT_TAIL(&group->members, member, next);
	group->count++;
	qp->obj.users++;
	return 0;
}

/* Both commands have the same layout. */
static int
read_command(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd,
	struct ib_uverbs_attach_mcast *request, struct vmlx4_qp **qp)
{
	int ret = vmlx4_cmd_in(cmd, request, sizeof(*request));

	if (ret < 0)
		return ret;
	*qp = vmlx4_qp_find(ctx, request->qp_handle);
	if (*qp == NULL || (*qp)->qp_type != IBV_QPT_UD || !is_group(request->gid) ||
			!lid_fits(*qp, request->mlid))
		return -EINVAL;
	return 0;
}

int
vmlx4_cmd_attach_mcast(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_attach_mcast request;
	struct vmlx4_qp *qp;
	int ret = read_command(ctx, cmd, &request, &qp);

	return ret < 0 ? ret : join(qp, request.gid, request.mlid);
}

int
vmlx4_cmd_detach_mcast(struct vmlx4_context *ctx, const struct vmlx4_cmd *cmd)
{
	struct ib_uverbs_attach_mcast request;
	struct vmlx4_mcast *group;
	struct member *member;
	struct vmlx4_qp *qp;
	int ret = read_command(ctx, cmd, &request, &qp);

	if (ret < 0)
		return ret;
	group = find_group(ctx->adapter, request.gid);
	member = group != NULL ? find_member(group, qp, request.mlid) : NULL;
	if (member == NULL)
		return -EINVAL;
	leave(ctx->adapter, group, member);
	return 0;
}

void
vmlx4_mcast_leave_all(struct vmlx4_qp *qp)
{
	struct vmlx4_adapter *adapter = qp->obj.ctx->adapter;
	struct vmlx4_mcast *group, *next_group;
	struct member *member, *next;

	for (group = TAILQ_FIRST(&adapter->mcast); group != NULL; group = next_group) {
		next_group = TAILQ_NEXT(group, next);
		for (member = TAILQ_FIRST(&group->members); member != NULL; member = next) {
			/* With its last member the group goes. */
			next = TAILQ_NEXT(member, next);
			if (member->qp == qp)
				leave(adapter, group, member);
		}
	}
}

unsigned int
vmlx4_mcast_each(struct vmlx4_port *port, const uint8_t gid[VMLX4_GID_SIZE],
	void (*deliver)(struct vmlx4_qp *qp, void *arg), void *arg)
{
	const struct vmlx4_mcast *group = find_group(port->adapter, gid);
	const struct member *member;
	unsigned int count = 0;

	if (group == NULL)
		return 0;
	TAILQ_FOREACH(member, &group->members, next) {
		if (member->qp->port != port)
			continue;
		deliver(member->qp, arg);
		count++;
	}
	return count;
}
