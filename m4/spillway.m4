# SPDX-License-Identifier: BSD-3-Clause
# spillway.m4 -- optional libraries in three states: check, yes, no

# SPW_WITH(name, package, debian-package)
# Look for a pkg-config package unless told not to; an explicit yes makes a
# missing library an error.  Sets have_name, NAME_CFLAGS and NAME_LIBS, the
# automake condition HAVE_NAME and the macro HAVE_NAME.
AC_DEFUN([SPW_WITH], [
AC_ARG_WITH([$1],
	[AS_HELP_STRING([--with-$1], [use $2 @<:@check@:>@])],
	[], [with_$1=check])
have_$1=no
AS_IF([test "x$with_$1" != xno], [
	PKG_CHECK_MODULES(AS_TR_CPP([$1]), [$2], [have_$1=yes],
		[AS_IF([test "x$with_$1" = xyes],
			[AC_MSG_ERROR([$2 not found; on Debian: apt-get install $3])])])
])
AM_CONDITIONAL(AS_TR_CPP([HAVE_$1]), [test $have_$1 = yes])
AS_IF([test $have_$1 = yes],
	[AC_DEFINE(AS_TR_CPP([HAVE_$1]), [1], [Define to 1 with $2.])])
])
