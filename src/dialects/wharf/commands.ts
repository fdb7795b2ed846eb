// Each verb is a command of its own, so that each has its own help and rejects options of the others.

import {
  actionWord,
  type ClusterFlags,
  clusterOptions,
  command,
  type CommandSpec,
  type OptionSpec,
  UsageError,
} from "#kernel/command/index.ts";
import type { DefinitionFlags } from "./commands/definition.ts";
import type { CloneFlags } from "./commands/launch.ts";
import { type ServiceFlags, wharfApiOptions, wharfProvisionerOptions } from "./options.ts";
import type { ProvisionerFlags } from "./commands/provisioner.ts";
import {
  definitionOptions,
  dryRunOption,
  loglevelOption,
  onePath,
  outputForms,
  runtimeNames,
  selectionOptions,
  stepClusterOptions,
  type WharfRunOptions,
  wharfRunOptions,
} from "./commands/run-options.ts";
import type { WharfServiceFlags } from "./commands/services.ts";
import type { ResultsOptions } from "./commands/results.ts";

const group = "Documents";

const json: OptionSpec = { flags: "-o, --output <format>", summary: "json", choices: ["json"] };
const reading: readonly OptionSpec[] = [...definitionOptions, ...selectionOptions];
const servesToken: OptionSpec = {
  flags: "--auth-token-file <file>",
  summary: "bearer token that clients must present",
};
const bearsToken: OptionSpec = {
  flags: "--auth-token-file <file>",
  summary: "bearer token to present (default: found with the service)",
};
const serving: readonly OptionSpec[] = [
  { flags: "--address <host:port>", summary: "address to listen on, like the option of `slipway up`" },
  servesToken,
  loglevelOption("log level, like --log-level"),
];
const provisionerAddressOptions: readonly OptionSpec[] = [
  { flags: "--url <url>", summary: `URL of the provisioner (default: the one this user runs)` },
];
const serviceOptions: readonly OptionSpec[] = [
  { flags: "--api <url>", summary: "URL of wharf-api (default: the one this user runs)" },
  { flags: "--provisioner <url>", summary: "URL of the provisioner (default: the one this user runs)" },
  { flags: "--api-token-file <file>", summary: "token for wharf-api (default: --auth-token-file)" },
  { flags: "--provisioner-token-file <file>", summary: "token for the provisioner (default: --auth-token-file)" },
];
const sharingOptions: readonly OptionSpec[] = [
  { flags: "--shard <share>", summary: "share of this aggregator, such as 2/3 (default: 1/1)" },
  { flags: "--max-workers <n>", summary: "maximum number of workers at once (default: 1000)", integer: true },
];
const unleased = clusterOptions.filter(({ flags }) => !flags.startsWith("--lease-namespace"));

const run = command<WharfRunOptions>({
  name: "wharf run",
  args: ["[path...]"],
  shown: ["[path]"],
  summary: "Run a .wharf-ci.yml, as slipway run does",
  group,
  examples: ["slipway wharf run examples/wharf/hello --runtime host"],
  options: [
    ...definitionOptions,
    dryRunOption("print the plan without running it; server also checks that it can run here"),
    ...wharfRunOptions,
    { flags: "-o, --output <format>", summary: "auto, pretty, plain or json", choices: outputForms },
    {
      flags: "--runtime <name>",
      summary: "where steps run: containers (docker), Pods (kubernetes) or this host (host)",
      choices: runtimeNames,
    },
  ],
  completes: ["file"],
  action: async (invocation) =>
    await (await import("./commands/run.ts")).runWharfBuild(invocation, onePath(invocation.rest)),
});

const lint = command<DefinitionFlags>({
  name: "wharf lint",
  args: ["[path...]"],
  shown: ["[path]"],
  summary: "Report all problems of a definition",
  group,
  examples: ["slipway wharf lint examples/wharf --environment stage"],
  options: [...reading, json],
  completes: ["file"],
  action: async (invocation) => await (await import("./commands/definition.ts")).lintDefinition(invocation),
});

const varsList = command<DefinitionFlags>({
  name: "wharf vars list",
  args: ["[path...]"],
  shown: ["[path]"],
  summary: "Print the variables of a definition by source",
  group,
  examples: ["slipway wharf vars list examples/wharf -a"],
  options: [{ flags: "-a, --all", summary: "include overridden variables" }, ...reading, json],
  completes: ["file"],
  action: async (invocation) => await (await import("./commands/definition.ts")).printDefinition(invocation, "list"),
});

const varsYml = command<DefinitionFlags>({
  name: "wharf vars yml",
  args: ["[path...]"],
  shown: ["[path]"],
  summary: "Print a definition with its variables substituted",
  group,
  examples: ["slipway wharf vars yml examples/wharf --input version=2.0"],
  options: [...reading, json],
  completes: ["file"],
  action: async (invocation) => await (await import("./commands/definition.ts")).printDefinition(invocation, "yml"),
});

