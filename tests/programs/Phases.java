// SPDX-License-Identifier: Apache-2.0
// Works in one method, and switches to another one for each line of standard input: prints its name, and ends at the end of input.
public class Phases {
    static volatile boolean goesOn = true;
    static long sum;

    static void early() {
        while (goesOn) {
            for (int i = 0; i < 100000; i++)
                sum += i ^ sum >> 3;
        }
    }

    static void late() {
        while (goesOn) {
            for (int i = 0; i < 100000; i++)
                sum += 3 * i ^ sum >> 2;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread worker = new Thread(() -> {
            early();
            goesOn = true;
            System.out.println("late");
            late();
        }, "worker");

        worker.start();
        System.out.println("early");
        System.in.read();
        goesOn = false;
        while (System.in.read() >= 0)
            ;
        goesOn = false;
        worker.join();
    }
}
