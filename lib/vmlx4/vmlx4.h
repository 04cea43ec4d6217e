/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VMLX4_H_
#define VMLX4_H_

/**
 * @file
 * Control interface of vmlx4, the virtual ConnectX-3 that lives in this
 * process. A program finds the adapter through libibverbs like any other; this
 * header is for tests and benchmarks that also want to drive the other end:
 * step the engine, put frames on a wire, pull the cable, read counters.
 *
 * There are two ways in. Under "vmlx4 exec" the library is preloaded, and the
 * program need not know of it: it may look these functions up with dlsym(), or
 * be linked with the library all the same. Linked with the library (pkg-config
 * libvmlx4) and without the launcher, the program calls vmlx4_start(), or has
 * VMLX4_OPTIONS in its environment.
 *
 * Every function may be called from any thread, but not from a function that
 * the adapter calls (vmlx4_set_tx_tap()), nor in a signal handler. Each takes
 * the adapter's lock: calls and verbs commands happen one after the other, and
 * what a call reports includes all that happened before it. Nothing that a
 * caller passes in is kept after the call, unless the function says so; what it
 * gets back is a copy.
 *
 * There is one adapter in a process; it comes to life when the first verbs
 * context is opened, and until then the functions, vmlx4_start() aside, return
 * -ENODEV. So they do in a child after fork(): the adapter stays with the
 * parent. Ports count from 1, as in verbs. Errors are negative errno values.
 *
 * Unless a function says otherwise its semantics are the project's own; what
 * the adapter does on the wire and in memory follows the public mlx4 drivers.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VMLX4_API __attribute__((visibility("default")))

/** Exit status of a program whose run the contract checker ended. */
#define VMLX4_EXIT_VIOLATION 86

/** Counters of one port. Frames and bytes exclude the FCS. */
struct vmlx4_port_stats {
	uint64_t tx_frames;          /**< handed to the wire */
	uint64_t tx_bytes;
	uint64_t tx_oversize;        /**< longer than MTU + headers, not sent */
	uint64_t tx_link_down;       /**< sent while the port was down */
	uint64_t tx_wire_drops;      /**< the wire had no room for it, failed, or was cut
	                              *   while the frame was on it */
	uint64_t tx_errors;          /**< WQEs that completed with an error */
	uint64_t tx_loopback;        /**< came back inside the card; not in tx_frames unless
	                              *   they left too */
	uint64_t tx_lso;             /**< WQEs cut into segments */
	uint64_t tx_pause;           /**< pause frames of the port itself, of tx_frames */
	uint64_t rx_frames;          /**< written to a receive queue */
	uint64_t rx_bytes;
	uint64_t rx_multicast;       /**< of rx_frames */
	uint64_t rx_broadcast;       /**< of rx_multicast */
	uint64_t rx_pause;           /**< pause frames, which end in the port */
	uint64_t rx_no_rule;         /**< no flow rule wanted the frame */
	uint64_t rx_no_wqe;          /**< the receive queue had no WQE posted */
	uint64_t rx_oversize;        /**< longer than MTU + headers, discarded */
	uint64_t rx_dropped_by_rule; /**< a rule led to a QP that takes nothing */
	uint64_t rx_cq_overrun;      /**< the CQ was full or in error */
	uint64_t rx_errors;          /**< receive WQEs that completed with an error */
	uint64_t rx_link_down;       /**< arrived while the port was down */
	uint64_t rx_runt;            /**< shorter than an Ethernet header */
	uint64_t rx_wire_drops;      /**< lost before the port: the wire's buffer ran over */
	uint64_t rx_wire_bad;        /**< what came over the wire is no frame, or the host
	                              *   left a checksum that nobody can complete */
	uint64_t rx_crc_errors;      /**< arrived with a bad FCS: a fault damaged them */
	uint64_t rx_overruns;        /**< the port's buffer was full (fault "slow") */
	/* Packets of RC, UC, UD and XRC QPs, which are in the sums above as well. */
	uint64_t tx_roce;            /**< sent */
	uint64_t tx_roce_timeouts;   /**< times without an answer: sent again, or given up */
	uint64_t tx_roce_sequence;   /**< NAKs of a peer that missed one */
	uint64_t tx_roce_rnr;        /**< NAKs of a peer without a receive WQE */
	uint64_t rx_roce_rnr;        /**< NAKs for the lack of a receive WQE */
	uint64_t rx_roce_invalid;    /**< NAKs for a request that cannot be */
	uint64_t rx_roce_access;     /**< NAKs for memory that the peer may not have */
	uint64_t rx_roce_sequence;   /**< not the one expected: one before was lost */
	uint64_t rx_roce_bad;        /**< cut off, unknown, or with a wrong ICRC */
	uint64_t rx_roce_no_qp;      /**< no QP of that number, transport and PKey takes packets */
	uint64_t rx_roce_qkey;       /**< UD: not the QP's Q_Key */
	uint64_t rx_roce_no_wqe;     /**< UC, UD: no receive WQE was posted */
	uint64_t rx_roce_refused;    /**< UC: not allowed, or malformed */
};

