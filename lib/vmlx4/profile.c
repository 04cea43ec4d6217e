/* SPDX-License-Identifier: BSD-3-Clause */

#include <infiniband/verbs.h>
#include <stddef.h>
#include <string.h>

#include "profile.h"

const struct vmlx4_profile *
vmlx4_profile_get(unsigned int index)
{
	return index < vmlx4_profile_count ? &vmlx4_profiles[index] : NULL;
}

const struct vmlx4_profile *
vmlx4_profile_find(const char *name)
{
	const struct vmlx4_profile *profile;
	unsigned int i;

	for (i = 0; (profile = vmlx4_profile_get(i)) != NULL; i++)
		if (strcmp(profile->name, name) == 0)
			return profile;
	return NULL;
}

uint32_t
vmlx4_profile_max_qp(const struct vmlx4_profile *profile, unsigned int ports)
{
	bool steering = (profile->device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0;

	/* For steering mlx4_core reserves 2 * 128 * 128 numbers per port. */
	return profile->max_qp + (steering && ports == 1 ? 2 * 128 * 128 : 0);
}
