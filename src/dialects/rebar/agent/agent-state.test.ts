import { expect, test } from "vitest";
import {
  advance,
  type AgentState,
  isMet,
  type KnownMachine,
  type Manner,
  nextStageOf,
  startOf,
} from "./agent-state.ts";

const machine: KnownMachine = {
  Uuid: "u",
  Name: "m",
  Workflow: "w",
  Stage: "s",
  BootEnv: "local",
  Context: "",
  Tasks: ["a"],
  CurrentTask: 0,
  Runnable: true,
  Available: true,
};
const manner: Manner = { context: "", isOneShot: false, exitsOnFailure: false };
const impatient: Manner = { ...manner, exitsOnFailure: true };
const at = (place: AgentState["at"], changes: Partial<KnownMachine> = {}): AgentState => ({
  at: place,
  machine: { ...machine, ...changes },
});

test("7.1 the wait for runnable ends with an available and runnable machine in the agent's context", () => {
  const state = at("AGENT_WAIT_FOR_RUNNABLE");
  expect(isMet(state, machine, "")).toBe(true);
  expect(isMet(state, { ...machine, Runnable: false }, "")).toBe(false);
  expect(isMet(state, { ...machine, Available: false }, "")).toBe(false);
  expect(isMet(state, { ...machine, Context: "x" }, "")).toBe(false);
  expect(isMet(state, { ...machine, Context: "x" }, "x")).toBe(true);
  expect(isMet(state, { ...machine, Context: "x", BootEnv: "other" }, "")).toBe(true);
});

test.each([
  { CurrentTask: 1 },
  { Tasks: ["b"] },
  { Tasks: ["a", "b"] },
  { Runnable: false },
  { BootEnv: "other" },
  { Stage: "t" },
])("7.2 the wait for another stage ends when the machine becomes %o", (change) => {
  const state = at("AGENT_WAIT_FOR_CHANGE_STAGE");
  expect(isMet(state, machine, "")).toBe(false);
  expect(isMet(state, { ...machine, ...change }, "")).toBe(true);
});

test("7.2 a changed Context ends the wait for another stage", () => {
  const state = at("AGENT_WAIT_FOR_CHANGE_STAGE", { Context: "x" });
  expect(isMet(state, machine, "")).toBe(true);
});

test("7.1 a machine with another boot environment is rebooted, and marked as not runnable before", () => {
  const seen = { is: "met", machine: { ...machine, BootEnv: "sledgehammer" } } as const;
  const next = advance(at("AGENT_WAIT_FOR_RUNNABLE"), seen, manner);
  expect(next.state.at).toBe("AGENT_REBOOT");
  expect(next.effects).toEqual([{ do: "mark-not-runnable" }]);
});

test("7.1 an installer reboots by itself: the agent exits", () => {
  const seen = { is: "met", machine: { ...machine, BootEnv: "local" } } as const;
  const next = advance(at("AGENT_WAIT_FOR_RUNNABLE", { BootEnv: "ubuntu-install" }), seen, manner);
  expect(next.state.at).toBe("AGENT_EXIT");
});

test("7.1 an agent of a context does not care about boot environments", () => {
  const seen = { is: "met", machine: { ...machine, Context: "x", BootEnv: "other" } } as const;
  const next = advance(at("AGENT_WAIT_FOR_RUNNABLE", { Context: "x" }), seen, { ...manner, context: "x" });
  expect(next).toEqual({ state: { at: "AGENT_RUN_TASK", machine: seen.machine }, effects: [] });
});

test("7.1 a wait that takes too long goes on, or ends an agent that runs once", () => {
  const state = at("AGENT_WAIT_FOR_CHANGE_STAGE");
  expect(advance(state, { is: "timeout" }, manner).state).toBe(state);
  expect(advance(state, { is: "timeout" }, { ...manner, isOneShot: true }).state.at).toBe("AGENT_EXIT");
});

