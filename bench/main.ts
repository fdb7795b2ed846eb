import { messageOf } from "#lib/base/index.ts";
import { engineId, engineLines } from "./benchmarks/engine.ts";
import { benchmarksOf } from "./benchmarks/index.ts";
import { nameOf, overBudget, readBudgets, recordBudgets } from "./harness/budgets.ts";
import { Environment } from "./harness/environment.ts";
import { type Options, parseOptions, usage } from "./harness/options.ts";
import { Probes } from "./harness/probes.ts";
import { recordsOf, writeResults } from "./harness/results.ts";
import { measureAll } from "./harness/rounds.ts";
import { remarksOf, tableOf } from "./harness/table.ts";
import { type Judged, judge } from "./harness/verdict.ts";

// `npm run bench`: measures, prints one table, keeps the records. See README.md.

const tell = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  const home = process.env["SLIPWAY_BENCH"];
  if (home === undefined) throw new Error("start it with npm run bench");
  const options = parseOptions(process.argv.slice(2));
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  const environment = new Environment(home, options.isProfiling);
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void environment.close().finally(() => process.exit(130)));
  try {
    return await run(environment, options);
  } finally {
    await environment.close();
  }
}

async function run(environment: Environment, options: Options): Promise<number> {
  const probes = new Probes(environment.root);
  const benchmarks = benchmarksOf(environment);
  const isWanted = (id: string) => options.only.length === 0 || options.only.includes(id);
  const unknown = options.only.filter((id) => id !== engineId && !benchmarks.some((benchmark) => benchmark.id === id));
  if (unknown.length > 0) throw new Error(`there is no benchmark ${unknown.join(", ")}`);
  const judged: Judged[] = [];
  let failures = 0;
  for (const benchmark of benchmarks.filter(({ id }) => isWanted(id))) {
    tell(`${benchmark.id}: ${benchmark.title}`);
    try {
      const series = await measureAll(benchmark, options, probes, tell);
      judged.push(...benchmark.lines.flatMap((line) => judge(benchmark, line, series) ?? []));
    } catch (thrown) {
      failures++;
      tell(`${benchmark.id}: FAILED: ${messageOf(thrown)}`);
    }
  }
  if (isWanted(engineId)) judged.push(...(await engineLines(environment)));
  const records = recordsOf(judged, probes.median);
  const path = await writeResults(environment.home, records);
  process.stdout.write(
    options.isJson
      ? records.map((record) => `${JSON.stringify(record)}\n`).join("")
      : `${tableOf(judged)}\n${remarksOf(judged)}`,
  );
  tell(`records: ${path}`);
  probes.close();
  if (options.isRecording) await recordBudgets(environment.home, judged);
  return failures > 0 || (options.isCheck && !(await isAccepted(environment, options, judged))) ? 1 : 0;
}

/** Hold lines need a quiet machine and a long run; a short one is judged by CPU against the floors only. */
async function isAccepted({ home }: Environment, { isQuick }: Options, judged: readonly Judged[]): Promise<boolean> {
  const complaints = isQuick
    ? overBudget(judged, await readBudgets(home))
    : judged.filter(({ verdict }) => verdict === "below").map((line) => `${nameOf(line)}: below its hold line`);
  for (const complaint of complaints) tell(complaint);
  return complaints.length === 0;
}

// What a failed benchmark has left ends when nobody is there to ask it.
process.exit(await main());
