import { messageOf } from "#lib/base/index.ts";
import {
  type ApiClient,
  controllerFor,
  type Informer,
  type Manager,
  type ReconcileContext,
  type ReconcileRequest,
  type Reconciler,
  refTo,
  requestKey,
} from "#kernel/kit/index.ts";
import { keyOf, type KubeObject, Pod, Service, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { endpointsOf, portsOf, type ServicePort } from "./endpoints.ts";
import { isOwnPeer } from "./peer-user.ts";
import { TcpProxy } from "./tcp-proxy.ts";

/** Where a Service can be reached on this machine: `80=127.0.0.1:41234`, several separated by blanks. */
export const addressAnnotation = "slipway.dev/address";

const host = "127.0.0.1";
const mostProxies = 500;
/** So that one namespace does not take the ports of all. */
const mostInNamespace = 100;
/** Ports below are those of servers, and a Service must not choose one of them. */
const firstFreePort = 32_768;
const byNamespace = "namespace";

/**
 * Makes TCP ports of Services with a selector reachable on loopback for this process's user and root, and divides
 * connections among ready Pods.
 */
export function addServiceProxy(manager: Manager): void {
  const services = manager.mirror(Service);
  const pods = manager.mirror<PodObject>(Pod);
  pods.addIndex(byNamespace, ({ metadata }) => [metadata.namespace ?? ""]);
  const proxies = new ServiceProxies(manager.client, services, pods);
  controllerFor(manager, "service-proxy").for(Service).complete(proxies);
  manager.onStopped(() => proxies.close());
}

interface OpenPort {
  readonly proxy: TcpProxy;
  readonly at: number;
  /** Port of the node that was asked for. */
  readonly wanted: number;
}

/** Endpoints are looked up for each connection, so that Pods that come and go need no reconcile. */
class ServiceProxies implements Reconciler {
  readonly #client: ApiClient;
  readonly #services: Informer;
  readonly #pods: Informer<PodObject>;
  /** By key of the Service, then by its port. */
  readonly #open = new Map<string, Map<number, OpenPort>>();

  constructor(client: ApiClient, services: Informer, pods: Informer<PodObject>) {
    this.#client = client;
    this.#services = services;
    this.#pods = pods;
  }

  async reconcile(request: ReconcileRequest, { log }: ReconcileContext): Promise<undefined> {
    const key = requestKey(request);
    const service = this.#services.get(key);
    const ports = service === undefined || service.metadata.deletionTimestamp !== undefined ? [] : portsOf(service);
    const open = this.#open.get(key) ?? new Map<number, OpenPort>();
    for (const [port, { proxy, wanted }] of open) {
      if (ports.some((each) => each.port === port && (each.nodePort ?? 0) === wanted)) continue;
      proxy.close();
      open.delete(port);
    }
    this.#open.set(key, open);
    for (const port of ports) {
      if (open.has(port.port) || service === undefined) continue;
      try {
        const { namespace = "" } = service.metadata;
        if (this.#count() >= mostProxies) throw new Error(`at most ${mostProxies} ports of Services are opened`);
        if (this.#count(`${namespace}/`) >= mostInNamespace)
          throw new Error(`at most ${mostInNamespace} ports of Services are opened in a namespace`);
        open.set(port.port, await this.#listen(service, port));
      } catch (thrown) {
        log.warn("a port of a Service cannot be opened", { service: key, port: port.port, error: messageOf(thrown) });
      }
    }
    if (open.size === 0) this.#open.delete(key);
    if (service !== undefined && service.metadata.deletionTimestamp === undefined) await this.#tell(service, open);
  }

  close(): void {
    for (const ports of this.#open.values()) for (const { proxy } of ports.values()) proxy.close();
    this.#open.clear();
  }

  #count(prefix = ""): number {
    return [...this.#open].reduce((sum, [key, ports]) => sum + (key.startsWith(prefix) ? ports.size : 0), 0);
  }

  /** At the port of the node if one is asked for, else where it was before, if that is free. */
  async #listen(service: Stored, port: ServicePort): Promise<OpenPort> {
    const key = keyOf(service.metadata);
    const proxy = new TcpProxy(() => this.#endpointsOf(key, port), isOwnPeer);
    const wanted = port.nodePort ?? 0;
    const first = wanted === 0 ? formerPort(service, port.port) : wanted;
    const at = await proxy.listen(host, first).catch((thrown: unknown) => {
      if (wanted !== 0 || first === 0) throw thrown;
      return undefined;
    });
    if (at !== undefined) return { proxy, at, wanted };
    proxy.close();
    const other = new TcpProxy(() => this.#endpointsOf(key, port), isOwnPeer);
    return { proxy: other, at: await other.listen(host, 0), wanted };
  }

  #endpointsOf(key: string, port: ServicePort) {
    const present = this.#services.get(key);
    if (present === undefined) return [];
    return endpointsOf(present, port, this.#pods.byIndex(byNamespace, present.metadata.namespace ?? ""));
  }

  async #tell(service: Stored, open: ReadonlyMap<number, OpenPort>): Promise<void> {
    const text = [...open].map(([port, { at }]) => `${port}=${host}:${at}`).join(" ");
    const before = service.metadata.annotations?.[addressAnnotation];
    if ((before ?? "") === text) return;
    const annotations = { [addressAnnotation]: text === "" ? null : text };
    await this.#client.patch(refTo(Service, service), { type: "merge", body: { metadata: { annotations } } });
  }
}

/** Whoever may write the Service may write the annotation, so only ports that any program is given by chance count. */
function formerPort({ metadata }: KubeObject, port: number): number {
  const parts = (metadata.annotations?.[addressAnnotation] ?? "").split(" ");
  const found = parts.find((part) => part.startsWith(`${port}=${host}:`));
  const former = Number(found?.split(":")[1] ?? 0);
  return Number.isInteger(former) && former >= firstFreePort && former < 65_536 ? former : 0;
}
