import { type Clock, type Logger, messageOf, type Random } from "#lib/base/index.ts";
import { type KubeObject, qualifiedResource, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { Informer } from "./informer.ts";
import type { Scope } from "./reflector.ts";

/** A share in an informer. It runs until the last share is released. */
export interface InformerShare<T extends KubeObject = KubeObject> {
  readonly informer: Informer<T>;
  /** Gives the share back; calling it twice is harmless. */
  release(): void;
}

/** What every informer of a factory is made with. */
export interface InformerFactoryOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

/** An informer with those who use it. */
interface Running {
  readonly informer: Informer;
  readonly stop: AbortController;
  shares: number;
}

/**
 * One informer per kind, namespace and selector, started when first asked for and stopped when nobody uses it any more. Selectors are
 * compared as texts: two spellings of one selector are two mirrors.
 */
export class InformerFactory {
  readonly #options: InformerFactoryOptions;
  readonly #running = new Map<string, Running>();
  /** Ends of informers that run or are stopping. */
  readonly #ends = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: InformerFactoryOptions) {
    this.#options = options;
  }

  /** Never waits: the mirror fills by itself, see `Informer.synced`. Throws after `close`. */
  acquire<T extends KubeObject = KubeObject>(type: ResourceType, scope: Scope = {}): InformerShare<T> {
    if (this.#isClosed) throw new Error("the informer factory is closed");
    const key = [qualifiedResource(type), type.version, scope.namespace, scope.labelSelector, scope.fieldSelector].join(
      "\n",
    );
    const running = this.#running.get(key) ?? this.#start(key, type, scope);
    running.shares++;
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      running.shares--;
      if (running.shares > 0) return;
      running.stop.abort(new Error("nobody uses this informer any more"));
      this.#running.delete(key);
    };
    return { informer: asTyped<T>(running.informer), release };
  }

  /** Resolves when every informer acquired so far has synced. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ informer }) => informer.synced(signal)));
  }

  /** The kinds that have not been read yet, as `plural.group`, each with the server's refusal where it gave one. */
  unsynced(): readonly string[] {
    const late = [...this.#running.values()].map(({ informer }) => informer).filter((it) => !it.hasSynced());
    const texts = late.map((informer) => {
      const refusal = informer.refusal();
      return qualifiedResource(informer.type) + (refusal === undefined ? "" : ` (${refusal.message})`);
    });
    return [...new Set(texts)];
  }

  /** As `synced`; rejects when the server refuses one of them, see `Informer.readable`. */
  async readable(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ informer }) => informer.readable(signal)));
  }

  /** Tells every informer of the kind, in whatever version, of a successful write; see `Informer.noteWritten`. */
  noteWritten(type: ResourceType, object: Stored): void {
    for (const { informer } of this.#running.values()) {
      if (informer.type.plural === type.plural && informer.type.group === type.group) informer.noteWritten(object);
    }
  }

  /** Stops all informers and waits for them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { stop } of this.#running.values()) stop.abort(new Error("the informer factory is closed"));
    this.#running.clear();
    await Promise.all(this.#ends);
  }

  #start(key: string, type: ResourceType, scope: Scope): Running {
    const informer = new Informer({ ...this.#options, type, scope });
    const stop = new AbortController();
    const end = informer
      .run(stop.signal)
      .catch((thrown: unknown) =>
        this.#options.log.error("an informer failed", { resource: type.plural, error: messageOf(thrown) }),
      )
      .finally(() => this.#ends.delete(end));
    this.#ends.add(end);
    const running: Running = { informer, stop, shares: 0 };
    this.#running.set(key, running);
    return running;
  }
}

/** One informer serves callers who know its kind by different static types. */
const asTyped = <T extends KubeObject>(informer: Informer): Informer<T> => informer as unknown as Informer<T>;
