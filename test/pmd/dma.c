/* SPDX-License-Identifier: BSD-3-Clause */

/* rte_dev_dma_map() and rte_dev_dma_unmap() of memory that the application brings. */

#include <sys/mman.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "harness.h"

#define AREA (4u << 20)
#define PAGE 4096u

static struct rte_mbuf_ext_shared_info info;
static unsigned int frees;

static void
count_free(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
	frees++;
}

static uint8_t *
area_map(void)
{
	void *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	CHECK_OK(rte_extmem_register(area, AREA, NULL, AREA / PAGE, PAGE));
	return area;
}

static void
area_unmap(uint8_t *area)
{
	CHECK_OK(rte_extmem_unregister(area, AREA));
	CHECK(munmap(area, AREA) == 0);
}

static struct rte_device *
device_of(uint16_t port)
{
	struct rte_eth_dev_info dev;

	CHECK_OK(rte_eth_dev_info_get(port, &dev));
	return dev.device;
}

static void
refused(int ret, int err)
{
	CHECK_EQ(ret, -1);
	CHECK_EQ(rte_errno, err);
}

/* A frame that lies in the area, behind an mbuf of the pool. */
static void
send_external(uint16_t port, struct rte_mempool *pool, uint8_t *where, uint64_t seed)
{
	unsigned int index = capture_count(port);
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	CHECK(m != NULL);
	info.free_cb = count_free;
	rte_mbuf_ext_refcnt_set(&info, 1);
	frame_make(where, 200, mac_foreign, seed);
	rte_pktmbuf_attach_extbuf(m, where, RTE_BAD_IOVA, 200, &info);
	m->data_off = 0;
	m->data_len = m->pkt_len = 200;
	tx_all(port, 0, &m, 1);
	check_capture(port, index, where, 200);
	CHECK(rte_eth_tx_done_cleanup(port, 0, 0) >= 0);
}

TEST(dma_mapped_memory_is_registered_once_and_gone_when_unmapped)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_device *device = device_of(port);
	uint8_t *area = area_map();
	struct vmlx4_object_counts before = object_counts();
	unsigned int round, i;

	capture_start(port);
	frees = 0;
	for (round = 1; round <= 10; round++) {
		CHECK_OK(rte_dev_dma_map(device, area, 0, AREA));
		CHECK_OK(rte_dev_dma_map(device, area + PAGE, 0, PAGE));
		CHECK_EQ(object_counts().mr_bytes, before.mr_bytes + AREA);
		for (i = 0; i < 50; i++)
			send_external(port, conf.pool, area + i * 81000, i);
		CHECK_EQ(object_counts().mrs_registered, before.mrs_registered + round);
		CHECK_OK(rte_dev_dma_unmap(device, area, 0, AREA));
		CHECK_EQ(object_counts().mrs, before.mrs);
		CHECK_EQ(object_counts().mr_bytes, before.mr_bytes);
	}
	CHECK_EQ(frees, 500);
	CHECK_EQ(stats_of(port).oerrors, 0);
	area_unmap(area);
}

/* No more is registered than asked for; the rest of the area when it is sent from. */
TEST(dma_mapping_of_a_part)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_device *device = device_of(port);
	uint8_t *area = area_map();
	struct vmlx4_object_counts before = object_counts();

	capture_start(port);
	CHECK_OK(rte_dev_dma_map(device, area + 8 * PAGE, 0, 8 * PAGE));
	CHECK_EQ(object_counts().mr_bytes, before.mr_bytes + 8 * PAGE);
	send_external(port, conf.pool, area + 8 * PAGE, 1);
	send_external(port, conf.pool, area + 16 * PAGE - 200, 2);
	CHECK_EQ(object_counts().mrs_registered, before.mrs_registered + 1);
	send_external(port, conf.pool, area + 16 * PAGE - 100, 3);
	CHECK_EQ(object_counts().mrs_registered, before.mrs_registered + 2);
	CHECK_OK(rte_dev_dma_unmap(device, area, 0, AREA));
	CHECK_EQ(object_counts().mr_bytes, before.mr_bytes);
	CHECK_EQ(stats_of(port).oerrors, 0);
	area_unmap(area);
}

/* A pool over mapped memory needs no registration of its own, and holds the memory. */
TEST(dma_mapped_memory_under_an_rx_queue_stays)
{
	uint8_t *area = area_map();
	struct rte_pktmbuf_extmem memory = {
		.buf_ptr = area, .buf_iova = RTE_BAD_IOVA, .buf_len = AREA,
		.elt_size = 2048 + RTE_PKTMBUF_HEADROOM,
	};
	struct rte_mempool *pool = rte_pktmbuf_pool_create_extbuf("pinned", 1024, 0, 0,
		2048 + RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY, &memory, 1);
	uint16_t port = port_open(0);
	struct rte_device *device = device_of(port);
	struct vmlx4_object_counts before;
	struct port_conf conf;
	unsigned int i;

	CHECK(pool != NULL);
	pool_adopt(pool);
	conf = port_conf(pool);
	CHECK_OK(rte_dev_dma_map(device, area, 0, AREA));
	before = object_counts();
	port_configure(port, &conf);
	CHECK_EQ(object_counts().mrs, before.mrs);
	port_start(port, &conf);
	for (i = 0; i < 300; i++)
		check_traffic(port);
	refused(rte_dev_dma_unmap(device, area, 0, AREA), EBUSY);
	refused(rte_dev_dma_unmap(device, area + PAGE, 0, PAGE), EBUSY);
	check_traffic(port);
	port_close(port);
	pool_release(pool);
	area_unmap(area);
}

TEST(dma_bad_calls)
{
	struct port_conf conf = port_conf(pool_create(1024, 2048));
	uint16_t port = port_up(0, &conf);
	struct rte_device *device = device_of(port);
	struct vmlx4_object_counts before;
	uint8_t *area = area_map();

	before = object_counts();
	refused(rte_dev_dma_map(device, area, 0, 0), ENOTSUP);
	/* Not known to EAL, never mapped, mapped in part. */
	refused(rte_dev_dma_map(device, &before, 0, sizeof(before)), EINVAL);
	refused(rte_dev_dma_unmap(device, area, 0, AREA), ENOENT);
	CHECK_OK(rte_dev_dma_map(device, area, 0, PAGE));
	refused(rte_dev_dma_unmap(device, area, 0, 2 * PAGE), ENOENT);
	CHECK_OK(rte_dev_dma_unmap(device, area, 0, PAGE));
	refused(rte_dev_dma_map(device, area, 0, SIZE_MAX), EINVAL);
	/* What the kernel refuses leaves nothing. */
	CHECK_OK(vmlx4_fault_add("command reg_mr nth=1 errno=ENOMEM", NULL, 0));
	refused(rte_dev_dma_map(device, area, 0, AREA), ENOMEM);
	vmlx4_fault_clear();
	CHECK_EQ(object_counts().mrs, before.mrs);
	check_traffic(port);
	/* What the application forgets to unmap goes with the port. */
	CHECK_OK(rte_dev_dma_map(device, area, 0, AREA));
	port_close(port);
	area_unmap(area);
}
