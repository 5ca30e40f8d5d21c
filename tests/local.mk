# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tests/: one behaviour each
#
# A unit test is a C program, tests/NAME.c, linked with the back; a script is
# tests/NAME.sh.  Either way it takes one line in a list below.

LDADD = libback.la
check_LTLIBRARIES =
check_DATA = tests/functions.sh	# made by config.status, when its source changed

tests_units = \
	tests/codec-conformance \
	tests/replay-codec \
	tests/replay-config \
	tests/replay-native \
	tests/replay-object \
	tests/replay-seed \
	tests/replay-segment \
	tests/tier-apart \
	tests/tier-bb \
	tests/tier-clean \
	tests/tier-conformance \
	tests/tier-damage \
	tests/tier-drops \
	tests/tier-missing \
	tests/tier-pmem \
	tests/tier-rounds \
	tests/tier-samples \
	tests/unit-advisor \
	tests/unit-analyze \
	tests/unit-asked \
	tests/unit-beside \
	tests/unit-block-last \
	tests/unit-cache-stress \
	tests/unit-choose \
	tests/unit-claims \
	tests/unit-codec-ctx \
	tests/unit-config-load \
	tests/unit-config-messages \
	tests/unit-config-size \
	tests/unit-config-tiers \
	tests/unit-crc32c \
	tests/unit-crew \
	tests/unit-filter \
	tests/unit-glance \
	tests/unit-grow-cancel \
	tests/unit-in-a-row \
	tests/unit-io \
	tests/unit-lean \
	tests/unit-mask \
	tests/unit-monitor \
	tests/unit-names \
	tests/unit-native \
	tests/unit-object \
	tests/unit-object-damage \
	tests/unit-object-samples \
	tests/unit-predict \
	tests/unit-proc-reap \
	tests/unit-regret \
	tests/unit-replay \
	tests/unit-seed \
	tests/unit-seen \
	tests/unit-seg-name \
	tests/unit-signals \
	tests/unit-stdio-calls \
	tests/unit-stdio-random \
	tests/unit-synced \
	tests/unit-trial \
	tests/unit-ways

tests_codec_conformance_SOURCES = \
	tests/codec-conformance.c \
	tests/codec-samples.h \
	tests/guarded.h
tests_tier_clean_SOURCES = \
	tests/guarded.h \
	tests/tier-clean.c \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_tier_drops_SOURCES = \
	tests/guarded.h \
	tests/tier-drops.c \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_tier_damage_SOURCES = \
	tests/guarded.h \
	tests/tier-damage.c \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_tier_rounds_SOURCES = \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h \
	tests/tier-rounds.c
tests_tier_samples_SOURCES = \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h \
	tests/tier-samples.c
tests_tier_missing_SOURCES = \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h \
	tests/tier-missing.c
tests_tier_conformance_SOURCES = \
	tests/guarded.h \
	tests/tier-conformance.c
tests_unit_advisor_SOURCES = \
	tests/analyze-data.h \
	tests/guarded.h \
	tests/trial-made.c \
	tests/trial-made.h \
	tests/unit-advisor.c
tests_unit_advisor_LDADD = libback.la -lm
tests_unit_regret_SOURCES = \
	tests/analyze-data.h \
	tests/guarded.h \
	tests/trial-made.c \
	tests/trial-made.h \
	tests/unit-regret.c
tests_unit_regret_LDADD = libback.la -lm
tests_unit_trial_SOURCES = \
	tests/analyze-data.h \
	tests/guarded.h \
	tests/unit-trial.c
tests_unit_trial_LDADD = libback.la -lm
tests_unit_ways_SOURCES = \
	tests/guarded.h \
	tests/unit-ways.c
tests_unit_ways_LDADD = libback.la -lm
tests_unit_analyze_SOURCES = \
	tests/analyze-data.h \
	tests/guarded.h \
	tests/unit-analyze.c
tests_unit_analyze_LDADD = libback.la -lm
tests_unit_codec_ctx_SOURCES = \
	tests/guarded.h \
	tests/unit-codec-ctx.c
tests_unit_codec_ctx_LDADD = libback.la -lpthread
tests_unit_choose_SOURCES = \
	tests/guarded.h \
	tests/unit-choose.c
tests_unit_crc32c_SOURCES = \
	tests/guarded.h \
	tests/unit-crc32c.c
tests_unit_replay_SOURCES = \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h \
	tests/unit-replay.c
tests_unit_crew_SOURCES = \
	tests/guarded.h \
	tests/unit-crew.c
tests_unit_filter_SOURCES = \
	tests/filter-samples.h \
	tests/guarded.h \
	tests/unit-filter.c

