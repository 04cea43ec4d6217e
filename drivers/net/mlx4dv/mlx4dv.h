/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MLX4DV_H_
#define MLX4DV_H_

/*
 * Control side of the driver: one struct mdv_priv per ethdev, which is one port
 * of one adapter. Burst code needs nothing from here but the MR generation.
 *
 * Control functions return 0 or a negative errno. Release functions accept
 * half-built state.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/mlx4dv.h>
#include <infiniband/verbs.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_flow_driver.h>
#include <rte_power_intrinsics.h>
#include <rte_rwlock.h>
#include <rte_spinlock.h>

#include <ethdev_driver.h>

#include "mlx4dv_compat.h"
#include "mlx4dv_rxtx.h"

#define MDV_MAX_MAC 128       /* the adapter's table of a port */
#define MDV_MAX_MC 256        /* multicast addresses of one port */
#define MDV_RSS_KEY_LEN 40
#define MDV_DEFAULT_DESC 512
#define MDV_MIN_DESC 8

/* Ethernet header, two VLAN tags, FCS: what a frame has beyond its MTU. */
#define MDV_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN)
#define MDV_MIN_MTU 68
#define MDV_MAX_MTU 9900      /* of mlx4_en */

#define MDV_WATCHDOG_US 20000
#define MDV_WATCHDOG_RETRY_US 1000000 /* after a recovery that failed */
#define MDV_LINK_RECHECK_US 50000

/* ---- memory regions (mlx4dv_mr.c) ---- */

struct mdv_mr;
TAILQ_HEAD(mdv_mr_list, mdv_mr);

/* A range of memory and the region that serves it; a region may serve several. */
struct mdv_mr_map {
	struct mdv_mr_entry entry;
	struct mdv_mr *mr;
};

struct mdv_mr_table {
	rte_rwlock_t lock;
	uint32_t generation;      /* bumped when a map goes: queues drop their caches */
	uint32_t n, room;
	bool events;              /* EAL tells us when memory goes */
	bool pool_events;         /* and of pools that come and go */
	struct mdv_mr_map *maps;  /* sorted, disjoint */
	struct mdv_mr_list mrs;
};

/* ---- flow rules (mlx4dv_rules.c) ---- */

enum mdv_rule_kind {
	MDV_RULE_UNICAST,         /* an address of ours */
	MDV_RULE_MULTICAST,       /* from the multicast list, and broadcast */
	MDV_RULE_ALLMULTI,
	MDV_RULE_PROMISC,
	MDV_RULE_CLASS_TCP,       /* IPv4 TCP / UDP to an address of ours, where */
	MDV_RULE_CLASS_UDP,       /* the hash of the base QP does not fit */
};

struct mdv_rule {
	TAILQ_ENTRY(mdv_rule) next;
	enum mdv_rule_kind kind;
	struct rte_ether_addr mac;
	struct ibv_flow *flow;
	bool stale;               /* of no use any more, and not removed yet */
	bool wanted, fresh, former; /* marks of the current pass */
};
TAILQ_HEAD(mdv_rule_list, mdv_rule);

/* ---- the application's rules (mlx4dv_flow.c) ---- */

TAILQ_HEAD(mdv_flow_list, rte_flow);

/* The same rules, to be found at once (mlx4dv_flow_table.c). */
struct mdv_flow_table {
	struct mdv_flow_bucket *buckets;
	uint32_t size, used; /* size: of buckets, a power of two or 0 */
};
struct mdv_flow_target;
TAILQ_HEAD(mdv_flow_target_list, mdv_flow_target);

/* ---- RSS (mlx4dv_rss.c) ---- */

/* An RSS QP and the table that it spreads over. */
struct mdv_rss_qp {
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;
	uint32_t entries;         /* of the table */
};

struct mdv_rss {
	uint8_t key[MDV_RSS_KEY_LEN];
	uint64_t hf;              /* RTE_ETH_RSS_* in effect */
	uint32_t entries;         /* of the WQ table, power of two; 0: no RX */
	uint16_t *layout;         /* the RX queue of each entry; from configure on */
	uint32_t first, used;     /* run of entries that the port hashes over */
	struct ibv_wq **wqs;      /* by table entry */
	uint32_t nb_wqs;          /* created so far */
	struct mdv_rss_qp base, tcp, udp;
	struct mdv_rss_qp holder; /* without rules: keeps WQs up that no other QP uses */
};

