import fc from "fast-check";
import { expect, test } from "vitest";
import { isJsonObject } from "#lib/base/index.ts";
import { rounds } from "#test/support/rounds.ts";
import { availability } from "../model/availability.ts";
import { collections, readObject } from "../model/read.ts";
import { syntaxErrors } from "../model/syntax.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { machineId, Scene } from "../testing/scene.ts";
import { createMachine } from "./machine.ts";
import { windowsOf } from "./task-list.ts";

const world = (): MemoryWorld =>
  new MemoryWorld({
    tasks: [{ Name: "t1" }, { Name: "t2", Prerequisites: ["t1"] }, { Name: "t3", Prerequisites: ["t2"] }],
    bootenvs: [{ Name: "ea" }, { Name: "eb" }],
    stages: [
      { Name: "sa", BootEnv: "ea", Tasks: ["t3", "context:x", "t1"] },
      { Name: "sb", BootEnv: "eb", Tasks: ["t2"] },
      { Name: "sc", Tasks: ["t1"] },
    ],
    workflows: [
      { Name: "wa", Stages: ["sa", "sb", "sc"] },
      { Name: "wb", Stages: ["sc", "sa"] },
    ],
  });

const entry = fc.constantFrom("t1", "t2", "t3", "stage:sa", "stage:sc", "bootenv:eb", "context:x", "nope", "odd:x");
const change = fc.record(
  {
    Workflow: fc.constantFrom("", "wa", "wb", "nope"),
    Stage: fc.constantFrom("", "none", "sa", "sc", "nope"),
    BootEnv: fc.constantFrom("local", "ea", "ignore", "nope"),
    Tasks: fc.array(entry, { maxLength: 6 }),
    CurrentTask: fc.integer({ min: -2, max: 9 }),
    Runnable: fc.boolean(),
    Context: fc.constantFrom("", "y"),
    Meta: fc.constantFrom({}, { BaseContext: "b" }),
  },
  { requiredKeys: [] },
);
const how = fc.record({ isForced: fc.boolean(), mayReposition: fc.boolean() });
const moves = fc.array(fc.oneof(fc.tuple(change, how), fc.constant("work" as const)), { maxLength: 15 });

test("no change of a client moves a machine on, or rewrites what has run", () => {
  fc.assert(
    fc.property(moves, (list) => {
      const scene = new Scene(world());
      for (const move of list) {
        const before = scene.machine;
        if (move === "work") {
          scene.patch({ Runnable: true });
          scene.post(before.Context);
          scene.finish();
          continue;
        }
        const refused = scene.patch(...move);
        const after = scene.machine;
        if (refused !== null) {
          expect(refused).not.toEqual([]);
          expect(after).toBe(before);
          continue;
        }
        const { Tasks, CurrentTask } = after;
        expect(CurrentTask).toBeGreaterThanOrEqual(-1);
        expect(CurrentTask).toBeLessThanOrEqual(Tasks.length);
        expect(CurrentTask).toBeLessThanOrEqual(Math.max(0, before.CurrentTask));
        if (!after.Available || after.BootEnv !== before.BootEnv) expect(after.Runnable).toBe(false);
        if (after.Workflow !== "") expect(after.Workflow === before.Workflow).toBe(sameplace(before, after));
        const isSame = after.Workflow === before.Workflow && after.Stage === before.Stage;
        const { past } = windowsOf(before.Tasks, before.CurrentTask);
        if (isSame && CurrentTask === before.CurrentTask) expect(Tasks.slice(0, past.length)).toEqual(past);
      }
    }),
    { numRuns: rounds(200, 8_000) },
  );
});

type Place = { readonly Stage: string; readonly BootEnv: string; readonly Workflow: string };
/** Under one workflow, stage and boot environment stay. */
const sameplace = (before: Place, after: Place): boolean =>
  before.Workflow === after.Workflow && before.Stage === after.Stage && before.BootEnv === after.BootEnv;

test("whatever is sent is read or refused, and what was read reads as itself", () => {
  const sent = fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...someFields), fc.jsonValue()));
  fc.assert(
    fc.property(fc.constantFrom(...collections), sent, (collection, value) => {
      const text = JSON.stringify(value);
      const read = readObject(collection, JSON.parse(text));
      if (!read.ok) {
        expect(read.error.Messages).not.toEqual([]);
        return;
      }
      expect(readObject(collection, JSON.parse(JSON.stringify(read.value)))).toEqual(read);
      const made = world();
      expect(syntaxErrors(collection, read.value, made)).toBeInstanceOf(Array);
      expect(availability(collection, read.value, made).Errors).toBeInstanceOf(Array);
      const asMachine: unknown = JSON.parse(text);
      if (!isJsonObject(asMachine)) return;
      const created = createMachine(asMachine, made, { uuid: machineId, secret: "s" });
      expect(created.ok || created.error.Code >= 400).toBe(true);
    }),
    { numRuns: rounds(300, 10_000) },
  );
});

const someFields =
  "Name name Uuid Meta Params Tasks Templates Schema Profiles Stages Prerequisites OS __proto__ constructor".split(" ");
