#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-threads.sh -- a thousand threads

. tests/functions.sh
checked_front

twin_threads many
