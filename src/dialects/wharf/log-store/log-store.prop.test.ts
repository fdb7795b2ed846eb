import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { type LogStore, openLogStore } from "./log-store.ts";
import { allLines, inDirectory, lineOf, stepLines } from "./testing/log-lines.ts";

type Step =
  | { readonly is: "insert"; readonly lines: readonly (readonly [number, number])[]; readonly durable: boolean }
  | { readonly is: "restart" };

const lines = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 30 })), { maxLength: 40 });
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ is: fc.constant("insert" as const), lines, durable: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ is: "restart" as const }) },
  ),
  { maxLength: 12 },
);

/** What should be there: step and workerLogId, in order of arrival. */
class Model {
  readonly lines: [number, number][] = [];

  /** How many were new. */
  insert(batch: readonly (readonly [number, number])[]): number {
    const before = this.lines.length;
    for (const [step, id] of batch) {
      if (id === 0) this.lines.push([0, 0]);
      else if (!this.lines.some(([other, known]) => other === step && known === id)) this.lines.push([step, id]);
    }
    return this.lines.length - before;
  }

  /** Of one step, ascending; those without a number first. */
  step(step: number): readonly number[] {
    return this.lines.flatMap(([other, id]) => (other === step ? [id] : [])).toSorted((a, b) => a - b);
  }

  cursor(step: number): number {
    const ids = new Set(this.step(step));
    let last = 0;
    while (ids.has(last + 1)) last++;
    return last;
  }
}

async function check(store: LogStore, model: Model): Promise<void> {
  const found = await allLines(store, 1);
  expect(found.map(({ stepId, workerLogId }) => [stepId, workerLogId])).toEqual(model.lines);
  expect(found.map(({ logId }) => logId)).toEqual(model.lines.map((_, at) => at + 1));
  for (const step of [0, 1, 2])
    expect((await stepLines(store, 1, step)).map(({ workerLogId }) => workerLogId)).toEqual(model.step(step));
  for (const { stepId, lastWorkerLogId } of await store.cursors(1)) expect(lastWorkerLogId).toBe(model.cursor(stepId));
}

test("lines in any order, any number of times, over any number of starts, are there once, in order of arrival", () =>
  fc.assert(
    fc.asyncProperty(steps, (all: readonly Step[]) =>
      inDirectory(async (directory) => {
        const model = new Model();
        let store = await openLogStore({ directory, clock: systemClock });
        try {
          for (const step of all) {
            if (step.is === "insert") {
              const batch = step.lines.map(([stepId, id]) => lineOf(stepId, id));
              const inserted = model.insert(step.lines);
              expect(await store.insert(1, batch, step.durable)).toEqual({
                inserted,
                duplicates: batch.length - inserted,
              });
            } else {
              await store.close();
              store = await openLogStore({ directory, clock: systemClock });
            }
            await check(store, model);
          }
        } finally {
          await store.close();
        }
      }),
    ),
    { numRuns: runs(100) },
  ));