/* ---- a port ---- */

/* What the adapter can do; read once at probe. */
struct mdv_caps {
	char fw_ver[64];
	uint32_t part_id;
	uint32_t max_qp_wr;
	uint32_t max_queues;
	uint32_t max_table;       /* entries of an indirection table */
	uint32_t max_tso;         /* bytes; 0: no TSO */
	bool raw_csum;            /* RAW_IP_CSUM */
	bool keep_crc;            /* SCATTER_FCS */
	bool tunnel_csum;         /* ConnectX-3 Pro */
	bool vf;
	bool timestamps;          /* of completions, with a clock that can be read */
};

/* Counters of the port's interface (mlx4dv_netdev_stats.c). */
struct mdv_netdev_counters {
	uint32_t total;           /* that the interface has */
	uint32_t n;               /* shown; these have */
	char (*names)[32];
	uint32_t *index;          /* among total */
	uint64_t *base;           /* at the last reset */
	uint32_t missed;          /* index of what becomes imissed; total: none */
	uint64_t missed_base;
	uint64_t missed_last;     /* as last read: the interface may be gone since */
};

/* ---- errors (mlx4dv_error.c) ---- */

enum mdv_error {
	MDV_ERROR_LOCAL_LENGTH,   /* completions that ended a queue, by syndrome */
	MDV_ERROR_LOCAL_OPERATION,
	MDV_ERROR_LOCAL_PROTECTION,
	MDV_ERROR_FLUSHED,
	MDV_ERROR_OTHER,
	MDV_ERROR_QUEUE_EVENT,    /* the adapter's events of a QP or WQ */
	MDV_ERROR_CQ_EVENT,
	MDV_ERROR_RECOVERY,       /* a queue that could not be brought back */
	MDV_ERROR_DEVICE_FATAL,
	MDV_ERROR_RESET,          /* rte_eth_dev_reset() that failed */
	MDV_ERROR_CAUSES
};

#define MDV_ERRORS_KEPT 16

struct mdv_error_entry {
	uint64_t time;            /* seconds of UTC; by mdv_error_note() */
	enum mdv_error cause;
	enum {
		MDV_ERROR_NO_QUEUE,
		MDV_ERROR_RX_QUEUE,
		MDV_ERROR_TX_QUEUE,
	} queue;
	uint16_t idx;
	uint8_t syndrome, vendor;
};

struct mdv_errors {
	rte_spinlock_t lock;
	uint32_t n;               /* ever noted; the last ones are kept */
	uint64_t count[MDV_ERROR_CAUSES];
	uint64_t base[MDV_ERROR_CAUSES]; /* at the last reset of the statistics */
	struct mdv_error_entry last[MDV_ERRORS_KEPT];
};

struct mdv_error_text {
	char text[120];
};

struct mdv_priv {
	struct mdv_mr_table mr;   /* first: bursts compare mr.generation */

	struct rte_eth_dev *dev;  /* of the primary process */
	struct rte_eth_dev_data *data;
	rte_spinlock_t lock;      /* queue recovery against stop and reset */
	char ibname[IBV_SYSFS_NAME_MAX];
	struct ibv_device *ibdev; /* valid while ctx is open */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	unsigned int port;        /* from 1 */
	bool mr_ext_memseg;       /* devarg mr_ext_memseg_en */
	uint32_t tx_inline;       /* devarg tx_inline */
	bool tx_blueflame;        /* devarg tx_blueflame */
	struct mdv_caps caps;

	char ifname[IF_NAMESIZE];
	unsigned int ifindex;
	bool brought_up;          /* IFF_UP is ours: cleared again at close */

	struct rte_ether_addr mac[MDV_MAX_MAC];
	struct rte_ether_addr hw_mac; /* of the netdev */
	struct rte_ether_addr *mc;
	uint32_t nb_mc;
	bool promisc, allmulti;
	bool isolated;            /* only the application's flow rules bring frames */
	struct mdv_rule_list rules;
	struct mdv_flow_list flows;
	struct mdv_flow_table flow_table;
	struct mdv_flow_target_list flow_targets;

