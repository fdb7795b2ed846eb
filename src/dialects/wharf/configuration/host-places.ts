import { createReporter } from "../definition/diagnostics.ts";
import type { Layer } from "./layer.ts";

/**
 * The same layer without the runtime `host` where it is a directory's: that may be a stranger's repository, which does not decide that its commands
 * run unconfined on the machine of whoever builds it. Somebody has to say so: an option, their own file, or `WHARF_CONFIG`.
 */
export function withoutHost(layer: Layer): Layer {
  const { "worker.runtime": runtime, ...configuration } = layer.configuration;
  if (layer.isOfDirectory !== true || runtime !== "host") return layer;
  const reporter = createReporter(layer.file);
  const message = `${layer.file} may be somebody else's, and does not choose that steps run unconfined on this machine`;
  const hint = "say --runtime host, set it in the file of the user, or name that file in WHARF_CONFIG";
  reporter.warn({ scope: "worker.runtime" }, "host-place", message, { hint });
  return { ...layer, configuration, diagnostics: [...layer.diagnostics, ...reporter.diagnostics()] };
}
