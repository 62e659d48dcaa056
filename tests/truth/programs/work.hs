-- SPDX-License-Identifier: Apache-2.0
-- work: maps, sorting and text in Haskell, until it is killed.
import qualified Data.Map.Strict as Map
import Data.List (sort)

step :: Int -> Int
step seed = (seed * 1103515245 + 12345) `mod` 2147483648

work :: Int -> Int
work seed = sum (Map.elems counts) + length (sort (map show (Map.keys counts)))
  where counts = Map.fromListWith (+) [(x `mod` 997, 1) | x <- take 3000 (iterate step seed)]

main :: IO ()
main = print (sum (map work [1 ..]))
