import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { ReceivedLog } from "#kernel/logs/index.ts";
import { agentV1, type CallContext, RpcError, type RpcService, service } from "#kernel/rpc/index.ts";
import type { WorkflowState } from "../state.ts";
import { type Caller, type Identify, notValid } from "./caller.ts";
import { chunkIn, type TaggedChunk } from "./log-chunk.ts";
import type { HeldLog, LogShelf } from "./log-shelf.ts";
import { asUnavailable } from "./record-event.ts";
import { parseWorkflowId } from "./workflow-id.ts";

// An agent sends what it has of a log in calls of a few chunks each, and hears at the end of each how much of it is durable. A call that breaks
// off is answered by nothing; the next one may ask, by a chunk with the number 0. Other clients may hold one call open for as long as they like.
// An agent that says so makes its next calls before it has heard of the first: their chunks are taken in the order of their numbers.

/** What taking logs works with. */
export interface LogParts {
  readonly clock: Clock;
  readonly shelf: LogShelf;
  readonly identify: Identify;
  /** There is more than before. */
  readonly onGrown: () => void;
  /** The workflow of that id as it is now, or undefined. */
  readonly find: (id: string) => Promise<{ readonly uid: string; readonly state: WorkflowState } | undefined>;
}

/** Whose numbers the chunks of a call have: who has lost its own sends another text here, and begins with 1 again. */
const sourceHeader = "x-slipway-log-source";
const maxSource = 100;
/** `true`: other calls of the same source bring what this one's chunks follow. */
const overlapHeader = "x-slipway-log-overlap";
/** For those chunks to come, from calls that were begun earlier on the same connection. */
const turnLimit: Millis = 10_000;
/** Chunks that were taken and cannot be read yet, of one call. */
const mostUnread = 1024 * 1024;
/** Logs of one call. */
const maxLogs = 64;
/** What a call has brought is made durable at its end, and each time after so much. */
const commitEvery = 4 * 1024 * 1024;

/** One log that a call writes to. */
interface Open {
  readonly workflow: string;
  readonly action: string;
  readonly agentID: string;
  readonly uid: string;
  readonly held: HeldLog;
}

/** Takes what actions print. An answer means that it is durable; without one the agent has it still, and sends it again. */
export const logService = (parts: LogParts): RpcService =>
  service(agentV1.AgentService, {
    async pushLogs(messages, call) {
      const intake = new Intake(parts, parts.identify(call), call);
      let isWhole = false;
      try {
        for await (const message of messages) await intake.take(chunkIn(message, parts.clock.now()));
        const received = await intake.commit();
        isWhole = true;
        return { received: [...received] };
      } catch (thrown) {
        throw asUnavailable(thrown);
      } finally {
        await intake.close(isWhole);
      }
    },
  });

/** Empty for who does not say: then all calls have one count. */
function sourceOf(call: CallContext): string {
  const source = call.header(sourceHeader);
  if (source.length > maxSource)
    throw new RpcError("INVALID_ARGUMENT", `${sourceHeader} is longer than ${maxSource} bytes`);
  return source;
}

/** What one call brings. */
class Intake {
  readonly #parts: LogParts;
  readonly #caller: Caller;
  readonly #source: string;
  readonly #open = new Map<string, Open>();
  readonly #call: CallContext;
  /** Other calls may bring what comes before this one's chunks. */
  #isOverlapping: boolean;
  /** Bytes since the last commit. */
  #uncommitted = 0;
  /** Chunks that cannot be read yet, and their bytes. */
  #unread: Promise<void>[] = [];
  #unreadBytes = 0;

  constructor(parts: LogParts, caller: Caller, call: CallContext) {
    this.#parts = parts;
    this.#caller = caller;
    this.#call = call;
    this.#source = sourceOf(call);
    this.#isOverlapping = call.header(overlapHeader) === "true";
  }

