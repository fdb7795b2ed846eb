import { type Clock, type Logger, messageOf, type Random } from "#lib/base/index.ts";
import { type KubeObject, qualifiedResource, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { Informer } from "./informer.ts";
import type { Scope } from "./reflector.ts";

export interface InformerShare<T extends KubeObject = KubeObject> {
  readonly informer: Informer<T>;
  /** May be called twice. */
  release(): void;
}

export interface InformerFactoryOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: Random;
}

interface Running {
  readonly informer: Informer;
  readonly stop: AbortController;
  shares: number;
}

/** One informer per kind, namespace and selector, running while it is used. Selectors are compared as texts. */
export class InformerFactory {
  readonly #options: InformerFactoryOptions;
  readonly #running = new Map<string, Running>();
  readonly #ends = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: InformerFactoryOptions) {
    this.#options = options;
  }

  /** Never waits; see `Informer.synced`. Throws after `close`. */
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
      running.stop.abort(new Error("this informer is no longer used"));
      this.#running.delete(key);
    };
    return { informer: asTyped<T>(running.informer), release };
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ informer }) => informer.synced(signal)));
  }

  /** The kinds that have not been read yet, with the server's refusal if there is one. */
  unsynced(): readonly string[] {
    const late = [...this.#running.values()].map(({ informer }) => informer).filter((it) => !it.hasSynced());
    const texts = late.map((informer) => {
      const refusal = informer.refusal();
      return qualifiedResource(informer.type) + (refusal === undefined ? "" : ` (${refusal.message})`);
    });
    return [...new Set(texts)];
  }

  /** Like `synced`, but rejects if the server refuses a kind. */
  async readable(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ informer }) => informer.readable(signal)));
  }

  /** Notes a successful write in every informer of the kind, whatever its version. */
  noteWritten(type: ResourceType, object: Stored): void {
    for (const { informer } of this.#running.values()) {
      if (informer.type.plural === type.plural && informer.type.group === type.group) informer.noteWritten(object);
    }
  }

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

/** Callers know one kind by different static types. */
const asTyped = <T extends KubeObject>(informer: Informer): Informer<T> => informer as unknown as Informer<T>;
