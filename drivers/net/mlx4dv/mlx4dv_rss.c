/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * RSS. The adapter hashes with the key and fields of an RSS QP and adds the low
 * bits of the hash to the first WQ number of a table, so that a table is nothing
 * but consecutive numbers. For a number of queues that is no power of two the
 * table has more entries than queues, which take turns.
 *
 * One QP hashes TCP and UDP of both IP versions alike, and never ports without
 * addresses. What the application wants beyond that goes to QPs of its own, by
 * flow rules for IPv4 TCP and UDP (mlx4dv_rules.c).
 */

#include <errno.h>
#include <string.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_log.h"
#include "mlx4dv_rss.h"

/* The key of Microsoft's RSS specification, which documents and tools know. */
const uint8_t mdv_rss_default_key[MDV_RSS_KEY_LEN] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
	0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
	0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
	0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
	0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

uint64_t
mdv_rss_offloads(void)
{
	return RSS_IPV4 | RSS_IPV6 | RSS_TCP4 | RSS_UDP4 | RSS_TCP6 | RSS_UDP6;
}

static bool
rss_on(const struct mdv_priv *priv)
{
	return (priv->data->dev_conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0;
}

static int
check_key(const struct mdv_priv *priv, const struct rte_eth_rss_conf *conf)
{
	if (conf->rss_key != NULL && conf->rss_key_len != 0 &&
	    conf->rss_key_len != MDV_RSS_KEY_LEN) {
		MDV_PLOG(priv, ERR, "an RSS key of %u bytes: the adapter takes %u, or NULL for the "
			 "default key", conf->rss_key_len, MDV_RSS_KEY_LEN);
		return -EINVAL;
	}
	return 0;
}

/*
 * No flow rule can tell IPv6 TCP from UDP, and ports come with addresses: IPv6 is
 * then hashed whole, and rss_hash_conf_get() says so.
 */
static uint64_t
effective_types(uint64_t hf)
{
	return (hf & (RSS_TCP6 | RSS_UDP6)) != 0 ? hf | RTE_ETH_RSS_IPV6 : hf;
}

int
mdv_rss_configure(struct rte_eth_dev *dev)
{
	const struct rte_eth_rss_conf *conf = &dev->data->dev_conf.rx_adv_conf.rss_conf;
	struct mdv_priv *priv = mdv_priv(dev);
	int ret = check_key(priv, conf);

	if (ret != 0)
		return ret;
	/* A length of 0 with a key is how many applications ask for 40 bytes. */
	memcpy(priv->rss.key, conf->rss_key != NULL ? conf->rss_key : mdv_rss_default_key,
	       sizeof(priv->rss.key));
	priv->rss.hf = rss_on(priv) ? effective_types(conf->rss_hf) : 0;
	return mdv_reta_configure(dev);
}

/* Entries of the WQ table for a number of queues. */
uint32_t
mdv_rss_entries(const struct mdv_priv *priv, uint16_t nb_queues)
{
	uint32_t n;

	if (nb_queues == 0)
		return 0;
	n = rte_align32pow2(nb_queues);
	/* Without RSS a part of the table is a queue that a flow rule leads to. */
	return n == nb_queues || !rss_on(priv) ? n : RTE_MIN(2 * n, priv->caps.max_table);
}

/* Entries of the table that spreads what no flow rule claims. */
uint32_t
mdv_reta_size(const struct mdv_priv *priv, uint16_t nb_queues)
{
	return rss_on(priv) ? mdv_rss_entries(priv, nb_queues) : RTE_MIN(nb_queues, 1);
}

/* ---- QPs ---- */

static int
to_state(const struct mdv_priv *priv, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = (uint8_t)priv->port };
	int mask = IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0);
	int ret = ibv_modify_qp(qp, &attr, mask);

	if (ret != 0)
		MDV_PLOG(priv, ERR, "ibv_modify_qp(RSS QP, %s) failed: %s",
			 state == IBV_QPS_INIT ? "INIT" : "RTR", strerror(ret));
	return -ret;
}

static struct ibv_rwq_ind_table *
create_table(struct mdv_priv *priv, uint32_t first, uint32_t entries)
{
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = rte_log2_u32(entries),
		.ind_tbl = &priv->rss.wqs[first],
	};
	struct ibv_rwq_ind_table *table = ibv_create_rwq_ind_table(priv->ctx, &attr);

	if (table == NULL)
		MDV_PLOG(priv, ERR, "ibv_create_rwq_ind_table(%u entries) failed: %s", entries,
			 strerror(errno));
	return table;
}