	struct mdv_rss rss;
	bool started;
	uint32_t gone;            /* the device is: see mlx4dv_gone.c; atomic */
	uint32_t events;          /* for the application, RTE_BIT32(type); atomic */
	struct mdv_errors errors;
	bool shared;              /* the queues lie in memory of all processes */

	struct rte_intr_handle *intr;
	bool intr_registered;
	bool alarm_link;          /* a link re-check is pending */
	bool link_expected;       /* what the last event said */
	int lsc_reported;         /* link status that the application knows; -1 */

	struct mdv_netdev_counters netdev;
};

static inline struct mdv_priv *
mdv_priv(const struct rte_eth_dev *dev)
{
	return dev->data->dev_private;
}

/* mlx4dv_probe.c */
#define MDV_PCI_DRIVER_NAME "net_mlx4dv_pci"

/* mlx4dv_port.c: a port's verbs side and its ethdev */
struct ibv_context *mdv_open_device(const char *ibname);
int mdv_port_open(struct mdv_priv *priv);
void mdv_port_close(struct mdv_priv *priv);
/* The ethdev of one adapter port; named as it is to be called. */
struct mdv_devargs;
int mdv_port_create(struct rte_device *rdev, const char *name, const char *ibname,
	unsigned int port, const struct mdv_devargs *args);
/* Zeroed memory near a socket, or anywhere; NULL was logged. */
void *mdv_zalloc(const struct mdv_priv *priv, const char *what, size_t size, unsigned int socket);
/* Stop and close every ethdev of a device. */
int mdv_port_remove_all(struct rte_device *rdev);

/* mlx4dv_ethdev.c */
extern const struct eth_dev_ops mdv_dev_ops;
int mdv_dev_stop(struct rte_eth_dev *dev);
int mdv_dev_reset(struct rte_eth_dev *dev);
int mdv_dev_close(struct rte_eth_dev *dev);
int mdv_dev_infos_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info);
int mdv_fw_version_get(struct rte_eth_dev *dev, char *version, size_t size);
void mdv_burst_dummy(struct rte_eth_dev *dev);

/* mlx4dv_gone.c: a device that was removed or failed for good */
extern const struct eth_dev_ops mdv_gone_ops;
/* Is it a port of ours in this process, its primary? */
bool mdv_is_ours(const struct rte_eth_dev *dev);
/* Nothing of the device works any more. Once. */
void mdv_gone(struct mdv_priv *priv);
/* The same, learnt from the device: the log and the application are told. */
void mdv_gone_fatal(struct mdv_priv *priv);
/* After a reset: there is a device again. */
void mdv_gone_back(struct mdv_priv *priv);
int mdv_is_removed(struct rte_eth_dev *dev);

/* mlx4dv_event.c */
/* Have the application told soon, from where it may close the port. */
void mdv_event_post(struct mdv_priv *priv, enum rte_eth_event_type type);
void mdv_event_cancel(struct mdv_priv *priv);

/* mlx4dv_error.c */
const char *mdv_error_name(enum mdv_error cause);
enum mdv_error mdv_error_of(const struct mdv_last_error *error);
void mdv_error_note(struct mdv_priv *priv, const struct mdv_error_entry *entry);
/* The last errors as lines, the oldest first; how many. */
unsigned int mdv_error_last(struct mdv_priv *priv, struct mdv_error_text texts[MDV_ERRORS_KEPT]);

/* mlx4dv_show.c */
int mdv_priv_dump(struct rte_eth_dev *dev, FILE *file);
int mdv_rx_burst_mode_get(struct rte_eth_dev *dev, uint16_t idx,
	struct rte_eth_burst_mode *mode);
int mdv_tx_burst_mode_get(struct rte_eth_dev *dev, uint16_t idx,
	struct rte_eth_burst_mode *mode);

