-- SPDX-License-Identifier: Apache-2.0
with Work; use Work;
procedure Names_Main is
   A : Num := (V => 1);
begin
   A := A + A;
   C_Function;
   Run;
end Names_Main;
