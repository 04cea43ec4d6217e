/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BED_H_
#define BED_H_

/*
 * A card with a send queue on port 1 and a receive queue on port 2, back to back,
 * and faults. Every frame is 64 bytes with a number of its own.
 */

#include "card.h"

#define BED_WQES 256
#define BED_FRAME 64u

struct bed {
	struct card card;
	struct vmlx4_cq *tx_cq, *rx_cq;
	struct vmlx4_qp *tx, *rx;
	struct vmlx4_flow *flow;
	uint32_t sent;       /* WQEs posted */
	uint32_t rx_seen;    /* receive CQEs read */
	uint32_t tx_seen;
};

struct bed *bed_new(const char *faults);
void bed_free(struct bed *bed);
/* Post n frames, ring, let the adapter run. */
void bed_send(struct bed *bed, unsigned int n);
/* Time passes, and the adapter runs. */
void bed_wait(struct bed *bed, uint64_t ns);

/* The next completion that the program sees, or NULL. */
const uint8_t *bed_tx_cqe(struct bed *bed);
const uint8_t *bed_rx_cqe(struct bed *bed);
unsigned int bed_tx_count(struct bed *bed);
/* The number of the next frame received, and its bytes; -1: none. */
int bed_received(struct bed *bed, const uint8_t **frame, uint32_t *length);
/* The frames received, in order, are those; ends with -1. */
void bed_expect(struct bed *bed, const int *numbers);
#define EXPECT(bed, ...) bed_expect(bed, (const int[]){ __VA_ARGS__, -1 })
#define EXPECT_NONE(bed) bed_expect(bed, (const int[]){ -1 })

#define TX_STATS(bed) (&(bed)->card.adapter->ports[0].stats)
#define RX_STATS(bed) (&(bed)->card.adapter->ports[1].stats)
#define FAULTS(bed) vmlx4_fault_stats_get((bed)->card.adapter)

#endif /* BED_H_ */
