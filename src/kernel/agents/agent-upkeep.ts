import { type Cancel, type Clock, type Logger, messageOf, type Millis, parseInstant } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound, type Stored } from "#kernel/model/index.ts";
import { Agent } from "./agent-kind.ts";

export interface AgentUpkeepOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly server: string;
  readonly isPresent: (agentID: string) => boolean;
  readonly show: (agentID: string) => void;
}

/** Agents not seen for this long are deleted. */
const forgottenAfter: Millis = 7 * 24 * 3_600_000;
const lookEvery: Millis = 3_600_000;
/** Agents reconnect within 18 s. */
const comesBackWithin: Millis = 20_000;
/** On a busy machine they may still be connecting then; marking them as gone would cost two more writes each. */
const stillComing: Millis = 5_000;
const comesAtLatest: Millis = 120_000;

/** Hourly, corrects objects of agents of a killed server and deletes those not seen for a week. */
export class AgentUpkeep {
  readonly #options: AgentUpkeepOptions;
  #cancel: Cancel | undefined;
  #isClosed = false;
  #cameAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: AgentUpkeepOptions) {
    this.#options = options;
  }

  came(): void {
    this.#cameAt = this.#options.clock.monotonic();
  }

  start(): void {
    const { clock } = this.#options;
    this.#begin(comesBackWithin, clock.monotonic() + comesAtLatest);
  }

  /** Postponed while agents connect. */
  #begin(pause: Millis, latest: Millis): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(pause, () => {
      const left = Math.min(this.#cameAt + stillComing, latest) - clock.monotonic();
      if (left > 0) this.#begin(left, latest);
      else void this.#run();
    });
  }

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
      // It reconnected, so its object is right.
      if (isPresent(agentID)) show(agentID);
    } catch (thrown) {
      // Another server was faster, or the agent just reconnected.
      if (!isNotFound(thrown)) this.#options.log.debug("an agent was left as it is", { error: messageOf(thrown) });
    }
  }
}