tests_tier_apart_SOURCES = \
	tests/guarded.h \
	tests/tier-apart.c \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_tier_bb_SOURCES = \
	tests/guarded.h \
	tests/tier-bb.c \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_tier_faults_SOURCES = \
	tests/guarded.h \
	tests/tier-faults.c \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_tier_pmem_SOURCES = \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h \
	tests/tier-pmem.c

tests_unit_beside_SOURCES = \
	tests/guarded.h \
	tests/unit-beside.c
tests_unit_monitor_SOURCES = \
	tests/guarded.h \
	tests/unit-monitor.c
tests_unit_native_SOURCES = \
	tests/analyze-data.h \
	tests/guarded.h \
	tests/unit-native.c
tests_unit_native_LDADD = libback.la -lm -lpthread
tests_unit_predict_SOURCES = \
	tests/clocks.h \
	tests/fit.h \
	tests/guarded.h \
	tests/unit-predict.c
tests_unit_seed_SOURCES = \
	tests/guarded.h \
	tests/unit-seed.c

tests_unit_config_load_SOURCES = \
	tests/counted.h \
	tests/unit-config-load.c
tests_unit_config_messages_SOURCES = \
	tests/counted.h \
	tests/unit-config-messages.c
tests_unit_config_size_SOURCES = \
	tests/counted.h \
	tests/unit-config-size.c
tests_unit_config_tiers_SOURCES = \
	tests/counted.h \
	tests/unit-config-tiers.c

tests_unit_block_last_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-block-last.c
tests_unit_in_a_row_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-in-a-row.c
tests_unit_grow_cancel_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-grow-cancel.c
tests_unit_grow_cancel_LDADD = libback.la -lpthread
tests_unit_lean_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-lean.c
tests_unit_names_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-names.c
tests_unit_glance_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-glance.c \
	tools/unhomed.c
tests_unit_glance_LDADD = libback.la -lpthread
tests_unit_asked_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-asked.c
tests_unit_seen_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-seen.c
tests_unit_synced_SOURCES = \
	tests/counted.h \
	tests/one-lane.h \
	tests/unit-synced.c

tests_unit_object_SOURCES = \
	tests/guarded.h \
	tests/unit-object.c \
	tests/unit-object.h
tests_unit_object_damage_SOURCES = \
	tests/guarded.h \
	tests/unit-object-damage.c \
	tests/unit-object.h
tests_unit_object_samples_SOURCES = \
	tests/guarded.h \
	tests/unit-object-samples.c \
	tests/unit-object.h

# The wrappers themselves, in objects of their own and as plain as in the
# preloaded library.
tests_unit_signals_SOURCES = \
	interpose/real.c \
	interpose/signals.c \
	shm/guard.c \
	tests/guarded.h \
	tests/unit-signals.c
tests_unit_signals_CFLAGS = $(base_cflags)
tests_unit_signals_LDADD = -lpthread

stdio_test_sources = \
	interpose/real.c \
	interpose/stdio-buffer.c \
	interpose/stdio-bytes.c \
	interpose/stdio-mode.c \
	interpose/stdio-mode.h \
	interpose/stdio-seek.c \
	interpose/stdio-wide.c \
	interpose/stdio-wscan.c \
	interpose/stdio.c \
	interpose/stdio.h \
	shm/secret.c \
	shm/size.c \
	shm/text.c \
	tests/guarded.h \
	tests/stdio-double.c \
	tests/stdio-double.h
tests_unit_stdio_calls_SOURCES = tests/unit-stdio-calls.c \
	$(stdio_test_sources)
tests_unit_stdio_calls_CFLAGS = $(base_cflags)
tests_unit_stdio_calls_LDADD =
tests_unit_stdio_random_SOURCES = tests/unit-stdio-random.c \
	$(stdio_test_sources)
tests_unit_stdio_random_CFLAGS = $(base_cflags)
tests_unit_stdio_random_LDADD =

if TILEDB_MODULE
tests_units += tests/tiledb-open
tests_tiledb_open_SOURCES = \
	tests/guarded.h \
	tests/tiledb-open.c \
	tiers/tiledb-lib.c
tests_tiledb_open_CPPFLAGS = $(AM_CPPFLAGS)	# an object of its own
endif

