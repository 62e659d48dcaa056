! SPDX-License-Identifier: Apache-2.0
! work: a module's procedures, recursion and array expressions, for two seconds
module waves
contains
  recursive function fib(n) result(r)
    integer, intent(in) :: n
    integer :: r
    r = n
    if (n > 1) r = fib(n - 1) + fib(n - 2)
  end function
  subroutine smooth(a)
    real, intent(inout) :: a(:, :)
    a = 0.5 * sin(a) + 0.25 * cshift(a, 1, 1) + 0.25 * cshift(a, -1, 2)
  end subroutine
end module

program work
  use waves
  real :: a(200, 200), now
  character(20) :: text
  call random_number(a)
  do
    call smooth(a)
    write (text, '(i20)') fib(18)
    call cpu_time(now)
    if (now > 2) exit
  end do
end program
