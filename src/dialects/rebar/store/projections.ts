import { type Cancel, type Clock, jsonEquals, keyedSerializer, type Logger, messageOf } from "#lib/base/index.ts";
import { isConflict, isNotFound } from "#kernel/model/index.ts";
import { Refused } from "../failure.ts";
import type { Job } from "../objects.ts";
import { recordOf } from "./codec.ts";
import type { Mirror } from "./mirror.ts";
import type { Writer } from "./writer.ts";

/** Most jobs end sooner: their objects are written once. */
const delay = 1000;

/**
 * Writes the Job objects of machines' job records. A record is the truth until its machine drops it, and a machine
 * drops one only when the object is surely written.
 */
export class Projections {
  readonly #mirror: Mirror;
  readonly #writer: Writer;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #inTurn = keyedSerializer<string>();
  /** Machines, with the job that was the current one when the machine was noted. */
  readonly #due = new Map<string, string | undefined>();
  readonly #running = new Set<Promise<void>>();
  #cancel: Cancel | undefined;

  constructor(parts: {
    readonly mirror: Mirror;
    readonly writer: Writer;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#mirror = parts.mirror;
    this.#writer = parts.writer;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** The object is durable and equal when this resolves. */
  write(job: Job): Promise<void> {
    return this.#inTurn(job.Uuid, async () => {
      const spec = recordOf(job);
      for (let tries = 1; ; tries++) {
        const entry = this.#mirror.table("jobs").entry(job.Uuid);
        if (entry !== undefined && jsonEquals(entry.object.spec, spec)) return;
        try {
          if (entry === undefined) await this.#writer.create("jobs", job);
          else await this.#writer.replace("jobs", entry, job);
          return;
        } catch (thrown) {
          const isTaken = thrown instanceof Refused && thrown.body.Type === "CREATE";
          if (tries === 5 || !(isTaken || isConflict(thrown) || isNotFound(thrown))) throw thrown;
          await this.#writer.refresh("jobs", entry?.object.metadata.name ?? job.Uuid);
        }
      }
    });
  }

  /** After all writes that began before. The machine must have dropped its record. */
  remove(uuid: string): Promise<void> {
    return this.#inTurn(uuid, async () => {
      const entry = this.#mirror.table("jobs").entry(uuid);
      if (entry !== undefined) await this.#writer.remove("jobs", entry);
    });
  }

  /** Without waiting; a failure is made good before the machine's next job. */
  writeSoon(job: Job): void {
    const running = this.write(job)
      .catch((thrown: unknown) => this.#log.debug("a job's object was not written", { error: messageOf(thrown) }))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** The current job of a machine has changed: its object follows, for readers of the Kubernetes API. */
  changed(machine: string): void {
    if (!this.#due.has(machine)) this.#due.set(machine, this.#currentOf(machine)?.Uuid);
    this.#cancel ??= this.#clock.after(delay, () => this.#flush());
  }

  /** Writes what is due and waits for it. */
  async close(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const machine of this.#due.keys()) this.#writeCurrent(machine);
    this.#due.clear();
    await Promise.all(this.#running);
  }

  /** A job that is newer than its machine's note will most likely end before the next time. */
  #flush(): void {
    this.#cancel = undefined;
    const due = [...this.#due];
    this.#due.clear();
    for (const [machine, uuid] of due) {
      if (this.#currentOf(machine)?.Uuid === uuid) this.#writeCurrent(machine);
      else this.changed(machine);
    }
  }

  #writeCurrent(machine: string): void {
    const current = this.#currentOf(machine);
    if (current !== undefined) this.writeSoon(current);
  }

  #currentOf(machine: string): Job | undefined {
    return this.#mirror.table("machines").entry(machine)?.records.current;
  }
}
