/* SPDX-License-Identifier: BSD-3-Clause */

/* Device arguments: what each does, and what is said of a bad one. */

#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#include "harness.h"

#define NAME "net_mlx4dv5"

/* What is logged while a device is probed with arguments that must be refused. */
static void
refused(const char *args, char *text, size_t size)
{
	FILE *file = tmpfile();
	size_t length;

	CHECK(file != NULL);
	CHECK_OK(rte_openlog_stream(file));
	CHECK_MSG(port_probe(NAME, args) < 0, "'%s' was accepted", args);
	CHECK_OK(rte_openlog_stream(NULL));
	rewind(file);
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	fclose(file);
}

/* Device, argument and value are named, and what to write instead. */
TEST(devargs_a_bad_one_is_named_with_its_cure)
{
	static const struct {
		const char *args, *said[3];
	} bad[] = {
		{ "port=0", { "port=0", "want 1 or 2" } },
		{ "port=3", { "port=3", "want 1 or 2" } },
		{ "port=two", { "port=two", "want 1 or 2" } },
		{ "port=1x", { "port=1x", "want 1 or 2" } },
		{ "port=-1", { "port=-1", "want 1 or 2" } },
		{ "port=", { "port=", "want 1 or 2" } },
		{ "port=4294967297", { "port=4294967297", "want 1 or 2" } },
		{ "port=1,port=2", { "port=2", "second port", "one --vdev per port" } },
		{ "device=", { "device=", "name of one verbs device" } },
		{ "device=a,device=b", { "device=b", "name of one verbs device" } },
		{ "device=no_such_card", { "no_such_card", "set device= to one of" } },
		{ "mr_ext_memseg_en=2", { "mr_ext_memseg_en=2", "want 1", "or 0" } },
		{ "mr_ext_memseg_en=on", { "mr_ext_memseg_en=on", "want 1" } },
		{ "mr_ext_memseg_en=", { "mr_ext_memseg_en=", "want 1" } },
		{ "mr_ext_memseg_en=1,mr_ext_memseg_en=0", { "mr_ext_memseg_en=0", "twice" } },
		{ "tx_inline=225", { "tx_inline=225", "17 to 224", "or 0" } },
		{ "tx_inline=16", { "tx_inline=16", "17 to 224" } },
		{ "tx_inline=-1", { "tx_inline=-1", "17 to 224" } },
		{ "tx_inline=60B", { "tx_inline=60B", "17 to 224" } },
		{ "tx_inline=", { "tx_inline=", "17 to 224" } },
		{ "tx_inline=18446744073709551676", { "tx_inline=1844674", "17 to 224" } },
		{ "tx_inline=60,tx_inline=60", { "tx_inline=60", "twice" } },
		{ "tx_blueflame=2", { "tx_blueflame=2", "want 1", "or 0" } },
		{ "tx_blueflame=", { "tx_blueflame=", "want 1", "or 0" } },
		{ "tx_blueflame=1", { "tx_blueflame=1", "give tx_inline=17 to 224" } },
		{ "tx_blueflame=1,tx_inline=0", { "tx_blueflame=1", "give tx_inline=17" } },
		{ "tx_inline=60,tx_blueflame=1,tx_blueflame=0", { "tx_blueflame=0", "twice" } },
		{ "colour=blue", { "unknown argument \"colour\"", "mr_ext_memseg_en=" } },
		{ "port=[1", { "port=[1", "want 1 or 2" } },
		{ "port=1,,=", { "unknown argument \"\":", "device=" } },
	};
	char text[4096];
	unsigned int i, n;

	for (i = 0; i < RTE_DIM(bad); i++) {
		refused(bad[i].args, text, sizeof(text));
		for (n = 0; n < RTE_DIM(bad[i].said) && bad[i].said[n] != NULL; n++)
			CHECK_MSG(strstr(text, bad[i].said[n]) != NULL, "'%s' says: %s",
				bad[i].args, text);
		CHECK_EQ(rte_eth_dev_count_avail(), 0);
	}
}

static void
nothing(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
}

/* Send from memory that is in no pool. */
static void
send_external(uint16_t port, struct rte_mempool *pool, uint8_t *memory)
{
	static struct rte_mbuf_ext_shared_info info = { .free_cb = nothing };
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	unsigned int index = capture_count(port);

	CHECK(m != NULL);
	frame_make(memory, 300, mac_foreign, index);
	rte_mbuf_ext_refcnt_set(&info, 1);
	rte_pktmbuf_attach_extbuf(m, memory, RTE_BAD_IOVA, 300, &info);
	m->data_off = 0;
	CHECK(rte_pktmbuf_append(m, 300) != NULL);
	tx_all(port, 0, &m, 1);
	check_capture(port, index, memory, 300);
}

/* Regions that three places of EAL's memory need, beside those of the pool. */
static unsigned int
regions(const char *mr_ext_memseg, struct rte_mempool *pool, uint8_t *memory, size_t distance)
{
	struct port_conf conf = port_conf(pool);
	uint16_t port = port_up_with(NAME, mr_ext_memseg, &conf);
	unsigned int before, mrs, i;

	capture_start(port);
	capture_clear(port);
	before = object_counts().mrs;
	for (i = 0; i < 3; i++)
		send_external(port, pool, memory + i * distance);
	mrs = object_counts().mrs;
	port_close(port);
	return mrs - before;
}

TEST(devargs_mr_ext_memseg_en_registers_as_much_as_lies_together)
{
	struct rte_mempool *pool = pool_create(1024, 2048);
	const size_t distance = 128 << 10;
	uint8_t *memory = rte_malloc("external", 3 * distance, 4096);

	CHECK(memory != NULL);
	CHECK_EQ(regions("", pool, memory, distance), 1);
	CHECK_EQ(regions(",mr_ext_memseg_en=1", pool, memory, distance), 1);
	/* Pages are of 4 KiB here. */
	CHECK_EQ(regions(",mr_ext_memseg_en=0", pool, memory, distance), 3);
	rte_free(memory);
}