tests_scripts = \
	tests/agent-alone.sh \
	tests/agent-late.sh \
	tests/agent-start.sh \
	tests/agent-stuck.sh \
	tests/below-ahead.sh \
	tests/below-both-stall.sh \
	tests/below-cases.sh \
	tests/below-damage-takeover.sh \
	tests/below-damage.sh \
	tests/below-full.sh \
	tests/below-home-faults.sh \
	tests/below-home-late.sh \
	tests/below-home-stall.sh \
	tests/below-hot.sh \
	tests/below-latency.sh \
	tests/below-merge.sh \
	tests/below-older.sh \
	tests/below-pack.sh \
	tests/below-reused.sh \
	tests/below-scan.sh \
	tests/below-stall.sh \
	tests/below-stress.sh \
	tests/below-sync-often.sh \
	tests/below-thread.sh \
	tests/below-tier-faults.sh \
	tests/below-tier-quota.sh \
	tests/cmd-at-exit-agent.sh \
	tests/cmd-claimed.sh \
	tests/cmd-clean.sh \
	tests/cmd-closed.sh \
	tests/cmd-dead-tier.sh \
	tests/cmd-drain-timeout.sh \
	tests/cmd-fsck.sh \
	tests/cmd-full-home.sh \
	tests/cmd-handover.sh \
	tests/cmd-job-end.sh \
	tests/cmd-json.sh \
	tests/cmd-keep-away.sh \
	tests/cmd-keep-faults.sh \
	tests/cmd-keep.sh \
	tests/cmd-mpirun.sh \
	tests/cmd-place.sh \
	tests/cmd-profile.sh \
	tests/cmd-recover.sh \
	tests/cmd-run-disabled.sh \
	tests/cmd-run-loading.sh \
	tests/cmd-run-namespace.sh \
	tests/cmd-run-refuses.sh \
	tests/cmd-run-signals.sh \
	tests/cmd-run-status.sh \
	tests/cmd-run-timeout.sh \
	tests/cmd-stage-in.sh \
	tests/cmd-status-tiers.sh \
	tests/completion.sh \
	tests/config-denied.sh \
	tests/config-documents.sh \
	tests/config-messages.sh \
	tests/config-run.sh \
	tests/config-shown.sh \
	tests/crash-fsync.sh \
	tests/crash-keep.sh \
	tests/crash-points.sh \
	tests/crash-preload.sh \
	tests/crash-step.sh \
	tests/crash-tiers.sh \
	tests/crash-vectors.sh \
	tests/crash-writers.sh \
	tests/io-denied.sh \
	tests/module-exports.sh \
	tests/module-missing.sh \
	tests/native-link.sh \
	tests/native-seed.sh \
	tests/plan-choice.sh \
	tests/plan-codecs.sh \
	tests/plan-profile.sh \
	tests/plan-rebuilt.sh \
	tests/plan-split.sh \
	tests/plan-weigh.sh \
	tests/powercut-bb.sh \
	tests/powercut-chance.sh \
	tests/powercut-control.sh \
	tests/powercut-home.sh \
	tests/powercut-leave.sh \
	tests/powercut-log.sh \
	tests/powercut-nvme.sh \
	tests/powercut-pmem.sh \
	tests/powercut-kernel.sh \
	tests/powercut-punch.sh \
	tests/powercut-ranks.sh \
	tests/powercut-release.sh \
	tests/powercut-sync.sh \
	tests/powercut-tree.sh \
	tests/powercut-two.sh \
	tests/powercut-unlink.sh \
	tests/preload-exports.sh \
	tests/preload-needed.sh \
	tests/preload-symbols.sh \
	tests/program-archive.sh \
	tests/program-build.sh \
	tests/program-copy.sh \
	tests/program-fio.sh \
	tests/program-fortran.sh \
	tests/program-fstream.sh \
	tests/program-git.sh \
	tests/program-h5py.sh \
	tests/program-interposers.sh \
	tests/program-multiprocessing.sh \
	tests/program-numpy.sh \
	tests/program-python-fork.sh \
	tests/program-python-forkserver.sh \
	tests/program-python-spawn.sh \
	tests/program-python-subprocess.sh \
	tests/program-python.sh \
	tests/program-reopen.sh \
	tests/program-rsync.sh \
	tests/program-shell.sh \
	tests/program-sort.sh \
	tests/program-sqlite.sh \
	tests/program-thread.sh \
	tests/random-ops-below.sh \
	tests/random-ops.sh \
	tests/recover-away.sh \
	tests/recover-clock.sh \
	tests/recover-codec.sh \
	tests/recover-cut.sh \
	tests/recover-killed.sh \
	tests/recover-left.sh \
	tests/recover-memory.sh \
	tests/recover-missing.sh \
	tests/recover-order.sh \
	tests/recover-moved.sh \
	tests/recover-refused.sh \
	tests/recover-newer.sh \
	tests/recover-replaced.sh \
	tests/recover-stall-middle.sh \
	tests/recover-stall-open.sh \
	tests/recover-stalled.sh \
	tests/recover-tiers.sh \
	tests/recover-unmounted.sh \
	tests/recover-unread.sh \
	tests/run-clock.sh \
	tests/service-life.sh \
	tests/setup-flags.sh \
	tests/setup-packages.sh \
	tests/slowfs-calls.sh \
	tests/slowfs-faults.sh \
	tests/slowfs-rate.sh \
	tests/slowfs-stall.sh \
	tests/slowfs-twin.sh \
	tests/source-layers.sh \
	tests/source-listed.sh \
	tests/source-pages.sh \
	tests/source-reasons.sh \
	tests/source-shape.sh \
	tests/tier-back.sh \
	tests/tier-back-beside.sh \
	tests/tier-back-busy.sh \
	tests/tier-faults.sh \
	tests/tier-io.sh \
	tests/tier-pmem-forms.sh \
	tests/tier-reader.sh \
	tests/tier-renamed.sh \
	tests/tier-stall-start.sh \
	tests/tier-unread.sh \
	tests/twin-address-space.sh \
	tests/twin-apart.sh \
	tests/twin-append-cut.sh \
	tests/twin-append-extend.sh \
	tests/twin-append-leave.sh \
	tests/twin-bare.sh \
	tests/twin-call-errors.sh \
	tests/twin-cancel.sh \
	tests/twin-confine.sh \
	tests/twin-container.sh \
	tests/twin-crowd.sh \
	tests/twin-ctime.sh \
	tests/twin-ctime-kept.sh \
	tests/twin-cut-dead.sh \
	tests/twin-denied.sh \
	tests/twin-emptied.sh \
	tests/twin-end-open.sh \
	tests/twin-end-together.sh \
	tests/twin-exec-thread.sh \
	tests/twin-exec.sh \
	tests/twin-fake-clock.sh \
	tests/twin-family-thread.sh \
	tests/twin-fdinfo.sh \
	tests/twin-few-descriptors.sh \
	tests/twin-file-limit.sh \
	tests/twin-file-table.sh \
	tests/twin-filtered.sh \
	tests/twin-foreign.sh \
	tests/twin-fork-threads.sh \
	tests/twin-fork.sh \
	tests/twin-full-tables.sh \
	tests/twin-hidden.sh \
	tests/twin-home-errors.sh \
	tests/twin-join.sh \
	tests/twin-last-descriptor.sh \
	tests/twin-last-name.sh \
	tests/twin-lean.sh \
	tests/twin-late-look.sh \
	tests/twin-locked.sh \
	tests/twin-lost-preload.sh \
	tests/twin-lost-writer.sh \
	tests/twin-many-files.sh \
	tests/twin-mmap-fork.sh \
	tests/twin-modes.sh \
	tests/twin-mounts.sh \
	tests/twin-no-room.sh \
	tests/twin-odd-io.sh \
	tests/twin-outside.sh \
	tests/twin-own.sh \
	tests/twin-passed.sh \
	tests/twin-past-cache.sh \
	tests/twin-places.sh \
	tests/twin-rename-tools.sh \
	tests/twin-rename.sh \
	tests/twin-rings.sh \
	tests/twin-signal-many.sh \
	tests/twin-signal-stack.sh \
	tests/twin-signal.sh \
	tests/twin-small-shm.sh \
	tests/twin-spawn.sh \
	tests/twin-stacks.sh \
	tests/twin-starved.sh \
	tests/twin-stat-others.sh \
	tests/twin-stat.sh \
	tests/twin-stdio.sh \
	tests/twin-stopped.sh \
	tests/twin-threads.sh \
	tests/twin-times-tools.sh \
	tests/twin-time-order.sh \
	tests/twin-time-random.sh \
	tests/twin-times.sh \
	tests/twin-traced.sh \
	tests/twin-turned.sh \
	tests/twin-two-jobs.sh \
	tests/twin-unlink.sh \
	tests/two-nodes-recover.sh \
	tests/two-nodes.sh

