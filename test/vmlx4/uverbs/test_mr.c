/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory regions: what may be registered, keys, re-registration. */

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"

static int
reg_errno(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, length, access);

	if (mr == NULL)
		return errno;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	return 0;
}

static void
test_memory_must_be_there(void **state)
{
	struct device *device = *state;
	size_t page = sysconf(_SC_PAGESIZE);
	uint8_t *map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	assert_int_equal(reg_errno(device->pd, map, 4 * page, IBV_ACCESS_LOCAL_WRITE), 0);
	/* A hole in the middle, then a page that is read-only. */
	munmap(map + 2 * page, page);
	assert_int_equal(reg_errno(device->pd, map, 4 * page, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_int_equal(reg_errno(device->pd, map, 2 * page, IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(reg_errno(device->pd, map + page, page + 1, 0), EFAULT);
	mprotect(map + page, page, PROT_READ);
	assert_int_equal(reg_errno(device->pd, map, 2 * page, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	assert_int_equal(reg_errno(device->pd, map, 2 * page, 0), 0);
	mprotect(map, page, PROT_NONE);
	assert_int_equal(reg_errno(device->pd, map, page, 0), EFAULT);
	munmap(map, 4 * page);
}

static void
test_access_flags(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(8192);

	assert_int_equal(reg_errno(device->pd, memory, 0, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	assert_int_equal(reg_errno(device->pd, memory, 100, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	assert_int_equal(reg_errno(device->pd, memory, 100, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	assert_int_equal(reg_errno(device->pd, memory, 100,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(reg_errno(device->pd, memory, 100,
		IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE), EINVAL);
	assert_int_equal(reg_errno(device->pd, memory, 100,
		IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(reg_errno(device->pd, memory, 100, 1 << 18), EINVAL);
	free(memory);
}

static void
test_addresses_share_the_place_in_a_page(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(8192);
	struct ibv_mr *mr;

	assert_null(ibv_reg_mr_iova(device->pd, memory, 100, 0x1001, 0));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_mr_iova(device->pd, memory, 100, 0x1000, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free(memory);
}

static void
test_keys(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(4096);
	struct ibv_mr *mr[64];
	uint32_t last = 0;
	int i;

	for (i = 0; i < 64; i++) {
		mr[i] = ibv_reg_mr(device->pd, memory, 4096, 0);
		assert_non_null(mr[i]);
		assert_int_equal(mr[i]->lkey, mr[i]->rkey);
		assert_true(mr[i]->lkey >> 8 >= 0x100);
		assert_int_not_equal(mr[i]->lkey & 0xff, 0);
		assert_int_not_equal(mr[i]->lkey, last);
		last = mr[i]->lkey;
	}
	for (i = 0; i < 64; i++)
		assert_int_equal(ibv_dereg_mr(mr[i]), 0);
	/* Freed keys do not come back at once. */
	mr[0] = ibv_reg_mr(device->pd, memory, 4096, 0);
	assert_true(mr[0]->lkey > last);
	assert_int_equal(ibv_dereg_mr(mr[0]), 0);
	free(memory);
}

static void
test_counts(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(8192);
	struct vmlx4_object_counts before, after;
	struct ibv_mr *mr;

	vmlx4_object_counts(&before);
	mr = ibv_reg_mr(device->pd, memory, 5000, 0);
	vmlx4_object_counts(&after);
	assert_int_equal(after.mrs - before.mrs, 1);
	assert_int_equal(after.mr_bytes - before.mr_bytes, 5000);
	assert_int_equal(after.mrs_registered - before.mrs_registered, 1);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	vmlx4_object_counts(&after);
	assert_int_equal(after.mrs, before.mrs);
	assert_int_equal(after.mr_bytes, before.mr_bytes);
	free(memory);
}

static void
test_rereg(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(8192);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 4096, 0);
	struct ibv_pd *pd = ibv_alloc_pd(device->ctx);
	uint32_t lkey = mr->lkey;

	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory + 100,
		8000, 0), 0);
	assert_int_equal(mr->lkey, lkey);
	assert_int_equal(mr->length, 8000);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_not_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		IBV_ACCESS_REMOTE_WRITE), 0);
	assert_int_equal(errno, EINVAL);
	/* It now keeps the other PD busy. */
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	free(memory);
}

static int
rereg_raw(struct device *device, const struct ib_uverbs_rereg_mr *request)
{
	struct ib_uverbs_rereg_mr_resp reply;

	return write_plain(device->ctx, IB_USER_VERBS_CMD_REREG_MR, request, sizeof(*request),
		&reply, sizeof(reply));
}

/* Every combination of the three changes takes, and each part can be wrong. */
static void
test_rereg_combinations(void **state)
{
	struct device *device = *state;
	uint8_t *memory = device_memory(8192);
	uint8_t *fixed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(device->pd, memory, 4096, 0);
	struct ibv_pd *pd = ibv_alloc_pd(device->ctx);
	struct ib_uverbs_rereg_mr good = {
		.mr_handle = mr->handle, .start = (uintptr_t)memory, .length = 8192,
		.hca_va = (uintptr_t)memory, .pd_handle = pd->handle,
		.access_flags = IBV_ACCESS_LOCAL_WRITE,
	}, bad;

	for (good.flags = 1; good.flags < 8; good.flags++)
		assert_int_equal(rereg_raw(device, &good), 0);
#define REFUSES(what, change, error)                                    \
	do {                                                            \
		bad = good;                                             \
		bad.flags = what;                                       \
		change;                                                 \
		assert_int_equal(rereg_raw(device, &bad), error);       \
	} while (0)
	REFUSES(0, , EINVAL);
	REFUSES(8, , EOPNOTSUPP);
	REFUSES(IBV_REREG_MR_CHANGE_PD, bad.mr_handle = 4711, ENOENT);
	REFUSES(IBV_REREG_MR_CHANGE_PD, bad.mr_handle = pd->handle, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_PD, bad.pd_handle = 4711, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_PD, bad.pd_handle = mr->handle, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_ACCESS, bad.access_flags = IBV_ACCESS_REMOTE_WRITE, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_ACCESS, bad.access_flags = 1 << 18, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_TRANSLATION, bad.hca_va++, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_TRANSLATION, bad.length = 0, EINVAL);
	REFUSES(IBV_REREG_MR_CHANGE_TRANSLATION, bad.start = bad.hca_va = 4096, EFAULT);
	REFUSES(IBV_REREG_MR_CHANGE_TRANSLATION, bad.start = bad.hca_va = (uintptr_t)fixed,
		EFAULT);
	/* What is wrong in a part that is not to be changed does not matter. */
	REFUSES(IBV_REREG_MR_CHANGE_ACCESS, bad.hca_va++, 0);
	REFUSES(IBV_REREG_MR_CHANGE_TRANSLATION, bad.pd_handle = 4711, 0);
	/* Memory that could only be read when it was registered does not become writable. */
	bad = good;
	bad.flags = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS;
	bad.start = bad.hca_va = (uintptr_t)fixed;
	bad.length = 4096;
	bad.access_flags = 0;
	assert_int_equal(rereg_raw(device, &bad), 0);
	bad.flags = IBV_REREG_MR_CHANGE_ACCESS;
	bad.access_flags = IBV_ACCESS_LOCAL_WRITE;
	assert_int_equal(rereg_raw(device, &bad), EPERM);
#undef REFUSES
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	munmap(fixed, 4096);
	free(memory);
}

static void
test_handles(void **state)
{
	struct device *device = *state;
	struct ib_uverbs_dereg_mr dereg = { .mr_handle = 4711 };
	struct ib_uverbs_reg_mr reg = { .start = 0, .length = 1, .pd_handle = 4711 };
	struct ib_uverbs_reg_mr_resp reply;

	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DEREG_MR, &dereg,
		sizeof(dereg), NULL, 0), ENOENT);
	/* A handle of another kind is as wrong, and told apart. */
	dereg.mr_handle = device->pd->handle;
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_DEREG_MR, &dereg,
		sizeof(dereg), NULL, 0), EINVAL);
	assert_int_equal(write_plain(device->ctx, IB_USER_VERBS_CMD_REG_MR, &reg, sizeof(reg),
		&reply, sizeof(reply)), EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_device(test_memory_must_be_there),
		cmocka_unit_test_device(test_access_flags),
		cmocka_unit_test_device(test_addresses_share_the_place_in_a_page),
		cmocka_unit_test_device(test_keys),
		cmocka_unit_test_device(test_counts),
		cmocka_unit_test_device(test_rereg),
		cmocka_unit_test_device(test_rereg_combinations),
		cmocka_unit_test_device(test_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
