import { type Cancel, type Clock, type Logger, messageOf, type Millis, parseInstant } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound, type Stored } from "#kernel/model/index.ts";
import { Agent } from "../kinds.ts";

export interface AgentUpkeepOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** The server whose agents are looked after first. */
  readonly server: string;
  /** Whether an agent is there now, whatever its object says. */
  readonly isPresent: (agentID: string) => boolean;
  /** Writes an agent's object as it is, whatever it says. */
  readonly show: (agentID: string) => void;
}

/** An agent that was not heard of for so long is forgotten. */
const forgottenAfter: Millis = 7 * 24 * 3_600_000;
const lookEvery: Millis = 3_600_000;
/** Agents that have lost their server try again within 18 s; whoever is not back then has gone. */
const comesBackWithin: Millis = 20_000;
/** On a machine that is too busy to take them all in at once they are still coming then: each one that is marked as gone first is two writes more. */
const stillComing: Millis = 5_000;
const comesAtLatest: Millis = 120_000;

/**
 * Makes good what nobody was there to write: a server that was killed leaves agents that seem to be connected to it. And forgets those that have not been
 * heard of for a week. Once an hour, because neither is urgent; and for the first time when agents have had time to come back, whose objects are right then:
 * after 20 s and 5 s in which none has come, at the latest after two minutes.
 */
export class AgentUpkeep {
  readonly #options: AgentUpkeepOptions;
  #cancel: Cancel | undefined;
  #isClosed = false;
  #cameAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: AgentUpkeepOptions) {
    this.#options = options;
  }

  /** An agent has come. */
  came(): void {
    this.#cameAt = this.#options.clock.monotonic();
  }

  /** Looks through all agents in a moment, and from then on. */
  start(): void {
    const { clock } = this.#options;
    this.#begin(comesBackWithin, clock.monotonic() + comesAtLatest);
  }

  /** Looks after a while, or later for as long as agents come. */
  #begin(pause: Millis, latest: Millis): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(pause, () => {
      const left = Math.min(this.#cameAt + stillComing, latest) - clock.monotonic();
      if (left > 0) this.#begin(left, latest);
      else void this.#run();
    });
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { client, clock, log } = this.#options;
    try {
      for (const agent of (await client.list<Agent>(Agent)).items) await this.#look(agent);
    } catch (thrown) {
      log.warn("agents could not be looked through", { error: messageOf(thrown) });
    }
    if (!this.#isClosed) this.#cancel = clock.after(lookEvery, () => void this.#run());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  async #look(agent: Stored<Agent>): Promise<void> {
    const { client, clock, server, isPresent, show } = this.#options;
    const { metadata, spec, status = {} } = agent;
    const agentID = spec?.agentID ?? "";
    if (isPresent(agentID)) return;
    const ref = { type: Agent, name: metadata.name };
    const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
    const seenAt = parseInstant(status.lastSeen ?? metadata.creationTimestamp) ?? 0;
    try {
      if (clock.now() - seenAt > forgottenAfter) return void (await client.delete(ref, { preconditions }));
      if (status.connected !== true || status.server !== server) return;
      const body = { metadata: { resourceVersion: metadata.resourceVersion }, status: { connected: false } };
      await client.patch(ref, { type: "merge", body }, { subresource: "status" });
      // It has come back meanwhile, and its object was right then.
      if (isPresent(agentID)) show(agentID);
    } catch (thrown) {
      // Somebody else was faster, or the agent has come back in this moment.
      if (!isNotFound(thrown)) this.#options.log.debug("an agent was left as it is", { error: messageOf(thrown) });
    }
  }
}
