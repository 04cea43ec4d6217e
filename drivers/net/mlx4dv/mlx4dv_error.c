/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What went wrong on a port, beside the bursts: how often by cause, and the last of
 * it with its time. Bursts only leave what they met in their queue; the watchdog
 * notes it here.
 */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <ethdev_driver.h>

#include "mlx4dv.h"
#include "mlx4dv_show.h"

/* Also the ends of the names of extended statistics. */
static const struct {
	const char *name;         /* error_<name> */
	const char *text;
} causes[MDV_ERROR_CAUSES] = {
	[MDV_ERROR_LOCAL_LENGTH] = { "local_length", "local length error" },
	[MDV_ERROR_LOCAL_OPERATION] = { "local_operation", "local QP operation error" },
	[MDV_ERROR_LOCAL_PROTECTION] = { "local_protection", "local protection error" },
	[MDV_ERROR_FLUSHED] = { "flushed", "flushed without an error of its own" },
	[MDV_ERROR_OTHER] = { "other_completion", "completion with an error" },
	[MDV_ERROR_QUEUE_EVENT] = { "queue_events", "the adapter reported the queue as failed" },
	[MDV_ERROR_CQ_EVENT] = { "cq_events", "CQ overrun or failed" },
	[MDV_ERROR_RECOVERY] = { "recovery_failures", "cannot be brought back" },
	[MDV_ERROR_DEVICE_FATAL] = { "device_fatal", "device removed or failed for good" },
	[MDV_ERROR_RESET] = { "reset_failures", "the port cannot be opened again" },
};

const char *
mdv_error_name(enum mdv_error cause)
{
	return causes[cause].name;
}

enum mdv_error
mdv_error_of(const struct mdv_last_error *error)
{
	switch (error->syndrome) {
	case DVQ_SYNDROME_LOCAL_LENGTH:
		return MDV_ERROR_LOCAL_LENGTH;
	case DVQ_SYNDROME_LOCAL_QP_OP:
		return MDV_ERROR_LOCAL_OPERATION;
	case DVQ_SYNDROME_LOCAL_PROT:
		return MDV_ERROR_LOCAL_PROTECTION;
	case DVQ_SYNDROME_WR_FLUSH:
		return MDV_ERROR_FLUSHED;
	default:
		return MDV_ERROR_OTHER;
	}
}

void
mdv_error_note(struct mdv_priv *priv, const struct mdv_error_entry *entry)
{
	struct mdv_errors *errors = &priv->errors;
	struct mdv_error_entry *slot;

	rte_spinlock_lock(&errors->lock);
	errors->count[entry->cause]++;
	slot = &errors->last[errors->n++ % MDV_ERRORS_KEPT];
	*slot = *entry;
	slot->time = (uint64_t)time(NULL);
	rte_spinlock_unlock(&errors->lock);
}

static void
describe(const struct mdv_error_entry *entry, char *text, size_t size)
{
	time_t at = (time_t)entry->time;
	char when[32] = "", syndrome[48] = "", queue[24] = "";
	struct tm utc;

	if (gmtime_r(&at, &utc) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	if (entry->queue != MDV_ERROR_NO_QUEUE)
		snprintf(queue, sizeof(queue), "%s queue %u: ",
			 entry->queue == MDV_ERROR_TX_QUEUE ? "TX" : "RX", entry->idx);
	if (entry->syndrome != 0)
		snprintf(syndrome, sizeof(syndrome), " (syndrome 0x%02x, vendor 0x%02x)",
			 entry->syndrome, entry->vendor);
	snprintf(text, size, "%s %s%s%s", when, queue, causes[entry->cause].text, syndrome);
}

unsigned int
mdv_error_last(struct mdv_priv *priv, struct mdv_error_text texts[MDV_ERRORS_KEPT])
{
	struct mdv_errors *errors = &priv->errors;
	unsigned int n, first, i;

	rte_spinlock_lock(&errors->lock);
	n = RTE_MIN(errors->n, MDV_ERRORS_KEPT);
	first = errors->n - n;
	for (i = 0; i < n; i++)
		describe(&errors->last[(first + i) % MDV_ERRORS_KEPT], texts[i].text,
			 sizeof(texts[i].text));
	rte_spinlock_unlock(&errors->lock);
	return n;
}

void
mdv_show_errors(struct mdv_priv *priv, struct mdv_shown *to)
{
	struct mdv_error_text last[MDV_ERRORS_KEPT];
	unsigned int n = mdv_error_last(priv, last);
	char name[16];
	unsigned int i;

	for (i = 0; i < MDV_ERROR_CAUSES; i++)
		to->number(to, causes[i].name, priv->errors.count[i]);
	/* The oldest first. */
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "last_%u", i);
		to->text(to, name, last[i].text);
	}
}
