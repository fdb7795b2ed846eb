import { silentLog, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { Manager, seededRandom } from "#kernel/kit/index.ts";
import { type Json, startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import type { TemplateHost } from "#kernel/template/index.ts";
import { realHost } from "#kernel/template/testing/index.ts";
import { addController } from "#dialects/tinkerbell/controller.ts";
import {
  Agent,
  Hardware,
  HardwareV2,
  Osie,
  Template,
  TemplateV2,
  Workflow,
  WorkflowV2,
} from "#dialects/tinkerbell/kinds.ts";
import { addTinkerbellServer } from "#dialects/tinkerbell/server/server.ts";
import type { Settings } from "#dialects/tinkerbell/settings.ts";

const kinds = [Hardware, HardwareV2, Template, TemplateV2, Workflow, WorkflowV2, Osie, Agent];

/** Where objects of a kind are in the namespace `default`. */
export const pathOf = (plural: string, version = "v1alpha1"): string =>
  `/apis/tinkerbell.org/${version}/namespaces/default/${plural}`;

/**
 * A server with the kinds of this dialect, its controller and the server of its agents at work, which renders with the real module. The test
 * is the user.
 */
export class TinkerbellPlane {
  readonly api: TestServer;
  /** Where agents connect. */
  readonly agentPort: Promise<number>;
  readonly #host: TemplateHost;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(api: TestServer, host: TemplateHost, settings: Partial<Settings>) {
    this.api = api;
    this.#host = host;
    const client = api.server.client();
    const manager = new Manager({ client, clock: systemClock, log: silentLog, random: seededRandom(1) });
    addController(manager, { renderer: host, settings });
    this.agentPort = addTinkerbellServer(manager, { listen: "127.0.0.1:0", settings }).port;
    this.#running = manager.run(this.#stop.signal);
  }

  static async start(settings: Partial<Settings> = {}): Promise<TinkerbellPlane> {
    const api = await startTestServer({ definitions: toCrds(kinds) });
    return new TinkerbellPlane(api, await realHost(), settings);
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

  async close(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    await this.#running.catch(() => undefined);
    await this.#host.close();
    await this.api.close();
  }
}
