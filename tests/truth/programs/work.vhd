-- SPDX-License-Identifier: Apache-2.0
-- work: a clock and a process that calculates; ghdl compiles it to machine code in memory
entity work_bench is end;

architecture run of work_bench is
  function fib(n : integer) return integer is
  begin
    if n < 2 then return n; end if;
    return fib(n - 1) + fib(n - 2);
  end;
  signal clock : bit := '0';
begin
  clock <= not clock after 1 ns;
  process(clock)
    variable sum : integer := 0;
  begin
    sum := (sum + fib(12)) mod 1000003;
  end process;
end;
