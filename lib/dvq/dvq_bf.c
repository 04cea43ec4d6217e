/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "dvq_bf.h"
#include "internal.h"

int
dvq_bf_open(struct dvq_bf *bf, struct ibv_context *ctx, uint32_t reg_size)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	const struct dvq_error none = { NULL, 0 };
	int ret = dvq_check_provider("context", ctx, &none);
	void *page;

	if (ret != 0)
		return ret;
	if (bf == NULL || reg_size < 2 * DVQ_SQ_BB_SIZE || reg_size > page_size ||
	    (reg_size & (reg_size - 1)) != 0)
		return -EINVAL;
	/* Page 0 of the command file is the UAR, page 1 BlueFlame; mlx4_ib. */
	page = mmap(NULL, page_size, PROT_WRITE, MAP_SHARED, ctx->cmd_fd, (off_t)page_size);
	if (page == MAP_FAILED)
		return -errno;
	*bf = (struct dvq_bf){ .page = page, .size = reg_size / 2 };
	return 0;
}

void
dvq_bf_close(struct dvq_bf *bf)
{
	munmap(bf->page, (size_t)sysconf(_SC_PAGESIZE));
	bf->page = NULL;
}
