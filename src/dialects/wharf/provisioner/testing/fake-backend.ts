import type { Ending, Observed, WorkerBackend, WorkerIdentity } from "../backend.ts";
import type { WorkerRequest } from "../parameters.ts";

const absent: Observed = { phase: "absent", isAlive: false, status: "Scheduling" };

/** Workers in memory, driven by the test. */
export class FakeBackend implements WorkerBackend {
  readonly name = "host";
  readonly started: { readonly worker: string; readonly request: WorkerRequest }[] = [];
  readonly ended: `${Ending} ${string}`[] = [];
  readonly removed: string[] = [];
  readonly #seen = new Map<string, Observed>();
  readonly #changed: (worker: WorkerIdentity) => void;
  readonly #identities = new Map<string, WorkerIdentity>();

  constructor(changed: (worker: WorkerIdentity) => void) {
    this.#changed = changed;
  }

  become(name: string, seen: Partial<Observed>): void {
    this.#seen.set(name, { ...(this.#seen.get(name) ?? absent), ...seen });
    const identity = this.#identities.get(name);
    if (identity !== undefined) this.#changed(identity);
  }

  async start(worker: WorkerIdentity, request: WorkerRequest): Promise<void> {
    this.#identities.set(worker.name, worker);
    if (this.#seen.has(worker.name)) return;
    this.started.push({ worker: worker.name, request });
    const process = { host: "here", pid: 4000 + this.started.length };
    this.become(worker.name, { phase: "starting", isAlive: true, status: "Initializing", process });
  }

  async observe({ name }: WorkerIdentity): Promise<Observed> {
    return this.#seen.get(name) ?? absent;
  }

  async end({ name }: WorkerIdentity, how: Ending): Promise<void> {
    this.ended.push(`${how} ${name}`);
    if (how !== "cancel") this.become(name, { phase: "finished", isAlive: false });
  }

  async remove({ name }: WorkerIdentity): Promise<void> {
    this.removed.push(name);
    this.#seen.delete(name);
  }

  async sweep(): Promise<void> {}

  async close(): Promise<void> {}
}
