/* SPDX-License-Identifier: BSD-3-Clause */

/* The keys of the memory that frames lie in, as a send queue remembers them. */

#include <string.h>

#include <rte_mbuf.h>

#include "mlx4dv.h"
#include "mlx4dv_rxtx.h"
#include "mlx4dv_tx.h"

/* Look in the rest of the list, then ask. What is found moves to the front. */
static uint32_t
key_search(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start, uintptr_t end)
{
	struct mdv_mr_entry found;
	unsigned int i;

	for (i = 0; i < MDV_MR_CACHE; i++)
		if (start >= txq->mr[i].start && end <= txq->mr[i].end)
			break;
	if (i == MDV_MR_CACHE)
		return mdv_mr_lookup_slow(txq, seg);
	found = txq->mr[i];
	memmove(&txq->mr[1], &txq->mr[0], i * sizeof(txq->mr[0]));
	txq->mr[0] = found;
	return found.lkey;
}

/*
 * Remember a pool's region, in the first of its two slots that is free. One that is too
 * small for the longest frame stays for the list alone.
 */
static void
key_of_pool(struct mdv_tx_keys *keys, const struct rte_mempool *mp,
	const struct mdv_mr_entry *mr)
{
	const uintptr_t longest = keys->len_range + MDV_TX_MIN_LEN;
	struct mdv_tx_key *key = mdv_tx_key_first(keys, mp);

	if (mr->end - mr->start < longest)
		return;
	if (key->limit != 0 && mdv_tx_key_second(key)->limit == 0)
		key = mdv_tx_key_second(key);
	*key = (struct mdv_tx_key){
		.start = mr->start, .limit = mr->end - mr->start - longest, .lkey = mr->lkey,
	};
}

uint32_t
mdv_tx_lkey_other(struct mdv_txq *txq, const struct rte_mbuf *seg, uintptr_t start, uintptr_t end)
{
	const struct mdv_tx_key *key = mdv_tx_key_of(&txq->keys, seg->pool, start);
	uint32_t lkey;

	if (key != NULL && end - start <= txq->keys.len_range + MDV_TX_MIN_LEN)
		return key->lkey;
	lkey = key_search(txq, seg, start, end);
	if (lkey != MDV_LKEY_NONE)
		key_of_pool(&txq->keys, seg->pool, &txq->mr[0]);
	return lkey;
}

void
mdv_tx_forget_keys(struct mdv_txq *txq)
{
	memset(txq->mr, 0, sizeof(txq->mr));
	memset(&txq->keys, 0, sizeof(txq->keys));
	txq->keys.len_range = txq->len_range;
}
