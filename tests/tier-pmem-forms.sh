#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-pmem-forms.sh -- tier pmem is the same on a disk and in memory, with
# and without the variables that change what libpmem does

. tests/functions.sh
requires_file "$top_builddir/.libs/tier-pmem.so" "built without libpmem"

for place in "$scratch/home" "$shm_dir"; do
	cd "$place"
	for form in "" PMEM_IS_PMEM_FORCE=0 PMEM_IS_PMEM_FORCE=1 \
		PMEM_NO_FLUSH=1 "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1" \
		"PMEM_IS_PMEM_FORCE=1 PMEM_NO_MOVNT=1"
	do
		# shellcheck disable=SC2086
		env $form "$top_builddir/tests/tier-conformance" pmem ||
			fail "$place, $form"
	done
	"$top_builddir/tests/tier-pmem" "$place"
done
