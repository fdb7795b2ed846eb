import {
  type Clock,
  formatInstant,
  getOrAdd,
  type Instant,
  jsonEquals,
  type JsonObject,
  type Logger,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import { type ApiClient, type EventRecorder, getOrUndefined, regardingOf, TokenBucket } from "#kernel/kit/index.ts";
import { isAlreadyExists } from "#kernel/model/index.ts";
import { Agent } from "./agent-kind.ts";
import { agentName } from "./agent-name.ts";
import { WakeTimers } from "./wake-timers.ts";

export interface AgentRecordsOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly server: string;
  /** Equal for all spellings of an id. */
  readonly keyOf: (agentID: string) => string;
  /** Namespace and name of what an agent runs. */
  readonly workflowOf: (key: string) => string | undefined;
  /** Whether something besides the agent itself names the id. */
  readonly isNamed: (agentID: string) => boolean;
  /** Limit of new agents; by default 20,000 at once and as many per week. */
  readonly newcomers?: { readonly perSecond: number; readonly burst: number };
}

export interface Newcomer {
  readonly agentID: string;
  /** One process of the agent. */
  readonly instance?: string;
  readonly version?: string;
  readonly runtime?: string;
  readonly attributes?: JsonObject;
  /** Its credential is for this id only. */
  readonly isIndividual?: boolean;
}

// Agent objects show people which machines exist, what they do, and when they were last seen. Ten thousand polling
// agents must not cause as many writes, and invented ids must not fill the store.

/** New objects at once and per week, after which unused ones are deleted. */
const usualNewcomers = { perSecond: 20_000 / (7 * 86_400), burst: 20_000 };
/** For ids that nothing names and no credential is for, which anyone may invent. */
const strangers = { perSecond: 100 / (7 * 86_400), burst: 100 };
/** Minimum time between other writes for one agent. */
const between: Millis = 60_000;
/** Between writes of the last-seen time alone: 17 writes per second for ten thousand agents. */
const betweenSigns: Millis = 600_000;

interface Entry {
  readonly agentID: string;
  isIndividual: boolean;
  /** Everything known but the last-seen time; written whole, so that a lost write is made good. */
  status: JsonObject;
  heardAt: Instant;
  /** Events to record once the object exists. */
  notes: (readonly ["Normal" | "Warning", string, string])[];
  /** Start of the last write, whatever its result; undefined before the first. */
  writtenAt: Instant | undefined;
  isDirty: boolean;
  /** Something besides the last-seen time is not written. */
  isNews: boolean;
  isWriting: boolean;
}

/**
 * One object per agent, written when it connects or disconnects and otherwise at most once a minute. An agent that
 * reconnects to a restarted server is not written if its object is right, because all of them do at once. Best effort:
 * nothing depends on these objects, and a failed write is logged and made good by the next.
 */
export class AgentRecords {
  readonly #options: AgentRecordsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #writes = new Set<Promise<void>>();
  readonly #later: WakeTimers;
  readonly #newcomers: TokenBucket;
  readonly #strangers = new TokenBucket(strangers);
  /** The log says once that no more strangers are stored. */
  #isFull = false;

  constructor(options: AgentRecordsOptions) {
    this.#options = options;
    this.#newcomers = new TokenBucket(options.newcomers ?? usualNewcomers);
    this.#later = new WakeTimers(options.clock, (key) => this.#write(key));
  }

  came(
    { agentID, instance, version, runtime, attributes, isIndividual = false }: Newcomer,
    protocol: string,
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
    // Null removes the values of an earlier process.
    const its = { instance: instance ?? null, version: version ?? null, runtime: runtime ?? null };
    this.#note(entry, { connected: true, protocol, ...its, ...(attributes === undefined ? {} : { attributes }) });
    this.#write(this.#options.keyOf(agentID));
  }

  /** It disconnected and no other connection has its id. */
  left(agentID: string): void {
    const entry = this.#entry(agentID);
    entry.notes.push(["Normal", "AgentDisconnected", `agent ${agentID} has disconnected`]);
    this.#note(entry, { connected: false });
    this.#write(this.#options.keyOf(agentID));
  }

