/* SPDX-License-Identifier: BSD-3-Clause */

#include "hw.h"
#include "unknowns.h"

struct vmlx4_unknowns vmlx4_unknowns = {
#define VMLX4_UNKNOWN_DEFAULT(name, value, text) .name = (value),
	VMLX4_UNKNOWNS(VMLX4_UNKNOWN_DEFAULT)
#undef VMLX4_UNKNOWN_DEFAULT
};
