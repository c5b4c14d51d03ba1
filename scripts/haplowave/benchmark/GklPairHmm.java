import com.intel.gkl.pairhmm.IntelPairHmm;
import com.intel.gkl.pairhmm.IntelPairHmmOMP;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.broadinstitute.gatk.nativebindings.pairhmm.HaplotypeDataHolder;
import org.broadinstitute.gatk.nativebindings.pairhmm.PairHMMNativeArguments;
import org.broadinstitute.gatk.nativebindings.pairhmm.ReadDataHolder;

/**
 * Times Intel's GKL on the testcases of a text file (docs/pairhmm.md has the format).
 *
 * Arguments: file, threads, float or double. Each line on standard input is one round over all testcases; the answer is a line
 * "wall-seconds cpu-seconds sum-of-likelihoods".
 */
public class GklPairHmm {
    private record Testcase(ReadDataHolder[] reads, HaplotypeDataHolder[] haplotypes, double[] likelihoods) {}

    public static void main(String[] arguments) throws Exception {
        List<Testcase> testcases = read(arguments[0]);
        int threads = Integer.parseInt(arguments[1]);
        IntelPairHmm engine = threads > 1 ? new IntelPairHmmOMP() : new IntelPairHmm();
        if (!engine.load(new File(System.getProperty("java.io.tmpdir")))) {
            throw new IllegalStateException("GKL does not load on this machine");
        }
        PairHMMNativeArguments settings = new PairHMMNativeArguments();
        settings.maxNumberOfThreads = threads;
        settings.useDoublePrecision = arguments[2].equals("double");
        engine.initialize(settings);
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        while (commands.readLine() != null) {
            long cpu = system.getProcessCpuTime();
            long wall = System.nanoTime();
            double sum = 0;
            for (Testcase testcase : testcases) {
                engine.computeLikelihoods(testcase.reads, testcase.haplotypes, testcase.likelihoods);
                for (double likelihood : testcase.likelihoods) {
                    sum += likelihood;
                }
            }
            wall = System.nanoTime() - wall;
            System.out.println("RESULT " + wall * 1e-9 + " " + (system.getProcessCpuTime() - cpu) * 1e-9 + " " + sum);
        }
        engine.done();
    }

    private static List<Testcase> read(String path) throws Exception {
        List<Testcase> testcases = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new FileReader(path))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] header = line.trim().split(" ");
                ReadDataHolder[] reads = new ReadDataHolder[Integer.parseInt(header[0])];
                HaplotypeDataHolder[] haplotypes = new HaplotypeDataHolder[Integer.parseInt(header[1])];
                for (int index = 0; index < reads.length; index++) {
                    String[] fields = lines.readLine().split(" ");
                    reads[index] = new ReadDataHolder();
                    reads[index].readBases = fields[0].getBytes();
                    reads[index].readQuals = qualities(fields[1]);
                    reads[index].insertionGOP = qualities(fields[2]);
                    reads[index].deletionGOP = qualities(fields[3]);
                    reads[index].overallGCP = qualities(fields[4]);
                }
                for (int index = 0; index < haplotypes.length; index++) {
                    haplotypes[index] = new HaplotypeDataHolder();
                    haplotypes[index].haplotypeBases = lines.readLine().trim().getBytes();
                }
                testcases.add(new Testcase(reads, haplotypes, new double[reads.length * haplotypes.length]));
            }
        }
        return testcases;
    }

    private static byte[] qualities(String text) {
        byte[] values = text.getBytes();
        for (int index = 0; index < values.length; index++) {
            values[index] -= 33;
        }
        return values;
    }
}
