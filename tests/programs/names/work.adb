-- SPDX-License-Identifier: Apache-2.0
-- Every way in which GNAT encodes names: test-demangle.sh compares them with gdb.
package body Work is
   package Inner is procedure Deep; function "*" (A, B : Num) return Num; end Inner;
   package body Inner is
      procedure Deep is begin Box.Put (1); end Deep;
      function "*" (A, B : Num) return Num is (V => A.V * B.V);
   end Inner;
   function "+" (A, B : Num) return Num is (V => A.V + B.V);
   function "-" (A, B : Num) return Num is (V => A.V - B.V);
   function "=" (A, B : Num) return Boolean is (A.V = B.V);
   function "and" (A, B : Num) return Num is (V => A.V);
   function "**" (A, B : Num) return Num is (V => A.V);
   protected body Box is
      procedure Put (X : Integer) is begin V := X; end Put;
      function Get return Integer is (V);
      entry Wait (X : Integer) when V > 0 is begin V := X; end Wait;
   end Box;
   function Area (X : Shape) return Integer is (X.S * X.S);
   task type Worker is entry Go (X : Integer); end Worker;
   task body Worker is
      procedure Local is begin Inner.Deep; end Local;
   begin accept Go (X : Integer) do Box.Put (X); end Go; Local; end Worker;
   procedure Run is
      W : Worker;
   begin
      declare
         procedure In_Block is begin Box.Put (3); end In_Block;
      begin In_Block; end;
      W.Go (2);
   end Run;
end Work;
