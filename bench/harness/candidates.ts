import { rm } from "node:fs/promises";
import { treeCpuUs } from "./cpu.ts";
import type { Environment } from "./environment.ts";
import type { Candidate, CandidateSource, Measured } from "./types.ts";

/** A program whose module's `run` carries out a whole window in a directory of its own. */
export function inWorker(
  environment: Environment,
  source: Omit<CandidateSource, "start"> & { readonly module: string; readonly load: object },
): CandidateSource {
  const { module, load, ...rest } = source;
  return {
    ...rest,
    async start(): Promise<Candidate> {
      const worker = environment.worker(module, { isOurs: source.role === "ours" });
      await worker.ready();
      return {
        async measure(ms) {
          const dir = await environment.directory();
          const window = await worker.call<Measured>("run", { ...load, ms, dir });
          await rm(dir, { recursive: true, force: true });
          return window;
        },
        close: () => worker.close(),
      };
    },
  };
}

/** The same in a new process for each window, whose children's CPU counts. For programs that are measured from their start. */
export function inNewWorker(
  environment: Environment,
  source: Omit<CandidateSource, "start"> & { readonly module: string; readonly load: object },
): CandidateSource {
  const { module, load, ...rest } = source;
  const measure = async (ms: number): Promise<Measured> => {
    const dir = await environment.directory();
    const worker = environment.worker(module, { isOurs: source.role === "ours" });
    await worker.ready();
    try {
      return await withCpu([worker.pid], () => worker.call<Measured>("run", { ...load, ms, dir }));
    } finally {
      await worker.close();
      await rm(dir, { recursive: true, force: true });
    }
  };
  return { ...rest, start: () => Promise.resolve({ measure, close: () => Promise.resolve() }) };
}

/** Adds the CPU that processes and their children have used meanwhile. */
export async function withCpu(
  roots: readonly number[],
  measure: () => Promise<Omit<Measured, "cpuUs">>,
): Promise<Measured> {
  const before = treeCpuUs(roots);
  const figures = await measure();
  return { ...figures, cpuUs: treeCpuUs(roots) - before };
}
