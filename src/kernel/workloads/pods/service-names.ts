import type { Informer, InformerFactory, InformerShare } from "#kernel/kit/index.ts";
import { isJsonObject } from "#lib/base/index.ts";
import { asJson, type KubeObject, Service, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { clusterDomain, sandboxOf } from "./container-setup.ts";

// Services without a data plane: a ready pod bears the names of the Services that select it, so that whoever looks such a name up
// gets the addresses of the pods themselves. There is no address of the Service's own, and no mapping of ports.

/** The names of a Service, as they are written within and without its namespace. The short one is found by the search domain. */
export function serviceNames({ metadata }: KubeObject): readonly string[] {
  const base = `${metadata.name}.${metadata.namespace}`;
  return [base, `${base}.svc`, `${base}.svc.${clusterDomain}`];
}

/** A Service without a selector selects nothing: others tell who is behind it. */
export function selects(service: KubeObject, pod: PodObject): boolean {
  const spec = asJson(service)["spec"];
  const selector = isJsonObject(spec) ? spec["selector"] : undefined;
  if (!isJsonObject(selector) || Object.keys(selector).length === 0) return false;
  if (service.metadata.namespace !== pod.metadata.namespace) return false;
  return Object.entries(selector).every(([name, value]) => pod.metadata.labels?.[name] === value);
}

const isReady = (pod: PodObject): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");

/** `publishNotReadyAddresses` of Services whose pods find each other before they are ready. */
function wantsAll(service: KubeObject): boolean {
  const spec = asJson(service)["spec"];
  return isJsonObject(spec) && spec["publishNotReadyAddresses"] === true;
}

/** A pod without readiness probes is ready as soon as it runs: giving it its names at once spares it a change. */
const isReadyOnceItRuns = ({ spec }: PodObject): boolean =>
  spec.containers.every(
    ({ readinessProbe, startupProbe, lifecycle }) => !readinessProbe && !startupProbe && !lifecycle?.postStart,
  );

/**
 * Keeps the names of pods with the Services that select them. Costs a walk over a namespace's pods per change of a Service, and over
 * its Services per change of a pod.
 */
export class ServiceNames {
  readonly #informers: InformerFactory;
  readonly #pods: Informer<PodObject>;
  readonly #rename: (uid: string, names: readonly string[]) => void;
  /** What pods were last given, by uid. */
  readonly #given = new Map<string, string>();
  #services: InformerShare | undefined;
  #cancels: readonly (() => void)[] = [];

  constructor(
    informers: InformerFactory,
    pods: Informer<PodObject>,
    rename: (uid: string, names: readonly string[]) => void,
  ) {
    this.#informers = informers;
    this.#pods = pods;
    this.#rename = rename;
  }

  /** Begins watching. What comes before is not missed: all there is comes first. */
  start(): Promise<void> {
    const services = this.#informers.acquire(Service);
    this.#services = services;
    const all = (service: KubeObject) => {
      for (const pod of this.#pods.list()) {
        if (pod.metadata.namespace === service.metadata.namespace) this.#consider(pod);
      }
    };
    this.#cancels = [
      services.informer.addHandler({ add: all, update: (_old, service) => all(service), delete: all }),
      this.#pods.addHandler({
        add: (pod) => this.#consider(pod),
        update: (_old, pod) => this.#consider(pod),
        delete: (pod) => void this.#given.delete(pod.metadata.uid),
      }),
    ];
    return Promise.resolve();
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.#services?.release();
  }

  /** Names for a pod whose sandbox is about to be opened. */
  readonly of = (pod: PodObject): readonly string[] => {
    const ready = isReady(pod) || isReadyOnceItRuns(pod);
    return (this.#services?.informer.list() ?? [])
      .filter((service) => (ready || wantsAll(service)) && selects(service, pod))
      .flatMap(serviceNames)
      .sort();
  };

  /** A pod that has not begun gets its names with its sandbox; one that is over needs none. */
  #consider(pod: Stored<PodObject>): void {
    const { uid } = pod.metadata;
    if (pod.status?.podIP === undefined || pod.spec.hostNetwork === true) return;
    const names = sandboxOf(pod, this.of(pod)).names;
    const text = names.join(" ");
    if (this.#given.get(uid) === text) return;
    this.#given.set(uid, text);
    this.#rename(uid, names);
  }
}
