// Two commands run builds, `run` and `wharf run`, and one more reads their definitions: what they have in common is said once. Only data, because it
// is loaded with every command.

import { type OptionSpec, UsageError } from "#kernel/command/index.ts";
import { type LogLevel, logLevels } from "./own-log.ts";

/** When an image is fetched: for each build, when the engine does not have it, or not at all. */
const pullPolicies = ["always", "missing", "never"] as const;

/** What `slipway run` and `slipway wharf run` are told of a build. Absent flags were not given. */
export interface WharfRunOptions {
  /** Words that each may be several names. */
  readonly stage?: readonly string[];
  readonly environment?: string;
  readonly input?: readonly string[];
  /** A map of inputs, for what must not stand on a command line. */
  readonly inputFile?: string;
  readonly buildId?: number;
  readonly projectId?: number;
  /** Part of the names of secrets, and of labels. */
  readonly instance?: string;
  readonly file?: string;
  readonly strictVars?: boolean;
  readonly runtime?: (typeof runtimeNames)[number];
  /** Of the cluster that Pods of steps are made in; relative to the working directory. */
  readonly k8sKubeconfig?: string;
  /** Of that kubeconfig; its current one when absent. */
  readonly k8sContext?: string;
  /** Where in the cluster; that of the context when absent. */
  readonly k8sNamespace?: string;
  /** Somebody else, for whom the account of the kubeconfig may act. */
  readonly k8sAs?: string;
  /** Of that user, as the two are for kubectl. */
  readonly k8sAsUid?: string;
  readonly k8sAsGroup?: readonly string[];
  /** When images of steps are fetched. */
  readonly pull?: (typeof pullPolicies)[number];
  /** Relative to the working directory. */
  readonly resultsDir?: string;
  /** False: steps get what Git ignores, too. */
  readonly gitignore: boolean;
  /** False: steps get no `.git`. */
  readonly gitDir: boolean;
  readonly maxParallel?: number;
  /** As Go writes durations, of the whole build. */
  readonly timeout?: string;
  /** The same, between SIGTERM and SIGKILL. */
  readonly grace?: string;
  readonly alwaysOnCancel?: boolean;
  /** `host:port` of the results, for `--serve`. */
  readonly address?: string;
  readonly serve?: boolean;
  readonly authTokenFile?: string;
  readonly anonymousAuth?: boolean;
  /** For looking into what went wrong. */
  readonly keep?: boolean;
  /** Only the last block is printed. */
  readonly quiet?: boolean;
  readonly timestamps?: boolean;
  /** A former build, of which only what has not succeeded is run. */
  readonly rerunFailed?: string;
  /** Only the plan is printed; of a server also what this machine has for it. */
  readonly dryRun?: (typeof dryRunModes)[number];
  readonly loglevel?: LogLevel;
  /** `auto` is pretty on a terminal, else plain. */
  readonly output?: (typeof outputForms)[number];
}

/** Options that say which build is meant, for everything that reads a definition. */
export const definitionOptions: readonly OptionSpec[] = [
  { flags: "-e, --environment <name>", summary: "select an environment of the definition" },
  { flags: "-i, --input <name=value>", summary: "set an input; may be repeated", repeatable: true },
  { flags: "--build-id <number>", summary: "the variable BUILD_REF", integer: true },
  { flags: "--project-id <number>", summary: "the variable PROJECT_ID", integer: true },
  { flags: "--file <file>", summary: "a definition of another name than .wharf-ci.yml" },
  { flags: "--strict-vars", summary: "variables that nobody has set are errors" },
];

/** Which part of a definition is meant, and where inputs are that nobody types; for those that read one, too. */
export const selectionOptions: readonly OptionSpec[] = [
  { flags: "-s, --stage <names>", summary: "only these stages, separated by commas", repeatable: true },
  { flags: "--input-file <file>", summary: "inputs as a map in YAML or JSON" },
];

/** The cluster in which steps are Pods. */
export const stepClusterOptions: readonly OptionSpec[] = [
  { flags: "--k8s-kubeconfig <file>", summary: "of the cluster that steps run in as Pods" },
  { flags: "--k8s-context <name>", summary: "of the kubeconfig" },
  { flags: "--k8s-namespace <name>", summary: "where Pods are made (default: that of the context)" },
  { flags: "--k8s-as <user>", summary: "act as somebody else in the cluster" },
  { flags: "--k8s-as-uid <uid>", summary: "the uid of that user" },
  { flags: "--k8s-as-group <group>", summary: "a group of that user; may be repeated", repeatable: true },
];

/** How much everything of Wharf says on stderr. */
export const loglevelOption = (summary: string): OptionSpec => ({
  flags: "-l, --loglevel <level>",
  summary,
  choices: logLevels,
});

/** Those that only builds have; what they are of is said by `definitionOptions`. */
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

/** How what happens is shown. */
export const outputForms = ["auto", "pretty", "plain", "json"] as const;

/** How far a build is tried out: not at all, its plan alone, or also against what would run it. */
const dryRunModes = ["none", "client", "server"] as const;

/** The option of both commands; of documents there is one way to be tried out. */
export const dryRunOption = (summary: string): OptionSpec => ({
  flags: "--dry-run [mode]",
  summary,
  choices: dryRunModes,
  preset: "client",
});

/** Where steps run. */
export const runtimeNames = ["docker", "kubernetes", "host"] as const;

/** The path of a command line that takes one at most. */
export function onePath(words: readonly string[]): string | undefined {
  if (words.length > 1) throw new UsageError(`expected one path, found ${words.length}`);
  return words[0];
}
