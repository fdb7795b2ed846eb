import {
  type Clock,
  formatInstant,
  type Instant,
  jsonEquals,
  type JsonObject,
  type Logger,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import { type ApiClient, type EventRecorder, getOrUndefined, regardingOf, TokenBucket } from "#kernel/kit/index.ts";
import { isAlreadyExists } from "#kernel/model/index.ts";
import { Agent } from "../kinds.ts";
import { present } from "../members.ts";
import { agentKey, type Protocol } from "../state.ts";
import { agentName } from "./agent-name.ts";
import type { Hello } from "./connections.ts";
import { WakeTimers } from "./wake-timers.ts";

/** What records are written with. */
export interface AgentRecordsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  /** The server the agents are connected to. */
  readonly server: string;
  /** Namespace and name of what an agent is at, by its key. */
  readonly workflowOf: (key: string) => string | undefined;
  /** Whether a Hardware or a Workflow names the agent. */
  readonly isNamed: (agentID: string) => boolean;
  /** How many agents may come that were never seen before; 20,000 at once and as many a week unless told. */
  readonly newcomers?: { readonly perSecond: number; readonly burst: number };
}

/** What an agent says of itself when it comes. */
interface Newcomer extends Pick<Hello, "agentID" | "instance" | "version" | "runtime" | "attributes"> {
  /** Its credential is for this id alone. */
  readonly isIndividual?: boolean;
}

// An Agent is for people: which machines are there, what they do, when they were last heard of. Ten thousand agents that ask every few seconds must
// not become as many writes, and agents that are made up must not fill the store's memory here.

/**
 * Objects of agents that were never seen before: as many at once as may be connected, and as many more in the week for which they are kept. Who makes up ids
 * fills this and not the store; agents beyond it are served, and not shown.
 */
const usualNewcomers = { perSecond: 20_000 / (7 * 86_400), burst: 20_000 };
/** The same for ids that nothing names and no credential is for: whoever may speak for any agent can make them up. */
const strangers = { perSecond: 100 / (7 * 86_400), burst: 100 };
/** Whatever else is heard of an agent is written at most so often. */
const between: Millis = 60_000;
/** That it was heard of and nothing else: of ten thousand agents that ask twice a minute these are 17 writes a second. */
const betweenSigns: Millis = 600_000;

/** What is known of an agent and not all written. */
interface Entry {
  readonly agentID: string;
  /** See `Newcomer`. */
  isIndividual: boolean;
  /** All that is known but the time at which it was heard of; whole in each write, so that one that was lost is made good. */
  status: JsonObject;
  heardAt: Instant;
  /** Events that are told when its object is there. */
  notes: (readonly ["Normal" | "Warning", string, string])[];
  /** When the last write began, whatever became of it; undefined before the first. */
  writtenAt: Instant | undefined;
  isDirty: boolean;
  /** Something besides the time at which it was heard of is not written. */
  isNews: boolean;
  isWriting: boolean;
}

/**
 * Agents as people see them: an object each, written when an agent comes or goes, and at most once a minute for what is heard of it meanwhile. Of an
 * agent that comes back to a server that was killed nothing is written, and nobody told, if its object says what is the case: ten thousand of them come
 * back at once. Best effort: nothing is decided by these objects, so that a write that fails is told of in the log and made good by the next.
 */
export class AgentRecords {
  readonly #options: AgentRecordsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #writes = new Set<Promise<void>>();
  readonly #later: WakeTimers;
  readonly #newcomers: TokenBucket;
  readonly #strangers = new TokenBucket(strangers);
  /** The log says once that strangers are not stored any more, until one is. */
  #isFull = false;

  constructor(options: AgentRecordsOptions) {
    this.#options = options;
    this.#newcomers = new TokenBucket(options.newcomers ?? usualNewcomers);
    this.#later = new WakeTimers(options.clock, (key) => this.#write(key));
  }

  /** An agent has come. */
  came(
    { agentID, instance, version, runtime, attributes, isIndividual = false }: Newcomer,
    protocol: Protocol,
    isDuplicate = false,
  ): void {
    const entry = this.#entry(agentID);
    entry.isIndividual = isIndividual;
    entry.notes.push(["Normal", "AgentConnected", `agent ${agentID} has connected`]);
    if (isDuplicate)
      entry.notes.push([
        "Warning",
        "DuplicateAgent",
        `two agents may use the id ${agentID}: it connected while it was connected`,
      ]);
    // Null takes away what the process before has told.
    const its = { instance: instance ?? null, version: version ?? null, runtime: runtime ?? null };
    this.#note(entry, { connected: true, protocol, ...its, ...present({ attributes }) });
    this.#write(agentKey(agentID));
  }

  /** It has gone, and nothing of the same id has taken its place. */
  left(agentID: string): void {
    const entry = this.#entry(agentID);
    entry.notes.push(["Normal", "AgentDisconnected", `agent ${agentID} has disconnected`]);
    this.#note(entry, { connected: false });
    this.#write(agentKey(agentID));
  }

