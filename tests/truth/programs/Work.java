// SPDX-License-Identifier: Apache-2.0
// Work SECONDS: maps, strings, sorting and recursion, in Java.
import java.util.*;

public class Work {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int texts(Random random) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 20000; i++)
            counts.merge(Integer.toString(random.nextInt(5000)), 1, Integer::sum);
        List<String> keys = new ArrayList<>(counts.keySet());
        Collections.sort(keys);
        return keys.size();
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
        Random random = new Random(1);
        int sum = 0;
        while (System.nanoTime() < end)
            sum += texts(random) + fib(24);
        System.out.println(sum);
    }
}
