/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

int
dvq_fail(const struct dvq_error *error, int err, const char *format, ...)
{
	va_list ap;

	if (error->text != NULL && error->size != 0) {
		va_start(ap, format);
		vsnprintf(error->text, error->size, format, ap);
		va_end(ap);
	}
	return err;
}
