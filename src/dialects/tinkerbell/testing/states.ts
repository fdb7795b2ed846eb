import type { Instant } from "#lib/base/index.ts";
import { defaultSettings, type Settings } from "../settings.ts";
import type { Action, WorkflowState } from "../state.ts";

/** An instant to count from. */
export const begin: Instant = Date.parse("2026-01-01T00:00:00Z");

export const settings: Settings = defaultSettings;

/** An action that was not started; `agentID` is that of its task. */
export const action = (name: string, more: Partial<Action> = {}, agentID = "agent-a"): Action => ({
  id: `id-${name}`,
  name,
  image: "docker.io/library/busybox:latest",
  args: [],
  env: {},
  volumes: [],
  timeout: 0,
  task: { id: `task-${agentID}`, name: `on ${agentID}`, agentID },
  phase: "Pending",
  attempts: 0,
  ...more,
});

/** A prepared workflow of two actions, told to nobody. */
export const pending = (more: Partial<WorkflowState> = {}): WorkflowState => ({
  shape: "A",
  phase: "Pending",
  agentID: "agent-a",
  actions: [action("one"), action("two")],
  timeout: 0,
  dispatch: { held: false, attempt: 0, rejections: 0 },
  deadlines: {},
  ...more,
});
