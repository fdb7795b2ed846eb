import { type Millis, sleep } from "#lib/base/index.ts";
import type { LogLine, LogPage } from "../wire.ts";
import { type Following, updatesMs } from "./following.ts";
import { type LogRead, logsOfStep } from "./logs.ts";
import { runNameIn } from "./run-follower.ts";

/** A step may begin another attempt, and a container its output, without a change of the run. */
const lookAgainMs: Millis = 1000;
const mostLinesAtOnce = 1000;

/** Pages of lines as they come, from the number `from` on, until the step is over. */
export async function followLog({ context, caller, subscription, emit, signal, logs }: Following): Promise<void> {
  const query = new URLSearchParams(subscription.params);
  const read: LogRead = { context, caller, logs, run: runNameIn(subscription.params), query, signal };
  const pages = new Pages(context, emit);
  let next = Math.max(0, Number(subscription.resourceVersion ?? query.get("from") ?? 0) || 0);
  try {
    while (!signal.aborted) {
      const { parts, isOver } = await logsOfStep(read);
      let before = 0;
      for (const [index, part] of parts.entries()) {
        const isLast = index === parts.length - 1;
        const first = Math.max(0, next - before);
        for await (const { number, line } of part.lines(caller.client, first, signal, isLast && !isOver)) {
          next = before + number + 1;
          pages.add(before + number, line);
        }
        before += await part.count(caller.client, signal);
      }
      // The log was followed to its end, so that this state of the step knows all of it.
      if (isOver) return pages.end(next);
      await sleep(context.clock, lookAgainMs, signal);
    }
  } finally {
    pages.close();
  }
}

/** Collects lines for a tenth of a second. */
class Pages {
  readonly #context: Following["context"];
  readonly #emit: Following["emit"];
  #from = 0;
  #lines: LogLine[] = [];
  #cancel: (() => void) | undefined;

  constructor(context: Following["context"], emit: Following["emit"]) {
    this.#context = context;
    this.#emit = emit;
  }

  add(number: number, line: LogLine): void {
    if (this.#lines.length > 0 && number !== this.#from + this.#lines.length) this.#flush(false);
    if (this.#lines.length === 0) this.#from = number;
    this.#lines.push(line);
    if (this.#lines.length >= mostLinesAtOnce) return this.#flush(false);
    this.#cancel ??= this.#context.clock.after(updatesMs, () => this.#flush(false));
  }

  end(next: number): void {
    if (this.#lines.length === 0) this.#from = next;
    this.#flush(true);
  }

  close(): void {
    this.#cancel?.();
  }

  #flush(isOver: boolean): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const total = this.#from + this.#lines.length;
    const page: LogPage = { from: this.#from, lines: this.#lines, total, isOver };
    this.#lines = [];
    this.#emit({ type: "MODIFIED", object: page, rv: `${total}` });
  }
}