/** Live verbs objects of the whole adapter: what a leak test compares. */
struct vmlx4_object_counts {
	uint32_t contexts, pds, mrs, channels, cqs, qps, wqs, tables, flows;
	uint32_t srqs, mws, xrcds;
	uint64_t mr_bytes;       /**< sum of the lengths of the MRs */
	uint64_t mrs_registered; /**< REG_MR commands that succeeded, ever */
};

/** Faults that were injected, by kind (see vmlx4_fault_add()). */
struct vmlx4_fault_stats {
	uint64_t injected;           /**< in all: the number in the last line of the log */
	uint64_t commands_failed;
	uint64_t wqes_failed;
	uint64_t cqes_late;
	uint64_t cqe_batches;        /**< times that completions were made to wait for others */
	uint64_t frames_dropped;
	uint64_t frames_bad_fcs;     /**< damaged, and lost for it */
	uint64_t frames_corrupted;   /**< damaged, with a good FCS */
	uint64_t frames_truncated;   /**< cut short, with a good FCS */
	uint64_t frames_reordered;
	uint64_t frames_duplicated;
	uint64_t slow;               /**< ports that were made slow */
	uint64_t links_down;
	uint64_t device_fatals;
	uint64_t qp_errors;
	uint64_t cq_errors;
	uint64_t clock_faults;
};

/** What the next completions of a queue are to be (see vmlx4_fail_next()). */
enum vmlx4_fault {
	VMLX4_FAULT_TX, /**< the next WQE that a send queue of the port executes */
	VMLX4_FAULT_RX, /**< the next frame for a receive queue of the port */
};

/**
 * Give this process an adapter, where no launcher did.
 *
 * Call it before the first verbs call, which remembers the devices it finds, and
 * while no other thread reads the environment, which this changes. It makes a
 * folder in TMPDIR (default /dev/shm or /tmp) for what sysfs would show and removes it at
 * exit(); a process that is killed leaves it behind.
 *
 * @param options
 *   As for "vmlx4 exec", without dashes and separated by blanks, e.g.
 *   "strict wire1=loop"; a backslash in front of a blank that is part of a value.
 *   "" for the defaults.
 * @return
 *   0. -EALREADY: there are options already, from the launcher or the environment
 *   or an earlier call, and those hold. -EINVAL: wrong options, or a wire that
 *   cannot be opened; a line on stderr says which and what would be right.
 *   Another errno: the folder could not be made, with a line on stderr.
 */
VMLX4_API int vmlx4_start(const char *options);

/**
 * Run the engine in the calling thread until it finds no more work.
 *
 * In stepped mode (option "step") nothing moves without this call. With the
 * engine thread running the call is harmless and returns what it did itself.
 *
 * @param budget
 *   Stop after about this many WQEs and frames; 0 for no limit.
 * @return
 *   WQEs executed and frames received, or -ENODEV.
 */
VMLX4_API int vmlx4_step(unsigned int budget);

