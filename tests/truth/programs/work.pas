program work;
{$mode objfpc}
uses SysUtils, Classes;
function fib(n: integer): integer;
begin
  if n < 2 then exit(n);
  exit(fib(n - 1) + fib(n - 2));
end;
var
  stop: TDateTime;
  list: TStringList;
  i: integer;
begin
  stop := Now + 2 / 86400;
  while Now < stop do begin
    list := TStringList.Create;
    for i := 0 to 1999 do list.Add(IntToStr(i * 7919 mod 1003));
    list.Sort;
    list.Free;
    fib(20);
  end;
end.
