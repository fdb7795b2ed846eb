import { isIP } from "node:net";
import { err, ok, type Result } from "#lib/base/index.ts";
import {
  OptionReader,
  type OptionSources,
  type OptionSpec,
  prefixedFlag,
  prefixedOption,
} from "#kernel/command/index.ts";
import type { ServerOptions } from "#kernel/dialect/index.ts";
import type { GivenSettings } from "./settings.ts";

export interface VelaOptions {
  readonly settings?: GivenSettings;
}

const heading = "Applications:";
const option = prefixedOption("vela", heading);
const flag = prefixedFlag("vela", heading);

/** Each has a variable: `--vela-revision-limit` is `SLIPWAY_VELA_REVISION_LIMIT`. */
export const velaOptions: readonly OptionSpec[] = [
  option("max-wait-backoff", "time", "longest delay while steps wait (default: 60s)"),
  option("max-failed-backoff", "time", "longest delay while a step is failed (default: 5m)"),
  option("max-error-retries", "n", "retries after the first failure of a step (default: 10)"),
  flag("suspend-on-failure", "suspend, not terminate, when retries are used up"),
  option("output-wait-timeout", "time", "longest wait for a missing output (default: 10m)"),
  option("default-step-timeout", "time", "timeout of steps without one; 0 is none (default: 0)"),
  option("revision-limit", "n", "revisions kept of each application (default: 10)"),
  option("definition-revision-limit", "n", "revisions kept of each definition (default: 20)"),
  option("cue-eval-timeout", "time", "longest evaluation of a CUE template (default: 2s)"),
  option("egress-deny", "cidrs", "networks that steps must not reach (default: cloud metadata)"),
  flag("forbid-cross-namespace", "refuse objects outside the application's namespace"),
  option("system-namespace", "name", "namespace of shared definitions (default: vela-system)"),
  option("local-roots", "dirs", "directories for templates and repositories (default: none)"),
  flag("allow-exec", "let steps of type vela-cli and exec start programs on this machine"),
  option("resync", "time", "interval between checks of idle applications (default: 5m)"),
];

const isCount = (value: number): boolean => Number.isInteger(value) && value > 0;

/** The options that are set, or every problem with them. */
export function readVelaOptions(sources: OptionSources): Result<VelaOptions, readonly string[]> {
  const reader = new OptionReader("vela", sources);
  const count = (name: string) => reader.number(name, "a whole number above 0", isCount);
  const settings: GivenSettings = {
    maxWaitBackoff: reader.duration("max-wait-backoff"),
    maxFailedBackoff: reader.duration("max-failed-backoff"),
    maxErrorRetries: reader.number("max-error-retries", "a whole number", Number.isInteger),
    suspendOnFailure: reader.flag("suspend-on-failure"),
    outputWaitTimeout: reader.duration("output-wait-timeout"),
    defaultStepTimeout: reader.duration("default-step-timeout", "zero"),
    revisionLimit: count("revision-limit"),
    definitionRevisionLimit: count("definition-revision-limit"),
    cueEvalTimeout: reader.duration("cue-eval-timeout"),
    egressDeny: readNetworks(reader),
    allowCrossNamespace: !reader.flag("forbid-cross-namespace"),
    systemDefinitionNamespace: readNamespace(reader),
    localRoots: readRoots(reader),
    allowExec: reader.flag("allow-exec"),
    resync: readResync(reader),
  };
  return reader.problems.length > 0 ? err(reader.problems) : ok({ settings });
}

/** `10.0.0.0/8,fe80::/10`; `none` denies nothing. */
function readNetworks(reader: OptionReader): readonly string[] | undefined {
  const text = reader.text("egress-deny");
  if (text === undefined) return undefined;
  if (text === "none") return [];
  const networks = text.split(",").map((network) => network.trim());
  const wrong = networks.find((network) => !isNetwork(network));
  if (wrong !== undefined)
    reader.problem("egress-deny", `expected networks such as 10.0.0.0/8, found ${JSON.stringify(wrong)}`);
  return networks;
}

function isNetwork(text: string): boolean {
  const [address = "", bits = "", ...rest] = text.split("/");
  const family = isIP(address);
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function readNamespace(reader: OptionReader): string | undefined {
  const name = "system-namespace";
  const text = reader.text(name);
  if (text !== undefined && !/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    reader.problem(name, `expected the name of a namespace, found ${JSON.stringify(text)}`);
  return text;
}

/** Absolute, separated by commas. */
function readRoots(reader: OptionReader): readonly string[] | undefined {
  const text = reader.text("local-roots");
  if (text === undefined) return undefined;
  const roots = text.split(",").map((root) => root.trim());
  const wrong = roots.find((root) => !root.startsWith("/"));
  if (wrong !== undefined)
    reader.problem("local-roots", `expected absolute directories, found ${JSON.stringify(wrong)}`);
  return roots;
}

const shortestResync = 10_000;

function readResync(reader: OptionReader): number | undefined {
  const time = reader.duration("resync");
  if (time !== undefined && time < shortestResync) reader.problem("resync", "expected at least 10s");
  return time;
}

export const serverOptions: ServerOptions = {
  specs: velaOptions,
  read: (sources) => Promise.resolve(readVelaOptions(sources)),
};
