# SPDX-License-Identifier: BSD-3-Clause
# spillway.m4 -- optional libraries in three states: check, yes, no

# SPW_ARG_WITH(name, what)
# The switch alone: sets with_name to check, yes or no.
AC_DEFUN([SPW_ARG_WITH], [
AC_ARG_WITH([$1],
	[AS_HELP_STRING([--with-$1], [$2 @<:@default: check@:>@])],
	[], [with_$1=check])
have_$1=no
])

# SPW_MISSING(name, what, debian-packages)
# Not found: an error if it was asked for by name, else a line in the table.
AC_DEFUN([SPW_MISSING], [
AS_IF([test "x$with_$1" != xcheck],
	[AC_MSG_ERROR([--with-$1: $2 not found; on Debian: apt-get install $3])])
])

# SPW_RESULT(name, used-by)
# Tell make and config.h (HAVE_NAME), and add a line to the table.
AC_DEFUN([SPW_RESULT], [
AM_CONDITIONAL(AS_TR_CPP([HAVE_$1]), [test $have_$1 = yes])
AS_IF([test $have_$1 = yes],
	[AC_DEFINE(AS_TR_CPP([HAVE_$1]), [1], [Define to 1 with $1.])
	 spw_state=yes],
      [test "x$with_$1" = xno], [spw_state=off],
      [spw_state="not found"])
spw_line=`printf '  %-10s %-10s %s' '$1' "$spw_state" '$2'`
spw_table="$spw_table
$spw_line"
])

# SPW_WITH(name, pkg-config-modules, debian-packages, used-by)
# A library that pkg-config knows; also sets NAME_CFLAGS and NAME_LIBS.
AC_DEFUN([SPW_WITH], [
SPW_ARG_WITH([$1], [use $2])
AS_IF([test "x$with_$1" != xno],
	[PKG_CHECK_MODULES(AS_TR_CPP([$1]), [$2], [have_$1=yes],
		[SPW_MISSING([$1], [$2], [$3])])])
SPW_RESULT([$1], [$4])
])

# SPW_WITH_METIS(debian-packages, used-by)
# METIS comes without a pkg-config file.
AC_DEFUN([SPW_WITH_METIS], [
SPW_ARG_WITH([metis], [use METIS])
AC_SUBST([METIS_LIBS])
AS_IF([test "x$with_metis" != xno],
	[AC_CHECK_HEADER([metis.h],
		[AC_CHECK_LIB([metis], [METIS_PartGraphKway],
			[have_metis=yes METIS_LIBS=-lmetis], [], [-lm])])
	 AS_IF([test $have_metis = no],
		[SPW_MISSING([metis], [METIS], [$1])])])
SPW_RESULT([metis], [$2])
])

# SPW_WITH_MPI(debian-packages, used-by)
# Tests compile with the wrapper compiler, nothing else does.
AC_DEFUN([SPW_WITH_MPI], [
SPW_ARG_WITH([mpi], [use mpicc and mpiexec])
AC_ARG_VAR([MPICC], [MPI C compiler])
AC_ARG_VAR([MPIEXEC], [MPI launcher])
AS_IF([test "x$with_mpi" != xno],
	[AC_CHECK_PROGS([MPICC], [mpicc])
	 AC_CHECK_PROGS([MPIEXEC], [mpiexec mpirun])
	 AS_IF([test -n "$MPICC" && test -n "$MPIEXEC"], [have_mpi=yes],
		[SPW_MISSING([mpi], [mpicc or mpiexec], [$1])])])
SPW_RESULT([mpi], [$2])
])

# SPW_WITH_TILEDB(used-by)
# Only a file to open at run time: named by SPILLWAY_TILEDB_LIB, where
# tools/tiledb-library puts it, or on the loader's path.  The module that
# opens it needs nothing to build, so only a no leaves it out.
AC_DEFUN([SPW_WITH_TILEDB], [
SPW_ARG_WITH([tiledb], [open TileDB at run time])
AS_IF([test "x$with_tiledb" != xno], [
	AC_MSG_CHECKING([for the TileDB library])
	spw_tiledb=
	for spw_file in "$SPILLWAY_TILEDB_LIB" \
		"${XDG_CACHE_HOME:-$HOME/.cache}"/spillway/lib/libtiledb*.so*
	do
		AS_IF([test -z "$spw_tiledb" && test -f "$spw_file"],
			[spw_tiledb=$spw_file have_tiledb=yes])
	done
	AS_IF([test -n "$spw_tiledb"], [AC_MSG_RESULT([$spw_tiledb])],
		[AC_MSG_RESULT([no])
		 AC_CHECK_LIB([tiledb], [tiledb_version], [have_tiledb=yes])])
	AS_IF([test $have_tiledb = no && test "x$with_tiledb" != xcheck],
		[AC_MSG_ERROR([--with-tiledb: library not found; get it with tools/tiledb-library])])
])
SPW_RESULT([tiledb], [$1])
AM_CONDITIONAL([TILEDB_MODULE], [test "x$with_tiledb" != xno])
])

# SPW_IF_CFLAGS(flags, then)
# Something to do where the compiler takes these flags.
AC_DEFUN([SPW_IF_CFLAGS], [
spw_saved=$CFLAGS
CFLAGS="$CFLAGS $1"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [$2])
CFLAGS=$spw_saved
])

# SPW_NEED_CFLAGS(switch, flags, program)
# The user asked for a switch that needs these flags: they work, or we stop.
AC_DEFUN([SPW_NEED_CFLAGS], [
AC_MSG_CHECKING([whether $CC takes $2])
spw_saved=$CFLAGS
CFLAGS="$CFLAGS $2"
AC_LINK_IFELSE([$3],
	[AC_MSG_RESULT([yes])],
	[AC_MSG_RESULT([no])
	 AC_MSG_ERROR([$1: $CC does not take $2])])
CFLAGS=$spw_saved
])
