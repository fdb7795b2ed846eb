import { expect, test } from "vitest";
import { noticesOf } from "./notices.ts";
import type { Job, Machine } from "./objects.ts";

const before = {
  Runnable: true,
  Available: true,
  WorkflowComplete: false,
  Workflow: "w",
  Tasks: ["t"],
  Errors: [],
} as unknown as Machine;
const job = (more: Partial<Job>): Job => ({ Uuid: "j1", Task: "t", EndTime: "", ...more }) as Job;

const told = (changes: Partial<Machine>, current?: Job, from: Partial<Machine> = {}) => {
  const original: Machine = { ...before, ...from };
  const event = {
    Type: "machines",
    Action: "update",
    Principal: "runner:u",
    Object: { ...original, ...changes },
    Original: original,
  };
  return noticesOf(event, current).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
};

test("a machine that stops says why, and one that goes on says so", () => {
  expect(told({ Runnable: false }, job({ State: "failed" }))).toEqual(["Warning JobFailed: task t failed: job j1"]);
  expect(told({ Runnable: false }, job({ State: "incomplete", ExitState: "reboot" }))).toEqual([
    expect.stringContaining("Normal NotRunnable: the machine is not Runnable: its agent made it so at task t"),
  ]);
  expect(told({ Runnable: true }, undefined, { Runnable: false })).toEqual([
    "Normal Runnable: the machine is Runnable",
  ]);
});

test("a workflow that is chosen, done or broken is told", () => {
  expect(told({ Workflow: "v" })).toEqual(["Normal WorkflowChanged: the workflow is v"]);
  expect(told({ WorkflowComplete: true })).toEqual(["Normal Complete: all tasks have finished"]);
  expect(told({ Available: false, Errors: ["no stage"] })).toEqual([
    "Warning NotAvailable: the machine is not available: no stage",
  ]);
});

test("what changes with every task is not told", () => {
  expect(told({ CurrentTask: 3, CurrentJob: "j2" })).toEqual([]);
  const event = { Type: "machines", Action: "update", Principal: "user:anna", Object: before, Original: before };
  for (const other of [{ Type: "stages" }, { Action: "delete" }, { Original: null }])
    expect(noticesOf({ ...event, ...other }, undefined)).toEqual([]);
});