/* mlx4dv_secondary.c: a port in a secondary process */
extern const struct eth_dev_ops mdv_secondary_ops;
int mdv_secondary_attach(struct rte_device *rdev, const char *name);
void mdv_secondary_bursts(struct rte_eth_dev *dev, bool started);
/* The primary started the port, whose doorbells can be mapped from the descriptor. */
int mdv_secondary_started(struct rte_eth_dev *dev, int fd);

/* mlx4dv_mp.c: what processes tell each other */
struct mdv_range {
	uintptr_t start, end;
};
int mdv_mp_init(void);
/* Primary: have every secondary poll the port, or leave it alone. */
void mdv_mp_tell(const struct mdv_priv *priv, bool started);
/* Secondary: a descriptor to map the doorbell page from; the caller closes it. */
int mdv_mp_get_fd(uint16_t port_id);
/* Secondary: have the primary find or register memory. */
int mdv_mp_get_entry(uint16_t port_id, const struct mdv_range *r, struct rte_mempool *mp,
	const struct mdv_range *whole, struct mdv_mr_entry *entry);

/* mlx4dv_netdev.c */
int mdv_netdev_find(struct mdv_priv *priv);
int mdv_netdev_get_mac(const struct mdv_priv *priv, struct rte_ether_addr *mac);
int mdv_netdev_get_mtu(const struct mdv_priv *priv, uint16_t *mtu);
int mdv_netdev_set_mtu(const struct mdv_priv *priv, uint16_t mtu);
int mdv_netdev_get_flags(const struct mdv_priv *priv, unsigned int *flags);
int mdv_netdev_set_up(const struct mdv_priv *priv, bool up);
int mdv_netdev_get_speed(const struct mdv_priv *priv, uint32_t *mbps, bool *full_duplex,
	bool *autoneg);
int mdv_netdev_get_pause(const struct mdv_priv *priv, struct rte_eth_fc_conf *conf);
int mdv_netdev_set_pause(const struct mdv_priv *priv, const struct rte_eth_fc_conf *conf);
int mdv_netdev_ethtool(const struct mdv_priv *priv, void *command);
/* First line of a file below the sysfs folder of a verbs device. */
int mdv_sysfs_read(const struct ibv_device *ibdev, const char *file, char *buf, size_t size);

/* mlx4dv_recycle.c */
void mdv_recycle_rxq_info_get(struct rte_eth_dev *dev, uint16_t idx,
	struct rte_eth_recycle_rxq_info *info);

/* mlx4dv_module.c */
int mdv_get_module_info(struct rte_eth_dev *dev, struct rte_eth_dev_module_info *info);
int mdv_get_module_eeprom(struct rte_eth_dev *dev, struct rte_dev_eeprom_info *info);

/* mlx4dv_netdev_stats.c */
void mdv_netdev_stats_open(struct mdv_priv *priv);
void mdv_netdev_stats_close(struct mdv_priv *priv);
void mdv_netdev_stats_read(const struct mdv_priv *priv, struct rte_eth_xstat *stats);
void mdv_netdev_stats_reset(struct mdv_priv *priv);
uint64_t mdv_netdev_missed(struct mdv_priv *priv);

/* mlx4dv_rxq.c */
int mdv_rx_queue_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t desc,
	unsigned int socket, const struct rte_eth_rxconf *conf, struct rte_mempool *mp);
void mdv_rx_queue_release(struct rte_eth_dev *dev, uint16_t idx);
int mdv_rxqs_configure(struct rte_eth_dev *dev);
int mdv_rxqs_start(struct rte_eth_dev *dev);
void mdv_rxqs_stop(struct rte_eth_dev *dev);
int mdv_rx_check_frame(struct rte_eth_dev *dev, uint16_t mtu);
void mdv_rxq_info_get(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_rxq_info *info);
uint64_t mdv_rx_offloads(const struct mdv_priv *priv);
int mdv_read_clock(struct rte_eth_dev *dev, uint64_t *clock);

/* mlx4dv_rx_vlan.c */
void mdv_rxq_set_vlan_filter(struct mdv_rxq *rxq, uint64_t offloads);
int mdv_vlan_filter_set(struct rte_eth_dev *dev, uint16_t vid, int on);
int mdv_vlan_offload_set(struct rte_eth_dev *dev, int mask);
void mdv_vlan_strip_queue_set(struct rte_eth_dev *dev, uint16_t idx, int on);

