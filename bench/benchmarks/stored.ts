import { inNewWorker } from "../harness/candidates.ts";
import type { Environment } from "../harness/environment.ts";
import { treeRssBytes } from "../harness/memory.ts";
import type { Benchmark, Candidate, CandidateSource, Measured } from "../harness/types.ts";
import { sized } from "../harness/sizes.ts";

const bytes = 1200;

/** What each of many objects takes, and the start with them: P8, P8b and P9. */
export function stored(environment: Environment): readonly Benchmark[] {
  const candidate = (count: number): CandidateSource =>
    opened(environment, { name: `${count / 1000}k`, role: "ours", module: "ours/stored-items" }, count);
  const floor = (count: number): CandidateSource =>
    opened(environment, { name: "texts", role: "floor", module: "floors/stored" }, count);
  const load = { count: sized(10_000), bytes };
  return [
    {
      id: "P8b",
      title: "memory of 10,000 objects of 1.2 KB after they were written, their history kept",
      isCold: true,
      candidates: [
        inNewWorker(environment, { name: "texts", role: "floor", module: "floors/stored", load }),
        inNewWorker(environment, { name: "written", role: "ours", module: "ours/stored-items", load }),
      ],
      lines: [
        {
          metric: "bytes in use for an object",
          unit: "KiB",
          better: "less",
          value: ({ rssBytes = NaN }: Measured) => rssBytes / load.count / 1024,
          ours: "written",
          floor: "texts",
          hold: [{ ratio: 4 }],
        },
      ],
    },
    {
      id: "P8",
      title: "memory of 50,000 objects of 1.2 KB, their events kept",
      isCold: true,
      candidates: [floor(sized(50_000)), candidate(sized(50_000))],
      lines: [
        {
          metric: "resident memory for an object",
          unit: "KiB",
          better: "less",
          value: ({ rssBytes = NaN }: Measured) => rssBytes / sized(50_000) / 1024,
          ours: "50k",
          floor: "texts",
          hold: [{ ratio: 4 }],
        },
      ],
    },
    {
      id: "P9",
      title: "start with 100,000 objects",
      isCold: true,
      candidates: [floor(sized(100_000)), candidate(sized(100_000))],
      lines: [
        {
          metric: "start",
          unit: "s",
          better: "less",
          value: ({ ms }: Measured) => ms / 1000,
          ours: "100k",
          floor: "texts",
          hold: [{ ratio: 5 }],
        },
      ],
    },
  ];
}

/** Opens the same store in a new process each time. Memory is what it has beyond one with an empty store. */
function opened(
  environment: Environment,
  { module, ...source }: Omit<CandidateSource, "start"> & { readonly module: string },
  count: number,
): CandidateSource {
  const isOurs = source.role === "ours";
  const openIn = async (dir: string, expected: number) => {
    const worker = environment.worker(module, { isOurs });
    const figures = await worker.call<Omit<Measured, "rssBytes">>("open", { dir, count: expected });
    const rssBytes = treeRssBytes([worker.pid]);
    await worker.close();
    return { ...figures, rssBytes };
  };
  return {
    ...source,
    async start(): Promise<Candidate> {
      const dir = await environment.directory();
      const empty = await environment.directory();
      const filler = environment.worker(module);
      await filler.call("fill", { dir, count, bytes });
      await filler.close();
      return {
        async measure() {
          const bare = await openIn(empty, 0);
          const full = await openIn(dir, count);
          return { ...full, rssBytes: full.rssBytes - bare.rssBytes };
        },
        close: () => Promise.resolve(),
      };
    },
  };
}
