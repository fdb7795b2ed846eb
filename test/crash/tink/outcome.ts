import { expect } from "vitest";
import type { Cell } from "./cell.ts";

/** How a workflow has come out. */
export interface Outcome {
  readonly state: string;
  readonly reason?: string;
  /** What its actions have left behind: a line each time one has run. */
  readonly lines: readonly string[];
  /** Starts that were recorded of each action. */
  readonly attempts: readonly number[];
}

/** Waits until the workflow is in the state and its agent let go. */
export async function expectOutcome(cell: Cell, { state, reason, lines, attempts }: Outcome): Promise<void> {
  await cell.until(`it is ${state}`, async () => {
    const status = await cell.status();
    return status.state === state && status.dispatch?.held !== true;
  });
  const { failureReason, tasks = [] } = await cell.status();
  const started = tasks.flatMap(({ actions }) => actions.map((action) => action.attempts ?? 0));
  expect(
    { cell: cell.name, reason: failureReason, lines: await cell.lines(), attempts: started },
    await cell.tell(),
  ).toEqual({ cell: cell.name, reason, lines, attempts });
}

/** The agent takes the next workflow. */
export async function expectFree(cell: Cell, action: string | object = "true"): Promise<void> {
  const next = `${cell.name}-next`;
  await cell.run([action], next);
  await cell.until("the next workflow succeeds", async () => (await cell.status(next)).state === "SUCCESS");
}
