import { createHash, X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Clock, Logger } from "#lib/base/index.ts";
import type { ApiClient, PodStreams } from "#kernel/kit/index.ts";
import { openDockerRuntime } from "#kernel/runtimes/index.ts";
import { RebarClient } from "../agent/client.ts";
import type { RebarStore } from "../store.ts";
import { type ContextsController, startContexts } from "./contexts-controller.ts";
import { DockerContexts } from "./docker-engine.ts";
import { hostContexts } from "./embedded.ts";
import type { AgentAccess, ContextEngine } from "./engine.ts";
import { KubernetesContexts } from "./kubernetes-engine.ts";

export interface OpenContextsOptions {
  readonly store: RebarStore;
  readonly client: ApiClient;
  /** Of the objects and of Pods for contexts. */
  readonly namespace: string;
  /** `https://HOST:PORT`, as this machine and containers on its network reach the server. */
  readonly endpoint: string;
  /** PEM of the server's certificate. */
  readonly certificate: string;
  /** A token that speaks for a machine, valid for so many seconds. */
  readonly machineToken: (machine: string, seconds: number) => string;
  /** Absolute; also the identity of this server for a Docker Engine. */
  readonly directory: string;
  /** For scripts on this host, and to find a Docker Engine. */
  readonly environment: Readonly<Record<string, string>>;
  readonly allowsHost: boolean;
  /** Absent: no contexts in Pods. */
  readonly podStreams?: () => PodStreams;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Agents that images bring cannot renew their token. */
const tokenSeconds = 3 * 365 * 24 * 3600;

/** Starts agents for machines in contexts, on the engines that this server may use. */
export async function openContexts(options: OpenContextsOptions): Promise<ContextsController> {
  const { store, client, namespace, directory, environment, allowsHost, podStreams, clock, log } = options;
  const access = accessOf(options);
  const openRuntime = async () => {
    const home = environment["HOME"] ?? "/";
    const opened = await openDockerRuntime({
      surroundings: { variable: (name) => environment[name], home },
      store: `rebar-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`,
      isEphemeral: false,
      clock,
      log,
    });
    return opened.runtime;
  };
  const logs = join(directory, "contexts");
  const docker: ContextEngine = new DockerContexts({ openRuntime, access, directory: logs, clock, log });
  const engines = new Map([["docker-context", docker]]);
  if (podStreams !== undefined)
    engines.set("kubernetes", new KubernetesContexts({ client, streams: podStreams, namespace, access, clock, log }));
  if (allowsHost) engines.set("host", hostContexts({ access, environment, clock, log }));
  return await startContexts({ store, engines, clock, log });
}

function accessOf({ endpoint, certificate, machineToken, clock }: OpenContextsOptions): AgentAccess {
  const fingerprint = new X509Certificate(certificate).fingerprint256;
  const token = (machine: string) => machineToken(machine, tokenSeconds);
  return {
    token,
    endpoints: [endpoint],
    connect: (machine) =>
      new RebarClient({
        endpoint,
        credentials: { token: token(machine) },
        trust: { kind: "pinned", fingerprint },
        clock,
      }),
  };
}