/**
 * Let time pass for a stepped adapter. Its clock (of timestamps, the clock page
 * and all that the adapter does later) stands still but for the microsecond that
 * each vmlx4_step() takes. What has become due happens in the next step.
 *
 * @param ns   nanoseconds.
 * @return 0; -ENOTSUP while an engine thread runs, which goes by the host's
 *   clock; -ENODEV.
 */
VMLX4_API int vmlx4_clock_advance(uint64_t ns);

/**
 * A frame arrives at a port as if from its wire.
 *
 * The bytes are copied before the call returns. Frames arrive in the order of
 * the calls: with the engine's thread soon, when stepped in the next step.
 *
 * @param length   bytes without FCS.
 * @return 0; -EINVAL for a bad port or length (1..65535); -ENODEV.
 */
VMLX4_API int vmlx4_inject(unsigned int port, const void *frame, size_t length);

/**
 * See what a port sends. The function is called with the adapter locked, in
 * the thread that runs the engine, after the frame went to the wire; the bytes
 * are valid during the call only. It must not call into verbs or this header.
 *
 * @param tap   NULL to stop; it is not called any more when this returns.
 * @param arg   The caller's, passed on as it is.
 * @return 0, -EINVAL, -ENODEV.
 */
VMLX4_API int vmlx4_set_tx_tap(unsigned int port,
	void (*tap)(void *arg, const void *frame, size_t length), void *arg);

/**
 * Plug the cable of a port in (up != 0) or out. Raises the async event that
 * the link change raises, in every context.
 *
 * @return 0, -EINVAL, -ENODEV.
 */
VMLX4_API int vmlx4_set_carrier(unsigned int port, int up);

/**
 * Make the next count completions of a port end in an error: short for the fault
 * "wqe tx port=… count=… syndrome=…" (or rx). A new call takes back what is left
 * of the last one for that port and direction; count 0 does nothing else.
 *
 * The queue behaves as after the real fault: the error CQE, then the error
 * state and flushes that the model gives that syndrome.
 *
 * @param syndrome
 *   CQE syndrome, e.g. 0x04 for a local protection error.
 * @return 0, -EINVAL, -ENODEV.
 */
VMLX4_API int vmlx4_fail_next(enum vmlx4_fault what, unsigned int port,
	unsigned int count, uint8_t syndrome);

/**
 * Let things go wrong from now on, beside what goes wrong already.
 *
 * Events are counted, and times run, from this call on. A text with a mistake
 * adds nothing.
 *
 * @param text
 *   Faults as "vmlx4 faults" explains them, between semicolons, e.g.
 *   "command reg_mr nth=3 errno=ENOMEM".
 * @param error
 *   Where one line goes that names the fault, the word and the cure; NULL to do
 *   without.
 * @return 0, -EINVAL, -ENODEV, -ENOMEM.
 */
VMLX4_API int vmlx4_fault_add(const char *text, char *error, size_t error_size);

/**
 * No faults any more. What they hold back comes at once, the link and the clock
 * are as before, and a device that died can be opened anew; contexts that it died
 * under stay dead.
 *
 * @return 0, -ENODEV.
 */
VMLX4_API int vmlx4_fault_clear(void);

/** Count the injected faults. @return 0, -ENODEV. */
VMLX4_API int vmlx4_fault_stats(struct vmlx4_fault_stats *stats);

/**
 * Read the counters of a port, which only grow, also while it is down.
 *
 * @return 0, -EINVAL, -ENODEV.
 */
VMLX4_API int vmlx4_port_stats(unsigned int port, struct vmlx4_port_stats *stats);

/** Count the live objects. @return 0, -EINVAL, -ENODEV. */
VMLX4_API int vmlx4_object_counts(struct vmlx4_object_counts *counts);

/**
 * Contract violations seen so far (they end the run unless the mode is
 * "strict=report"). @return the number, or -ENODEV.
 */
VMLX4_API int vmlx4_violations(void);

/**
 * Violations of one rule seen so far.
 *
 * @param rule   A name of "vmlx4 rules", e.g. "sq-stamp".
 * @return the number; -EINVAL when no rule has that name; -ENODEV.
 */
VMLX4_API int vmlx4_violations_of(const char *rule);

#ifdef __cplusplus
}
#endif

#endif /* VMLX4_H_ */
