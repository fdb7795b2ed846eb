import { deferred, sleep, systemClock } from "#lib/base/index.ts";
import type { LogPiece, LogSink } from "../connection.ts";
import type { LogPush } from "../log-push.ts";

/** A server's logs in memory, which counts as a server does. `before` may reject: before, so that nothing has arrived, or after. */
export class MemorySink implements LogSink {
  readonly #logs = new Map<string, { source: string; seq: number; text: string; isEnded: boolean }>();
  /** Asked for each call: how many of its chunks arrive, and whether it is answered; and with what, where that is not how much there is. */
  trouble: (chunks: number) => { readonly arrive: number; readonly isAnswered: boolean; readonly says?: number } = (
    arrive,
  ) => ({
    arrive,
    isAnswered: true,
  });
  isRefusing = false;
  readonly mostCalls: number;
  /** Calls that were under way together. */
  mostAtOnce = 0;
  #underWay = 0;
  #full = deferred<void>();
  /** Chunks of each call. */
  readonly calls: number[] = [];

  constructor(mostCalls = 1) {
    this.mostCalls = mostCalls;
  }

  async push(push: LogPush, chunks: readonly LogPiece[]): Promise<number | "refused"> {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#underWay);
    try {
      return this.#take(push, chunks);
    } finally {
      // Answered when as many are under way as may be; or a little later, since there may be no more.
      const full = this.#full;
      if (this.#underWay < this.mostCalls) await Promise.race([full.promise, sleep(systemClock, 20)]);
      else {
        this.#full = deferred();
        full.resolve();
      }
      this.#underWay--;
    }
  }

  #take({ workflow, action, source, seq }: LogPush, chunks: readonly LogPiece[]): number | "refused" {
    if (this.isRefusing) return "refused";
    this.calls.push(chunks.length);
    const key = `${workflow} ${action}`;
    const log = this.#logs.get(key) ?? { source: "", seq: 0, text: "", isEnded: false };
    this.#logs.set(key, log);
    const { arrive, isAnswered, says } = this.trouble(chunks.length);
    for (const [at, { data }] of chunks.slice(0, arrive).entries()) {
      const known = log.source === source ? log.seq : 0;
      if (seq + at + 1 !== known + 1) continue;
      Object.assign(log, { source, seq: seq + at + 1, text: log.text + data.toString(), isEnded: data.length === 0 });
    }
    if (!isAnswered) throw new Error("the connection is broken");
    return says ?? (log.source === source ? log.seq : 0);
  }

  /** What has arrived; with ` (end)` when that is all. */
  textOf(workflow: string, action: string): string {
    const { text, isEnded } = this.#logs.get(`${workflow} ${action}`) ?? { text: "", isEnded: false };
    return `${text}${isEnded ? "(end)" : ""}`;
  }

  /** As a server that has lost its disk. */
  forget(): void {
    this.#logs.clear();
  }
}