int
mdv_rss_qp_create(struct mdv_priv *priv, struct mdv_rss_qp *rss, uint32_t first, uint32_t entries,
	uint64_t fields, const uint8_t *key)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			IBV_QP_INIT_ATTR_RX_HASH,
		.pd = priv->pd,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = MDV_RSS_KEY_LEN,
			.rx_hash_key = (uint8_t *)(uintptr_t)key,
			.rx_hash_fields_mask = fields,
		},
	};
	int ret;

	rss->table = create_table(priv, first, entries);
	if (rss->table == NULL)
		return errno != 0 ? -errno : -ENOMEM;
	rss->entries = entries;
	attr.rwq_ind_tbl = rss->table;
	rss->qp = ibv_create_qp_ex(priv->ctx, &attr);
	if (rss->qp == NULL) {
		MDV_PLOG(priv, ERR, "ibv_create_qp_ex(RSS, fields 0x%" PRIx64 ") failed: %s%s",
			 fields, strerror(errno),
			 errno == EPERM ? "; give the process CAP_NET_RAW" : "");
		return errno != 0 ? -errno : -ENOMEM;
	}
	ret = to_state(priv, rss->qp, IBV_QPS_INIT);
	return ret != 0 ? ret : to_state(priv, rss->qp, IBV_QPS_RTR);
}

void
mdv_rss_qp_destroy(struct mdv_priv *priv, struct mdv_rss_qp *rss)
{
	if (rss->qp != NULL && ibv_destroy_qp(rss->qp) != 0)
		MDV_PLOG(priv, WARNING, "ibv_destroy_qp(RSS) failed: %s", strerror(errno));
	rss->qp = NULL;
	if (rss->table != NULL && ibv_destroy_rwq_ind_table(rss->table) != 0)
		MDV_PLOG(priv, WARNING, "ibv_destroy_rwq_ind_table() failed: %s",
			 strerror(errno));
	rss->table = NULL;
}

/* What each QP is to hash; 0: the class needs no QP of its own, or is not spread. */
struct rss_plan {
	uint64_t base, tcp, udp;
	bool tcp_rule, udp_rule;
};

/* A class of IPv4 gets its own QP when the base QP treats it differently. */
static void
plan_class(uint64_t hf, uint64_t class4, uint64_t base, uint64_t port_fields, uint64_t *fields,
	bool *rule)
{
	uint64_t want = 0;
	uint64_t have = 0;

	if ((hf & class4) != 0)
		want = HASH_IPV4 | port_fields;
	else if ((hf & RSS_IPV4) != 0)
		want = HASH_IPV4;
	if ((base & HASH_IPV4) != 0)
		have = base & (HASH_IPV4 | port_fields);
	*rule = want != have && want != 0;
	*fields = want;
}

static void
plan(uint64_t hf, struct rss_plan *p)
{
	uint64_t tcp = RSS_TCP4, udp = RSS_UDP4;

	memset(p, 0, sizeof(*p));
	if ((hf & RSS_IPV4) != 0)
		p->base |= HASH_IPV4;
	if ((hf & RSS_IPV6) != 0) {
		/* Port bits of the base are IPv6's: only IPv4 can be told apart by rules. */
		p->base |= HASH_IPV6;
		tcp = RSS_TCP6;
		udp = RSS_UDP6;
	}
	if (p->base != 0 && (hf & tcp) != 0)
		p->base |= HASH_TCP;
	if (p->base != 0 && (hf & udp) != 0)
		p->base |= HASH_UDP;
	plan_class(hf, RSS_TCP4, p->base, HASH_TCP, &p->tcp, &p->tcp_rule);
	plan_class(hf, RSS_UDP4, p->base, HASH_UDP, &p->udp, &p->udp_rule);
}

static bool
whole_table(const struct mdv_rss *rss, const struct mdv_rss_qp *one)
{
	return one->qp != NULL && one->entries == rss->entries;
}

/*
 * The kernel resets a WQ with the last QP that uses it, under the driver and its
 * rings. QPs of flow rules come and go: one QP uses all WQs from start to stop, if
 * need be without a rule of its own.
 */
