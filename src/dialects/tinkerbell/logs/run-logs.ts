import { aborted, type Clock, type Instant, type Millis, sleep } from "#lib/base/index.ts";
import { endOfReceived, type LogRequest, readingOf, readLogs, readReceived } from "#kernel/streams/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { LogPlace } from "#kernel/dialect/index.ts";
import { logPath, logsIn } from "./places.ts";
import { type Action, isTerminal, stepIds, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, stateOf } from "../stored.ts";

// Reading needs only files, not the server that writes them: see `server/log-service.ts`.

/** Opens the log that an agent sent for an action; see `RunLogs`. */
export async function openActionLog(
  { directory, clock }: LogPlace,
  workflow: AnyWorkflow,
  part: string,
  request: LogRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const state = stateOf(workflow);
  const { name = "", uid = "" } = workflow.metadata;
  const action = actionIn(state, part, name);
  const path = logPath(logsIn(directory), uid, action.id);
  if (request.follow !== true && isComing(state, action, clock.now())) await settled(path, clock, signalOf(request));
  const refusal = (await readReceived(path)) === undefined ? whyNone(state, action) : undefined;
  if (refusal !== undefined)
    throw badRequest(`action ${JSON.stringify(action.name)} of workflow ${JSON.stringify(name)} ${refusal}`);
  const reading = readingOf(request, clock);
  if (request.follow !== true) return readLogs(path, reading);
  return readLogs(path, { ...reading, follow: await endOfReceived(path, signalOf(request)) });
}

/** The last lines may arrive after an action's end; a reader waits this long for them. */
const lastLines: Millis = 2_000;

/** Only for Slipway's agents; others send no logs. */
const isComing = ({ dispatch }: WorkflowState, { finishedAt }: Action, now: Instant): boolean =>
  dispatch.instance !== undefined && finishedAt !== undefined && Math.abs(now - finishedAt) < lastLines;

async function settled(path: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const enough = new AbortController();
  const end = await endOfReceived(path, AbortSignal.any([enough.signal, signal]));
  await Promise.race([aborted(end), sleep(clock, lastLines, enough.signal).catch(() => undefined)]);
  enough.abort();
}

/** By id or step name; may be omitted if there is only one. */
function actionIn(state: WorkflowState, part: string, workflow: string): Action {
  const { actions } = state;
  const steps = stepIds(actions);
  const [only, ...others] = actions;
  if (part === "" && only !== undefined && others.length === 0) return only;
  const found = actions.find(({ id, name }) => part === id || part === steps.get(id) || part === name);
  if (found !== undefined) return found;
  if (actions.length === 0)
    throw badRequest(`workflow ${JSON.stringify(workflow)} is not prepared, and has no actions yet`);
  const names = `one of: [${[...steps.values()].join(" ")}]`;
  const quoted = JSON.stringify(workflow);
  throw badRequest(
    part === ""
      ? `an action must be named for workflow ${quoted}, choose ${names}`
      : `${JSON.stringify(part)} is no action of workflow ${quoted}, which has ${names}`,
  );
}

/** In the words of a waiting Pod. Undefined for a running action, whose first line may come. */
function whyNone({ phase }: WorkflowState, action: Action): string | undefined {
  if (action.phase === "Running") return undefined;
  if (action.phase !== "Pending") return "has sent no log; only Slipway's own agent does";
  return isTerminal(phase) ? "was never started" : "is waiting to start";
}

/** Without a signal, reads to the end. */
const signalOf = ({ signal }: LogRequest): AbortSignal => signal ?? new AbortController().signal;