# Programs that scripts call.
tests_helpers = \
	tests/agent-host \
	tests/apart-forms \
	tests/append-cut \
	tests/append-extend \
	tests/append-leave \
	tests/below-cases \
	tests/bench-analyze \
	tests/bench-choose \
	tests/bench-engine \
	tests/bench-filter \
	tests/bench-front \
	tests/bench-fsync \
	tests/bench-predict \
	tests/bench-spill \
	tests/bench-tier \
	tests/call-errors \
	tests/cancel-forms \
	tests/config-driver \
	tests/confine-forms \
	tests/crash-fsync \
	tests/crash-points \
	tests/crash-preload \
	tests/crash-step \
	tests/crash-tiers \
	tests/crash-writers \
	tests/crowd \
	tests/dead-writer \
	tests/deny \
	tests/exec-forms \
	tests/family \
	tests/fork-forms \
	tests/home-errors \
	tests/few-calls \
	tests/last-descriptor \
	tests/list-features \
	tests/late-look \
	tests/lock-forms \
	tests/name-forms \
	tests/odd-io \
	tests/own-forms \
	tests/passed-forms \
	tests/past-cache \
	tests/pinned \
	tests/powercut \
	tests/powercut-check \
	tests/powercut-log \
	tests/powercut-ranks \
	tests/random-ops \
	tests/reused-record \
	tests/ring-forms \
	tests/signal-forms \
	tests/signal-stack \
	tests/slowfs-calls \
	tests/slowfs-rate \
	tests/spawn-forms \
	tests/stat-forms \
	tests/stdio-forms \
	tests/stopped \
	tests/thread-forms \
	tests/tier-faults \
	tests/tier-steps \
	tests/time-forms \
	tests/time-order \
	tests/time-random \
	tests/tracer \
	tests/two-jobs

