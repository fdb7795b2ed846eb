import { s } from "#lib/schema/index.ts";
import { environment, flag, instant, open, text, texts, whole } from "./fields.ts";

/** Slipway's additions, the same in both versions. Deadlines are stored as instants, so that a restart extends none. */
const additions = {
  rerendered: text("Last handled value of the annotation slipway.dev/rerender."),
  observedGeneration: whole("The generation that was last reconciled."),
  shape: s.optional(s.oneOf(["A", "B", "C"], { description: "How the document is written." })),
  failureReason: text("Why it has failed or was canceled, in one word."),
  failureMessage: text("The same for people."),
  dispatch: s.optional(
    open(
      {
        agentID: text("The agent that was assigned the workflow."),
        instance: text("Which process of that agent."),
        protocol: s.optional(s.oneOf("stream", "poll", "worker")),
        held: flag("The agent is not known to be free of this workflow."),
        attempt: whole("How often the workflow was sent to an agent."),
        dispatchedAt: instant("When it was last sent."),
        rejections: whole("How often in a row it was refused."),
        notBefore: instant("Earliest time of the next dispatch."),
        lastRejection: s.optional(open({ reason: text(), message: text(), time: instant() })),
        rerun: text("The action that was interrupted and is to be started again."),
      },
      "Dispatch of the workflow to an agent.",
    ),
  ),
  cancel: s.optional(
    open({
      requestedAt: instant(),
      by: s.optional(s.oneOf("Delete", "User", "CLI")),
      deadline: instant("Time at which the workflow counts as canceled, whatever the agent reports."),
    }),
  ),
  deadlines: s.optional(
    open({
      scheduled: instant("Deadline for the agent to start."),
      workflow: instant(),
      action: instant("Of the action that runs."),
      held: instant("Time at which the agent counts as free."),
      agent: instant("Deadline for a disconnected agent to reconnect."),
    }),
  ),
};

/** A rendered action and its result. `failureReason` and `attempts` are additions. */
const actionStateV1 = open({
  id: text(),
  name: text(),
  image: text(),
  timeout: whole("Seconds; 0 is none."),
  command: texts(),
  volumes: texts(),
  pid: text(),
  namespaces: s.optional(open({ network: text(), pid: text() })),
  environment: environment(),
  state: s.optional(s.oneOf("PENDING", "RUNNING", "SUCCESS", "FAILED", "TIMEOUT")),
  executionStart: instant(),
  executionStop: instant(),
  executionDuration: text(),
  message: text(),
  failureReason: text("Why it has failed, in one word."),
  attempts: whole("How often it was started."),
});

const conditionV1 = open({ type: s.string(), status: s.string(), reason: text(), message: text(), time: instant() });

/** A dispatched workflow is still `PENDING`, with the condition `Scheduled`. */
export const WorkflowStatus = open({
  ...additions,
  state: text("Empty until it is prepared."),
  agentID: text("The agent of the task it is at."),
  templateRendering: text("successful or failed."),
  globalTimeout: whole("Seconds; 0 is none."),
  globalExecutionStop: instant(),
  currentState: s.optional(
    open({ agentID: text(), taskID: text(), actionID: text(), state: text(), actionName: text(), taskName: text() }),
  ),
  tasks: s.optional(
    s.list(
      open({
        id: text(),
        name: text(),
        agentID: text(),
        volumes: texts(),
        environment: environment(),
        actions: s.optional(s.list(actionStateV1)),
      }),
    ),
  ),
  bootOptions: s.optional(
    open({
      allowNetboot: s.optional(open({ toggledTrue: flag(), toggledFalse: flag() })),
      jobs: s.optional(s.map(open({ uid: text(), complete: flag(), existingJobDeleted: flag() }))),
    }),
  ),
  startedAt: instant("When its first action began."),
  conditions: s.optional(s.list(conditionV1, { key: "type" })),
});

const rendered = open({
  name: text(),
  image: text(),
  cmd: text(),
  args: texts(),
  env: environment(),
  volumes: texts(),
  namespaces: s.optional(open({ network: text(), pid: s.optional(s.intOrString()) })),
});

const conditionV2 = open({
  type: s.string(),
  status: s.string(),
  reason: text(),
  message: text(),
  lastTransitionTime: instant(),
});

export const WorkflowStatusV2 = open({
  ...additions,
  state: text("Empty until it is prepared."),
  agentID: text("The agent that runs the workflow, or may run it."),
  otherAgentIDs: texts(
    "Other agent ids that may take the workflow: the machine's other addresses, until an agent takes it.",
  ),
  startedAt: instant("When its first action began."),
  lastTransitioned: instant(),
  currentAction: text("The action that runs, or the last one that has ended."),
  actions: s.optional(
    s.list(
      open({
        id: text(),
        rendered: s.optional(rendered),
        state: s.optional(s.oneOf("Pending", "Running", "Succeeded", "Failed")),
        startedAt: instant(),
        lastTransitioned: instant(),
        failureReason: text(),
        failureMessage: text(),
        attempts: whole("How often it was started."),
      }),
    ),
  ),
  conditions: s.optional(s.list(conditionV2, { key: "type" })),
});
