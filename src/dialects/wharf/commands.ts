// // Each verb is a command of its own, so that each has its own help and rejects options of the others.

import {
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
import { type ProvisionerFlags, provisionerAddressOptions } from "./commands/provisioner.ts";
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
import { serviceOptions, sharingOptions, type WharfServiceFlags } from "./commands/services.ts";
import { wharfResultsCommand } from "./commands/results.ts";

const group = "Documents";

const json: OptionSpec = { flags: "-o, --output <format>", summary: "json", choices: ["json"] };
const reading: readonly OptionSpec[] = [...definitionOptions, ...selectionOptions];
const servesToken: OptionSpec = {
  flags: "--auth-token-file <file>",
  summary: "bearer token that clients must present",
};
const bearsToken: OptionSpec = {
  flags: "--auth-token-file <file>",
  summary: "bearer token to present there (default: its note's)",
};
const serving: readonly OptionSpec[] = [
  { flags: "--address <host:port>", summary: "where it answers, as the option of `slipway up` says it" },
  servesToken,
  loglevelOption("what is logged, as --log-level"),
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
    dryRunOption("print what would run and run nothing (client), and look whether it could run here (server)"),
    ...wharfRunOptions,
    { flags: "-o, --output <format>", summary: "auto, pretty, plain or json", choices: outputForms },
    {
      flags: "--runtime <name>",
      summary: "where steps run: in containers (docker), in Pods (kubernetes), or as you (host)",
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
  summary: "Print the variables of a definition, by where they come from",
  group,
  examples: ["slipway wharf vars list examples/wharf -a"],
  options: [{ flags: "-a, --all", summary: "also variables that are overridden" }, ...reading, json],
  completes: ["file"],
  action: async (invocation) => await (await import("./commands/definition.ts")).printDefinition(invocation, "list"),
});

const varsYml = command<DefinitionFlags>({
  name: "wharf vars yml",
  args: ["[path...]"],
  shown: ["[path]"],
  summary: "Print a definition with its variables",
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
  summary: "Print a text, or standard input, with the variables of a definition",
  group,
  examples: ["echo '${GIT_BRANCH}' | slipway wharf vars sub --file examples/wharf/.wharf-ci.yml"],
  options: reading,
  completes: ["file"],
  action: async (invocation) => await (await import("./commands/definition.ts")).substituteFile(invocation),
});

const shell = command<WharfRunOptions>({
  name: "wharf shell",
  args: ["<build/step>"],
  summary: "Open a shell in what --keep has kept of a failed step",
  group,
  examples: ["slipway wharf shell 12/2"],
  options: [...stepClusterOptions, loglevelOption("how much is told of settings (default: info)")],
  action: async (invocation) =>
    await (await import("./commands/shell.ts")).openShell(invocation, invocation.args[0] ?? ""),
});

const clone = command<CloneFlags>({
  name: "wharf clone",
  args: ["<url>", "<directory>"],
  summary: "Clone a repository as workers do; a token for HTTP is the variable WHARF_GIT_TOKEN",
  group,
  examples: ["slipway wharf clone https://example.org/group/name.git name --branch main"],
  options: [
    { flags: "--branch <name>", summary: "a branch (default: the one that the repository says)" },
    { flags: "--ref <ref>", summary: "a full ref, as in refs/tags/v1" },
    { flags: "--commit <hash>", summary: "a commit" },
  ],
  completes: [[], "file"],
  action: async (invocation) => await (await import("./commands/launch.ts")).cloneRepository(invocation),
});

const create = command<ProvisionerFlags>({
  name: "wharf provisioner create",
  args: ["<name=value...>"],
  summary: "Ask a provisioner for a worker: GIT_FULLURL=…, and NAME=@FILE for what must not stand on a command line",
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
  summary: "End workers of a provisioner, with their builds",
  group,
  examples: ["slipway wharf provisioner delete wharf-cmd-worker-local-7"],
  options: [
    ...provisionerAddressOptions,
    bearsToken,
    { flags: "--force", summary: "at once, and the results with it" },
  ],
  action: async (invocation) => await (await import("./commands/provisioner.ts")).deleteWorkers(invocation),
});

const serveProvisioner = command<ProvisionerFlags & ClusterFlags & ServiceFlags>({
  name: "wharf provisioner serve",
  args: [],
  summary: "Start workers of the builds of a cluster, on this machine or in Pods, until a signal",
  group,
  examples: ["slipway wharf provisioner serve --kubeconfig cluster.kubeconfig --data-dir provisioner"],
  options: [
    { flags: "--backend <name>", summary: "what workers are, as --wharf-backend" },
    ...serving,
    ...wharfProvisionerOptions,
    ...clusterOptions,
  ],
  action: async (invocation) => await (await import("./commands/provisioner.ts")).serveProvisioner(invocation),
});

const serveApi = command<ClusterFlags & ServiceFlags>({
  name: "wharf api serve",
  args: [],
  summary: "Be wharf-api of a cluster until a signal, and control its builds",
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
  summary: "Carry results of workers to wharf-api until a signal",
  group,
  examples: ["slipway wharf aggregator serve --kubeconfig cluster.kubeconfig"],
  options: [
    ...serviceOptions,
    ...sharingOptions,
    bearsToken,
    loglevelOption("what is logged, as --log-level"),
    ...unleased,
  ],
  action: async (invocation) => await (await import("./commands/services.ts")).serveAggregator(invocation),
});

const serveWatchdog = command<WharfServiceFlags>({
  name: "wharf watchdog serve",
  args: [],
  summary: "End workers without a build, and fail builds without a worker, until a signal",
  group,
  examples: ["slipway wharf watchdog serve --kubeconfig cluster.kubeconfig"],
  options: [...serviceOptions, bearsToken, loglevelOption("what is logged, as --log-level"), ...unleased],
  action: async (invocation) => await (await import("./commands/services.ts")).serveWatchdog(invocation),
});

const launch = command<WharfRunOptions>({
  name: "wharf launch",
  args: ["<directory>", "<request>"],
  summary: "Be a worker of this machine",
  group,
  examples: [],
  options: [],
  hidden: true,
  action: async (invocation) => await (await import("./commands/launch.ts")).launch(invocation),
});

const launchClone = command<object>({
  name: "wharf launch-clone",
  args: ["<file>", "<directory>"],
  summary: "Clone for a worker that is a Pod",
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
      const { actionWord } = await import("#kernel/command/index.ts");
      throw new UsageError(`expected ${name} ${actionWord(verbs, args[0] ?? "")} without anything in front of it`);
    },
  });
};

const withMembers = (name: string, summary: string, members: readonly CommandSpec[]): readonly CommandSpec[] => [
  family(name, summary, members),
  ...members,
];

const varsCommands = withMembers("wharf vars", "Variables of a definition", [varsList, varsSub, varsYml]);
const provisionerCommands = withMembers("wharf provisioner", "Who starts workers", [
  list,
  create,
  remove,
  serveProvisioner,
]);
const apiCommands = withMembers("wharf api", "The REST API of hosted builds", [serveApi]);
const aggregatorCommands = withMembers("wharf aggregator", "Who carries results of workers to wharf-api", [
  serveAggregator,
]);
const watchdogCommands = withMembers("wharf watchdog", "Who compares workers and builds", [serveWatchdog]);
const alone = [lint, run, shell, clone, wharfResultsCommand];
const families = [varsCommands, provisionerCommands, apiCommands, aggregatorCommands, watchdogCommands];

const summary = "Wharf: run a .wharf-ci.yml, check it, show its variables; parts of the system that hosts builds";

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