tests_below_cases_SOURCES = \
	tests/below-cases.c \
	tests/guarded.h
tests_below_cases_LDADD = libback.la -lpthread
tests_bench_fsync_SOURCES = \
	tests/bench-fsync.c \
	tests/clocks.h
tests_bench_tier_SOURCES = \
	tests/bench-tier.c \
	tests/clocks.h \
	tests/guarded.h
tests_bench_predict_SOURCES = \
	tests/analyze-data.h \
	tests/bench-predict.c \
	tests/clocks.h \
	tests/fit.h \
	tests/guarded.h
tests_bench_engine_SOURCES = \
	tests/analyze-data.h \
	tests/bench-engine.c \
	tests/guarded.h
tests_bench_engine_LDADD = libback.la -lm
tests_bench_spill_SOURCES = \
	tests/analyze-data.h \
	tests/bench-spill.c \
	tests/clocks.h \
	tests/guarded.h
tests_bench_choose_SOURCES = \
	tests/bench-choose.c \
	tests/clocks.h \
	tests/guarded.h
tests_bench_analyze_SOURCES = \
	tests/analyze-data.h \
	tests/bench-analyze.c \
	tests/guarded.h
tests_bench_analyze_LDADD = libback.la -lm
tests_call_errors_CFLAGS = $(AM_CFLAGS) \
	-fno-sanitize=nonnull-attribute		# it asks for EFAULT
tests_call_errors_SOURCES = \
	tests/call-errors.c \
	tests/told.h
tests_home_errors_SOURCES = \
	tests/home-errors.c \
	tests/told.h
tests_odd_io_SOURCES = \
	tests/odd-io.c \
	tests/told.h
tests_passed_forms_SOURCES = \
	tests/passed-forms.c \
	tests/told.h
tests_past_cache_SOURCES = \
	tests/past-cache.c \
	tests/told.h
tests_slowfs_calls_SOURCES = \
	tests/slowfs-calls.c \
	tests/told.h
tests_tier_steps_SOURCES = \
	tests/tier-steps.c \
	tests/told.h
tests_apart_forms_SOURCES = \
	tests/apart-forms.c \
	tests/told.h
tests_cancel_forms_SOURCES = \
	tests/cancel-forms.c \
	tests/told.h
tests_thread_forms_SOURCES = \
	tests/thread-forms.c \
	tests/told.h
tests_confine_forms_SOURCES = \
	tests/confine-forms.c \
	tests/forms.h
tests_exec_forms_SOURCES = \
	tests/exec-forms.c \
	tests/forms.h
tests_fork_forms_SOURCES = \
	tests/forms.h \
	tests/fork-forms.c
tests_own_forms_SOURCES = \
	tests/forms.h \
	tests/own-forms.c
tests_signal_forms_SOURCES = \
	tests/clocks.h \
	tests/forms.h \
	tests/signal-forms.c
tests_late_look_SOURCES = \
	tests/clocks.h \
	tests/forms.h \
	tests/late-look.c
tests_dead_writer_SOURCES = \
	tests/dead-writer.c \
	tests/forms.h
tests_signal_stack_SOURCES = \
	tests/forms.h \
	tests/signal-stack.c
tests_spawn_forms_SOURCES = \
	tests/forms.h \
	tests/spawn-forms.c

# They are compared with themselves: nothing of ours is linked in.
tests_agent_host_LDADD =
tests_apart_forms_LDADD = -lpthread
tests_append_extend_LDADD =
tests_pinned_LDADD =
tests_ring_forms_SOURCES = tests/ring-forms.c tests/ring-ways.c \
	tests/ring-ways.h
