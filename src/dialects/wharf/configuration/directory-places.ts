import { createReporter, type Reporter } from "../definition/diagnostics.ts";
import type { Configuration, Key } from "./keys.ts";
import type { Layer } from "./layer.ts";

/** Settings that let others in. */
const entries: readonly Key[] = [
  "api.http.bindAddress",
  "api.http.cors.allowAllOrigins",
  "api.http.cors.allowOrigins",
  "provisioner.http.bindAddress",
  "provisioner.http.cors.allowAllOrigins",
  "provisioner.http.cors.allowOrigins",
];

const letsIn = (value: Configuration[Key]): boolean =>
  value !== undefined && value !== false && value !== "off" && !(Array.isArray(value) && value.length === 0);

function foreignOf({ file, configuration }: Layer, reporter: Reporter): ReadonlySet<string> {
  const foreign = new Set<Key>();
  const warn = (key: Key, code: string, message: string, option = ""): void => {
    foreign.add(key);
    const hint = `${option}set it in the file of the user, or name that file in WHARF_CONFIG`;
    reporter.warn({ scope: key }, code, message, { hint });
  };
  const theirs = "may be somebody else's, and does not choose";
  if (configuration["worker.runtime"] === "host")
    warn(
      "worker.runtime",
      "host-place",
      `${file} ${theirs} that steps run unconfined on this machine`,
      "say --runtime host, ",
    );
  for (const key of entries)
    if (letsIn(configuration[key])) warn(key, "entry-place", `${file} ${theirs} who reaches a server of this machine`);
  if (configuration["provisioner.allowLocalRepos"] === true)
    warn(
      "provisioner.allowLocalRepos",
      "entry-place",
      `${file} ${theirs} that repositories of this machine can be cloned`,
    );
  return foreign;
}

/**
 * The layer without settings that a directory, possibly a stranger's repository, must not choose: running commands
 * unconfined on the host and opening servers to others. Only options, the user's file or WHARF_CONFIG may do that.
 */
export function withoutForeign(layer: Layer): Layer {
  if (layer.isOfDirectory !== true) return layer;
  const reporter = createReporter(layer.file);
  const foreign = foreignOf(layer, reporter);
  if (foreign.size === 0) return layer;
  const kept = Object.entries(layer.configuration).filter(([key]) => !foreign.has(key));
  return {
    ...layer,
    configuration: Object.fromEntries(kept) as Configuration,
    diagnostics: [...layer.diagnostics, ...reporter.diagnostics()],
  };
}
