import { type Clock, codeOf, type Logger, messageOf, type Millis, type Random, sleep } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { isWorkerOver } from "../provisioner/worker-status.ts";
import { forceAnnotation } from "../provisioner/store-worker.ts";
import { BuildApis } from "./build-apis.ts";
import { isOfShard, type Shard } from "./shard.ts";
import type { OwnWays } from "./settle-worker.ts";
import type { ClientServices } from "../services.ts";
import type { AggregatorOptions } from "./add-aggregator.ts";

/** What duties are done with. */
export interface DutyParts extends Omit<AggregatorOptions, "services" | "shard">, ClientServices {
  readonly shard: Shard;
  /** How wharf-api is spoken to; found out anew with each worker where it is absent. */
  readonly apis?: BuildApis;
  /** What there is to tell of a worker that has ended before it served anything, beside what is stored; always the same. */
  readonly lostLines?: (worker: Stored<Worker>, signal: AbortSignal) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const usualMaxWorkers = 1000;
/** Between two tries of a whole worker: the first wait, and the longest. */
const [firstWait, longestWait]: readonly [Millis, Millis] = [1000, 60_000];

/** Whoever has it deleted wants nothing of it any more. */
const isForced = ({ metadata: { annotations = {} } }: Stored<Worker>): boolean =>
  annotations[forceAnnotation] === "true";

/** A worker whose results are being carried, or wait for it. */
interface Duty {
  /** Where its results are; another place is another duty. */
  readonly address: string;
  readonly end: AbortController;
  /** Absent while it waits. */
  work?: Promise<void> | undefined;
  /** The API knows no such build: it waits until the worker is looked at again, and keeps nobody from working. */
  isParked: boolean;
  /** It was so once, and that was told. */
  wasParked: boolean;
  readonly worker: Stored<Worker>;
  readonly own: OwnWays | undefined;
}

/** The workers of one aggregator, at most so many at a time. */
export class Duties {
  readonly #parts: DutyParts;
  /** By uid, in the order in which they came. */
  readonly #duties = new Map<string, Duty>();
  readonly #numberless = new Set<string>();
  /** Ended duties whose worker is not gone yet. */
  readonly #done = new Set<string>();

  constructor(parts: DutyParts) {
    this.#parts = { apis: new BuildApis(parts.api), ...parts };
  }

  /** Looks at a worker that is there, or has changed; `own` for one that is nobody's resource. */
  look(worker: Stored<Worker>, own?: OwnWays): void {
    const { uid } = worker.metadata;
    if (!isOfShard(uid, this.#parts.shard) || this.#done.has(uid)) return;
    if ((worker.spec.buildRef ?? 0) === 0) return this.#tellNumberless(worker);
    const address = worker.status?.address ?? "";
    // One that has no address yet gets one, or ends without.
    if (address === "" && !isWorkerOver(worker)) return;
    const known = this.#duties.get(uid);
    if (known?.address === address) return this.#unpark(known);
    // On its way out, because its results have been carried: that nobody answers any more is no news of its build.
    if (known !== undefined && address === "" && isForced(worker)) return;
    known?.end.abort(new Error("the worker is somewhere else"));
    this.#duties.set(uid, { address, end: new AbortController(), isParked: false, wasParked: false, worker, own });
    this.#begin();
  }

  /** A worker is gone, and with it whatever was not carried. */
  forget({ metadata: { uid } }: Stored): void {
    this.#duties.get(uid)?.end.abort(new Error("the worker is gone"));
    this.#duties.delete(uid);
    this.#done.delete(uid);
    this.#numberless.delete(uid);
    this.#begin();
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    const duties = [...this.#duties.values()];
    this.#duties.clear();
    for (const { end } of duties) end.abort(new Error("the aggregator ends"));
    await Promise.allSettled(duties.map(({ work }) => work ?? Promise.resolve()));
  }

  /** Changes of a worker, and the resync, are another chance. It comes after those that wait already. */
  #unpark(duty: Duty): void {
    if (!duty.isParked) return;
    const { uid } = duty.worker.metadata;
    this.#duties.delete(uid);
    this.#duties.set(uid, duty);
    duty.isParked = false;
    this.#begin();
  }

  #begin(): void {
    let atWork = 0;
    for (const duty of this.#duties.values()) {
      if (duty.isParked) continue;
      if (atWork++ >= (this.#parts.maxWorkers ?? usualMaxWorkers)) return;
      duty.work ??= this.#run(duty);
    }
  }

  /** Tries until it is done, or the worker is gone. */
  async #run(duty: Duty): Promise<void> {
    const { clock, random, log } = this.#parts;
    const { metadata, spec } = duty.worker;
    const fields = { worker: metadata.name, build: spec.buildRef };
    const { signal } = duty.end;
    for (let wait = firstWait; ; wait = Math.min(2 * wait, longestWait)) {
      try {
        // Loaded with the first worker: most servers have none most of the time.
        const { settleWorker } = await import("./settle-worker.ts");
        await settleWorker(duty.worker, this.#parts, signal, duty.own);
        log.info("results carried", fields);
        break;
      } catch (thrown) {
        if (signal.aborted) return;
        if (codeOf(thrown) === "wharf-unknown-build") {
          // The watchdog ends workers that no build has asked for.
          if (!duty.wasParked) log.warn("a worker runs a build that wharf-api does not know; it is left alone", fields);
          duty.isParked = duty.wasParked = true;
          duty.work = undefined;
          this.#begin();
          return;
        }
        log.warn("results are not carried yet", { ...fields, error: messageOf(thrown) });
      }
      await sleep(clock, wait * (0.5 + random() / 2), signal).catch(() => undefined);
      if (signal.aborted) return;
    }
    this.#done.add(metadata.uid);
    if (this.#duties.get(metadata.uid) === duty) this.#duties.delete(metadata.uid);
    this.#begin();
  }

  #tellNumberless({ metadata: { uid, name } }: Stored<Worker>): void {
    if (this.#numberless.has(uid)) return;
    this.#numberless.add(uid);
    this.#parts.log.warn("a worker says no number of a build: nobody takes its results", { worker: name });
  }
}
