# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tools/: the command and the set-up scripts

tools_sources = \
	tools/answers.c \
	tools/answers.h \
	tools/args.c \
	tools/args.h \
	tools/ask.c \
	tools/ask.h \
	tools/asks.c \
	tools/asks.h \
	tools/child.c \
	tools/child.h \
	tools/childenv.c \
	tools/childenv.h \
	tools/chosen.c \
	tools/chosen.h \
	tools/cmd-agent.c \
	tools/cmd-clean.c \
	tools/cmd-config.c \
	tools/cmd-drain.c \
	tools/cmd-fsck.c \
	tools/cmd-place.c \
	tools/cmd-profile.c \
	tools/cmd-recover.c \
	tools/cmd-run.c \
	tools/cmd-stage.c \
	tools/cmd-status.c \
	tools/cmd-version.c \
	tools/commands.h \
	tools/decided.c \
	tools/decided.h \
	tools/handover.c \
	tools/handover.h \
	tools/homing.c \
	tools/homing.h \
	tools/jobname.c \
	tools/jobname.h \
	tools/join.c \
	tools/join.h \
	tools/json.c \
	tools/json.h \
	tools/keeper.c \
	tools/keeper.h \
	tools/keeping.c \
	tools/keeping.h \
	tools/levels.c \
	tools/levels.h \
	tools/lost.c \
	tools/lost.h \
	tools/library.c \
	tools/library.h \
	tools/limits.c \
	tools/limits.h \
	tools/missing.c \
	tools/missing.h \
	tools/opening.c \
	tools/opening.h \
	tools/outlive.c \
	tools/outlive.h \
	tools/parts.c \
	tools/parts.h \
	tools/profile-codecs.c \
	tools/profile-data.c \
	tools/profile-show.c \
	tools/profile-show.h \
	tools/profile-tiers.c \
	tools/profile.h \
	tools/program.c \
	tools/program.h \
	tools/receipt.c \
	tools/receipt.h \
	tools/replays.c \
	tools/replays.h \
	tools/segments.c \
	tools/segments.h \
	tools/shares.c \
	tools/shares.h \
	tools/show.c \
	tools/show.h \
	tools/spillway.c \
	tools/stagein.c \
	tools/stagein.h \
	tools/stubs.c \
	tools/stubs.h \
	tools/unhomed.c \
	tools/unhomed.h \
	tools/verify.c \
	tools/verify.h \
	tools/walk.c \
	tools/walk.h

dist_bin_SCRIPTS = \
	tools/spillway-mpirun

man_pages += \
	tools/spillway.1 \
	tools/spillway-agent.1 \
	tools/spillway-clean.1 \
	tools/spillway-drain.1 \
	tools/spillway-fsck.1 \
	tools/spillway-mpirun.1 \
	tools/spillway-place.1 \
	tools/spillway-profile.1 \
	tools/spillway-recover.1 \
	tools/spillway-run.1 \
	tools/spillway-stage.1 \
	tools/spillway-status.1 \
	tools/spillway.conf.5 \
	tools/spillway-errors.7 \
	tools/spillway-tiers.7

dist_doc_DATA = tools/spillway.conf.sample

EXTRA_DIST += \
	tools/check \
	tools/packages \
	tools/quickstart \
	tools/place.sh \
	tools/setup.sh \
	tools/spillway.bash \
	tools/spillway.zsh \
	tools/tiledb-library

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = tools/spillway.pc tools/spillway-engine.pc

# Completions are installed under the names that the shells look for.

install-data-local:
if BASH_COMPLETION
	$(MKDIR_P) "$(DESTDIR)$(bashcompdir)"
	$(INSTALL_DATA) $(srcdir)/tools/spillway.bash \
		"$(DESTDIR)$(bashcompdir)/spillway"
endif
if ZSH_COMPLETION
	$(MKDIR_P) "$(DESTDIR)$(zshcompdir)"
	$(INSTALL_DATA) $(srcdir)/tools/spillway.zsh \
		"$(DESTDIR)$(zshcompdir)/_spillway"
endif

uninstall-local:
if BASH_COMPLETION
	rm -f "$(DESTDIR)$(bashcompdir)/spillway"
endif
if ZSH_COMPLETION
	rm -f "$(DESTDIR)$(zshcompdir)/_spillway"
endif
