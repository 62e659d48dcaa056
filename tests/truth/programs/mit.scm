; SPDX-License-Identifier: Apache-2.0
; mit: lists, text and sorting in MIT Scheme, for two seconds
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (work)
  (sort (map (lambda (i) (modulo (* i 7919) 2003)) (iota 2000)) <)
  (apply string-append (map number->string (iota 300)))
  (fib 12))
(do () ((> (runtime) 2) (exit 0)) (work))