tests_ring_forms_CFLAGS = $(AM_CFLAGS)	# objects apart from the library's
tests_ring_forms_LDADD =
tests_bench_fsync_LDADD =
tests_bench_spill_LDADD = -lm
tests_call_errors_LDADD =
tests_cancel_forms_LDADD = -lpthread
tests_deny_LDADD =
tests_few_calls_LDADD =
tests_home_errors_LDADD =
tests_odd_io_LDADD =
tests_own_forms_LDADD =
tests_past_cache_LDADD =
tests_slowfs_calls_LDADD =
tests_slowfs_rate_LDADD = -lpthread
tests_thread_forms_LDADD = -lpthread
tests_tier_steps_LDADD =
tests_exec_forms_LDADD =
tests_fork_forms_LDADD = -lpthread -lutil
tests_signal_forms_LDADD = -lpthread
tests_dead_writer_LDADD =
tests_late_look_LDADD =
tests_signal_stack_LDADD =
tests_signal_stack_LDFLAGS = -Wl,-z,now
tests_spawn_forms_LDADD =
tests_stdio_forms_LDADD = -lpthread
tests_stopped_LDADD =
tests_tracer_LDADD =
tests_two_jobs_LDADD =

# It asks for old versions of symbols, which the library of a sanitizer also
# has, without versions: the linker would mix them up.
tests_stat_forms_CFLAGS = $(base_cflags)
tests_stat_forms_LDADD =

tests_powercut_SOURCES = \
	tests/powercut-attributes.c \
	tests/powercut-file.c \
	tests/powercut-names.c \
	tests/powercut-read.c \
	tests/powercut.c \
	tests/powercut.h \
	tests/record.h
tests_powercut_LDADD =
tests_powercut_log_SOURCES = \
	tests/powercut-log.c \
	tests/record.h
tests_powercut_log_LDADD =
tests_powercut_check_SOURCES = \
	tests/powercut-check.c \
	tests/powercut-work.c \
	tests/powercut-work.h
tests_powercut_check_LDADD =
tests_powercut_ranks_SOURCES = \
	tests/powercut-ranks.c \
	tests/powercut-work.c \
	tests/powercut-work.h
tests_powercut_ranks_LDADD =

tests_random_ops_SOURCES = \
	tests/clocks.h \
	tests/random-ops-data.c \
	tests/random-ops-life.c \
	tests/random-ops-model.c \
	tests/random-ops-size.c \
	tests/random-ops-slots.c \
	tests/random-ops.c \
	tests/random-ops.h
tests_random_ops_LDADD = -lpthread
tests_time_random_LDADD = -lpthread

# The back once more, with the points where tests make it die built in.
check_LTLIBRARIES += libmortal.la
libmortal_la_SOURCES = $(libback_la_SOURCES)
libmortal_la_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_FAILPOINTS
libmortal_la_CFLAGS = $(libback_la_CFLAGS)
libmortal_la_LIBADD = $(libback_la_LIBADD)

crash_sources = \
	tests/crash-cast.c \
	tests/crash-cast.h \
	tests/crash-core.c \
	tests/crash-ledger.c \
	tests/crash.h
tests_crash_fsync_SOURCES = \
	tests/crash-fsync.c \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_crash_writers_SOURCES = tests/crash-writers.c $(crash_sources)
tests_crash_preload_SOURCES = \
	tests/crash-ledger.c \
	tests/crash-preload.c \
	tests/crash.h
tests_crash_step_SOURCES = tests/crash-step.c $(crash_sources)
tests_crash_points_SOURCES = tests/crash-points.c $(crash_sources)
tests_crash_points_CPPFLAGS = $(libmortal_la_CPPFLAGS)
tests_crash_points_LDADD = libmortal.la
tests_crash_tiers_SOURCES = \
	tests/crash-tiers.c \
	tests/guarded.h \
	tests/tier-kit.c \
	tests/tier-kit.h
tests_crash_tiers_CPPFLAGS = $(libmortal_la_CPPFLAGS)
tests_crash_tiers_LDADD = libmortal.la

tests_unit_io_SOURCES = \
	tests/guarded.h \
	tests/unit-io.c
tests_unit_io_CPPFLAGS = $(libmortal_la_CPPFLAGS)
tests_unit_io_LDADD = libmortal.la

