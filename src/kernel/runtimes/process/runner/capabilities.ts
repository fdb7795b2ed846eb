import type { RuntimeCapabilities } from "../../contract.ts";
import { findNamespaceTools, type NamespaceTools } from "./host-command.ts";

/** Looks for the tools once, on first use. */
export function onceFoundTools(): () => Promise<NamespaceTools | string> {
  let found: Promise<NamespaceTools | string> | undefined;
  return () => (found ??= findNamespaceTools());
}

/** What host processes can be given; `tools` from `findNamespaceTools`. Never images or limits. */
export const capabilitiesWith = (tools: NamespaceTools | string): RuntimeCapabilities => ({
  images: false,
  mounts: typeof tools === "string" ? { supported: false, reason: tools } : { supported: true },
  users: process.getuid?.() === 0,
  limits: false,
});