  /** Resolves when there is room for the next chunk, so that an agent is as fast as this disk. */
  async take(chunk: TaggedChunk): Promise<void> {
    const { shelf, clock } = this.#parts;
    const { uid, held } = await this.#logOf(chunk);
    const delay = shelf.delayOf(uid, chunk.data.length);
    if (delay > 0) await sleep(clock, delay, this.#call.signal);
    if (this.#isOverlapping) await this.#awaitTurn(held.log, chunk.seq - 1);
    // Who has taken the call back has asked, or will ask, how far the log is: what comes after that answer would be there in other pieces.
    this.#call.signal.throwIfAborted();
    const written = held.log.append(this.#source, chunk).then((grown) => {
      shelf.grown(uid, grown);
      this.#uncommitted += grown;
    });
    written.catch(() => undefined); // Looked at with the others.
    this.#unread.push(written);
    this.#unreadBytes += chunk.data.length;
    if (this.#unreadBytes > mostUnread) await this.#settle();
    if (this.#uncommitted > commitEvery) await this.commit();
  }

  /** Resolves when everything taken can be read. */
  async #settle(): Promise<void> {
    this.#unreadBytes = 0;
    await Promise.all(this.#unread.splice(0));
  }

  /** What does not come in time is missing; the chunks of this call are passed over then, and the answer says so. */
  async #awaitTurn(log: ReceivedLog, seq: number): Promise<void> {
    if (log.seqOf(this.#source) >= seq) return;
    const late = new AbortController();
    const cancel = this.#parts.clock.after(turnLimit, () => late.abort());
    await log.arrived(this.#source, seq, AbortSignal.any([this.#call.signal, late.signal]));
    cancel();
    if (log.seqOf(this.#source) < seq) this.#isOverlapping = false;
  }

  /** Makes durable what was taken; up to where nothing is missing of each log. */
  async commit() {
    await this.#settle();
    this.#uncommitted = 0;
    this.#parts.onGrown();
    const all = [...this.#open.values()];
    await Promise.all(all.map(({ held }) => held.log.commit()));
    return all.map(({ workflow, action, held }) => ({
      workflowId: workflow,
      actionId: action,
      seq: BigInt(held.log.durableSeqOf(this.#source)),
    }));
  }

  /** Of a call that has broken off, too, what came is kept, so that it need not come again. */
  async close(isWhole: boolean): Promise<void> {
    for (const { held } of this.#open.values()) {
      const isGood =
        isWhole ||
        (await held.log.commit().then(
          () => true,
          () => false,
        ));
      await held.release(isGood);
    }
  }

  /** Looked up once for each call: it is to be as cheap as the write. */
  async #logOf({ workflow, action }: TaggedChunk): Promise<Open> {
    const key = `${workflow} ${action}`;
    const known = this.#open.get(key);
    if (known !== undefined) {
      if (!this.#caller.isAgent(known.agentID)) throw notValid();
      return known;
    }
    if (this.#open.size >= maxLogs)
      throw new RpcError("INVALID_ARGUMENT", `a call brings the logs of at most ${maxLogs} actions`);
    const { uid, agentID } = await this.#permit(workflow, action);
    const open = { workflow, action, agentID, uid, held: await this.#parts.shelf.open(uid, action) };
    this.#open.set(key, open);
    return open;
  }

  /** The workflow's uid, and the agent of the action, if that is the caller. */
  async #permit(workflow: string, action: string): Promise<Pick<Open, "uid" | "agentID">> {
    const found = parseWorkflowId(workflow) === undefined ? undefined : await this.#parts.find(workflow);
    if (found === undefined)
      throw new RpcError("NOT_FOUND", `there is no workflow ${JSON.stringify(workflow.slice(0, 100))}`);
    const its = found.state.actions.find(({ id }) => id === action);
    if (its === undefined)
      throw new RpcError("NOT_FOUND", `workflow ${workflow} has no action ${JSON.stringify(action.slice(0, 100))}`);
    // Not that of the workflow: other tasks of it are other agents'.
    const { agentID } = its.task;
    if (!this.#caller.isAgent(agentID))
      throw new RpcError("PERMISSION_DENIED", `the action is not ${this.#caller.name}'s`);
    return { uid: found.uid, agentID };
  }
}
