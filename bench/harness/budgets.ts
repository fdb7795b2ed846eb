import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Judged } from "./verdict.ts";

/**
 * CPU per operation, ours divided by the floor's, by line of the table: the figure that stays put on shared machines. A change
 * that costs more says so by recording new ones (`--record`).
 */
export type Budgets = Readonly<Record<string, number>>;

/** How far above its budget a line may be. */
const tolerance = 1.1;

const fileOf = (home: string): string => join(home, "cpu-budgets.json");

export const nameOf = ({ id, metric }: Pick<Judged, "id" | "metric">): string => `${id} ${metric}`;

/** NaN where there is no floor, or no CPU can be read. */
export const cpuRatio = ({ cpuUs, floor }: Pick<Judged, "cpuUs" | "floor">): number => cpuUs / (floor?.cpuUs ?? NaN);

export async function readBudgets(home: string): Promise<Budgets> {
  return JSON.parse(await readFile(fileOf(home), "utf8")) as Budgets;
}

/** Puts the ratios that were measured in place of the recorded ones. */
export async function recordBudgets(home: string, judged: readonly Judged[]): Promise<void> {
  const measured = judged.filter((line) => Number.isFinite(cpuRatio(line)));
  const ratios = measured.map((line) => [nameOf(line), Number(cpuRatio(line).toPrecision(3))] as const);
  const all = { ...(await readBudgets(home)), ...Object.fromEntries(ratios) };
  await writeFile(fileOf(home), `${JSON.stringify(all, undefined, 2)}\n`);
}

/** One sentence for each line that costs more than its budget, or has none though its cost is known: what is not recorded is not guarded. */
export function overBudget(judged: readonly Judged[], budgets: Budgets): readonly string[] {
  return judged.flatMap((line) => {
    const [ratio, budget] = [cpuRatio(line), budgets[nameOf(line)]];
    if (!Number.isFinite(ratio)) return [];
    if (budget === undefined) return [`${nameOf(line)}: has no budget, record one with --quick --record`];
    if (ratio <= budget * tolerance) return [];
    return [`${nameOf(line)}: ${ratio.toFixed(2)} times the CPU of the floor, the budget is ${budget}`];
  });
}
