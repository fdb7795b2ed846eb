import { type Clock, type Logger, messageOf } from "#lib/base/index.ts";
import { type Connections, WakeTimers } from "#kernel/agents/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isConflict, isNotFound, type Stored } from "#kernel/model/index.ts";
import { choose } from "../dispatch-queue.ts";
import type { Notice } from "../messages.ts";
import { present } from "../members.ts";
import { resume, type Resumed } from "../reconnect.ts";
import type { Settings } from "../settings.ts";
import { agentKey, isTerminal, type WorkflowState } from "../state.ts";
import { type AnyWorkflow, changeWorkflow, refOf, storeState } from "../stored.ts";
import { dispatch, type Taker } from "../transitions.ts";
import { masksOf } from "../logs/masking.ts";
import { startCommand, stopCommand } from "./commands.ts";
import type { Connection } from "./connection.ts";
import type { Lanes } from "./lanes.ts";
import { parseWorkflowId, workflowId } from "./workflow-id.ts";
import type { Mirrored, WorkflowMirror } from "./workflow-mirror.ts";

// A look compares the stored workflows of an agent with what its stream was sent. Extra looks are harmless, missing
// ones are not: whoever changes something wakes the agents concerned, and no result is carried over.

export interface DispatchParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Settings;
  readonly mirror: WorkflowMirror;
  readonly connections: Connections<Connection>;
  readonly lanes: Lanes;
  /** Called once the fact is durable. */
  readonly tell: (workflow: Stored<AnyWorkflow>, notices: readonly Notice[]) => void;
  readonly onSent?: (how: "sent" | "resent") => void;
}

const retryAfter = 1000;
/** After a conflict: the mirror is up to date then. */
const lookAgainAfter = 20;

/** Sends connected agents their commands, one agent at a time, and nothing before the write is durable. */
export class Dispatcher {
  readonly #parts: DispatchParts;
  readonly #timers: WakeTimers;
  readonly #woken = new Set<string>();
  #isClosed = false;

  constructor(parts: DispatchParts) {
    this.#parts = parts;
    this.#timers = new WakeTimers(parts.clock, (key) => this.wake(key));
  }

  /** Schedules one look, unless the agent goes on with what it was sent. A failed look is repeated. */
  wake(agent: string): void {
    const key = agentKey(agent);
    const { connections, lanes, log, mirror } = this.#parts;
    if (this.#isClosed || this.#woken.has(key)) return;
    const connection = connections.get(key);
    if (connection === undefined || isAtWork(connection, mirror.heldBy(key))) return;
    this.#woken.add(key);
    const look = async (): Promise<void> => {
      this.#woken.delete(key);
      await this.#look(key);
    };
    lanes.run(key, look).catch((thrown: unknown) => {
      this.#woken.delete(key);
      log.warn("an agent could not be told what to do", { agent: key, error: messageOf(thrown) });
      this.#timers.setAfter(key, retryAfter);
    });
  }

  /** Tells an agent to stop a workflow, even if it was told before. */
  stopAgain(agent: string, id: string): void {
    const connection = this.#parts.connections.get(agent);
    connection?.stopped.delete(id);
    if (connection !== undefined) stop(connection, id);
  }

  close(): void {
    this.#isClosed = true;
    this.#timers.close();
  }

  /** Everything due for an agent: resumes, stops, then new work. */
  async #look(key: string): Promise<void> {
    const { connections, mirror, clock } = this.#parts;
    const connection = connections.get(key);
    if (connection === undefined || this.#isClosed) return this.#timers.delete(key);
    if (!connection.isGreeted) await this.#greet(connection);
    // A newer stream has its own look, after its greeting.
    if (!connections.isCurrent(connection)) return;
    const queue = mirror.queueOf(key);
    this.#catchUp(connection, queue.held);
    const choice = choose(queue, clock.now());
    if (choice.is === "later") return this.#timers.setAt(key, choice.at);
    if (choice.is !== "next") return this.#timers.delete(key);
    await this.#dispatch(connection, choice.candidate);
  }

  /** Sends what the agent holds and was not sent. Covers a dispatch whose write failed but is durable. */
  #catchUp(connection: Connection, held: readonly Mirrored[]): void {
    const ids = new Set(held.map(({ workflow }) => workflowId(workflow)));
    for (const id of connection.stopped) if (!ids.has(id)) connection.stopped.delete(id);
    for (const { workflow, state } of held) {
      if (isToStop(state)) stop(connection, workflowId(workflow));
      else if (state.deadlines.scheduled !== undefined) this.#start(connection, workflow, state, "resent");
    }
  }

