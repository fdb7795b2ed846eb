import type { Cancel } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { type Principal, principalText } from "../world.ts";

/** An agent has one stream; programs of a machine wait for a few objects. Many people may share an account. */
const mostOf = { runner: 32, user: 512 } as const;

/** What callers keep open, bounded for each: the listener's room is shared, and one machine must not take it all. */
export class KeptOpen {
  readonly #counts = new Map<string, number>();

  /** Call the returned function at the end. Throws 429 beyond the bound. */
  take(principal: Principal): Cancel {
    const name = principalText(principal);
    const count = this.#counts.get(name) ?? 0;
    const most = principal.kind === "runner" ? mostOf.runner : mostOf.user;
    if (count >= most)
      throw new Refused(refusal(429, "AUTH", "", "", `more than ${most} streams and waits of ${name} are open`));
    this.#counts.set(name, count + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = (this.#counts.get(name) ?? 1) - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    };
  }
}
