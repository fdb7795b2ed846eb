import { expect } from "vitest";
import type { PythonClient } from "./python-client.ts";

// Agents of the two older protocols, in the order of calls of those that were released. What an action does is the test's business.

export type Ending = "SUCCESS" | "FAILED" | "TIMEOUT";

/** The action that an agent is at. */
export interface Work {
  readonly workflow: string;
  readonly action: string;
  /** Seconds; none is never told as 0, of which agents make no time at all, or an hour. */
  readonly timeout: number;
}

/** One process of an agent; another one of the same id knows nothing of what this one was at. */
export interface AskingAgent {
  /** Asks until there is something to do, and has told its start: the action is to be run. */
  begin(): Promise<Work>;
  /** Tells the start of what comes next without asking, where the protocol has it that way; the code of the answer. */
  goOn(): Promise<string>;
  /** Tells how the action ended; the code of the answer. While it is UNAVAILABLE agents tell it again. */
  end(ending: Ending): Promise<string>;
}

const service = "/proto.WorkflowService";
const reportPath = `${service}/ReportActionStatus`;
type Message = Readonly<Record<string, unknown>>;
/** Empty where there is none, which is what the interface means by its absence. */
const text = (message: Message | undefined, field: string): string => {
  const value = message?.[field];
  return typeof value === "string" ? value : "";
};

/** Asks for each action; one that is interrupted asks again. */
export function pollAgent(client: PythonClient, id: string): AskingAgent {
  let at: Message = {};
  const report = async (action_state: string): Promise<string> => {
    const { workflow_id, task_id, agent_id, action_id, name: action_name } = at;
    const ids = { workflow_id, task_id, agent_id, action_id, action_name };
    const body = { ...ids, action_state, execution_start: "0001-01-01T00:00:00Z", message: { message: "completed" } };
    return (await client.call(reportPath, "proto.ActionStatusRequest", "proto.ActionStatusResponse", body)).code;
  };
  const ask = async (): Promise<string> => {
    const request = { agent_id: id };
    const answer = await client.call(`${service}/GetAction`, "proto.ActionRequest", "proto.ActionResponse", request);
    at = answer.messages[0] ?? {};
    // A start that is refused is an action that is not run: it asks again.
    return answer.code === "OK" ? await report("RUNNING") : answer.code;
  };
  return {
    async begin() {
      await expect.poll(ask).toBe("OK");
      return { workflow: text(at, "workflow_id"), action: text(at, "name"), timeout: Number(at["timeout"] ?? 0) };
    },
    goOn: ask,
    end: report,
  };
}

/** Asks for workflows and for the actions of each, which it carries out one after the other without asking again. */
export function workerAgent(client: PythonClient, id: string): AskingAgent {
  let workflow = "";
  let actions: readonly Message[] = [];
  let at = 0;
  const report = async (status: string): Promise<string> => {
    const { task_name, name: action_name, worker_id } = actions[at] ?? {};
    const body = { workflow_id: workflow, task_name, action_name, worker_id, action_status: `STATE_${status}` };
    const told = status === "SUCCESS" ? { ...body, seconds: 1, message: "finished execution successfully" } : body;
    return (await client.call(reportPath, "proto.WorkflowActionStatus", "proto.Empty", told)).code;
  };
  const ask = async (): Promise<string> => {
    const request = { worker_id: id };
    const path = `${service}/GetWorkflowContexts`;
    const contexts = client.open(path, "proto.WorkflowContextRequest", "proto.WorkflowContext", request);
    const { code, messages } = await contexts.end.promise;
    const [context] = messages;
    if (code !== "OK" || context === undefined) return code === "OK" ? "NOTHING" : code;
    workflow = text(context, "workflow_id");
    const list = await client.call(
      `${service}/GetWorkflowActions`,
      "proto.WorkflowActionsRequest",
      "proto.WorkflowActionList",
      { workflow_id: workflow },
    );
    if (list.code !== "OK") return list.code;
    actions = (list.messages[0]?.["action_list"] ?? []) as readonly Message[];
    at = text(context, "current_action") === "" ? 0 : Number(context["current_action_index"] ?? 0);
    if (text(actions[at], "worker_id") !== id) return "NOT_ITS_TURN";
    return await report("RUNNING");
  };
  const next = async (): Promise<string> => {
    const following = actions[at + 1];
    if (following === undefined || text(following, "worker_id") !== id) return await ask();
    at += 1;
    const code = await report("RUNNING");
    // It would tell the start for ever: the same action is next the next time, too.
    if (code !== "OK") at -= 1;
    return code;
  };
  return {
    async begin() {
      await expect.poll(next).toBe("OK");
      const action = actions[at];
      return { workflow, action: text(action, "name"), timeout: Number(action?.["timeout"] ?? 0) };
    },
    goOn: next,
    async end(ending) {
      const code = await report(ending);
      if (code === "OK" && ending !== "SUCCESS") actions = [];
      return code;
    },
  };
}
