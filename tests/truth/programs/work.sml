fun fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
fun insert (x, []) = [x] | insert (x, y :: r) = if x <= y then x :: y :: r else y :: insert (x, r)
fun main () =
  let val stop = Time.+ (Time.now (), Time.fromSeconds 2)
      fun go () = if Time.> (Time.now (), stop) then ()
                  else (fib 20; foldl insert [] (List.tabulate (500, fn i => i * 7919 mod 1003)); String.concat (List.tabulate (500, Int.toString)); go ())
  in go () end