  seen(agentID: string): void {
    const entry = this.#entries.get(this.#options.keyOf(agentID));
    // Only connected agents are recorded.
    if (entry === undefined) return;
    entry.heardAt = this.#options.clock.now();
    entry.isDirty = true;
    // Its workflow is looked up with each event until it changes, and again when it is written.
    if (!entry.isNews) this.#note(entry, {});
    const { writtenAt, isNews } = entry;
    const pause = isNews ? between : betweenSigns;
    // The upper limit matters if the clock was set back.
    const left = writtenAt === undefined ? 0 : Math.min(pause, writtenAt + pause - this.#options.clock.now());
    if (left <= 0) this.#write(this.#options.keyOf(agentID));
    else this.#later.setAfter(this.#options.keyOf(agentID), left);
  }

  /** Writes its record even if nothing is new, because the object may differ. */
  show(agentID: string): void {
    const key = this.#options.keyOf(agentID);
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.isDirty = true;
    this.#write(key);
  }

  async close(): Promise<void> {
    this.#later.close();
    await Promise.all(this.#writes);
  }

  #entry(agentID: string): Entry {
    const key = this.#options.keyOf(agentID);
    return getOrAdd(this.#entries, key, () => ({
      agentID,
      isIndividual: false,
      status: {},
      heardAt: this.#options.clock.now(),
      notes: [],
      writtenAt: undefined,
      isDirty: false,
      isNews: false,
      isWriting: false,
    }));
  }

  #note(entry: Entry, status: JsonObject): void {
    const { clock, server } = this.#options;
    const currentWorkflow = this.#options.workflowOf(this.#options.keyOf(entry.agentID)) ?? null;
    const next = { ...status, server, currentWorkflow };
    entry.heardAt = clock.now();
    entry.isDirty = true;
    if (says(entry.status, next)) return;
    entry.isNews = true;
    entry.status = { ...entry.status, ...next };
  }

  /** One write per agent at a time; later changes are written after it. */
  #write(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.isWriting || !entry.isDirty) return;
    entry.isWriting = true;
    const written = this.#flush(entry).finally(() => {
      entry.isWriting = false;
      this.#writes.delete(written);
      if (entry.isDirty) return this.#write(key);
      // Disconnected agents are forgotten, because ids may be invented.
      if (entry.status["connected"] === false) this.#entries.delete(key);
    });
    this.#writes.add(written);
  }

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
      // Its leaving was never written, so it was there all the time.
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

  /** The agent's object, created if missing; another name if taken. Undefined for strangers beyond the limit. */
  async #ensure({
    agentID,
    isIndividual,
  }: Entry): Promise<{ readonly name: string; readonly known?: Agent["status"] } | undefined> {
    const { client, clock, isNamed } = this.#options;
    const key = this.#options.keyOf(agentID.trim());
    for (const name of [agentName(key), agentName(key, true)]) {
      const found = await getOrUndefined<Agent>(client, { type: Agent, name });
      if (found === undefined) {
        if (!isIndividual && !isNamed(agentID) && !this.#admitStranger(agentID)) return undefined;
        if (!this.#newcomers.tryTake(clock.monotonic()))
          throw new Error("too many agents of new ids have come this week");
        return { name: await this.#create(agentID, name) };
      }
      if (this.#options.keyOf(found.spec?.agentID ?? "") === this.#options.keyOf(agentID))
        return { name, known: found.status };
    }
    throw new Error(`there is another agent named ${agentName(key, true)}`);
  }

  #admitStranger(agentID: string): boolean {
    const isAdmitted = this.#strangers.tryTake(this.#options.clock.monotonic());
    if (!isAdmitted && !this.#isFull)
      this.#options.log.warn("too many agents whose ids nothing names: further ones are served but not stored", {
        limit: strangers.burst,
        agent: agentID,
      });
    this.#isFull = !isAdmitted;
    return isAdmitted;
  }

  async #create(agentID: string, name: string): Promise<string> {
    const agent: Agent = { apiVersion: "slipway.dev/v1alpha1", kind: "Agent", metadata: { name }, spec: { agentID } };
    try {
      await this.#options.client.create(Agent, agent);
    } catch (thrown) {
      // Another server created it.
      if (!isAlreadyExists(thrown)) throw thrown;
    }
    return name;
  }
}

/** Whether a status has these members; null means absent. */
const says = (status: JsonObject, members: JsonObject): boolean =>
  Object.entries(members).every(([name, value]) => name === "lastSeen" || jsonEquals(status[name] ?? null, value));
