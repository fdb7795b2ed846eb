import type { Cell } from "./cell.ts";
import type { Outcome } from "./outcome.ts";

// The states of a workflow, how each comes about and is made to last, and what becomes of the workflow when whatever happens to the
// programs and the network in that state is over.

export interface StateCase {
  /** Also the name of the agent and of its workflow. */
  readonly name: string;
  /** Resolves when the workflow is in the state and stays in it. */
  begin(cell: Cell): Promise<void>;
  /** What is done besides opening the gate and letting go of all moments, for the workflow to go on. */
  goOn?(cell: Cell): Promise<void>;
  readonly outcome: Outcome;
  /** When what ran on the machine has ended with it, where that is another one. */
  readonly interrupted?: Outcome;
  /** When the network is cut for ever: how it stands then. */
  readonly apart: { readonly state: string; readonly reason?: string };
  /** And the outcome when a machine that knows of nothing takes the place of the old one, where it is another one again. */
  readonly replaced?: Outcome;
}

const twice: Outcome = { state: "SUCCESS", lines: ["one", "two"], attempts: [1, 1] };
const netboot = { toggleAllowNetboot: true };

const stateOf = async (cell: Cell, name = cell.name) => (await cell.status(name)).state;
const untilState = (cell: Cell, state: string, name = cell.name) =>
  cell.until(`${name} is ${state}`, async () => (await stateOf(cell, name)) === state);
const untilHeld = (cell: Cell, moment: Parameters<Cell["hold"]>[0]) =>
  cell.until(`it is at the moment "${moment}"`, () => cell.isHeld(moment));
const untilLines = (cell: Cell, ...lines: readonly string[]) =>
  cell.until(`lines are ${lines.join(" ")}`, async () => (await cell.lines()).join() === lines.join());
const oneTwo = (cell: Cell) => [cell.script("one"), cell.script("two")];

export const states: readonly StateCase[] = [
  {
    name: "not-prepared",
    async begin(cell) {
      await cell.workflow();
      await cell.until(
        "it is told that the template is missing",
        async () => (await cell.status()).conditions !== undefined,
      );
    },
    goOn: (cell) => cell.template(oneTwo(cell)),
    outcome: twice,
    apart: { state: "PENDING" },
  },
  {
    name: "preparing",
    async begin(cell) {
      await cell.hold("preparing");
      await cell.hardware();
      await cell.run(oneTwo(cell), cell.name, { hardwareRef: cell.name, bootOptions: netboot });
      await untilHeld(cell, "preparing");
      await untilState(cell, "PREPARING");
    },
    outcome: twice,
    apart: { state: "PENDING" },
  },
  {
    name: "pending",
    async begin(cell) {
      await cell.run([cell.script("before", cell.waiting)], `${cell.name}-before`);
      await untilLines(cell, "before");
      await cell.run(oneTwo(cell));
      await untilState(cell, "PENDING");
    },
    outcome: { ...twice, lines: ["before", "one", "two"] },
    apart: { state: "PENDING" },
    interrupted: { ...twice, lines: ["before", "before", "one", "two"] },
  },
  {
    name: "backoff",
    async begin(cell) {
      await cell.run([cell.script("before", cell.waiting)], `${cell.name}-before`);
      await untilLines(cell, "before");
      await cell.disown(`${cell.name}-before`);
      await cell.run(oneTwo(cell));
      await cell.until("it was refused, and waits", () => cell.postpone());
    },
    goOn: (cell) => cell.resumeSoon(),
    outcome: { ...twice, lines: ["before", "one", "two"] },
    apart: { state: "PENDING" },
  },
  {
    name: "scheduled",
    async begin(cell) {
      await cell.hold("scheduled");
      await cell.run(oneTwo(cell));
      await untilHeld(cell, "scheduled");
    },
    outcome: twice,
    apart: { state: "FAILED", reason: "ScheduledTimeout" },
    replaced: { state: "FAILED", reason: "ScheduledTimeout", lines: [], attempts: [0, 0] },
  },
  {
    name: "between",
    async begin(cell) {
      await cell.hold("between");
      await cell.run(oneTwo(cell));
      await untilHeld(cell, "between");
    },
    outcome: twice,
    apart: { state: "RUNNING" },
    // Its start was recorded, and the agent never heard of that.
    replaced: { ...twice, attempts: [1, 2] },
  },
  {
    name: "running",
    async begin(cell) {
      await cell.run([cell.script("one"), cell.script("two", cell.waiting), cell.script("three")]);
      await untilLines(cell, "one", "two");
    },
    outcome: { state: "SUCCESS", lines: ["one", "two", "three"], attempts: [1, 1, 1] },
    apart: { state: "RUNNING" },
    interrupted: { state: "SUCCESS", lines: ["one", "two", "two", "three"], attempts: [1, 2, 1] },
  },
  {
    name: "unacknowledged",
    async begin(cell) {
      await cell.hold("recorded");
      await cell.run(oneTwo(cell));
      await untilHeld(cell, "recorded");
    },
    outcome: twice,
    apart: { state: "RUNNING" },
  },
  {
    name: "cancelling",
    async begin(cell) {
      await cell.run([cell.stubborn("one"), cell.script("two")]);
      await untilLines(cell, "one");
      await cell.cancel();
      await untilLines(cell, "one", "told");
      await untilState(cell, "CANCELLING");
    },
    outcome: { state: "CANCELED", reason: "Canceled", lines: ["one", "told"], attempts: [1, 0] },
    apart: { state: "CANCELED", reason: "CancelTimeout" },
    replaced: { state: "CANCELED", reason: "CancelTimeout", lines: ["one", "told"], attempts: [1, 0] },
  },
  {
    name: "post",
    async begin(cell) {
      await cell.hold("post");
      await cell.hardware();
      await cell.run(oneTwo(cell), cell.name, { hardwareRef: cell.name, bootOptions: netboot });
      await untilHeld(cell, "post");
      await untilState(cell, "POST");
    },
    outcome: twice,
    apart: { state: "SUCCESS" },
  },
  {
    name: "held",
    async begin(cell) {
      await cell.run([{ timeout: 3_600, command: ["/bin/sh", "-c", cell.stubborn("one")] }, cell.script("two")]);
      await untilLines(cell, "one");
      await cell.expireAction();
      await untilLines(cell, "one", "told");
      await untilState(cell, "TIMEOUT");
    },
    outcome: { state: "TIMEOUT", reason: "ActionTimeout", lines: ["one", "told"], attempts: [1, 0] },
    apart: { state: "TIMEOUT", reason: "ActionTimeout" },
  },
];
