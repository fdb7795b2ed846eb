/** `replaced` by a newer call of the agent, `superseded` by a connection. */
type Why = "changed" | "over" | "replaced" | "superseded";

/** Calls that wait for a change for an agent, one each: the agent has given up an older call. */
export class Waiters {
  readonly #waiting = new Map<string, (why: Exclude<Why, "over">) => void>();

  /** Resolves with the agent's next change, when a newer call replaces it, or when `until` aborts. */
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

  /** The agent has connected. False if no call waits. */
  supersede(key: string): boolean {
    const waiting = this.#waiting.get(key);
    waiting?.("superseded");
    return waiting !== undefined;
  }

  wake(key: string): void {
    this.#waiting.get(key)?.("changed");
  }
}