# With sanitizers: a preloaded library that has them as well, for tests that ask
# for it (checked_front); and a command that finds it beside itself, with engine
# and modules.
if SANITIZERS
check_LTLIBRARIES += checked/libspillway.la
checked_libspillway_la_SOURCES = $(libfront_la_SOURCES)
checked_libspillway_la_CFLAGS = $(AM_CFLAGS) $(front_cflags)
checked_libspillway_la_LDFLAGS = $(libspillway_la_LDFLAGS)
tests_helpers += checked/spillway
checked_spillway_SOURCES = $(tools_sources)
check_DATA += checked/.libs/linked
checked_links = libspillway-engine.la $(spillway_modules)
checked/.libs/linked: checked/libspillway.la $(checked_links)
	for f in $(checked_links:.la=.so); do \
		ln -sf "../../.libs/$$f" $(@D) || exit 1; \
	done
	touch $@
endif

# A module from another version, to be refused.
check_LTLIBRARIES += module-old.la
module_old_la_SOURCES = tests/module-old.c
module_old_la_LDFLAGS = $(module_ldflags)

# Another library in front of the same functions.
check_LTLIBRARIES += program-interposer.la
program_interposer_la_SOURCES = tests/program-interposer.c
program_interposer_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
program_interposer_la_LDFLAGS = $(object_ldflags)

# What liburing exports.
check_LTLIBRARIES += ring-double.la
ring_double_la_SOURCES = tests/ring-double.c tests/ring-ways.c \
	tests/ring-ways.h
ring_double_la_LDFLAGS = $(object_ldflags)

if HAVE_FUSE3
tests_helpers += tests/hidefs tests/slowfs
tests_hidefs_SOURCES = tests/hidefs.c
tests_hidefs_CPPFLAGS = $(AM_CPPFLAGS) $(FUSE3_CFLAGS) \
	-DFUSE_USE_VERSION=$(FUSE3_API)
tests_hidefs_LDADD = $(FUSE3_LIBS)
tests_slowfs_SOURCES = \
	tests/record.h \
	tests/slowfs-control.c \
	tests/slowfs-data.c \
	tests/slowfs-faults.c \
	tests/slowfs-faults.h \
	tests/slowfs-knobs.c \
	tests/slowfs-knobs.h \
	tests/slowfs-names.c \
	tests/slowfs-nodes.c \
	tests/slowfs-record.c \
	tests/slowfs-record.h \
	tests/slowfs-tree.c \
	tests/slowfs-tree.h \
	tests/slowfs-xattr.c \
	tests/slowfs.c \
	tests/slowfs.h
tests_slowfs_CPPFLAGS = $(AM_CPPFLAGS) $(FUSE3_CFLAGS) \
	-DFUSE_USE_VERSION=$(FUSE3_API)
tests_slowfs_LDADD = $(FUSE3_LIBS) -lpthread
endif

if HAVE_HDF5
tests_helpers += tests/h5-checkpoint
tests_h5_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CFLAGS)
tests_h5_checkpoint_LDADD = $(HDF5_LIBS)
endif

check_PROGRAMS += $(tests_units) $(tests_helpers)
TESTS += $(tests_units) $(tests_scripts)
TEST_EXTENSIONS = .sh
EXTRA_DIST += $(tests_scripts) \
	tests/below-functions.sh \
	tests/bench \
	tests/bench-files.py \
	tests/bench-readback.py \
	tests/each-library \
	tests/installed.sh \
	tests/plan-functions.sh \
	tests/program-functions.sh \
	tests/program-multiprocessing.py \
	tests/program-python-functions.sh \
	tests/program-python-twin.py \
	tests/powercut-kernel.py \
	tests/powercut-tiers \
	tests/random-ops-one.sh \
	tests/service

# A test that hangs is a test that failed.
TEST_SECONDS = 600

LOG_COMPILER = timeout
AM_LOG_FLAGS = -k 10 $(TEST_SECONDS)
SH_LOG_COMPILER = timeout
AM_SH_LOG_FLAGS = -k 10 $(TEST_SECONDS) $(BASH)

# Fuzz targets: tests/fuzz-NAME.c defines LLVMFuzzerTestOneInput, its corpus
# is tests/corpus/NAME.  Built with --enable-fuzzers; `make fuzz` runs each of
# them FUZZ_RUNS times over a copy of the corpus.

tests_fuzzers = \
	tests/fuzz-codec \
	tests/fuzz-config \
	tests/fuzz-native \
	tests/fuzz-object \
	tests/fuzz-seed \
	tests/fuzz-segment
tests_corpora = \
	tests/corpus/codec \
	tests/corpus/config \
	tests/corpus/native \
	tests/corpus/nvme \
	tests/corpus/object \
	tests/corpus/objects \
	tests/corpus/seed \
	tests/corpus/segment
EXTRA_DIST += $(tests_corpora)
FUZZ_RUNS = 1000000
fuzz_cflags = $(base_cflags) -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined -O1 -g

