// A plugin in Java, in threads that end, before and after the machine's own faults (a null pointer
// is a SIGSEGV to the virtual machine, a deep recursion another): Host PLUGIN
public class Host {
    static native int run(int n);

    static int depth;

    static void recurse() {
        depth++;
        recurse();
    }

    static int length(String s) {
        return s.length();
    }

    static void faults() {
        int caught = 0;
        for (int i = 0; i < 20000; i++) { // until it is compiled, and checks by the signal
            try {
                length(i % 4 == 0 ? null : "x");
            } catch (NullPointerException e) {
                caught++;
            }
        }
        try {
            recurse();
        } catch (StackOverflowError e) {
            caught++;
        }
        if (caught != 5001)
            throw new RuntimeException("caught " + caught);
    }

    static void use() {
        for (int n = 0; n < 5; n++) {
            int result = run(n);
            if (result != 0) {
                System.err.println("result " + result);
                System.exit(1);
            }
            faults();
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Host::use);
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        use();
        System.out.println("all passed");
    }
}
