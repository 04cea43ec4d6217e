/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DVQ_INIT_H_
#define DVQ_INIT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mlx4dv_obj;

/**
 * mlx4dv_init_obj() with its arguments looked at first, which it does not do itself:
 * for programs that want its plain answers. dvq_open() is made of it.
 *
 * @param obj    in and out pointers of each wanted type; comp_mask of the outs asks
 *               for optional members
 * @param types  MLX4DV_OBJ_*, any combination
 * @param error  gets a sentence that names the object when it fails; may be NULL
 *
 * @return 0; then a comp_mask bit is set if libmlx4 answered, not otherwise.
 * -EINVAL: no type, a NULL pointer, an object that was destroyed (as far as its
 * memory shows it). -EOPNOTSUPP: an object of another provider than libmlx4, a type or
 * comp_mask bit that has no meaning here, or an answer that was not asked for. Else
 * what mlx4dv_init_obj() said, negative.
 */
int dvq_init_obj(struct mlx4dv_obj *obj, uint64_t types, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif /* DVQ_INIT_H_ */