if FUZZERS
noinst_PROGRAMS += $(tests_fuzzers)
noinst_LTLIBRARIES += libfuzzed.la
libfuzzed_la_SOURCES = $(libback_la_SOURCES)
libfuzzed_la_CFLAGS = $(fuzz_cflags) $(back_cflags) -fsanitize=fuzzer-no-link
libfuzzed_la_LIBADD = $(back_libs)
endif

fuzz_link = -fsanitize=fuzzer,address,undefined

# The same code without a fuzzer: runs over the corpus.
tests_replay_codec_SOURCES = \
	tests/fuzz-codec.c \
	tests/guarded.h \
	tests/replay.h
tests_replay_codec_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_REPLAY
tests_replay_config_SOURCES = \
	tests/fuzz-config.c \
	tests/guarded.h \
	tests/replay.h
tests_replay_config_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_REPLAY
tests_replay_native_SOURCES = \
	tests/fuzz-native.c \
	tests/guarded.h \
	tests/replay.h
tests_replay_native_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_REPLAY
tests_replay_object_SOURCES = \
	tests/fuzz-object.c \
	tests/guarded.h \
	tests/replay.h \
	tests/unit-object.h
tests_replay_object_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_REPLAY
tests_replay_seed_SOURCES = \
	tests/fuzz-seed.c \
	tests/guarded.h \
	tests/replay.h
tests_replay_seed_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_REPLAY
tests_replay_segment_SOURCES = \
	tests/crash-core.c \
	tests/crash-ledger.c \
	tests/crash.h \
	tests/fuzz-segment.c
tests_replay_segment_CPPFLAGS = $(AM_CPPFLAGS) -DSPW_REPLAY

if FUZZERS
tests_fuzz_config_SOURCES = $(tests_replay_config_SOURCES)
tests_fuzz_config_CFLAGS = $(fuzz_cflags)
tests_fuzz_config_LDFLAGS = $(fuzz_link)
tests_fuzz_config_LDADD = libfuzzed.la
tests_fuzz_native_SOURCES = $(tests_replay_native_SOURCES)
tests_fuzz_native_CFLAGS = $(fuzz_cflags)
tests_fuzz_native_LDFLAGS = $(fuzz_link)
tests_fuzz_native_LDADD = libfuzzed.la
EXTRA_tests_fuzz_native_DEPENDENCIES = \
	$(EXTRA_tests_fuzz_codec_DEPENDENCIES)
tests_fuzz_object_SOURCES = $(tests_replay_object_SOURCES)
tests_fuzz_object_CFLAGS = $(fuzz_cflags)
tests_fuzz_object_LDFLAGS = $(fuzz_link)
tests_fuzz_object_LDADD = libfuzzed.la
EXTRA_tests_fuzz_object_DEPENDENCIES = \
	$(EXTRA_tests_fuzz_codec_DEPENDENCIES)
tests_fuzz_seed_SOURCES = $(tests_replay_seed_SOURCES)
tests_fuzz_seed_CFLAGS = $(fuzz_cflags)
tests_fuzz_seed_LDFLAGS = $(fuzz_link)
tests_fuzz_seed_LDADD = libfuzzed.la
tests_fuzz_segment_SOURCES = $(tests_replay_segment_SOURCES)
tests_fuzz_segment_CFLAGS = $(fuzz_cflags)
tests_fuzz_segment_LDFLAGS = $(fuzz_link)
tests_fuzz_segment_LDADD = libfuzzed.la
tests_fuzz_codec_SOURCES = $(tests_replay_codec_SOURCES)
tests_fuzz_codec_CFLAGS = $(fuzz_cflags)
tests_fuzz_codec_LDFLAGS = $(fuzz_link)
tests_fuzz_codec_LDADD = libfuzzed.la
EXTRA_tests_fuzz_codec_DEPENDENCIES = libspillway-engine.la \
	$(spillway_modules)
endif

fuzz: $(tests_fuzzers)
if FUZZERS
	for f in $(tests_fuzzers); do \
		name=$${f#tests/fuzz-}; \
		rm -rf "tests/fuzz-work/$$name" && \
		$(MKDIR_P) "tests/fuzz-work/$$name" && \
		./$$f -runs=$(FUZZ_RUNS) -print_final_stats=1 \
			"-artifact_prefix=tests/fuzz-work/$$name-" \
			"tests/fuzz-work/$$name" \
			"$(srcdir)/tests/corpus/$$name" || exit 1; \
	done
else
	@echo 'fuzz targets are not built: configure with' \
		'CC=clang --enable-fuzzers' >&2; exit 1
endif

bench: all $(check_PROGRAMS)
	$(BASH) $(srcdir)/tests/bench

.PHONY: bench fuzz

distclean-local:
	rm -rf tests/fuzz-work tests/tmp
