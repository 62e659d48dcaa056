#lang racket/base
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define end (+ (current-inexact-milliseconds) 2000))
(let loop ()
  (when (< (current-inexact-milliseconds) end)
    (sort (for/list ([i 2000]) (modulo (* i 7919) 1003)) <)
    (fib 18)
    (apply string-append (map number->string (for/list ([i 500]) i)))
    (loop)))
