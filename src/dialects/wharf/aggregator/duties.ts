import { codeOf, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { isWorkerOver } from "../provisioner/worker-status.ts";
import { forceAnnotation } from "../provisioner/store-worker.ts";
import { BuildApis } from "./build-apis.ts";
import { isOfShard } from "./shard.ts";
import type { DutyParts, OwnWays } from "./settle-worker.ts";

const usualMaxWorkers = 1000;
const [firstWait, longestWait]: readonly [Millis, Millis] = [1000, 60_000];

const isForced = ({ metadata: { annotations = {} } }: Stored<Worker>): boolean =>
  annotations[forceAnnotation] === "true";

interface Duty {
  readonly address: string;
  readonly end: AbortController;
  work?: Promise<void> | undefined;
  /** The build is unknown; waits until the worker changes or is resynced. */
  isParked: boolean;
  wasParked: boolean;
  readonly worker: Stored<Worker>;
  readonly own: OwnWays | undefined;
}

export class Duties {
  readonly #parts: DutyParts;
  readonly #duties = new Map<string, Duty>();
  readonly #numberless = new Set<string>();
  readonly #done = new Set<string>();

  constructor(parts: DutyParts) {
    this.#parts = { apis: new BuildApis(parts.api), ...parts };
  }

  look(worker: Stored<Worker>, own?: OwnWays): void {
    const { uid } = worker.metadata;
    if (!isOfShard(uid, this.#parts.shard) || this.#done.has(uid)) return;
    if ((worker.spec.buildRef ?? 0) === 0) return this.#tellNumberless(worker);
    const address = worker.status?.address ?? "";
    if (address === "" && !isWorkerOver(worker)) return;
    const known = this.#duties.get(uid);
    if (known?.address === address) return this.#unpark(known);
    if (known !== undefined && address === "" && isForced(worker)) return;
    known?.end.abort(new Error("the worker is somewhere else"));
    this.#duties.set(uid, { address, end: new AbortController(), isParked: false, wasParked: false, worker, own });
    this.#begin();
  }

  forget({ metadata: { uid } }: Stored): void {
    this.#duties.get(uid)?.end.abort(new Error("the worker is gone"));
    this.#duties.delete(uid);
    this.#done.delete(uid);
    this.#numberless.delete(uid);
    this.#begin();
  }

  async close(): Promise<void> {
    const duties = [...this.#duties.values()];
    this.#duties.clear();
    for (const { end } of duties) end.abort(new Error("the aggregator ends"));
    await Promise.allSettled(duties.map(({ work }) => work ?? Promise.resolve()));
  }

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

  async #run(duty: Duty): Promise<void> {
    const { clock, random, log } = this.#parts;
    const { metadata, spec } = duty.worker;
    const fields = { worker: metadata.name, build: spec.buildRef };
    const { signal } = duty.end;
    for (let wait = firstWait; ; wait = Math.min(2 * wait, longestWait)) {
      try {
        const { settleWorker } = await import("./settle-worker.ts");
        await settleWorker(duty.worker, this.#parts, signal, duty.own);
        log.info("results transferred", fields);
        break;
      } catch (thrown) {
        if (signal.aborted) return;
        if (codeOf(thrown) === "wharf-unknown-build") {
          // The watchdog ends workers without a build.
          if (!duty.wasParked) log.warn("worker runs a build that wharf-api does not know; it is left alone", fields);
          duty.isParked = duty.wasParked = true;
          duty.work = undefined;
          this.#begin();
          return;
        }
        log.warn("transferring results failed; retrying", { ...fields, error: messageOf(thrown) });
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
    this.#parts.log.warn("worker reported no build number; its results are not collected", { worker: name });
  }
}