  /** Once per dispatch and stream. */
  #start(connection: Connection, workflow: Mirrored["workflow"], state: WorkflowState, how: "sent" | "resent"): void {
    if (isStarted(connection, workflow, state)) return;
    const id = workflowId(workflow);
    connection.started = { id, attempt: state.dispatch.attempt };
    // Only Slipway's agents support masking.
    connection.send(startCommand(id, state, connection.instance === undefined ? [] : masksOf(workflow)));
    this.#parts.onSent?.(how);
  }

  /** The workflow is the agent's from the write on, whether or not the command arrives. */
  async #dispatch(connection: Connection, { workflow, state }: Mirrored): Promise<void> {
    const { client, clock, settings, tell } = this.#parts;
    const now = clock.now();
    const move = dispatch(state, takerOf(connection), now, settings);
    try {
      const stored = await storeState(client, workflow, move.state, now);
      tell(stored, move.notices);
    } catch (thrown) {
      if (!isConflict(thrown) && !isNotFound(thrown)) throw thrown;
      // Someone else was faster; decide again.
      return this.#timers.setAfter(connection.key, lookAgainAfter);
    }
    this.#start(connection, workflow, move.state, "sent");
  }

  /** Settles the held workflows by what the agent says of them, and stops what it should not run. */
  async #greet(connection: Connection): Promise<void> {
    const { mirror } = this.#parts;
    const held = mirror.heldBy(connection.key);
    const saidOf = saidBy(connection);
    for (const { workflow } of held) await this.#resume(connection, workflow, saidOf(workflow) ?? "none");
    for (const id of connection.resumed.keys()) {
      const place = parseWorkflowId(id);
      const found = place === undefined ? undefined : mirror.get(place);
      if (found === undefined || isElsewhere(found, connection.key)) stop(connection, id);
    }
    connection.isGreeted = true;
  }

  /** Reads the workflow again, because an event of the earlier stream may have changed it. */
  async #resume(connection: Connection, workflow: Mirrored["workflow"], said: Resumed): Promise<void> {
    const { settings, tell } = this.#parts;
    const { namespace = "", name, uid } = workflow.metadata;
    const { answer } = await changeWorkflow(this.#parts, refOf(namespace, name), (state, current, now) => {
      const { held, agentID = "" } = state.dispatch;
      if (current.metadata.uid !== uid || !held || agentKey(agentID) !== connection.key) return { answer: undefined };
      const resumption = resume(state, said, takerOf(connection), now, settings);
      return { state: resumption.move?.state, answer: { ...resumption, before: state } };
    }).catch((thrown: unknown) => {
      // A deleted workflow needs no agent.
      if (isNotFound(thrown)) return { answer: undefined };
      throw thrown;
    });
    const { move, send, before, notices = [] } = answer ?? {};
    tell(workflow, move?.notices ?? notices);
    if (send === "stop") stop(connection, workflowId(workflow));
    const id = workflowId(workflow);
    if (send === "start" && move !== undefined) this.#start(connection, workflow, move.state, "resent");
    // It goes on with it and needs no command.
    else if (before !== undefined && said === "running") connection.started = { id, attempt: before.dispatch.attempt };
  }
}

const isToStop = ({ phase }: WorkflowState): boolean => phase === "Cancelling" || isTerminal(phase);

const isStarted = ({ started }: Connection, workflow: Mirrored["workflow"], { dispatch }: WorkflowState): boolean =>
  started !== undefined && started.attempt === dispatch.attempt && started.id === workflowId(workflow);

const isAtWork = (connection: Connection, held: readonly Mirrored[]): boolean =>
  connection.isGreeted &&
  connection.stopped.size === 0 &&
  held.length > 0 &&
  held.every(({ workflow, state }) => !isToStop(state) && isStarted(connection, workflow, state));

/** Once per stream; an agent that does not stop is left to the supervisor. */
function stop(connection: Connection, id: string): void {
  if (connection.stopped.has(id)) return;
  connection.stopped.add(id);
  connection.send(stopCommand(id));
}

/** Nobody or another agent should run it. */
const isElsewhere = ({ state: { phase, dispatch: told } }: Mirrored, key: string): boolean =>
  isTerminal(phase) || agentKey(told.agentID ?? key) !== key;

/** What the agent says of a workflow, by either form of its id. */
function saidBy({ resumed }: Connection): (workflow: Mirrored["workflow"]) => Resumed | undefined {
  return (workflow) => {
    const { namespace = "", name } = workflow.metadata;
    return resumed.get(workflowId(workflow)) ?? resumed.get(`${namespace}/${name}`);
  };
}

const takerOf = ({ agentID, instance }: Connection): Taker => ({
  agentID,
  protocol: "stream",
  ...present({ instance }),
});
