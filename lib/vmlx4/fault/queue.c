/* SPDX-License-Identifier: BSD-3-Clause */

#include "internal.h"

/* Work requests that end in an error. */

uint8_t
vmlx4_fault_wqe(struct vmlx4_port *port, uint32_t qpn, bool send)
{
	struct vmlx4_faults *faults = port->adapter->faults;
	unsigned int direction = send ? VMLX4_FAULT_DIR_TX : VMLX4_FAULT_DIR_RX;
	struct vmlx4_fault_rule *rule = NULL, *hit = NULL;

	faults->vendor_given = false;
	while ((rule = vmlx4_fault_next(faults, rule, VMLX4_FAULT_WQE)) != NULL) {
		const struct vmlx4_fault_spec *spec = &rule->spec;

		if ((spec->directions & direction) == 0 ||
		    (spec->port != 0 && spec->port != port->number) ||
		    (spec->qpn != 0 && spec->qpn != qpn))
			continue;
		if (vmlx4_fault_hits(rule) && hit == NULL)
			hit = rule;
	}
	if (hit == NULL)
		return 0;
	faults->syndrome = hit->spec.syndrome;
	faults->vendor_given = hit->spec.vendor >= 0;
	faults->vendor = (uint8_t)hit->spec.vendor;
	vmlx4_fault_log(hit, &faults->stats.wqes_failed, NULL, "%s of port %u, QPN %#x",
		send ? "send" : "receive", port->number, qpn);
	return hit->spec.syndrome;
}

uint8_t
vmlx4_fault_vendor(struct vmlx4_adapter *adapter, uint8_t syndrome, uint8_t vendor)
{
	struct vmlx4_faults *faults = adapter->faults;

	/* The WQEs flushed behind it have their own. */
	if (!faults->vendor_given || faults->syndrome != syndrome)
		return vendor;
	faults->vendor_given = false;
	return faults->vendor;
}
