import { defined } from "#lib/base/index.ts";
import {
  actionWord,
  command,
  type CommandSpec,
  exitCode,
  type Invocation,
  UsageError,
  withSession,
} from "#kernel/command/index.ts";
import { labelsText } from "../labels.ts";
import { systemNamespaceOf } from "../settings.ts";

interface ClusterCommandOptions {
  /** Of the cluster to join; the control plane is named before the verb. */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** As for `vela`: the word is then the kubeconfig. */
  readonly name?: string;
  readonly labels?: string[];
  readonly systemNamespace?: string;
}

const verbs = ["join", "list", "detach"] as const;

const clusterCommand = command<ClusterCommandOptions>({
  name: "cluster",
  args: ["<action>", "[cluster]"],
  summary: "Join, list or detach the clusters that applications are delivered to",
  group: "Control plane",
  examples: [
    "slipway cluster join east --kubeconfig east.kubeconfig --labels region=east",
    "slipway cluster join east.kubeconfig --name east",
    "slipway cluster list",
    "slipway cluster detach east",
  ],
  options: [
    { flags: "--kubeconfig <file>", summary: "join: kubeconfig of the cluster, with a token or certificate" },
    { flags: "--name <name>", summary: "join: name of the cluster, whose kubeconfig is the word before" },
    { flags: "--labels <name=value>", summary: "join: labels for selectors; may be repeated", repeatable: true },
    { flags: "--system-namespace <name>", summary: "namespace of the clusters' Secrets (default: vela-system)" },
  ],
  completes: [verbs],
  async action(invocation) {
    const [word = "", name] = invocation.args;
    const verb = actionWord(verbs, word);
    if (verb === "list") return await list(invocation);
    if (name === undefined) throw new UsageError(`name the cluster: slipway cluster ${verb} NAME`);
    return verb === "join" ? await join(invocation, name) : await detach(invocation, name);
  },
});

export const clusterCommands: readonly CommandSpec[] = [clusterCommand];

const secretsIn = ({ options, environment }: Invocation<ClusterCommandOptions>): string =>
  options.systemNamespace ?? systemNamespaceOf(environment.variable);

async function join(invocation: Invocation<ClusterCommandOptions>, word: string): Promise<number> {
  const { options, environment, clock, signal } = invocation;
  const { context } = options;
  // Before the verb, --kubeconfig names the control plane.
  const [name, kubeconfig] = options.name === undefined ? [word, options.kubeconfig] : [options.name, word];
  const namespace = secretsIn(invocation);
  if (kubeconfig === undefined) throw new UsageError("--kubeconfig is required: the kubeconfig of the cluster to join");
  if (name === "local") throw new UsageError("local is the control plane itself; choose another name");
  const path = await import("node:path");
  const { loadKubeconfig } = await import("#kernel/kit/index.ts");
  const { silentLog } = await import("#lib/base/index.ts");
  const { clusterSecret } = await import("../delivery/cluster-secret.ts");
  const connection = await loadKubeconfig({
    files: [path.resolve(environment.directory, kubeconfig)],
    ...defined({ context }),
    environment: environment.all,
    clock,
    log: silentLog,
  });
  const secret = await clusterSecret({ name, namespace, labels: labelsIn(options.labels ?? []), connection });
  if (!secret.ok) throw new UsageError(`${kubeconfig}: ${secret.error}`);
  const { joinCluster } = await import("../delivery/joining.ts");
  await withSession(invocation, ({ client }) => joinCluster(client, secret.value, signal));
  environment.out.write(`cluster ${name} joined\n`);
  return exitCode.succeeded;
}

/** `region=east,tier=a` and repeated options alike. */
function labelsIn(texts: readonly string[]): Readonly<Record<string, string>> {
  const pairs = texts.flatMap((text) => text.split(",")).map((pair) => pair.split("="));
  const wrong = pairs.find(([key = "", value, ...more]) => key === "" || value === undefined || more.length > 0);
  if (wrong !== undefined)
    throw new UsageError(`--labels: expected name=value, found ${JSON.stringify(wrong.join("="))}`);
  return Object.fromEntries(pairs.map(([key = "", value = ""]) => [key, value]));
}

async function list(invocation: Invocation<ClusterCommandOptions>): Promise<number> {
  const { environment, signal } = invocation;
  const { formatTable } = await import("#kernel/command/index.node.ts");
  const { listClusters } = await import("../delivery/joining.ts");
  await withSession(invocation, async ({ client }) => {
    const rows = (await listClusters(client, secretsIn(invocation), signal)).map(
      ({ name, endpoint, credential, labels }) => {
        return [name, endpoint, credential, labelsText(labels) || "-"];
      },
    );
    environment.out.write(formatTable(["NAME", "ENDPOINT", "CREDENTIAL", "LABELS"], rows));
  });
  return exitCode.succeeded;
}

async function detach(invocation: Invocation<ClusterCommandOptions>, name: string): Promise<number> {
  const { environment, signal } = invocation;
  const { detachCluster } = await import("../delivery/joining.ts");
  return await withSession(invocation, async ({ client }) => {
    const refusal = await detachCluster(client, secretsIn(invocation), name, signal);
    if (refusal !== undefined) {
      environment.err.write(`slipway: ${refusal}\n`);
      return exitCode.failed;
    }
    environment.out.write(`cluster ${name} detached\n`);
    return exitCode.succeeded;
  });
}