const varsSub = command<DefinitionFlags>({
  name: "wharf vars sub",
  args: ["[file...]"],
  shown: ["[file]"],
  summary: "Substitute the variables of a definition in a file or standard input",
  group,
  examples: ["echo '${GIT_BRANCH}' | slipway wharf vars sub --file examples/wharf/.wharf-ci.yml"],
  options: reading,
  completes: ["file"],
  action: async (invocation) => await (await import("./commands/definition.ts")).substituteFile(invocation),
});

const shell = command<WharfRunOptions>({
  name: "wharf shell",
  args: ["<build/step>"],
  summary: "Open a shell in the kept working directory of a failed step",
  group,
  examples: ["slipway wharf shell 12/2"],
  options: [...stepClusterOptions, loglevelOption("verbosity of Slipway's own messages (default: info)")],
  action: async (invocation) =>
    await (await import("./commands/shell.ts")).openShell(invocation, invocation.args[0] ?? ""),
});

const clone = command<CloneFlags>({
  name: "wharf clone",
  args: ["<url>", "<directory>"],
  summary: "Clone a repository as workers do; WHARF_GIT_TOKEN is the token for HTTP",
  group,
  examples: ["slipway wharf clone https://example.org/group/name.git name --branch main"],
  options: [
    { flags: "--branch <name>", summary: "branch to clone (default: the repository's default branch)" },
    { flags: "--ref <ref>", summary: "full ref to check out, such as refs/tags/v1" },
    { flags: "--commit <hash>", summary: "commit to check out" },
  ],
  completes: [[], "file"],
  action: async (invocation) => await (await import("./commands/launch.ts")).cloneRepository(invocation),
});

const resultsVerbs = ["serve", "prune"] as const;

const results = command<ResultsOptions>({
  name: "wharf results",
  args: ["<action>", "[directory]"],
  summary: "Serve the results of a build (serve) or remove old results (prune)",
  group,
  examples: [
    "slipway wharf results serve /tmp/iver-wharf/build/7 --address 127.0.0.1:0",
    "slipway wharf results prune --keep 10 --older-than 168h",
  ],
  options: [
    { flags: "--address <host:port>", summary: "serve: address to listen on (default: 127.0.0.1:5010)" },
    {
      flags: "--auth-token-file <file>",
      summary: "serve: bearer token that clients must present (default: a random one)",
    },
    { flags: "--anonymous-auth", summary: "serve: also serve clients without credentials" },
    { flags: "--keep <number>", summary: "prune: number of newest builds to keep", integer: true },
    { flags: "--older-than <duration>", summary: "prune: remove only builds that ended longer ago, such as 168h" },
    {
      flags: "--results-dir <directory>",
      summary: "prune: directory of results (default: those of this user's builds)",
    },
  ],
  completes: [resultsVerbs, "file"],
  async action(invocation) {
    const verbs = await import("./commands/results.ts");
    const [action = "", directory] = invocation.args;
    if (actionWord(resultsVerbs, action) === "serve") return await verbs.serveBuildResults(invocation, directory);
    if (directory !== undefined) throw new UsageError(`prune: expected --results-dir ${directory}`);
    return await verbs.pruneBuilds(invocation);
  },
});

const create = command<ProvisionerFlags>({
  name: "wharf provisioner create",
  args: ["<name=value...>"],
  summary: "Create a worker from parameters such as GIT_FULLURL=URL; use NAME=@FILE for secrets",
  group,
  examples: ["slipway wharf provisioner create GIT_FULLURL=https://example.org/group/name.git BUILD_REF=7"],
  options: [...provisionerAddressOptions, bearsToken, json],
  action: async (invocation) => await (await import("./commands/provisioner.ts")).createWorker(invocation),
});

const list = command<ProvisionerFlags>({
  name: "wharf provisioner list",
  args: [],
  summary: "List the workers of a provisioner",
  group,
  examples: ["slipway wharf provisioner list"],
  options: [...provisionerAddressOptions, bearsToken, json],
  action: async (invocation) => await (await import("./commands/provisioner.ts")).listWorkers(invocation),
});

const remove = command<ProvisionerFlags>({
  name: "wharf provisioner delete",
  args: ["<worker...>"],
  summary: "Stop workers of a provisioner and their builds",
  group,
  examples: ["slipway wharf provisioner delete wharf-cmd-worker-local-7"],
  options: [
    ...provisionerAddressOptions,
    bearsToken,
    { flags: "--force", summary: "stop at once and discard the results" },
  ],
  action: async (invocation) => await (await import("./commands/provisioner.ts")).deleteWorkers(invocation),
});

