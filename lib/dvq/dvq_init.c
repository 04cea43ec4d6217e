/* SPDX-License-Identifier: BSD-3-Clause */

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <infiniband/mlx4dv.h>

#include "dvq_init.h"
#include "internal.h"

#define TYPES (MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_SRQ | MLX4DV_OBJ_RWQ)

/* One type of a request. Every object of verbs begins with its context. */
struct wanted {
	uint64_t type;
	const char *name;
	const void *in;
	uint64_t *comp_mask;     /* of the out structure; NULL: there is none */
	uint64_t known;          /* bits of comp_mask that mean something */
	uint64_t asked;
};

static void
list_wanted(struct mlx4dv_obj *obj, struct wanted list[4])
{
	uint64_t *qp = obj->qp.out != NULL ? &obj->qp.out->comp_mask : NULL;
	uint64_t *cq = obj->cq.out != NULL ? &obj->cq.out->comp_mask : NULL;
	uint64_t *srq = obj->srq.out != NULL ? &obj->srq.out->comp_mask : NULL;
	uint64_t *rwq = obj->rwq.out != NULL ? &obj->rwq.out->comp_mask : NULL;

	list[0] = (struct wanted){ MLX4DV_OBJ_QP, "QP", obj->qp.in, qp,
		MLX4DV_QP_MASK_UAR_MMAP_OFFSET, 0 };
	list[1] = (struct wanted){ MLX4DV_OBJ_CQ, "CQ", obj->cq.in, cq,
		MLX4DV_CQ_MASK_UAR, 0 };
	list[2] = (struct wanted){ MLX4DV_OBJ_SRQ, "SRQ", obj->srq.in, srq, 0, 0 };
	list[3] = (struct wanted){ MLX4DV_OBJ_RWQ, "WQ", obj->rwq.in, rwq, 0, 0 };
}

int
dvq_read_memory(void *to, const void *from, size_t size)
{
	struct iovec local = { .iov_base = to, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)from, .iov_len = size };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (got == (ssize_t)size)
		return 0;
	if (got >= 0 || errno == EFAULT || errno == EINVAL)
		return -1;
	memcpy(to, from, size);
	return 0;
}

/* Is it the library that mlx4dv_init_obj() is of? A program's own copy of it counts. */
static bool
has_mlx4dv(const Dl_info *library)
{
	Dl_info ours = { .dli_fbase = NULL };
	void *handle, *symbol;

	if (dladdr((void *)(uintptr_t)mlx4dv_init_obj, &ours) != 0 &&
	    ours.dli_fbase == library->dli_fbase)
		return true;
	/* The address of the function may be one of the program's that leads to it. */
	handle = dlopen(library->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle == NULL)
		return false;
	symbol = dlsym(handle, "mlx4dv_init_obj");
	ours.dli_fbase = NULL;
	if (symbol != NULL)
		dladdr(symbol, &ours);
	dlclose(handle);
	return ours.dli_fbase == library->dli_fbase;
}

/*
 * A context calls the provider's functions: they must lie in the library that
 * mlx4dv_init_obj() is of. What was freed has no context where one was.
 */
static int
check_context(const char *name, const struct ibv_context *ctx, const struct dvq_error *error)
{
	struct ibv_context copy;
	Dl_info theirs;

	if (ctx == NULL || dvq_read_memory(&copy, ctx, sizeof(copy)) != 0 ||
	    copy.ops.poll_cq == NULL ||
	    dladdr((void *)(uintptr_t)copy.ops.poll_cq, &theirs) == 0)
		return dvq_fail(error, -EINVAL, "the %s is none of an open device: was it "
			"destroyed?", name);
	if (!has_mlx4dv(&theirs))
		return dvq_fail(error, -EOPNOTSUPP, "the %s is of a device that %s drives, not "
			"libmlx4; direct verbs of mlx4 need a ConnectX-3", name,
			theirs.dli_fname);
	return 0;
}

int
dvq_check_provider(const char *name, const void *object, const struct dvq_error *error)
{
	struct ibv_context *ctx = NULL;

	if (strcmp(name, "context") == 0)
		return check_context(name, object, error);
	if (dvq_read_memory(&ctx, object, sizeof(ctx)) != 0)
		ctx = NULL;
	return check_context(name, ctx, error);
}

static int
check_one(struct wanted *one, const struct dvq_error *error)
{
	if (one->in == NULL || one->comp_mask == NULL)
		return dvq_fail(error, -EINVAL, "%s of the %s is NULL; both in and out are needed",
			one->in == NULL ? "in" : "out", one->name);
	one->asked = *one->comp_mask;
	if ((one->asked & ~one->known) != 0)
		return dvq_fail(error, -EOPNOTSUPP, "comp_mask of the %s has the unknown bits "
			"0x%llx; known are 0x%llx", one->name,
			(unsigned long long)(one->asked & ~one->known),
			(unsigned long long)one->known);
	return dvq_check_provider(one->name, one->in, error);
}

static int
init(struct mlx4dv_obj *obj, uint64_t types, const struct wanted *list,
     const struct dvq_error *error)
{
	const char *names[4] = { "", "", "", "" };
	int ret, i;

	/* libmlx4 returns a positive errno; some versions -1 with errno set. */
	errno = 0;
	ret = mlx4dv_init_obj(obj, types);
	if (ret == 0)
		return 0;
	if (ret < 0)
		ret = errno != 0 ? errno : EINVAL;
	for (i = 0; i < 4; i++)
		if ((types & list[i].type) != 0)
			names[i] = list[i].name;
	return dvq_fail(error, -ret, "mlx4dv_init_obj() of%s%s%s%s%s%s%s%s failed: %s",
		*names[0] ? " " : "", names[0], *names[1] ? " " : "", names[1],
		*names[2] ? " " : "", names[2], *names[3] ? " " : "", names[3], strerror(ret));
}

int
dvq_init_obj(struct mlx4dv_obj *obj, uint64_t types, char *text, size_t size)
{
	const struct dvq_error error = { text, size };
	struct wanted list[4];
	int ret, i;

	if (obj == NULL || types == 0)
		return dvq_fail(&error, -EINVAL, obj == NULL ? "no struct mlx4dv_obj" :
			"no type of object is wanted");
	if ((types & ~(uint64_t)TYPES) != 0)
		return dvq_fail(&error, -EOPNOTSUPP, "unknown types of objects 0x%llx; known are "
			"0x%x", (unsigned long long)(types & ~(uint64_t)TYPES), (unsigned)TYPES);
	list_wanted(obj, list);
	for (i = 0; i < 4; i++) {
		ret = (types & list[i].type) != 0 ? check_one(&list[i], &error) : 0;
		if (ret != 0)
			return ret;
	}
	ret = init(obj, types, list, &error);
	for (i = 0; i < 4 && ret == 0; i++)
		if ((types & list[i].type) != 0 && (*list[i].comp_mask & ~list[i].asked) != 0)
			ret = dvq_fail(&error, -EOPNOTSUPP, "libmlx4 answered comp_mask 0x%llx "
				"for the %s, 0x%llx was asked for",
				(unsigned long long)*list[i].comp_mask, list[i].name,
				(unsigned long long)list[i].asked);
	return ret;
}
