import { PassThrough } from "node:stream";
import { type JsonObject, messageOf, textAt } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, type PodStreams, type Ref } from "#kernel/kit/index.ts";
import { asJson, isAlreadyExists, isNotFound, type KubeObject, Pod, Secret } from "#kernel/model/index.ts";
import { serverCloses } from "./contexts-controller.ts";
import { type EmbeddedOptions, runInContainer } from "./embedded.ts";
import { type ContextEngine, variablesOf } from "./engine.ts";
import { idle, type Programs } from "./programs.ts";
import type { WantedAgent } from "./wanted.ts";

export interface KubernetesEngineOptions extends EmbeddedOptions {
  readonly client: ApiClient;
  /** Programs in Pods, for agents that run in this process. */
  readonly streams: () => PodStreams;
  readonly namespace: string;
}

const label = "rebar.slipway.dev/context-agent";
const container = "agent";

/** Contexts with `Engine: kubernetes`: a Pod for each agent, named by its key. */
export class KubernetesContexts implements ContextEngine {
  readonly #options: KubernetesEngineOptions;
  #streams: PodStreams | undefined;

  constructor(options: KubernetesEngineOptions) {
    this.#options = options;
  }

  async run(agent: WantedAgent, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const left = await getOrUndefined(client, this.#ref(agent.key), signal);
    // Scripts of an embedded agent continue in its Pod when the server is killed, so that it is replaced.
    if (left !== undefined && (!agent.isExternal || isOver(left))) await this.#remove(agent.key);
    try {
      if (agent.isExternal) await client.create(Secret, this.#secretOf(agent)).catch(unlessThere);
      await client.create(Pod, this.#podOf(agent)).catch(unlessThere);
      await this.#until(agent.key, (pod) => isOver(pod) || phaseOf(pod) === "Running", signal);
      if (agent.isExternal) return await this.#until(agent.key, isOver, signal);
      const container = { programs: this.#programsIn(agent.key), ended: this.#until(agent.key, isOver, signal) };
      await runInContainer(agent, container, this.#options, signal);
    } finally {
      const continues = agent.isExternal && signal.reason === serverCloses;
      if (!continues) await this.#remove(agent.key);
    }
  }

  async sweep(kept: ReadonlySet<string>): Promise<void> {
    const { client, namespace } = this.#options;
    const { items } = await client.list(Pod, { namespace, labelSelector: label });
    for (const { metadata } of items) if (!kept.has(metadata.name)) await this.#remove(metadata.name);
  }

  close(): Promise<void> {
    this.#streams?.close();
    return Promise.resolve();
  }

  #ref(name: string, type = Pod): Ref {
    return { type, namespace: this.#options.namespace, name };
  }

  #metaOf({ key, machineName, context }: WantedAgent) {
    const annotations = { "rebar.slipway.dev/machine": machineName, "rebar.slipway.dev/context": context };
    return { name: key, namespace: this.#options.namespace, labels: { [label]: "true" }, annotations };
  }

  #secretOf(agent: WantedAgent): KubeObject & { readonly stringData: JsonObject } {
    const stringData: JsonObject = { ...variablesOf(agent, this.#options.access) };
    return { apiVersion: "v1", kind: "Secret", metadata: this.#metaOf(agent), stringData };
  }

  #podOf(agent: WantedAgent): KubeObject {
    const own = agent.isExternal ? { envFrom: [{ secretRef: { name: agent.key } }] } : { command: idle };
    const containers = [{ name: container, image: agent.image, ...own }];
    const spec = {
      containers,
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 15,
      // Images and scripts come from whoever may write contexts and tasks, not from users of this API.
      automountServiceAccountToken: false,
    };
    return { apiVersion: "v1", kind: "Pod", metadata: this.#metaOf(agent), spec };
  }

  /** Rejects if the Pod is deleted, or with the signal. */
  async #until(name: string, isReached: (pod: KubeObject) => boolean, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    for (;;) {
      for await (const event of client.watch(Pod, { namespace, fieldSelector: `metadata.name=${name}`, signal })) {
        if (event.type === "DELETED") throw new Error("its Pod was deleted");
        if (event.type !== "BOOKMARK" && isReached(event.object)) return;
      }
      signal.throwIfAborted();
    }
  }

  async #remove(name: string): Promise<void> {
    const { client, log } = this.#options;
    for (const type of [Pod, Secret])
      await client.delete(this.#ref(name, type)).catch((thrown: unknown) => {
        if (!isNotFound(thrown)) log.warn("the Pod of a context could not be removed", { error: messageOf(thrown) });
      });
  }

  #programsIn(name: string): Programs {
    const pod = { namespace: this.#options.namespace, name };
    const streams = (this.#streams ??= this.#options.streams());
    return {
      start(command, stdin) {
        const output = new PassThrough();
        const killed = new AbortController();
        const ended = streams
          .exec(pod, {
            command,
            container,
            stdout: output,
            stderr: new PassThrough().resume(),
            signal: killed.signal,
            ...(stdin === undefined ? {} : { stdin: once(stdin) }),
          })
          .then(({ exitCode }) => exitCode);
        // Whoever reads the output waits for its end.
        ended.catch(() => output.end());
        return Promise.resolve({ output, ended, kill: () => killed.abort() });
      },
    };
  }
}

function unlessThere(thrown: unknown): void {
  if (!isAlreadyExists(thrown)) throw thrown;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield await Promise.resolve(bytes);
}

const phaseOf = (pod: KubeObject): string => textAt(asJson(pod), "status", "phase") ?? "";
const isOver = (pod: KubeObject): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod));
