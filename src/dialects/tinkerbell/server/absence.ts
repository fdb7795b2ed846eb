import { type Clock, type Instant, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { WakeTimers } from "#kernel/agents/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import { lose, regain } from "../reconnect.ts";
import type { Settings } from "../settings.ts";
import { agentKey, type WorkflowState } from "../state.ts";
import { changeWorkflow, refOf } from "../stored.ts";
import type { Lanes } from "./lanes.ts";
import type { Mirrored, WorkflowMirror } from "./workflow-mirror.ts";

export interface AbsenceParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: Settings;
  readonly mirror: WorkflowMirror;
  readonly lanes: Lanes;
  readonly isPresent: (key: string) => boolean;
}

const retryAfter: Millis = 1000;

/** Stores by when a disconnected agent must return; a new connection clears it. Does nothing without a limit. */
export class Absence {
  readonly #parts: AbsenceParts;
  readonly #timers: WakeTimers;

  constructor(parts: AbsenceParts) {
    this.#parts = parts;
    this.#timers = new WakeTimers(parts.clock, (key) => this.#look(key, true));
  }

  /** For all agents that hold something, before any has connected. */
  begin(): void {
    for (const key of this.#parts.mirror.holders()) this.#look(key, true);
  }

  left(agent: string): void {
    this.#look(agentKey(agent), true);
  }

  changed(agent: string): void {
    this.#look(agentKey(agent), false);
  }

  close(): void {
    this.#timers.close();
  }

  /** `isLost`: it may be gone; otherwise only its return is recorded. */
  #look(key: string, isLost: boolean): void {
    const { settings, mirror, lanes, isPresent, log } = this.#parts;
    if (settings.agentLostTimeout <= 0) return;
    if (!isLost && !mirror.heldBy(key).some(({ state }) => state.deadlines.agent !== undefined)) return;
    const next = (state: WorkflowState, now: Instant) => {
      if (isPresent(key)) return regain(state);
      return isLost ? lose(state, now, settings) : undefined;
    };
    lanes
      // In the agent's lane, after a dispatch in progress.
      .run(key, async () => {
        for (const each of mirror.heldBy(key)) await this.#change(key, each, next);
      })
      .catch((thrown: unknown) => {
        log.warn("it could not be noted that an agent is away, or is back", { agent: key, error: messageOf(thrown) });
        this.#timers.setAfter(key, retryAfter);
      });
  }

  async #change(
    key: string,
    { workflow: { metadata } }: Mirrored,
    next: (state: WorkflowState, now: Instant) => WorkflowState | undefined,
  ): Promise<void> {
    const { namespace = "", name, uid } = metadata;
    await changeWorkflow(this.#parts, refOf(namespace, name), (state, current, now) => {
      const { held, agentID = "" } = state.dispatch;
      const isMeant = current.metadata.uid === uid && held && agentKey(agentID) === key;
      return { state: isMeant ? next(state, now) : undefined, answer: undefined };
    }).catch((thrown: unknown) => {
      // A deleted workflow waits for no agent.
      if (!isNotFound(thrown)) throw thrown;
    });
  }
}