/* mlx4dv_txq.c */
int mdv_tx_queue_setup(struct rte_eth_dev *dev, uint16_t idx, uint16_t desc,
	unsigned int socket, const struct rte_eth_txconf *conf);
void mdv_tx_queue_release(struct rte_eth_dev *dev, uint16_t idx);
void mdv_txqs_configure(struct rte_eth_dev *dev);
int mdv_txqs_start(struct rte_eth_dev *dev);
void mdv_txqs_stop(struct rte_eth_dev *dev);
int mdv_txq_recover(struct mdv_txq *txq);
int mdv_tx_queue_start(struct rte_eth_dev *dev, uint16_t idx);
int mdv_tx_queue_stop(struct rte_eth_dev *dev, uint16_t idx);
void mdv_txq_info_get(struct rte_eth_dev *dev, uint16_t idx, struct rte_eth_txq_info *info);
int mdv_tx_done_cleanup(void *txq, uint32_t n);
uint64_t mdv_tx_offloads(const struct mdv_priv *priv);

/* mlx4dv_rxq_state.c */
int mdv_rxq_fill_ring(struct mdv_rxq *rxq, struct mdv_rx_ring *ring);
int mdv_rxq_recover(struct mdv_rxq *rxq);
int mdv_rx_queue_start(struct rte_eth_dev *dev, uint16_t idx);
int mdv_rx_queue_stop(struct rte_eth_dev *dev, uint16_t idx);

/* mlx4dv_rx_intr.c */
bool mdv_rx_intr_wanted(const struct mdv_priv *priv);
int mdv_rx_intr_open(struct mdv_rxq *rxq);
void mdv_rx_intr_close(struct mdv_rxq *rxq);
int mdv_rx_intr_start(struct rte_eth_dev *dev);
void mdv_rx_intr_stop(struct mdv_priv *priv);
int mdv_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t idx);
int mdv_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t idx);

/* mlx4dv_desc.c */
int mdv_get_monitor_addr(void *rxq, struct rte_power_monitor_cond *condition);

/* mlx4dv_rss.c */
extern const uint8_t mdv_rss_default_key[MDV_RSS_KEY_LEN];
uint64_t mdv_rss_offloads(void);
int mdv_rss_configure(struct rte_eth_dev *dev);
uint32_t mdv_rss_entries(const struct mdv_priv *priv, uint16_t nb_queues);
uint32_t mdv_reta_size(const struct mdv_priv *priv, uint16_t nb_queues);
int mdv_rss_start(struct mdv_priv *priv);
void mdv_rss_stop(struct mdv_priv *priv);
int mdv_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
int mdv_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf);
/* Hash over another run of entries. */
int mdv_rss_use_run(struct mdv_priv *priv, uint32_t first, uint32_t used);

/* mlx4dv_reta.c */
int mdv_reta_configure(struct rte_eth_dev *dev);
void mdv_reta_free(struct mdv_priv *priv);
int mdv_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *reta,
	uint16_t size);
int mdv_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *reta,
	uint16_t size);
/* The queue of entry i of the redirection table. */
static inline uint16_t
mdv_reta_queue(const struct mdv_rss *rss, uint32_t i)
{
	return rss->layout[rss->first + i % rss->used];
}

/* mlx4dv_rules.c */
int mdv_rules_sync(struct mdv_priv *priv);
int mdv_rules_renew(struct mdv_priv *priv);
void mdv_rules_flush(struct mdv_priv *priv);
void mdv_rules_forget(struct mdv_priv *priv);

/* mlx4dv_flow.c */
void mdv_flows_place(struct mdv_priv *priv);
int mdv_flows_start(struct mdv_priv *priv);
void mdv_flows_stop(struct mdv_priv *priv);
void mdv_flows_forget(struct mdv_priv *priv);
void mdv_flows_free(struct mdv_priv *priv);
int mdv_flow_ops_get(struct rte_eth_dev *dev, const struct rte_flow_ops **ops);

