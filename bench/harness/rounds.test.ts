import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Probes } from "./probes.ts";
import { measureAll } from "./rounds.ts";
import type { Benchmark, CandidateSource, Role } from "./types.ts";

let dir: string;
let probes: Probes;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rounds-"));
  probes = new Probes(dir);
});
afterEach(() => {
  probes.close();
  rmSync(dir, { recursive: true });
});

/** A program whose windows have the rates given, the last one for ever; `log` gets every window and the end. */
function program(
  name: string,
  role: Role,
  rates: readonly number[],
  log: string[],
  cpu: readonly number[] = [],
): CandidateSource {
  return {
    name,
    role,
    start: () => {
      let turn = 0;
      return Promise.resolve({
        measure: (_ms, round) => {
          log.push(`${name} ${round}`);
          const ops = rates[Math.min(turn, rates.length - 1)] ?? 0;
          const cpuUs = cpu[Math.min(turn++, cpu.length - 1)] ?? NaN;
          return Promise.resolve({ ops, ms: 1000, cpuUs });
        },
        close: () => {
          log.push(`${name} closed`);
          return Promise.resolve();
        },
      });
    },
  };
}

const benchmark = (...candidates: readonly CandidateSource[]): Benchmark => ({
  id: "B0",
  title: "",
  candidates,
  lines: [],
});
const length = { rounds: 2, ms: 1 };

/** Windows of the measurement, without repetitions of disturbed ones. */
const windows = (log: readonly string[]) => log.filter((entry) => /^\w+ \d-0$/.test(entry));

test("candidates are measured in turn, round by round, and closed", async () => {
  const log: string[] = [];
  const both = benchmark(program("ours", "ours", [5], log), program("peer", "peer", [5], log));
  const series = await measureAll(both, length, probes, () => undefined);
  expect(windows(log)).toEqual(["ours 0-0", "peer 0-0", "ours 1-0", "peer 1-0"]);
  expect(series.map((one) => one.windows.length)).toEqual([2, 2]);
  expect(log.slice(-2)).toEqual(["ours closed", "peer closed"]);
});

test("programs that are started for each window are not warmed up", async () => {
  const log: string[] = [];
  const cold = { ...benchmark(program("ours", "ours", [5], log)), isCold: true } as const;
  await measureAll(cold, length, probes, () => undefined);
  expect(log.filter((entry) => entry.includes("warm"))).toEqual([]);
  expect(windows(log)).toEqual(["ours 0-0", "ours 1-0"]);
});

test("warming up ends when two windows in a row are alike, and after five in any case", async () => {
  const steady: string[] = [];
  await measureAll(benchmark(program("ours", "ours", [1, 8, 8], steady)), length, probes, () => undefined);
  expect(steady.filter((entry) => entry.includes("warm"))).toHaveLength(3);
  const wild: string[] = [];
  await measureAll(benchmark(program("ours", "ours", [1, 2, 4, 8, 16, 32], wild)), length, probes, () => undefined);
  expect(wild.filter((entry) => entry.includes("warm"))).toHaveLength(5);
});

test("at a fixed rate it is the CPU of an operation that tells whether a program is warm", async () => {
  const log: string[] = [];
  const paced = program("ours", "ours", [200], log, [900, 500, 400, 390, 390]);
  await measureAll(benchmark(paced), length, probes, () => undefined);
  expect(log.filter((entry) => entry.includes("warm"))).toHaveLength(4);
});

test("a peer that does not start is left out aloud", async () => {
  const log: string[] = [];
  const told: string[] = [];
  const missing: CandidateSource = {
    name: "etcd",
    role: "peer",
    start: () => Promise.reject(new Error("etcd is not installed")),
  };
  const series = await measureAll(benchmark(missing, program("ours", "ours", [5], log)), length, probes, (text) =>
    told.push(text),
  );
  expect(series.map(({ source }) => source.name)).toEqual(["ours"]);
  expect(told).toContain("B0: WITHOUT etcd: etcd is not installed");
});

test("our own program must start, and whatever had started is closed", async () => {
  const log: string[] = [];
  const broken: CandidateSource = { name: "ours", role: "ours", start: () => Promise.reject(new Error("no store")) };
  const all = measureAll(benchmark(program("peer", "peer", [5], log), broken), length, probes, () => undefined);
  await expect(all).rejects.toThrow("no store");
  expect(log).toEqual(["peer closed"]);
});

test("a window with wrong results fails the benchmark and names the program", async () => {
  const wrong: CandidateSource = {
    name: "LMDB",
    role: "floor",
    start: () =>
      Promise.resolve({
        measure: () => Promise.reject(new Error("9 of 10 objects")),
        close: () => Promise.resolve(),
      }),
  };
  const all = measureAll(benchmark(wrong), length, probes, () => undefined);
  await expect(all).rejects.toThrow("LMDB failed: 9 of 10 objects");
});

test("a smoke run leaves out peers and says so; what does not come in time fails it with what it waits for", async () => {
  const log: string[] = [];
  const told: string[] = [];
  const never: CandidateSource = { name: "stuck", role: "ours", start: () => new Promise(() => undefined) };
  const candidates = benchmark(program("peer", "peer", [1], log), program("floor", "floor", [1], log), never);
  const smoke = { rounds: 1, ms: 1, isSmoke: true, isOnlyOurs: true, limitMs: 20 };
  await expect(measureAll(candidates, smoke, probes, (line) => void told.push(line))).rejects.toThrow(
    "not within 0.02 s: stuck starts",
  );
  expect(told).toEqual(["B0: WITHOUT peer: a smoke run has no peers", "B0: WITHOUT floor: only ours was asked for"]);
  expect(log).toEqual([]);
});
