-- SPDX-License-Identifier: Apache-2.0
-- busy_tasks: two tasks that sort, raise and handle exceptions, for two seconds
with Ada.Calendar; use Ada.Calendar;
with Ada.Containers.Generic_Array_Sort;
procedure Busy_Tasks is
   type Numbers is array (Positive range <>) of Integer;
   procedure Sort is new Ada.Containers.Generic_Array_Sort (Positive, Integer, Numbers);
   Stop : constant Time := Clock + 2.0;
   task type Worker;
   task body Worker is
      A : Numbers (1 .. 2000);
   begin
      while Clock < Stop loop
         for I in A'Range loop A (I) := I * 7919 mod 2003; end loop;
         Sort (A);
         begin
            A (A (1) - 1) := 0;
         exception
            when Constraint_Error => null;
         end;
      end loop;
   end Worker;
   Workers : array (1 .. 2) of Worker;
begin
   null;
end Busy_Tasks;
