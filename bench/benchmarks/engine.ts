import type { Environment } from "../harness/environment.ts";
import { verdictOf, type Judged } from "../harness/verdict.ts";
import type { CostRow } from "../engine.ts";

export const engineId = "engine";

/** Costs of the pure engine, which have no peer; in a process of their own. */
export async function engineLines(environment: Environment): Promise<readonly Judged[]> {
  const worker = environment.worker("ours/engine", { isOurs: true });
  const rows = await worker.call<readonly CostRow[]>("engineCosts");
  await worker.close();
  return rows.map(lineOf);
}

function lineOf({ metric, unit, min, median, max, goal }: CostRow): Judged {
  const bounds = goal === undefined ? {} : { goal: [{ ratio: goal }] };
  return {
    id: engineId,
    metric,
    unit,
    ours: [min, median, max],
    peer: undefined,
    floor: undefined,
    ratioPeer: NaN,
    ratioFloor: NaN,
    cpuUs: NaN,
    heldMs: NaN,
    hold: "",
    goal: goal === undefined ? "" : `<= ${goal} ${unit}`,
    verdict: verdictOf({ better: "less", ...bounds }, median, ({ ratio }) => ratio),
    isNoisy: false,
    notes: [],
    others: [],
  };
}
