# SPDX-License-Identifier: BSD-3-Clause
# place.sh -- a directory as it is written in a list of tiers
#
# Sourced by bash scripts.

place()
{
	local dir=${1//%/%25}

	dir=${dir// /%20}
	dir=${dir//@/%40}
	dir=${dir//+/%2B}
	echo "${dir//$/%24}"
}
