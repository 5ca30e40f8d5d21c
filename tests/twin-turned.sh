#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-turned.sh -- dup2 over a number that other threads write to

. tests/functions.sh
checked_front

twin_threads turned
