import { randomBytes } from "node:crypto";
import type { Dialect } from "#kernel/dialect/index.ts";
import { type ApiClient, Reflector } from "#kernel/kit/index.ts";
import { keyOf, type ResourceType, type Stored } from "#kernel/model/index.ts";
import { type Clock, type Logger, type Millis, onAbort, type Random, toError } from "#lib/base/index.ts";
import type { RunGap } from "../wire.ts";
import { summarize, type SummarizedRun } from "./summary.ts";

export interface IndexedRun extends SummarizedRun {
  /** `dialect kind namespace/name`. */
  readonly key: string;
  readonly type: ResourceType;
  readonly namespace: string;
  /** Of the object: a view is computed once for each. */
  readonly resourceVersion: string;
  /** Number of the change that brought it here, over all runs. */
  readonly change: number;
}

export type RunChangeListener = (run: IndexedRun, isDeleted: boolean) => void;

export interface RunIndexOptions {
  /** Sees all runs; who may see which is decided for each reader. */
  readonly client: ApiClient;
  readonly dialects: readonly Dialect[];
  /** Mirrored where all namespaces together are refused. */
  readonly namespace?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

/** How often a kind that is not served is looked for. */
const lookAgainMs: Millis = 30_000;

/** Deletions kept for readers that come back; older ones list again. */
const mostDeletions = 2000;

/**
 * Summaries of all runs, without their objects, kept up to date by one watch for each kind. Changes are numbered, so
 * that a reader who was away gets what has changed since.
 */
export class RunIndex {
  readonly #runs = new Map<string, IndexedRun>();
  readonly #deleted: IndexedRun[] = [];
  readonly #listeners = new Set<RunChangeListener>();
  readonly #epoch = randomBytes(6).toString("base64url");
  readonly #stop = new AbortController();
  readonly #ready: Promise<unknown>;
  readonly #gaps = new Map<string, RunGap>();
  #change = 0;
  #forgotten = 0;
  #sorted: readonly IndexedRun[] | undefined;

  constructor(options: RunIndexOptions) {
    this.#ready = this.#start(options);
    this.#ready.catch(() => undefined);
  }

  /** Resolves when all kinds have been read. */
  async ready(): Promise<this> {
    await this.#ready;
    return this;
  }

  /** Newest first. */
  list(): readonly IndexedRun[] {
    this.#sorted ??= [...this.#runs.values()].sort(byAge);
    return this.#sorted;
  }

  /** What is missing from the list. */
  get gaps(): readonly RunGap[] {
    return [...this.#gaps.values()];
  }

  /** The text form of the present state. */
  get version(): string {
    return `${this.#epoch}.${this.#change}`;
  }

  /** What has changed since a version; undefined if that is not known any more. */
  since(version: string): readonly { readonly run: IndexedRun; readonly isDeleted: boolean }[] | undefined {
    const [epoch, text] = version.split(".");
    const change = Number(text);
    if (epoch !== this.#epoch || !Number.isSafeInteger(change) || change < this.#forgotten) return undefined;
    const newer = (run: IndexedRun): boolean => run.change > change;
    return [
      ...this.#deleted.filter(newer).map((run) => ({ run, isDeleted: true })),
      ...[...this.#runs.values()].filter(newer).map((run) => ({ run, isDeleted: false })),
    ].sort((a, b) => a.run.change - b.run.change);
  }

  subscribe(listener: RunChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#stop.abort();
    this.#listeners.clear();
  }

  async #start(options: RunIndexOptions): Promise<void> {
    const wanted = options.dialects.flatMap((dialect) => dialect.runs.kinds.map((kind) => ({ dialect, ...kind })));
    await this.#mirrorServed(wanted, options);
  }

  /** Resolves with the first state of the kinds that are served, and looks for the others again. */
  async #mirrorServed(wanted: readonly WantedKind[], options: RunIndexOptions): Promise<void> {
    const served = await options.client.resourceTypes();
    const found = wanted.map((kind) => ({
      ...kind,
      type: served.find((one) => one.group === kind.group && one.kind === kind.kind),
    }));
    const missing = found.filter(({ type }) => type === undefined);
    for (const { dialect, kind } of missing) this.#note(dialect, kind, { why: "not-served" });
    if (missing.length > 0) {
      const again = () => this.#mirrorServed(missing, options).catch(() => undefined);
      onAbort(
        this.#stop.signal,
        options.clock.after(lookAgainMs, () => void again()),
      );
    }
    await Promise.all(
      found.map(async ({ dialect, type }) => {
        if (type !== undefined) await this.#mirror({ dialect, type }, options);
      }),
    );
  }

  #note({ name: dialect }: Dialect, kind: string, gap: Pick<RunGap, "why" | "only"> | undefined): void {
    const key = `${dialect} ${kind}`;
    if (gap === undefined) this.#gaps.delete(key);
    else this.#gaps.set(key, { dialect, kind, ...gap });
  }

