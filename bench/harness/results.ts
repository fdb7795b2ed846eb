import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Probe } from "./probes.ts";
import type { Judged } from "./verdict.ts";

/** One record per line of the table, for comparison with other runs. */
export const recordsOf = (judged: readonly Judged[], probes: Probe): readonly object[] =>
  judged.map(({ isNoisy, notes, others, ...line }) => ({
    ...line,
    noisy: isNoisy,
    notes,
    others,
    node: process.version,
    cpu: cpus()[0]?.model ?? "",
    probes,
  }));

/** Writes the records as JSON lines to a file named after the moment; answers its path. */
export async function writeResults(home: string, records: readonly object[]): Promise<string> {
  const dir = join(home, "results");
  await mkdir(dir, { recursive: true });
  const path = join(dir, `${new Date().toISOString().replaceAll(":", "-")}.jsonl`);
  await writeFile(path, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  return path;
}
