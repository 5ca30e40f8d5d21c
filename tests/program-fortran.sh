#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-fortran.sh -- Fortran units: formatted, unformatted, direct, stream

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires gfortran --version

cat >units.f90 <<'PROGRAM'
program units
  implicit none
  integer :: i, j, status
  real(8) :: a(100), b(100)
  character(80) :: line

  do i = 1, 100
    a(i) = i * 1.5d0
  end do
  open (10, file='formatted', form='formatted', status='replace')
  do i = 1, 5000
    write (10, '(i6,f12.4)') i, i * 0.5d0
  end do
  close (10)
  open (10, file='formatted', status='old', position='append')
  write (10, *) 'end'
  close (10)

  open (11, file='unformatted', form='unformatted', status='replace')
  do i = 1, 200
    write (11) i, a
  end do
  rewind (11)
  do i = 1, 50
    read (11) j, b
  end do
  backspace (11)
  write (11) -1, a
  close (11)

  open (12, file='direct', form='unformatted', access='direct', &
        recl=800, status='replace')
  do i = 100, 1, -1
    write (12, rec=i) a
    a = a + 1
  end do
  read (12, rec=50) b
  print *, b(1), b(100)
  close (12)

  open (13, file='stream', form='unformatted', access='stream', &
        status='replace')
  write (13) a
  write (13, pos=17) 3.14d0
  flush (13)
  inquire (13, size=i)
  print *, i
  read (13, pos=9) b(1:2)
  print *, b(1:2)
  close (13)

  open (14, file='formatted', form='formatted', status='old')
  j = 0
  do
    read (14, '(a)', iostat=status) line
    if (status /= 0) exit
    j = j + 1
    if (j == 500) backspace (14)
    if (j == 501) print *, trim(line)
  end do
  print *, j
  close (14)

  open (15, file='short', form='formatted', status='replace')
  do i = 1, 100
    write (15, '(i4)') i
  end do
  rewind (15)
  do i = 1, 10
    read (15, '(a)') line
  end do
  endfile (15)
  close (15)

  open (16, status='scratch')
  write (16, *) 'scratch'
  rewind (16)
  read (16, '(a)') line
  print *, trim(line)
  close (16)
  open (17, file='gone', status='replace')
  write (17, *) 'gone'
  close (17, status='delete')
end program units
PROGRAM
gfortran -o units units.f90

twins ../units
same_trees
counter_above bytes_absorbed 200000
