import type { InformerFactory, InformerShare, ReconcileRequest } from "#kernel/kit/index.ts";
import { ConfigMap, keyOf, type ObjectMeta, PersistentVolumeClaim, Secret } from "#kernel/model/index.ts";
import type { SourceName } from "./config-sources.ts";

/** Pods that wait for a ConfigMap, Secret or claim. Kinds are watched while awaited; each change reconciles all. */
export class SourceWaits {
  readonly #informers: InformerFactory;
  readonly #wake: (request: ReconcileRequest) => void;
  readonly #waiting = new Map<string, { readonly request: ReconcileRequest; readonly sources: ReadonlySet<string> }>();
  readonly #shares = new Map<SourceName["kind"], { readonly share: InformerShare; readonly remove: () => void }>();

  constructor(informers: InformerFactory, wake: (request: ReconcileRequest) => void) {
    this.#informers = informers;
    this.#wake = wake;
  }

  /** Until `done`, every change of a source reconciles the pod. */
  wait(key: string, request: ReconcileRequest, sources: readonly SourceName[]): void {
    const names = sources.map(({ kind, name }) => `${kind} ${keyOf(inNamespace(request, name))}`);
    this.#waiting.set(key, { request, sources: new Set(names) });
    for (const { kind } of sources) this.#watch(kind);
  }

  /** The watches end with the last waiting pod. */
  done(key: string): void {
    if (this.#waiting.delete(key) && this.#waiting.size === 0) this.close();
  }

  close(): void {
    for (const { share, remove } of this.#shares.values()) {
      remove();
      share.release();
    }
    this.#shares.clear();
  }

  #watch(kind: SourceName["kind"]): void {
    if (this.#shares.has(kind)) return;
    const share = this.#informers.acquire(types[kind]);
    const tell = (object: { readonly metadata: ObjectMeta }) => this.#tell(`${kind} ${keyOf(object.metadata)}`);
    const remove = share.informer.addHandler({ add: tell, update: (_old, object) => tell(object) });
    this.#shares.set(kind, { share, remove });
  }

  #tell(source: string): void {
    for (const { request, sources } of this.#waiting.values()) if (sources.has(source)) this.#wake(request);
  }
}

const types = { ConfigMap, Secret, PersistentVolumeClaim };

const inNamespace = ({ namespace }: ReconcileRequest, name: string): ObjectMeta =>
  namespace === undefined ? { name } : { namespace, name };
