% Prolog, for SWI's and GNU's
:- initialization(main).

fib(N, N) :- N < 2, !.
fib(N, F) :- A is N - 1, B is N - 2, fib(A, FA), fib(B, FB), F is FA + FB.

numbers(0, []) :- !.
numbers(N, [M | T]) :- M is N * 7919 mod 1003, K is N - 1, numbers(K, T).

main :- repeat, fib(15, _), numbers(2000, L), msort(L, _), fail.
