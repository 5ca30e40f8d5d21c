# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tools/: the command and the set-up scripts

tools_sources = \
	tools/cmd-config.c \
	tools/commands.h \
	tools/spillway.c

man_pages += \
	tools/spillway.1 \
	tools/spillway.conf.5 \
	tools/spillway-errors.7 \
	tools/spillway-tiers.7

dist_doc_DATA = tools/spillway.conf.sample

EXTRA_DIST += \
	tools/check \
	tools/packages \
	tools/quickstart \
	tools/setup.sh \
	tools/spillway.bash \
	tools/spillway.zsh \
	tools/tiledb-library

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = tools/spillway.pc

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