  /** Resolves with the first state of the kind, or with its refusal. */
  #mirror({ dialect, type }: Mirrored, { client, namespace, clock, log, random }: RunIndexOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const prefix = `${dialect.name} ${type.kind} `;
      const put = (object: Stored) => {
        try {
          this.#put(prefix, dialect, type, object);
        } catch (thrown) {
          log.warn("run cannot be shown", { kind: type.kind, object: keyOf(object.metadata), error: toError(thrown) });
        }
      };
      const follow = (only?: string): void => {
        const stop = new AbortController();
        const sink = {
          replace: (objects: readonly Stored[]) => {
            this.#note(dialect, type.kind, only === undefined ? undefined : { why: "forbidden", only });
            const present = new Set(objects.map(({ metadata }) => prefix + keyOf(metadata)));
            for (const key of this.#runs.keys()) if (key.startsWith(prefix) && !present.has(key)) this.#remove(key);
            for (const object of objects) put(object);
            resolve();
          },
          apply: (event: { readonly type: string; readonly object: Stored }) =>
            event.type === "DELETED" ? this.#remove(prefix + keyOf(event.object.metadata)) : put(event.object),
          passed: () => undefined,
          // Whoever may not see a kind sees the others; the reflector asks again.
          refused: () => {
            this.#note(dialect, type.kind, { why: "forbidden" });
            if (only !== undefined || namespace === undefined) return resolve();
            stop.abort();
            follow(namespace);
          },
        };
        const scope = only === undefined ? {} : { namespace: only };
        const reflector = new Reflector({ client, type, scope, sink, clock, log, random });
        reflector.run(AbortSignal.any([this.#stop.signal, stop.signal])).catch(reject);
      };
      follow();
    });
  }

  #put(prefix: string, dialect: Dialect, type: ResourceType, object: Stored): void {
    const { namespace = "", resourceVersion } = object.metadata;
    const key = prefix + keyOf(object.metadata);
    const known = this.#runs.get(key);
    if (known?.resourceVersion === resourceVersion) return;
    const summarized = summarize(dialect, object);
    const run = { ...summarized, key, type, namespace, resourceVersion, change: ++this.#change };
    this.#runs.set(key, run);
    this.#sorted = undefined;
    this.#tell(run, false);
  }

  #remove(key: string): void {
    const known = this.#runs.get(key);
    if (known === undefined) return;
    this.#runs.delete(key);
    this.#sorted = undefined;
    const run = { ...known, change: ++this.#change };
    this.#deleted.push(run);
    if (this.#deleted.length > mostDeletions) this.#forgotten = this.#deleted.shift()?.change ?? 0;
    this.#tell(run, true);
  }

  #tell(run: IndexedRun, isDeleted: boolean): void {
    for (const listener of this.#listeners) listener(run, isDeleted);
  }
}

interface WantedKind {
  readonly dialect: Dialect;
  readonly group: string;
  readonly kind: string;
}

interface Mirrored {
  readonly dialect: Dialect;
  readonly type: ResourceType;
}

/** Names decide between runs of one instant. */
const byAge = (a: IndexedRun, b: IndexedRun): number =>
  b.summary.createdAt - a.summary.createdAt || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
