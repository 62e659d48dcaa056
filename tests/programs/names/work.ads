-- SPDX-License-Identifier: Apache-2.0
package Work is
   procedure C_Function with Import, Convention => C, External_Name => "work__bits__count";
   type Num is record V : Integer; end record;
   function "+" (A, B : Num) return Num;
   function "-" (A, B : Num) return Num;
   function "=" (A, B : Num) return Boolean;
   function "and" (A, B : Num) return Num;
   function "**" (A, B : Num) return Num;
   protected Box is
      procedure Put (X : Integer);
      function Get return Integer;
      entry Wait (X : Integer);
   private
      V : Integer := 0;
   end Box;
   type Shape is tagged record S : Integer; end record;
   function Area (X : Shape) return Integer;
   procedure Run;
end Work;