const serveProvisioner = command<ProvisionerFlags & ClusterFlags & ServiceFlags>({
  name: "wharf provisioner serve",
  args: [],
  summary: "Serve a provisioner for a cluster's builds; runs until interrupted",
  group,
  examples: ["slipway wharf provisioner serve --kubeconfig cluster.kubeconfig --data-dir provisioner"],
  options: [
    { flags: "--backend <name>", summary: "how workers run, like --wharf-backend" },
    ...serving,
    ...wharfProvisionerOptions,
    ...clusterOptions,
  ],
  action: async (invocation) => await (await import("./commands/provisioner.ts")).serveProvisioner(invocation),
});

const serveApi = command<ClusterFlags & ServiceFlags>({
  name: "wharf api serve",
  args: [],
  summary: "Serve wharf-api for a cluster and reconcile its builds; runs until interrupted",
  group,
  examples: [
    "slipway wharf api serve --kubeconfig cluster.kubeconfig --install-crds --data-dir api --wharf-engine-url http://127.0.0.1:5009/api/worker",
  ],
  options: [...serving, ...wharfApiOptions, ...clusterOptions],
  action: async (invocation) => await (await import("./commands/serve-api.ts")).serveWharfApi(invocation),
});

const serveAggregator = command<WharfServiceFlags>({
  name: "wharf aggregator serve",
  args: [],
  summary: "Transfer results from workers to wharf-api; runs until interrupted",
  group,
  examples: ["slipway wharf aggregator serve --kubeconfig cluster.kubeconfig"],
  options: [
    ...serviceOptions,
    ...sharingOptions,
    bearsToken,
    loglevelOption("log level, like --log-level"),
    ...unleased,
  ],
  action: async (invocation) => await (await import("./commands/services.ts")).serveAggregator(invocation),
});

const serveWatchdog = command<WharfServiceFlags>({
  name: "wharf watchdog serve",
  args: [],
  summary: "Stop orphaned workers and fail builds that lost theirs; runs until interrupted",
  group,
  examples: ["slipway wharf watchdog serve --kubeconfig cluster.kubeconfig"],
  options: [...serviceOptions, bearsToken, loglevelOption("log level, like --log-level"), ...unleased],
  action: async (invocation) => await (await import("./commands/services.ts")).serveWatchdog(invocation),
});

const launch = command<WharfRunOptions>({
  name: "wharf launch",
  args: ["<directory>", "<request>"],
  summary: "Run a worker on this machine",
  group,
  examples: [],
  options: [],
  hidden: true,
  action: async (invocation) => await (await import("./commands/launch.ts")).launch(invocation),
});

const launchClone = command<object>({
  name: "wharf launch-clone",
  args: ["<file>", "<directory>"],
  summary: "Clone the repository for a worker's Pod",
  group,
  examples: [],
  options: [],
  hidden: true,
  action: async (invocation) => await (await import("./commands/launch.ts")).launchClone(invocation),
});

const family = (name: string, summary: string, members: readonly CommandSpec[]): CommandSpec => {
  const verbs = members.map((member) => member.name.split(" ").at(-1) ?? "");
  return command<object>({
    name,
    args: ["<action>", "[words...]"],
    shown: ["<action>"],
    summary,
    group,
    examples: members.flatMap(({ examples }) => examples.slice(0, 1)),
    options: [],
    completes: [verbs],
    async action({ args }) {
      throw new UsageError(`expected ${name} ${actionWord(verbs, args[0] ?? "")} without anything in front of it`);
    },
  });
};

const withMembers = (name: string, summary: string, members: readonly CommandSpec[]): readonly CommandSpec[] => [
  family(name, summary, members),
  ...members,
];

const varsCommands = withMembers("wharf vars", "Print or substitute the variables of a definition", [
  varsList,
  varsSub,
  varsYml,
]);
const provisionerCommands = withMembers("wharf provisioner", "Manage the provisioner, which runs workers", [
  list,
  create,
  remove,
  serveProvisioner,
]);
const apiCommands = withMembers("wharf api", "Serve wharf-api, the REST API of hosted builds", [serveApi]);
const aggregatorCommands = withMembers(
  "wharf aggregator",
  "Serve the aggregator, which transfers results to wharf-api",
  [serveAggregator],
);
const watchdogCommands = withMembers("wharf watchdog", "Serve the watchdog, which compares workers and builds", [
  serveWatchdog,
]);
const alone = [lint, run, shell, clone, results];
const families = [varsCommands, provisionerCommands, apiCommands, aggregatorCommands, watchdogCommands];

const summary = "Run or check a .wharf-ci.yml, show its variables, or serve parts of hosted Wharf";

export const commands: readonly CommandSpec[] = [
  {
    ...family("wharf", summary, [...alone, ...families.flatMap(([first]) => (first === undefined ? [] : [first]))]),
    examples: ["slipway wharf lint examples/wharf --environment stage"],
  },
  ...alone,
  ...families.flat(),
  launch,
  launchClone,
];
