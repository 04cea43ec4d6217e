/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include <ethdev_driver.h>

#include "mlx4dv_devargs.h"
#include "mlx4dv_log.h"

struct parsing {
	const char *name; /* of the device, for messages */
	bool vdev;
	bool has_mr_ext_memseg;
	bool has_tx_inline;
	bool has_tx_blueflame;
	struct mdv_devargs *args;
};

static int
parse_device(struct parsing *p, const char *value)
{
	struct mdv_devargs *args = p->args;

	if (value[0] != '\0' && args->device[0] == '\0' &&
	    strlcpy(args->device, value, sizeof(args->device)) < sizeof(args->device))
		return 0;
	MDV_LOG(ERR, "%s: " MDV_ARG_DEVICE "=%s: want the name of one verbs device, such as "
		"mlx4_0", p->name, value);
	return -EINVAL;
}

static int
parse_port(struct parsing *p, const char *value)
{
	unsigned long port;
	char *end;

	if (p->vdev && p->args->ports != 0) {
		MDV_LOG(ERR, "%s: " MDV_ARG_PORT "=%s is a second port: use one --vdev per port",
			p->name, value);
		return -EINVAL;
	}
	errno = 0;
	port = strtoul(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || value[0] == '-' ||
	    port < 1 || port > MDV_MAX_PORTS) {
		MDV_LOG(ERR, "%s: " MDV_ARG_PORT "=%s: want 1 or 2, the adapter's ports count from "
			"1 (those of net_mlx4 from 0)", p->name, value);
		return -EINVAL;
	}
	if ((p->args->ports & RTE_BIT32(port)) != 0) {
		MDV_LOG(ERR, "%s: " MDV_ARG_PORT "=%s is given twice: name each port once",
			p->name, value);
		return -EINVAL;
	}
	p->args->ports |= RTE_BIT32(port);
	return 0;
}

/* 0 or 1, once. */
static int
parse_switch(const struct parsing *p, const char *key, const char *value, const char *purpose,
	bool *given, bool *on)
{
	if (*given) {
		MDV_LOG(ERR, "%s: %s=%s is given twice: give it once", p->name, key, value);
		return -EINVAL;
	}
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0) {
		MDV_LOG(ERR, "%s: %s=%s: want 1, to %s, or 0", p->name, key, value, purpose);
		return -EINVAL;
	}
	*given = true;
	*on = value[0] == '1';
	return 0;
}

static int
parse_mr_ext_memseg(struct parsing *p, const char *value)
{
	return parse_switch(p, MDV_ARG_MR_EXT_MEMSEG, value,
		"register as much memory at once as lies together",
		&p->has_mr_ext_memseg, &p->args->mr_ext_memseg);
}

static int
parse_tx_inline(struct parsing *p, const char *value)
{
	unsigned long bytes;
	char *end;

	if (p->has_tx_inline) {
		MDV_LOG(ERR, "%s: " MDV_ARG_TX_INLINE "=%s is given twice: give it once",
			p->name, value);
		return -EINVAL;
	}
	errno = 0;
	bytes = strtoul(value, &end, 10);
	if (errno != 0 || *end != '\0' || value[0] < '0' || value[0] > '9' ||
	    bytes > MDV_TX_INLINE_MAX || (bytes != 0 && bytes < MDV_TX_INLINE_MIN)) {
		MDV_LOG(ERR, "%s: " MDV_ARG_TX_INLINE "=%s: want the bytes of the longest frame "
			"that is copied into its work request, %u to %u, or 0 for none",
			p->name, value, MDV_TX_INLINE_MIN, MDV_TX_INLINE_MAX);
		return -EINVAL;
	}
	p->has_tx_inline = true;
	p->args->tx_inline = (uint32_t)bytes;
	return 0;
}

static int
parse_tx_blueflame(struct parsing *p, const char *value)
{
	return parse_switch(p, MDV_ARG_TX_BLUEFLAME, value,
		"copy what is sent alone to the adapter's BlueFlame page",
		&p->has_tx_blueflame, &p->args->tx_blueflame);
}

static int
parse_pair(struct parsing *p, const char *key, const char *value)
{
	if (value == NULL)
		value = "";
	if (p->vdev && strcmp(key, MDV_ARG_DEVICE) == 0)
		return parse_device(p, value);
	if (strcmp(key, MDV_ARG_PORT) == 0)
		return parse_port(p, value);
	if (strcmp(key, MDV_ARG_MR_EXT_MEMSEG) == 0)
		return parse_mr_ext_memseg(p, value);
	if (strcmp(key, MDV_ARG_TX_INLINE) == 0)
		return parse_tx_inline(p, value);
	if (strcmp(key, MDV_ARG_TX_BLUEFLAME) == 0)
		return parse_tx_blueflame(p, value);
	MDV_LOG(ERR, "%s: unknown argument \"%s\": the arguments are %s", p->name, key,
		p->vdev ? MDV_VDEV_PARAMETERS : MDV_PCI_PARAMETERS);
	return -EINVAL;
}

static int
check_together(const struct parsing *p)
{
	if (!p->args->tx_blueflame || p->args->tx_inline != 0)
		return 0;
	MDV_LOG(ERR, "%s: " MDV_ARG_TX_BLUEFLAME "=1 is for frames inside their work requests: "
		"give " MDV_ARG_TX_INLINE "=%u to %u, too", p->name, MDV_TX_INLINE_MIN,
		MDV_TX_INLINE_MAX);
	return -EINVAL;
}

int
mdv_devargs_parse(const char *name, const char *text, bool vdev, struct mdv_devargs *args)
{
	struct parsing p = { .name = name, .vdev = vdev, .args = args };
	struct rte_kvargs *kvargs;
	unsigned int i;
	int ret = 0;

	*args = (struct mdv_devargs){ .mr_ext_memseg = true };
	if (text == NULL || text[0] == '\0')
		return 0;
	kvargs = rte_kvargs_parse(text, NULL);
	if (kvargs == NULL) {
		MDV_LOG(ERR, "%s: cannot parse \"%s\": want key=value pairs with commas between",
			name, text);
		return -EINVAL;
	}
	for (i = 0; i < kvargs->count && ret == 0; i++)
		ret = parse_pair(&p, kvargs->pairs[i].key, kvargs->pairs[i].value);
	rte_kvargs_free(kvargs);
	return ret != 0 ? ret : check_together(&p);
}
