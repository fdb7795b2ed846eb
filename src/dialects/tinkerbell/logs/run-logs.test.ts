import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { type LogRequest, ReceivedLog } from "#kernel/streams/index.ts";
import { logPath, logRotation, logsIn } from "./places.ts";
import { openActionLog } from "./run-logs.ts";
import type { WorkflowState } from "../state.ts";
import { type AnyWorkflow, statusOf } from "../stored.ts";
import { action, begin, pending } from "../testing/states.ts";

const document: AnyWorkflow = {
  apiVersion: "tinkerbell.org/v1alpha1",
  kind: "Workflow",
  metadata: { name: "w", namespace: "default", uid: "u" },
  spec: { templateRef: "t" },
};
const workflow = (state: Partial<WorkflowState>): AnyWorkflow => ({
  ...document,
  status: statusOf(document, { ...pending(), ...state }, begin),
});
const running = workflow({
  phase: "Running",
  actions: [action("one", { phase: "Running", attempts: 1 }), action("two")],
});
const failed = workflow({
  phase: "Failed",
  actions: [action("one", { phase: "Failed", attempts: 1 }), action("two")],
});

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-run-logs-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function read(
  run: AnyWorkflow,
  part: string,
  request: LogRequest = {},
  clock: FakeClock = new FakeClock(begin + 60_000),
): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of await openActionLog({ directory, clock }, run, part, request)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function write(id: string, ...lines: readonly string[]): Promise<void> {
  const log = await ReceivedLog.open(logPath(logsIn(directory), "u", id), logRotation);
  for (const [at, line] of lines.entries())
    await log.append("", { seq: log.seqOf("") + 1, stream: "stdout", at: begin + at, data: Buffer.from(line) });
  await log.commit();
  await log.close();
}

test("an action without a log is refused with the reason", async () => {
  await expect(read(running, "two")).rejects.toThrow('action "two" of workflow "w" is waiting to start');
  await expect(read(failed, "two")).rejects.toThrow('action "two" of workflow "w" was never started');
  await expect(read(failed, "one")).rejects.toThrow("has sent no log; only Slipway's own agent does");
  await expect(read(running, "three")).rejects.toThrow(
    '"three" is no action of workflow "w", which has one of: [one two]',
  );
  await expect(read(running, "")).rejects.toThrow('an action must be named for workflow "w", choose one of: [one two]');
  await expect(read(document, "one")).rejects.toThrow('workflow "w" is not prepared, and has no actions yet');
});

test("one that runs and has printed nothing is empty, and followed from its first line to its end", async () => {
  expect(await read(running, "one")).toBe("");
  const followed = read(running, "one", { follow: true });
  await write("id-one", "a\n", "b\n", "");
  expect(await followed).toBe("a\nb\n");
  expect(await read(failed, "id-one", { tailLines: 1, timestamps: true })).toMatch(/^2026-.*Z b\n$/);
  expect(await read(running, "one", { sinceTime: new Date(begin + 1).toISOString() })).toBe("b\n");
  await expect(read(running, "one", { sinceTime: "yesterday" })).rejects.toThrow("sinceTime must be a time");
});

test("actions of one name are told by their tasks", async () => {
  const task = (name: string) => ({ id: `t-${name}`, name, agentID: "a" });
  const same = workflow({
    phase: "Running",
    actions: ["left", "right"].map((name) => ({
      ...action("same", { phase: "Running", attempts: 1 }),
      id: `id-${name}`,
      task: task(name),
    })),
  });
  await write("id-right", "here\n");
  expect(await read(same, "right/same")).toBe("here\n");
  expect(await read(same, "left/same")).toBe("");
});

test("a reader waits a moment for the last lines of an action that has just ended, if its agent sends any", async () => {
  const just = (id: string, dispatch: object) =>
    workflow({
      phase: "Succeeded",
      actions: [{ ...action("one", { phase: "Succeeded", attempts: 1, finishedAt: begin }), id }],
      dispatch: { held: false, attempt: 1, rejections: 0, ...dispatch },
    });
  const clock = new FakeClock(begin + 100);
  const late = read(just("id-late", { instance: "i", protocol: "stream" }), "one", {}, clock);
  await write("id-late", "last\n", "");
  expect(await late).toBe("last\n");
  const never = read(just("id-never", { instance: "i", protocol: "stream" }), "one", {}, clock);
  const refused = expect(never).rejects.toThrow("has sent no log");
  const over = { isOver: false };
  void refused.finally(() => (over.isOver = true));
  while (!over.isOver) await clock.advance(1000);
  await refused;
  await expect(read(just("id-foreign", {}), "one", {}, clock)).rejects.toThrow("has sent no log");
});
