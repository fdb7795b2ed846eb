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
  { flags: "--build-id <number>", summary: "build number, the variable BUILD_REF", integer: true },
  { flags: "--project-id <number>", summary: "project number, the variable PROJECT_ID", integer: true },
  { flags: "--file <file>", summary: "definition file (default: .wharf-ci.yml)" },
  { flags: "--strict-vars", summary: "fail if a variable is not set" },
];

export const selectionOptions: readonly OptionSpec[] = [
  { flags: "-s, --stage <names>", summary: "run only these stages, comma-separated", repeatable: true },
  { flags: "--input-file <file>", summary: "file with a map of inputs in YAML or JSON" },
];

export const stepClusterOptions: readonly OptionSpec[] = [
  { flags: "--k8s-kubeconfig <file>", summary: "kubeconfig of the cluster for Pods of steps" },
  { flags: "--k8s-context <name>", summary: "context of the kubeconfig" },
  { flags: "--k8s-namespace <name>", summary: "namespace of the Pods (default: the context's)" },
  { flags: "--k8s-as <user>", summary: "user to impersonate in the cluster" },
  { flags: "--k8s-as-uid <uid>", summary: "uid of the impersonated user" },
  { flags: "--k8s-as-group <group>", summary: "group of the impersonated user; may be repeated", repeatable: true },
];

export const loglevelOption = (summary: string): OptionSpec => ({
  flags: "-l, --loglevel <level>",
  summary,
  choices: logLevels,
});

export const wharfRunOptions: readonly OptionSpec[] = [
  ...selectionOptions,
  { flags: "--instance <id>", summary: "instance name in secrets and labels (default: local)" },
  { flags: "--results-dir <directory>", summary: "directory for logs, statuses and artifacts" },
  { flags: "--no-gitignore", summary: "include files that Git ignores in the steps' copies" },
  { flags: "--no-git-dir", summary: "leave .git out of the steps' copies" },
  {
    flags: "--pull <policy>",
    summary: "when to pull images (default: missing; in Pods the step's policy)",
    choices: pullPolicies,
  },
  ...stepClusterOptions,
  { flags: "--max-parallel <number>", summary: "maximum number of steps of a stage that run at once", integer: true },
  { flags: "--timeout <duration>", summary: "timeout of the whole build" },
  { flags: "--grace <duration>", summary: "time a canceled step gets before it is killed (default: 10s)" },
  { flags: "--always-on-cancel", summary: "run stages with runs-if: always even after a cancel" },
  loglevelOption("verbosity of Slipway's own messages (default: info)"),
  { flags: "--serve", summary: "serve the results over REST and gRPC until interrupted" },
  { flags: "--address <host:port>", summary: "address of --serve (default: 127.0.0.1:5010)" },
  { flags: "--auth-token-file <file>", summary: "bearer token that clients must present (default: a random one)" },
  { flags: "--anonymous-auth", summary: "also serve clients without credentials" },
  { flags: "--rerun-failed <build>", summary: "re-run steps that did not succeed in a build (number or last)" },
  { flags: "--keep", summary: "keep the working directories of failed steps" },
  { flags: "--quiet", summary: "print only the final summary" },
  { flags: "--timestamps", summary: "prefix each line with its time" },
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
