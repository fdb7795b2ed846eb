// // Data only: this file is loaded with every command.

import { type OptionSpec, UsageError } from "#kernel/command/index.ts";
import { type LogLevel, logLevels } from "./own-log.ts";

const pullPolicies = ["always", "missing", "never"] as const;

export interface WharfRunOptions {
  readonly stage?: readonly string[];
  readonly environment?: string;
  readonly input?: readonly string[];
  readonly inputFile?: string;
  readonly buildId?: number;
  readonly projectId?: number;
  readonly instance?: string;
  readonly file?: string;
  readonly strictVars?: boolean;
  readonly runtime?: (typeof runtimeNames)[number];
  readonly k8sKubeconfig?: string;
  readonly k8sContext?: string;
  readonly k8sNamespace?: string;
  readonly k8sAs?: string;
  readonly k8sAsUid?: string;
  readonly k8sAsGroup?: readonly string[];
  readonly pull?: (typeof pullPolicies)[number];
  readonly resultsDir?: string;
  readonly gitignore: boolean;
  readonly gitDir: boolean;
  readonly maxParallel?: number;
  readonly timeout?: string;
  readonly grace?: string;
  readonly alwaysOnCancel?: boolean;
  readonly address?: string;
  readonly serve?: boolean;
  readonly authTokenFile?: string;
  readonly anonymousAuth?: boolean;
  readonly keep?: boolean;
  readonly quiet?: boolean;
  readonly timestamps?: boolean;
  readonly rerunFailed?: string;
  readonly dryRun?: (typeof dryRunModes)[number];
  readonly loglevel?: LogLevel;
  readonly output?: (typeof outputForms)[number];
}

export const definitionOptions: readonly OptionSpec[] = [
  { flags: "-e, --environment <name>", summary: "select an environment of the definition" },
  { flags: "-i, --input <name=value>", summary: "set an input; may be repeated", repeatable: true },
  { flags: "--build-id <number>", summary: "the variable BUILD_REF", integer: true },
  { flags: "--project-id <number>", summary: "the variable PROJECT_ID", integer: true },
  { flags: "--file <file>", summary: "a definition of another name than .wharf-ci.yml" },
  { flags: "--strict-vars", summary: "variables that nobody has set are errors" },
];

export const selectionOptions: readonly OptionSpec[] = [
  { flags: "-s, --stage <names>", summary: "only these stages, separated by commas", repeatable: true },
  { flags: "--input-file <file>", summary: "inputs as a map in YAML or JSON" },
];

export const stepClusterOptions: readonly OptionSpec[] = [
  { flags: "--k8s-kubeconfig <file>", summary: "of the cluster that steps run in as Pods" },
  { flags: "--k8s-context <name>", summary: "of the kubeconfig" },
  { flags: "--k8s-namespace <name>", summary: "where Pods are made (default: that of the context)" },
  { flags: "--k8s-as <user>", summary: "act as somebody else in the cluster" },
  { flags: "--k8s-as-uid <uid>", summary: "the uid of that user" },
  { flags: "--k8s-as-group <group>", summary: "a group of that user; may be repeated", repeatable: true },
];

export const loglevelOption = (summary: string): OptionSpec => ({
  flags: "-l, --loglevel <level>",
  summary,
  choices: logLevels,
});

export const wharfRunOptions: readonly OptionSpec[] = [
  ...selectionOptions,
  { flags: "--instance <id>", summary: "whose secrets and labels are meant (default: local)" },
  { flags: "--results-dir <directory>", summary: "where logs, statuses and artifacts are left" },
  { flags: "--no-gitignore", summary: "steps get files that Git ignores, too" },
  { flags: "--no-git-dir", summary: "steps get no .git" },
  {
    flags: "--pull <policy>",
    summary: "when images are fetched (default: missing, in Pods as steps say)",
    choices: pullPolicies,
  },
  ...stepClusterOptions,
  { flags: "--max-parallel <number>", summary: "steps of a stage that run at once", integer: true },
  { flags: "--timeout <duration>", summary: "for the whole build" },
  { flags: "--grace <duration>", summary: "what a cancelled step has to end politely (default: 10s)" },
  { flags: "--always-on-cancel", summary: "stages that always run do so after a cancel, too" },
  loglevelOption("how much is told beside the output of steps (default: info)"),
  { flags: "--serve", summary: "serve the results over REST and gRPC, after the build until a signal" },
  { flags: "--address <host:port>", summary: "where to serve them (default: 127.0.0.1:5010)" },
  { flags: "--auth-token-file <file>", summary: "bearer token that clients must present (default: a random one)" },
  { flags: "--anonymous-auth", summary: "serve clients without credentials, too" },
  { flags: "--rerun-failed <build>", summary: "what has not succeeded in a former build, by its number or as last" },
  { flags: "--keep", summary: "what failed steps have worked in stays" },
  { flags: "--quiet", summary: "only the last block" },
  { flags: "--timestamps", summary: "each line with its time" },
];

export const outputForms = ["auto", "pretty", "plain", "json"] as const;

const dryRunModes = ["none", "client", "server"] as const;

export const dryRunOption = (summary: string): OptionSpec => ({
  flags: "--dry-run [mode]",
  summary,
  choices: dryRunModes,
  preset: "client",
});

export const runtimeNames = ["docker", "kubernetes", "host"] as const;

export function onePath(words: readonly string[]): string | undefined {
  if (words.length > 1) throw new UsageError(`expected one path, found ${words.length}`);
  return words[0];
}
