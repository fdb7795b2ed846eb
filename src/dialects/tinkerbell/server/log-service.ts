import { type Clock, type Millis, sleep, type Instant } from "#lib/base/index.ts";
import type { Held, ReceivedLog, LogStream, ReceivedChunk } from "#kernel/streams/index.ts";
import { agentV1, type CallContext, RpcError, type RpcService, service, type MessageShape } from "#kernel/rpc/index.ts";
import type { WorkflowState } from "../state.ts";
import { type Caller, type Identify, notValid } from "./caller.ts";
import type { LogShelf } from "./log-shelf.ts";
import { asUnavailable } from "./record-event.ts";
import { parseWorkflowId } from "./workflow-id.ts";

// Agents send logs in calls of a few chunks and learn at the end of each how much is durable. A broken call has no
// answer; the next may ask with chunk 0. Other clients may keep one call open. An agent that says so overlaps its
// calls, whose chunks are taken in order of number.

export interface LogParts {
  readonly clock: Clock;
  readonly shelf: LogShelf;
  readonly identify: Identify;
  readonly onGrown: () => void;
  readonly find: (id: string) => Promise<{ readonly uid: string; readonly state: WorkflowState } | undefined>;
}

/** Whose numbers the chunks have: an agent that lost its own starts again at 1 under a new source. */
const sourceHeader = "x-slipway-log-source";
const maxSource = 100;
/** `true`: other calls of the source bring the preceding chunks. */
const overlapHeader = "x-slipway-log-overlap";
/** How long to wait for preceding chunks. */
const turnLimit: Millis = 10_000;
/** Bytes of one call that were taken and are not yet readable. */
const mostUnread = 1024 * 1024;
/** Per call. */
const maxLogs = 64;
/** Commits at the end of a call, and after so many bytes. */
const commitEvery = 4 * 1024 * 1024;

interface Open {
  readonly workflow: string;
  readonly action: string;
  readonly agentID: string;
  readonly uid: string;
  readonly held: Held<ReceivedLog>;
}

/** Receives logs of actions. An answer means that the chunks are durable; otherwise the agent sends them again. */
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

function sourceOf(call: CallContext): string {
  const source = call.header(sourceHeader);
  if (source.length > maxSource)
    throw new RpcError("INVALID_ARGUMENT", `${sourceHeader} is longer than ${maxSource} bytes`);
  return source;
}

class Intake {
  readonly #parts: LogParts;
  readonly #caller: Caller;
  readonly #source: string;
  readonly #open = new Map<string, Open>();
  readonly #call: CallContext;
  /** Other calls may bring preceding chunks. */
  #isOverlapping: boolean;
  #uncommitted = 0;
  /** Chunks that are not yet readable, and their bytes. */
  #unread: Promise<void>[] = [];
  #unreadBytes = 0;

  constructor(parts: LogParts, caller: Caller, call: CallContext) {
    this.#parts = parts;
    this.#caller = caller;
    this.#call = call;
    this.#source = sourceOf(call);
    this.#isOverlapping = call.header(overlapHeader) === "true";
  }

