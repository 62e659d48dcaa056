(* SPDX-License-Identifier: Apache-2.0 *)
(* work: tables, sorting and text in OCaml, for two seconds. *)
let work () =
  let counts = Hashtbl.create 1000 in
  for _ = 1 to 3000 do
    let key = string_of_int (Random.int 997) in
    Hashtbl.replace counts key (1 + try Hashtbl.find counts key with Not_found -> 0)
  done;
  List.length (List.sort compare (Hashtbl.fold (fun key n l -> (key, n) :: l) counts []))

let () =
  let finish = Sys.time () +. 2. and sum = ref 0 in
  while Sys.time () < finish do sum := !sum + work () done;
  print_int !sum