  /** Something was heard of it. */
  seen(agentID: string): void {
    const entry = this.#entries.get(agentKey(agentID));
    // Who has not come cannot be seen: what is told late needs no object.
    if (entry === undefined) return;
    entry.heardAt = this.#options.clock.now();
    entry.isDirty = true;
    // What it is at is looked up with each of its events until that is news, and once more when it is written.
    if (!entry.isNews) this.#note(entry, {});
    const { writtenAt, isNews } = entry;
    const pause = isNews ? between : betweenSigns;
    // Not more than that when the clock has been set back since.
    const left = writtenAt === undefined ? 0 : Math.min(pause, writtenAt + pause - this.#options.clock.now());
    if (left <= 0) this.#write(agentKey(agentID));
    else this.#later.setAfter(agentKey(agentID), left);
  }

  /** Writes what is known of it, though nothing of that is new: its object may say something else. */
  show(agentID: string): void {
    const key = agentKey(agentID);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.isDirty = true;
    this.#write(key);
  }

  /** Resolves when what was begun is written, or has failed. */
  async close(): Promise<void> {
    this.#later.close();
    await Promise.all(this.#writes);
  }

  #entry(agentID: string): Entry {
    const key = agentKey(agentID);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = {
      agentID,
      isIndividual: false,
      status: {},
      heardAt: this.#options.clock.now(),
      notes: [],
      writtenAt: undefined,
      isDirty: false,
      isNews: false,
      isWriting: false,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #note(entry: Entry, status: JsonObject): void {
    const { clock, server } = this.#options;
    const currentWorkflow = this.#options.workflowOf(agentKey(entry.agentID)) ?? null;
    const next = { ...status, server, currentWorkflow };
    entry.heardAt = clock.now();
    entry.isDirty = true;
    if (says(entry.status, next)) return;
    entry.isNews = true;
    entry.status = { ...entry.status, ...next };
  }

  /** One write of an agent at a time; what changes meanwhile is written after it. */
  #write(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.isWriting || !entry.isDirty) return;
    entry.isWriting = true;
    const written = this.#flush(entry).finally(() => {
      entry.isWriting = false;
      this.#writes.delete(written);
      if (entry.isDirty) return this.#write(key);
      // An agent that has gone is not remembered here: ids may be made up.
      if (entry.status["connected"] === false) this.#entries.delete(key);
    });
    this.#writes.add(written);
  }

  /** Never rejects. */
  async #flush(entry: Entry): Promise<void> {
    const { clock, log, recorder } = this.#options;
    const { notes, agentID, writtenAt, heardAt } = entry;
    this.#note(entry, {});
    const status: JsonObject = { ...entry.status, lastSeen: formatInstant(heardAt) };
    entry.notes = [];
    entry.isDirty = false;
    entry.isNews = false;
    entry.writtenAt = clock.now();
    try {
      const found = await this.#ensure(entry);
      if (found === undefined) return;
      const { name, known } = found;
      // Its leaving was never written: to people it was there all the time.
      const isBack = writtenAt === undefined && notes.length === 1 && status["connected"] === true;
      if (isBack && known?.["connected"] === true && says(known, status)) return;
      const ref = { type: Agent, name };
      const agent = await this.#options.client.patch(
        ref,
        { type: "merge", body: { status } },
        { subresource: "status" },
      );
      for (const [type, reason, note] of notes)
        recorder.record({ type, reason, note, action: "Connect", regarding: regardingOf(agent) });
    } catch (thrown) {
      log.warn("an agent could not be shown", { agent: agentID, error: messageOf(thrown) });
    }
  }

  /**
   * The name of the agent's object, which exists, and what it says: another one if the usual name is that of an agent with a similar id. Undefined for a
   * stranger beyond the limit.
   */
  async #ensure({
    agentID,
    isIndividual,
  }: Entry): Promise<{ readonly name: string; readonly known?: Agent["status"] } | undefined> {
    const { client, clock, isNamed } = this.#options;
    for (const name of [agentName(agentID), agentName(agentID, true)]) {
      const found = await getOrUndefined<Agent>(client, { type: Agent, name });
      if (found === undefined) {
        if (!isIndividual && !isNamed(agentID) && !this.#admitStranger(agentID)) return undefined;
        if (!this.#newcomers.tryTake(clock.monotonic()))
          throw new Error("too many agents of new ids have come this week");
        return { name: await this.#create(agentID, name) };
      }
      if (agentKey(found.spec?.agentID ?? "") === agentKey(agentID)) return { name, known: found.status };
    }
    throw new Error(`there is another agent named ${agentName(agentID, true)}`);
  }

  #admitStranger(agentID: string): boolean {
    const isAdmitted = this.#strangers.tryTake(this.#options.clock.monotonic());
    if (!isAdmitted && !this.#isFull)
      this.#options.log.warn(
        "too many agents whose ids no Hardware or Workflow names: further ones are served but not stored",
        { limit: strangers.burst, agent: agentID },
      );
    this.#isFull = !isAdmitted;
    return isAdmitted;
  }

  /** Answers the name. */
  async #create(agentID: string, name: string): Promise<string> {
    const agent: Agent = { apiVersion: "slipway.dev/v1alpha1", kind: "Agent", metadata: { name }, spec: { agentID } };
    try {
      await this.#options.client.create(Agent, agent);
    } catch (thrown) {
      // Another server was faster.
      if (!isAlreadyExists(thrown)) throw thrown;
    }
    return name;
  }
}

/** Whether a status has these members, but for the time at which the agent was heard of; null is an absent one. */
const says = (status: JsonObject, members: JsonObject): boolean =>
  Object.entries(members).every(([name, value]) => name === "lastSeen" || jsonEquals(status[name] ?? null, value));