  /** Resolves when there is room, which slows the agent down to the disk. */
  async take(chunk: TaggedChunk): Promise<void> {
    const { shelf, clock } = this.#parts;
    const { uid, held } = await this.#logOf(chunk);
    const delay = shelf.delayOf(uid, chunk.data.length);
    if (delay > 0) await sleep(clock, delay, this.#call.signal);
    if (this.#isOverlapping) await this.#awaitTurn(held.opened, chunk.seq - 1);
    // The canceled caller asks how far the log is; later chunks would contradict that answer.
    this.#call.signal.throwIfAborted();
    const written = held.opened.append(this.#source, chunk).then((grown) => {
      shelf.grown(uid, grown);
      this.#uncommitted += grown;
    });
    written.catch(() => undefined); // Looked at with the others.
    this.#unread.push(written);
    this.#unreadBytes += chunk.data.length;
    if (this.#unreadBytes > mostUnread) await this.#settle();
    if (this.#uncommitted > commitEvery) await this.commit();
  }

  /** Resolves when everything taken is readable. */
  async #settle(): Promise<void> {
    this.#unreadBytes = 0;
    await Promise.all(this.#unread.splice(0));
  }

  /** Missing chunks in time fail: the rest of the call is skipped and the answer says so. */
  async #awaitTurn(log: ReceivedLog, seq: number): Promise<void> {
    if (log.seqOf(this.#source) >= seq) return;
    const late = new AbortController();
    const cancel = this.#parts.clock.after(turnLimit, () => late.abort());
    await log.arrived(this.#source, seq, AbortSignal.any([this.#call.signal, late.signal]));
    cancel();
    if (log.seqOf(this.#source) < seq) this.#isOverlapping = false;
  }

  async commit() {
    await this.#settle();
    this.#uncommitted = 0;
    this.#parts.onGrown();
    const all = [...this.#open.values()];
    await Promise.all(all.map(({ held }) => held.opened.commit()));
    return all.map(({ workflow, action, held }) => ({
      workflowId: workflow,
      actionId: action,
      seq: BigInt(held.opened.durableSeqOf(this.#source)),
    }));
  }

  /** A broken call keeps what came. */
  async close(isWhole: boolean): Promise<void> {
    for (const { held } of this.#open.values()) {
      const isGood =
        isWhole ||
        (await held.opened.commit().then(
          () => true,
          () => false,
        ));
      await held.release(isGood);
    }
  }

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

  /** The workflow's uid and the action's agent, if it is the caller. */
  async #permit(workflow: string, action: string): Promise<Pick<Open, "uid" | "agentID">> {
    const found = parseWorkflowId(workflow) === undefined ? undefined : await this.#parts.find(workflow);
    if (found === undefined)
      throw new RpcError("NOT_FOUND", `there is no workflow ${JSON.stringify(workflow.slice(0, 100))}`);
    const its = found.state.actions.find(({ id }) => id === action);
    if (its === undefined)
      throw new RpcError("NOT_FOUND", `workflow ${workflow} has no action ${JSON.stringify(action.slice(0, 100))}`);
    // Other tasks of the workflow belong to other agents.
    const { agentID } = its.task;
    if (!this.#caller.isAgent(agentID))
      throw new RpcError("PERMISSION_DENIED", `the action is not ${this.#caller.name}'s`);
    return { uid: found.uid, agentID };
  }
}

// Validates chunks of logs, which end up in files that people read.

interface TaggedChunk extends ReceivedChunk {
  readonly workflow: string;
  readonly action: string;
}

/** Slipway's agents send 64 KiB, and longer lines whole. */
const maxChunkBytes = 262_144;

/** Throws INVALID_ARGUMENT for an invalid chunk. `now` replaces an invalid time. */
function chunkIn(message: MessageShape<typeof agentV1.LogChunkSchema>, now: Instant): TaggedChunk {
  const { workflowId: workflow, actionId: action, data } = message;
  if (workflow === "") throw invalid("workflow_id is empty");
  if (action === "") throw invalid("action_id is empty");
  if (data.length > maxChunkBytes) throw invalid(`data is longer than ${maxChunkBytes} bytes`);
  if (message.seq > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid("seq is larger than 2^53 - 1");
  const { buffer, byteOffset, byteLength } = data;
  return {
    workflow,
    action,
    seq: Number(message.seq),
    stream: streamIn(message),
    at: instantIn(message.time) ?? now,
    data: Buffer.from(buffer, byteOffset, byteLength),
  };
}

/** Final: repeating it gets the same answer. */
const invalid = (message: string): RpcError => new RpcError("INVALID_ARGUMENT", message);

/** Questions and ends belong to no stream. */
function streamIn({ stream, data }: MessageShape<typeof agentV1.LogChunkSchema>): LogStream {
  if (stream === agentV1.LogChunk_Stream.STDERR) return "stderr";
  const isNeither = stream === agentV1.LogChunk_Stream.UNSPECIFIED && data.length === 0;
  if (stream === agentV1.LogChunk_Stream.STDOUT || isNeither) return "stdout";
  throw invalid(`expected STREAM_STDOUT or STREAM_STDERR for stream, found ${stream}`);
}

/** 9999-12-31T23:59:59Z: records have four digits for the year. */
const lastSecond = 253_402_300_799n;

/** The clock of a machine that just booted may be wrong; undefined if a record cannot hold it. */
function instantIn(time: { readonly seconds: bigint; readonly nanos: number } | undefined): Instant | undefined {
  if (time === undefined || time.seconds < 0n || time.seconds > lastSecond) return undefined;
  return Number(time.seconds) * 1000 + Math.min(999, Math.max(0, Math.floor(time.nanos / 1e6)));
}