test("7.2 failures lead to AGENT_INIT after a pause, or end an agent that exits on failures", () => {
  const failed = { is: "failed", error: "broken" } as const;
  const init = advance(at("AGENT_INIT"), failed, manner);
  expect(init).toMatchObject({ state: { at: "AGENT_INIT", error: "broken" }, effects: [{ do: "sleep", ms: 30_000 }] });
  const task = advance(at("AGENT_RUN_TASK"), failed, manner);
  expect(task).toMatchObject({ state: { at: "AGENT_INIT", error: "broken" }, effects: [{ do: "sleep", ms: 5_000 }] });
  const last = advance(at("AGENT_RUN_TASK"), failed, impatient);
  expect(last).toMatchObject({ state: { at: "AGENT_EXIT", error: "broken" }, effects: [] });
});

test("7.2 a reboot that fails ends the agent with the error", () => {
  const next = advance(at("AGENT_REBOOT"), { is: "failed", error: "reboot is not installed" }, manner);
  expect(next.state).toMatchObject({ at: "AGENT_EXIT", error: "reboot is not installed" });
});

test("7.2 a boot environment that changed while the server could not be reached still leads to a reboot", () => {
  const fresh = { ...machine, BootEnv: "sledgehammer" };
  const init = advance({ ...at("AGENT_INIT"), error: "x" }, { is: "initialized", machine: fresh }, manner);
  expect(init.state).toEqual({ at: "AGENT_WAIT_FOR_RUNNABLE", machine });
  expect(advance(init.state, { is: "met", machine: fresh }, manner).state.at).toBe("AGENT_REBOOT");
});

test("7.2 without a job the agent waits for a change, or looks for a stage if there is no workflow", () => {
  const seen = { is: "no-job" } as const;
  expect(advance(at("AGENT_RUN_TASK"), seen, manner).state.at).toBe("AGENT_WAIT_FOR_CHANGE_STAGE");
  expect(advance(at("AGENT_RUN_TASK", { Workflow: "" }), seen, manner).state.at).toBe("AGENT_CHANGE_STAGE");
});

test("7.2 a machine that was installed without a workflow enters stage local and is left to its reboot", () => {
  const state = at("AGENT_CHANGE_STAGE", { BootEnv: "centos-8-install", Workflow: "", Stage: "centos" });
  expect(nextStageOf(state.machine)).toBe("local");
  expect(advance(state, { is: "stage", entered: { bootEnv: "local" } }, manner).state.at).toBe("AGENT_EXIT");
  expect(advance(state, { is: "stage", entered: { bootEnv: "" } }, manner).state.at).toBe("AGENT_WAIT_FOR_RUNNABLE");
  expect(nextStageOf(machine)).toBeUndefined();
  expect(advance(state, { is: "stage" }, manner).state.at).toBe("AGENT_WAIT_FOR_CHANGE_STAGE");
});

test.each([
  ["reboot", "AGENT_REBOOT"],
  ["poweroff", "AGENT_POWEROFF"],
  ["stop", "AGENT_EXIT"],
] as const)("7.2 a job that asks for %s leads to %s", (asks, place) => {
  const seen = { is: "ran", task: "t", ending: { state: "finished", asks } } as const;
  expect(advance(at("AGENT_RUN_TASK"), seen, manner).state.at).toBe(place);
});

test("7.2 after a failed job the agent waits, or exits with 1 if it exits on failures", () => {
  const seen = { is: "ran", task: "t", ending: { state: "failed" } } as const;
  expect(advance(at("AGENT_RUN_TASK"), seen, manner).state).toEqual(at("AGENT_WAIT_FOR_RUNNABLE"));
  expect(advance(at("AGENT_RUN_TASK"), seen, impatient).state).toMatchObject({
    at: "AGENT_EXIT",
    error: "task t failed",
  });
});

test("7 an agent that finds another boot environment than the last one on this boot starts in the reboot path", () => {
  const next = startOf({ ...machine, BootEnv: "sledgehammer" }, machine, manner);
  expect(next.state.at).toBe("AGENT_REBOOT");
  expect(startOf(machine, machine, manner).state.at).toBe("AGENT_INIT");
  expect(startOf({ ...machine, BootEnv: "x" }, machine, { ...manner, context: "c" }).state.at).toBe("AGENT_INIT");
});
