import { agentKey } from "../state.ts";

/** Why a call stops waiting: `replaced` by a newer call of its kind, `superseded` by a stream. */
type Why = "changed" | "over" | "replaced" | "superseded";

/**
 * Calls that wait for something to change for an agent. One at a time each: an agent asks once and waits, so that an older call is one whose agent
 * has given it up.
 */
export class Waiters {
  readonly #waiting = new Map<string, (why: Exclude<Why, "over">) => void>();

  /** Resolves with the next change of the agent, or when another call of it begins to wait. `until` says when nobody waits any more. */
  next(key: string, until: AbortSignal): Promise<Why> {
    this.#waiting.get(key)?.("replaced");
    return new Promise((resolve) => {
      const end = (why: Why): void => {
        if (this.#waiting.get(key) === end) this.#waiting.delete(key);
        until.removeEventListener("abort", over);
        resolve(why);
      };
      const over = (): void => end("over");
      this.#waiting.set(key, end);
      if (until.aborted) over();
      else until.addEventListener("abort", over, { once: true });
    });
  }

  /** The agent has opened a stream. False when no call of it waits. */
  supersede(agent: string): boolean {
    const waiting = this.#waiting.get(agentKey(agent));
    waiting?.("superseded");
    return waiting !== undefined;
  }

  wake(agent: string): void {
    this.#waiting.get(agentKey(agent))?.("changed");
  }
}