/* mlx4dv_mac.c */
int mdv_mac_addr_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t idx,
	uint32_t pool);
void mdv_mac_addr_remove(struct rte_eth_dev *dev, uint32_t idx);
int mdv_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac);
int mdv_set_mc_addr_list(struct rte_eth_dev *dev, struct rte_ether_addr *mc, uint32_t n);
int mdv_promiscuous_enable(struct rte_eth_dev *dev);
int mdv_promiscuous_disable(struct rte_eth_dev *dev);
int mdv_allmulticast_enable(struct rte_eth_dev *dev);
int mdv_allmulticast_disable(struct rte_eth_dev *dev);

/* mlx4dv_mr.c */
int mdv_mr_init(struct mdv_priv *priv);
void mdv_mr_fini(struct mdv_priv *priv);
void mdv_mr_count(struct mdv_priv *priv, uint64_t *regions, uint64_t *bytes);
/* Register every pool that packets can come from. */
void mdv_mr_register_known(struct mdv_priv *priv);
/* Register a pool of an RX queue. */
int mdv_mr_rx_setup(struct mdv_rxq *rxq, struct rte_mempool *mp);
/* The region of [addr, addr + length), memory of the pool mp. */
int mdv_mr_find(struct mdv_priv *priv, const struct mdv_range *r, struct rte_mempool *mp,
	const struct mdv_range *whole, struct mdv_mr_entry *entry);
int mdv_mr_get(struct mdv_priv *priv, uintptr_t addr, size_t length, struct rte_mempool *mp,
	struct mdv_mr_entry *entry);
/* Regions of a pool that goes; others that its memory lies in stay. */
void mdv_mr_forget_pool(struct mdv_priv *priv, const struct mdv_range *r);

/* Register r, neither more nor less, unless a region has it. */
int mdv_mr_register(struct mdv_priv *priv, const struct mdv_range *r, bool of_pool);
/* Is all of r registered as one piece? */
bool mdv_mr_knows(struct mdv_priv *priv, const struct mdv_range *r);
/* Memory that nobody sends from or receives into any more. */
void mdv_mr_forget(struct mdv_priv *priv, const struct mdv_range *r);
/* Send queues find their keys anew. */
void mdv_mr_changed(struct mdv_priv *priv);

/* mlx4dv_mr_pool.c */
int mdv_mr_pool_init(struct mdv_priv *priv);
void mdv_mr_pool_fini(struct mdv_priv *priv);
/* The piece that r lies in, or -ENOENT. */
int mdv_mr_pool_piece(struct rte_mempool *mp, const struct mdv_range *r,
	struct mdv_range *piece);
/* The pieces of memory that the buffers of a pool lie in. */
void mdv_mr_pool_pieces(struct rte_mempool *mp,
	void (*each)(const struct mdv_range *piece, void *arg), void *arg);

/* mlx4dv_dma.c: of every port of a device */
int mdv_dma_map(struct rte_device *rdev, void *addr, size_t len);
int mdv_dma_unmap(struct rte_device *rdev, void *addr, size_t len);

/* mlx4dv_intr.c */
int mdv_intr_init(struct mdv_priv *priv);
void mdv_intr_fini(struct mdv_priv *priv);
/* The port runs: what the application is told of its link counts from now. */
void mdv_intr_started(struct mdv_priv *priv);
int mdv_link_update(struct rte_eth_dev *dev, int wait_to_complete);
int mdv_link_set_up(struct rte_eth_dev *dev);
int mdv_link_set_down(struct rte_eth_dev *dev);

/* mlx4dv_watchdog.c */
void mdv_watchdog_start(struct mdv_priv *priv);
void mdv_watchdog_stop(struct mdv_priv *priv);
/* Note what ended queues that it has not looked at yet. */
void mdv_watchdog_note(struct mdv_priv *priv);

/* mlx4dv_stats.c */
int mdv_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats MDV_STATS_QUEUES_ARG);
int mdv_stats_reset(struct rte_eth_dev *dev);
int mdv_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *stats, unsigned int n);
int mdv_xstats_get_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names,
	unsigned int n);

#endif /* MLX4DV_H_ */
