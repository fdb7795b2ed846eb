import type { RuntimeCapabilities } from "../../contract.ts";
import { findNamespaceTools, type NamespaceTools } from "./host-command.ts";

/** Looks for the tools of mounts when they are first asked for, and once: what is installed later is seen by the next process. */
export function onceFoundTools(): () => Promise<NamespaceTools | string> {
  let found: Promise<NamespaceTools | string> | undefined;
  return () => (found ??= findNamespaceTools());
}

/**
 * What host processes can be given here; `tools` as `findNamespaceTools` found them. Images and limits are never among it: a
 * process without a container around it has the machine's own files and as much of it as it takes.
 */
export const capabilitiesWith = (tools: NamespaceTools | string): RuntimeCapabilities => ({
  images: false,
  mounts: typeof tools === "string" ? { supported: false, reason: tools } : { supported: true },
  users: process.getuid?.() === 0,
  limits: false,
});
