/* SPDX-License-Identifier: BSD-3-Clause */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

#define LIBRARY "libvmlx4.so.0"

bool
find_library(char path[PATH_MAX])
{
	/* Relative to the folder of this program: build tree, then installed. */
	static const char * const places[] = {
		"../../lib/vmlx4/" LIBRARY,
		VMLX4_LIBDIR_FROM_BINDIR "/" LIBRARY,
		LIBRARY,
	};
	char self[PATH_MAX], candidate[PATH_MAX + 128];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	if (length > 0) {
		self[length] = '\0';
		*strrchr(self, '/') = '\0';
		for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(candidate, sizeof(candidate), "%s/%s", self, places[i]);
			if (realpath(candidate, path) != NULL)
				return true;
		}
	}
	if (realpath(VMLX4_LIBDIR "/" LIBRARY, path) != NULL)
		return true;
	complain("%s is neither in the build tree nor in %s: build or install the whole project",
		LIBRARY, VMLX4_LIBDIR);
	return false;
}

struct image {
	const uint8_t *bytes;
	size_t size;
};

/* The section header of a type, or NULL; all offsets are checked against the file. */
static const ElfW(Shdr) *
find_section(const struct image *image, uint32_t type, const ElfW(Shdr) **table)
{
	const ElfW(Ehdr) *head = (const void *)image->bytes;
	unsigned int i;

	if (image->size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
			head->e_shoff > image->size ||
			head->e_shnum * sizeof(**table) > image->size - head->e_shoff)
		return NULL;
	*table = (const void *)(image->bytes + head->e_shoff);
	for (i = 0; i < head->e_shnum; i++) {
		const ElfW(Shdr) *section = &(*table)[i];

		if (section->sh_type == type && section->sh_offset <= image->size &&
				section->sh_size <= image->size - section->sh_offset &&
				section->sh_link < head->e_shnum)
			return section;
	}
	return NULL;
}

static void
search_needed(const struct image *image, char *name, size_t size)
{
	const ElfW(Shdr) *table, *section = find_section(image, SHT_DYNAMIC, &table);
	const ElfW(Shdr) *strings;
	const ElfW(Dyn) *entry, *end;

	if (section == NULL)
		return;
	strings = &table[section->sh_link];
	if (strings->sh_offset > image->size ||
			strings->sh_size > image->size - strings->sh_offset)
		return;
	entry = (const void *)(image->bytes + section->sh_offset);
	end = entry + section->sh_size / sizeof(*entry);
	for (; entry < end; entry++) {
		const char *needed = (const char *)image->bytes + strings->sh_offset;

		if (entry->d_tag != DT_NEEDED || entry->d_un.d_val >= strings->sh_size)
			continue;
		needed += entry->d_un.d_val;
		if (memchr(needed, '\0', strings->sh_size - entry->d_un.d_val) == NULL)
			continue;
		if (strncmp(needed, "libasan.so", 10) != 0 &&
				strncmp(needed, "libtsan.so", 10) != 0 &&
				strncmp(needed, "libclang_rt.asan", 16) != 0)
			continue;
		snprintf(name, size, "%s", needed);
	}
}

void
find_sanitizer(const char *library, char *name, size_t size)
{
	struct image image = { .bytes = MAP_FAILED };
	struct stat st;
	int fd = open(library, O_RDONLY | O_CLOEXEC);

	name[0] = '\0';
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		image.size = st.st_size;
		image.bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	if (image.bytes == MAP_FAILED)
		return;
	search_needed(&image, name, size);
	munmap((void *)(uintptr_t)image.bytes, image.size);
}
