/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Messages between the processes that share a port. The primary has the verbs
 * context: a secondary asks it for the doorbell page, and to register memory. The
 * primary tells secondaries when the queues come and go.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"

#define MP_NAME "net_mlx4dv_mp"
#define MP_TIMEOUT_S 5

enum mp_type {
	MP_GET_FD,       /* secondary to primary */
	MP_GET_ENTRY,
	MP_STARTED,      /* primary to secondaries */
	MP_STOPPED,
};

struct mp_body {
	enum mp_type type;
	uint16_t port_id;
	int result;               /* of an answer: 0 or a negative errno */
	bool has_whole;
	struct mdv_range range, whole;
	struct rte_mempool *mp;   /* lies at the same address everywhere */
	struct mdv_mr_entry entry;
};

static void
fill(struct rte_mp_msg *msg, const struct mp_body *body)
{
	RTE_BUILD_BUG_ON(sizeof(*body) > RTE_MP_MAX_PARAM_LEN);
	memset(msg, 0, sizeof(*msg));
	strcpy(msg->name, MP_NAME);
	msg->len_param = sizeof(*body);
	memcpy(msg->param, body, sizeof(*body));
}

/* ---- answers ---- */

/* The port of a message, or NULL when this process has none of ours by that number. */
static struct rte_eth_dev *
port_of(const struct mp_body *body)
{
	struct rte_eth_dev *dev;

	if (!rte_eth_dev_is_valid_port(body->port_id))
		return NULL;
	dev = &rte_eth_devices[body->port_id];
	return mdv_is_ours(dev) || dev->dev_ops == &mdv_secondary_ops ? dev : NULL;
}

static void
answer(struct rte_eth_dev *dev, struct mp_body *body, int fd, struct rte_mp_msg *reply)
{
	struct mdv_priv *priv = mdv_priv(dev);

	body->result = 0;
	switch (body->type) {
	case MP_GET_FD:
		if (priv->ctx == NULL || !priv->shared) {
			body->result = -ENOTSUP;
			break;
		}
		reply->num_fds = 1;
		reply->fds[0] = priv->ctx->cmd_fd;
		break;
	case MP_GET_ENTRY:
		if (MDV_LOAD_ACQUIRE(&priv->gone) != 0) {
			body->result = -EIO;
			break;
		}
		body->result = mdv_mr_find(priv, &body->range, body->mp,
			body->has_whole ? &body->whole : NULL, &body->entry);
		break;
	case MP_STARTED:
		body->result = mdv_secondary_started(dev, fd);
		break;
	case MP_STOPPED:
		mdv_secondary_bursts(dev, false);
		break;
	}
}

static int
handle(const struct rte_mp_msg *msg, const void *peer)
{
	struct rte_eth_dev *dev;
	struct rte_mp_msg reply;
	struct mp_body body;

	int i;

	if (msg->len_param != (int)sizeof(body))
		return -EINVAL;
	memcpy(&body, msg->param, sizeof(body));
	fill(&reply, &body);
	dev = port_of(&body);
	body.result = -ENODEV;
	if (dev != NULL)
		answer(dev, &body, msg->num_fds == 1 ? msg->fds[0] : -1, &reply);
	for (i = 0; i < msg->num_fds; i++)
		close(msg->fds[i]);
	memcpy(reply.param, &body, sizeof(body));
	return rte_mp_reply(&reply, peer);
}

/* Once in a process; where EAL has no messages, there are no secondaries either. */
int
mdv_mp_init(void)
{
	if (rte_mp_action_register(MP_NAME, handle) == 0 || rte_errno == EEXIST ||
	    rte_errno == ENOTSUP)
		return 0;
	MDV_LOG(ERR, "rte_mp_action_register() failed: %s", rte_strerror(rte_errno));
	return -rte_errno;
}

/* ---- questions ---- */

/* Ask the primary; fd may be NULL. */
static int
ask(struct mp_body *body, int *fd)
{
	struct timespec timeout = { .tv_sec = MP_TIMEOUT_S };
	struct rte_mp_reply reply = { 0 };
	struct rte_mp_msg msg;
	int ret;

	fill(&msg, body);
	if (rte_mp_request_sync(&msg, &reply, &timeout) != 0)
		return -rte_errno;
	ret = reply.nb_received == 1 ? 0 : -ETIMEDOUT;
	if (ret == 0) {
		memcpy(body, reply.msgs[0].param, sizeof(*body));
		ret = body->result;
		if (ret == 0 && fd != NULL)
			*fd = reply.msgs[0].num_fds == 1 ? reply.msgs[0].fds[0] : -1;
	}
	free(reply.msgs);
	return ret;
}

int
mdv_mp_get_fd(uint16_t port_id)
{
	struct mp_body body = { .type = MP_GET_FD, .port_id = port_id };
	int fd = -1;
	int ret = ask(&body, &fd);

	return ret != 0 ? ret : fd >= 0 ? fd : -EBADF;
}

int
mdv_mp_get_entry(uint16_t port_id, const struct mdv_range *r, struct rte_mempool *mp,
	const struct mdv_range *whole, struct mdv_mr_entry *entry)
{
	struct mp_body body = {
		.type = MP_GET_ENTRY, .port_id = port_id, .range = *r, .mp = mp,
		.has_whole = whole != NULL,
	};
	int ret;

	if (whole != NULL)
		body.whole = *whole;
	ret = ask(&body, NULL);
	if (ret == 0)
		*entry = body.entry;
	return ret;
}

/* A secondary that does not answer has died, or will find out by the queues' state. */
void
mdv_mp_tell(const struct mdv_priv *priv, bool started)
{
	struct timespec timeout = { .tv_sec = MP_TIMEOUT_S };
	struct mp_body body = {
		.type = started ? MP_STARTED : MP_STOPPED, .port_id = priv->data->port_id,
	};
	struct rte_mp_reply reply = { 0 };
	struct rte_mp_msg msg;

	fill(&msg, &body);
	/* After a reset the doorbells are those of another context. */
	if (started && priv->shared) {
		msg.num_fds = 1;
		msg.fds[0] = priv->ctx->cmd_fd;
	}
	if (rte_mp_request_sync(&msg, &reply, &timeout) != 0 && rte_errno != ENOTSUP)
		MDV_PLOG(priv, WARNING, "cannot tell secondary processes that the port %s: %s",
			 started ? "started" : "stopped", rte_strerror(rte_errno));
	else if (reply.nb_received != reply.nb_sent)
		MDV_PLOG(priv, WARNING, "%d of %d secondary processes did not answer",
			 reply.nb_sent - reply.nb_received, reply.nb_sent);
	free(reply.msgs);
}
