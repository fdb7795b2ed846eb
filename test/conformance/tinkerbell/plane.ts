import { seededRandom } from "#kernel/kit/testing/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { type ApiClient, Manager } from "#kernel/kit/index.ts";
import { memoryStore, type Store } from "#kernel/apiserver/index.ts";
import { type Ask, type Json, startTestServer } from "#kernel/apiserver/testing/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { addController } from "#dialects/tinkerbell/controller.ts";
import { kinds as dialectKinds } from "#dialects/tinkerbell/kinds.ts";
import { addTinkerbellServer } from "#dialects/tinkerbell/server/server.ts";
import type { Settings } from "#dialects/tinkerbell/settings.ts";
import { type ClusterUnderTest, kubeconfigUnderTest, openClusterUnderTest } from "#test/support/cluster-under-test.ts";

const kinds = [...dialectKinds, RunAction];

/** Where objects of a kind are in the namespace `default`. */
export const pathOf = (plural: string, version = "v1alpha1"): string =>
  `/apis/tinkerbell.org/${version}/namespaces/default/${plural}`;

/** Requests to the API that a plane is on. */
export interface PlaneApi {
  ask(
    method: string,
    path: string,
    ask?: Pick<Ask, "body" | "headers">,
  ): Promise<{ readonly status: number; readonly text: string; readonly json: Json }>;
  watch(path: string): Promise<{ next(): Promise<unknown>; close(): void }>;
}

/** An API server, and the client of the controllers there. */
interface ApiPlace {
  readonly api: PlaneApi;
  readonly client: ApiClient;
  close(): Promise<void>;
}

/** All that ends with a process. */
interface Life {
  readonly place: ApiPlace;
  readonly agentPort: Promise<number>;
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

/**
 * A server with the kinds of this dialect, or the cluster under test, its controller and the server of its agents at work, which renders with the real
 * module. The test is the user.
 */
export class TinkerbellPlane {
  readonly #host: TemplateHost;
  readonly #settings: Partial<Settings>;
  readonly #store: Store = memoryStore({ clock: systemClock });
  readonly #cluster: ClusterUnderTest | undefined;
  #life: Life | undefined;

  private constructor(host: TemplateHost, settings: Partial<Settings>, cluster: ClusterUnderTest | undefined) {
    this.#host = host;
    this.#settings = settings;
    this.#cluster = cluster;
  }

  /** `port`: where agents connect, for one that is to begin anew there; any otherwise, which is somebody else's as soon as it is let go. */
  static async start(settings: Partial<Settings> = {}, port = 0): Promise<TinkerbellPlane> {
    const cluster = kubeconfigUnderTest === undefined ? undefined : await openClusterUnderTest(kubeconfigUnderTest);
    const plane = new TinkerbellPlane(await realHost(), settings, cluster);
    await plane.#begin(port);
    return plane;
  }

  /** A cluster stays what it is when all else begins anew; a server of our own begins anew on what is stored. */
  async #place(): Promise<ApiPlace> {
    if (this.#cluster !== undefined) return { ...this.#cluster, close: async () => undefined };
    const api = await startTestServer({ definitions: toCrds(kinds), store: this.#store });
    return { api, client: api.server.client(), close: () => api.close() };
  }

  async #begin(port: number): Promise<void> {
    const place = await this.#place();
    const manager = new Manager({
      client: place.client,
      clock: systemClock,
      log: silentLog,
      random: seededRandom(1),
    });
    addController(manager, { renderer: this.#host, settings: this.#settings });
    const listen = `127.0.0.1:${port}`;
    const { port: agentPort } = addTinkerbellServer(manager, { listen, settings: this.#settings });
    const stop = new AbortController();
    this.#life = { place, agentPort, stop, running: manager.run(stop.signal) };
  }

  get #now(): Life {
    if (this.#life === undefined) throw new Error("the plane has not begun");
    return this.#life;
  }

  get api(): PlaneApi {
    return this.#now.place.api;
  }

  /** Where agents connect: the same after a restart. */
  get agentPort(): Promise<number> {
    return this.#now.agentPort;
  }

  /** Everything ends and begins anew, but for what is stored; for those with a port of their own. Resolves when agents are served again. */
  async restart(): Promise<void> {
    const port = await this.agentPort;
    await this.#end();
    await this.#begin(port);
    await this.agentPort;
  }

  /** What the server answers to a new object; unknown fields are refused. */
  async create(plural: string, spec: unknown, name: string, version = "v1alpha1", metadata: object = {}) {
    const [kind = ""] = kinds.filter((one) => one.plural === plural).map((one) => one.kind);
    return await this.api.ask("POST", `${pathOf(plural, version)}?fieldValidation=Strict`, {
      body: { apiVersion: `tinkerbell.org/${version}`, kind, metadata: { name, ...metadata }, spec },
    });
  }

  async workflow(name = "w", version = "v1alpha1"): Promise<Json> {
    return (await this.api.ask("GET", `${pathOf("workflows", version)}/${name}`)).json;
  }

  /** A condition of a workflow, or undefined. */
  async condition(type: string, name = "w"): Promise<unknown> {
    const { status } = (await this.workflow(name)) as {
      readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
    };
    return status?.conditions?.find((one) => one.type === type);
  }

  async #end(): Promise<void> {
    const { stop, running, place } = this.#now;
    stop.abort(new Error("the server ends"));
    await running.catch(() => undefined);
    await place.close();
  }

  async close(): Promise<void> {
    await this.#end();
    await this.#host.close();
    await this.#store.close();
    await this.#cluster?.close();
  }
}
