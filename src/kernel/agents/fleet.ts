import type { Millis, Clock } from "#lib/base/index.ts";
import { AgentRecords, type AgentRecordsOptions, type Newcomer } from "./agent-records.ts";
import { AgentUpkeep } from "./agent-upkeep.ts";
import { WakeTimers } from "./wake-timers.ts";

export interface FleetOptions extends AgentRecordsOptions {
  /** After which an agent without a connection is gone. */
  readonly silence: Millis;
  readonly isConnected: (agentID: string) => boolean;
  /** It says nothing because it works. */
  readonly isBusy: (key: string) => boolean;
}

/** Which agents are there: told to people by one object each, which is kept right across restarts and crashes. */
export class Fleet {
  readonly #records: AgentRecords;
  readonly #upkeep: AgentUpkeep;
  readonly #presence: Presence;
  readonly #isConnected: FleetOptions["isConnected"];

  constructor(options: FleetOptions) {
    const { silence, isConnected, isBusy, ...rest } = options;
    const { client, clock, log, server, keyOf } = rest;
    this.#isConnected = isConnected;
    this.#records = new AgentRecords(rest);
    this.#presence = new Presence({ clock, silence, keyOf, isBusy, left: (agentID) => this.#records.left(agentID) });
    this.#upkeep = new AgentUpkeep({
      client,
      clock,
      log,
      server,
      isPresent: (agentID) => this.isPresent(agentID),
      show: (agentID) => this.#records.show(agentID),
    });
  }

  isPresent(agentID: string): boolean {
    return this.#isConnected(agentID) || this.#presence.has(agentID);
  }

  /** Agents that are present without a connection. */
  get unconnected(): number {
    return this.#presence.size;
  }

  /** It has connected; `isDuplicate`: another one may use its id. */
  connected(agent: Newcomer, protocol: string, isDuplicate = false): void {
    this.#presence.forget(agent.agentID);
    this.#came(agent, protocol, isDuplicate);
  }

  /** It has no connection any more. */
  disconnected(agentID: string): void {
    this.#records.left(agentID);
  }

  /** A request of an agent without a connection: it is present until it has been silent for a while. */
  heard(agent: Newcomer, protocol: string, isDuplicate = false): void {
    if (this.#presence.heard(agent.agentID)) this.#came(agent, protocol, isDuplicate);
    else this.#records.seen(agent.agentID);
  }

  /** Any other sign of life. */
  seen(agentID: string): void {
    this.#records.seen(agentID);
  }

  /** Looks after the objects that a former server has left, once agents had time to return. */
  begin(): void {
    this.#upkeep.start();
  }

  async close(): Promise<void> {
    this.#presence.close();
    this.#upkeep.close();
    await this.#records.close();
  }

  #came(agent: Newcomer, protocol: string, isDuplicate: boolean): void {
    this.#records.came(agent, protocol, isDuplicate);
    this.#upkeep.came();
  }
}

/** More agents are served but not shown: ids may be invented. */
const maxPresent = 20_000;

interface PresenceOptions {
  readonly clock: Clock;
  /** How long an agent may say nothing. */
  readonly silence: Millis;
  /** Equal for all spellings of an id. */
  readonly keyOf: (agentID: string) => string;
  /** Present all the same: it works, or is connected. */
  readonly isBusy: (key: string) => boolean;
  readonly left: (agentID: string) => void;
}

/** Agents that say something from time to time, present until they are silent for a while. */
class Presence {
  readonly #present = new Map<string, string>();
  readonly #timers: WakeTimers;
  readonly #silence: Millis;

  readonly #keyOf: PresenceOptions["keyOf"];

  constructor({ clock, silence, keyOf, isBusy, left }: PresenceOptions) {
    this.#silence = silence;
    this.#keyOf = keyOf;
    this.#timers = new WakeTimers(clock, (key) => {
      const agentID = this.#present.get(key);
      if (agentID === undefined) return;
      if (isBusy(key)) return this.#timers.setAfter(key, silence);
      this.#present.delete(key);
      left(agentID);
    });
  }

  get size(): number {
    return this.#present.size;
  }

  /** True if it was not present. */
  heard(agentID: string): boolean {
    const key = this.#keyOf(agentID);
    const isNew = !this.#present.has(key);
    if (isNew && this.#present.size >= maxPresent) return false;
    this.#present.set(key, agentID);
    this.#timers.setAfter(key, this.#silence);
    return isNew;
  }

  forget(agentID: string): void {
    const key = this.#keyOf(agentID);
    this.#present.delete(key);
    this.#timers.delete(key);
  }

  has(agentID: string): boolean {
    return this.#present.has(this.#keyOf(agentID));
  }

  close(): void {
    this.#timers.close();
  }
}
