import { createReporter, type Reporter } from "../definition/diagnostics.ts";
import type { Configuration, Key } from "./keys.ts";
import type { Layer } from "./layer.ts";

/** Who else gets in: addresses that servers listen at, and pages of browsers that may ask them. */
const entries: readonly Key[] = [
  "api.http.bindAddress",
  "api.http.cors.allowAllOrigins",
  "api.http.cors.allowOrigins",
  "provisioner.http.bindAddress",
  "provisioner.http.cors.allowAllOrigins",
  "provisioner.http.cors.allowOrigins",
];

/** What only takes away is as good from anybody. */
const letsIn = (value: Configuration[Key]): boolean =>
  value !== undefined && value !== false && value !== "off" && !(Array.isArray(value) && value.length === 0);

/** What the file of a directory may not choose. */
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
 * The same layer without what a directory's is not to choose: that may be a stranger's repository, which decides neither that its commands run
 * unconfined on the machine of whoever builds it, nor who else is let in there. Somebody has to say so: an option, their own file, or `WHARF_CONFIG`.
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