static int
hold_all(struct mdv_priv *priv)
{
	struct mdv_rss *rss = &priv->rss;

	if (whole_table(rss, &rss->base) || whole_table(rss, &rss->tcp) ||
	    whole_table(rss, &rss->udp))
		return 0;
	return mdv_rss_qp_create(priv, &rss->holder, 0, rss->entries, HASH_IPV4 | HASH_IPV6,
		rss->key);
}

int
mdv_rss_start(struct mdv_priv *priv)
{
	struct mdv_rss *rss = &priv->rss;
	struct rss_plan p;
	int ret;

	if (rss->entries == 0)
		return 0;
	plan(rss->hf, &p);
	/* Without a hash the table has one entry; the kernel insists on some fields. */
	ret = mdv_rss_qp_create(priv, &rss->base, rss->first, p.base != 0 ? rss->used : 1,
		p.base != 0 ? p.base : HASH_IPV4 | HASH_IPV6, rss->key);
	if (ret == 0 && p.tcp_rule && rss->used > 1)
		ret = mdv_rss_qp_create(priv, &rss->tcp, rss->first, rss->used, p.tcp, rss->key);
	if (ret == 0 && p.udp_rule && rss->used > 1)
		ret = mdv_rss_qp_create(priv, &rss->udp, rss->first, rss->used, p.udp, rss->key);
	return ret != 0 ? ret : hold_all(priv);
}

void
mdv_rss_stop(struct mdv_priv *priv)
{
	mdv_rss_qp_destroy(priv, &priv->rss.tcp);
	mdv_rss_qp_destroy(priv, &priv->rss.udp);
	mdv_rss_qp_destroy(priv, &priv->rss.base);
	mdv_rss_qp_destroy(priv, &priv->rss.holder);
}

/* ---- change while the port runs ---- */

/*
 * The hash of a QP is fixed: make new QPs on the same WQs, lead the rules there,
 * let the old ones go.
 */
static int
replace_qps(struct mdv_priv *priv, struct mdv_rss *old)
{
	struct mdv_rss *rss = &priv->rss;
	int ret;

	memset(&rss->base, 0, sizeof(rss->base));
	memset(&rss->tcp, 0, sizeof(rss->tcp));
	memset(&rss->udp, 0, sizeof(rss->udp));
	memset(&rss->holder, 0, sizeof(rss->holder));
	ret = mdv_rss_start(priv);
	if (ret == 0)
		ret = mdv_rules_renew(priv);
	if (ret != 0) {
		mdv_rss_stop(priv);
		return ret;
	}
	mdv_rss_qp_destroy(priv, &old->tcp);
	mdv_rss_qp_destroy(priv, &old->udp);
	mdv_rss_qp_destroy(priv, &old->base);
	mdv_rss_qp_destroy(priv, &old->holder);
	return 0;
}

int
mdv_rss_use_run(struct mdv_priv *priv, uint32_t first, uint32_t used)
{
	struct mdv_rss old = priv->rss;
	int ret = 0;

	priv->rss.first = first;
	priv->rss.used = used;
	if (priv->started && priv->rss.entries != 0)
		ret = replace_qps(priv, &old);
	if (ret != 0)
		priv->rss = old;
	return ret;
}

int
mdv_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct mdv_priv *priv = mdv_priv(dev);
	struct mdv_rss old = priv->rss;
	int ret = check_key(priv, conf);

	if (ret != 0)
		return ret;
	if (conf->rss_key != NULL)
		memcpy(priv->rss.key, conf->rss_key, sizeof(priv->rss.key));
	priv->rss.hf = effective_types(conf->rss_hf);
	if (priv->started && priv->rss.entries != 0)
		ret = replace_qps(priv, &old);
	if (ret != 0)
		priv->rss = old;
	return ret;
}

/* ---- information ---- */

int
mdv_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	const struct mdv_rss *rss = &mdv_priv(dev)->rss;

	if (conf->rss_key != NULL && conf->rss_key_len >= MDV_RSS_KEY_LEN)
		memcpy(conf->rss_key, rss->key, MDV_RSS_KEY_LEN);
	conf->rss_key_len = MDV_RSS_KEY_LEN;
	conf->rss_hf = rss->hf;
	return 0;
}
