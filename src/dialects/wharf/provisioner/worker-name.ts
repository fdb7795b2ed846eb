import type { Random } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";

const prefix = "wharf-cmd-worker";

/** Keeps the whole name within a label. */
const longestInstance = 28;

const letters = "abcdefghijkmnpqrstuvwxyz23456789";

/** Derived from the build, so that repeated requests find the same worker; random for build 0. */
export function workerName(instance: string, buildRef: number, random: Random): string {
  const own =
    buildRef > 0
      ? `${buildRef}`
      : `x${Array.from({ length: 10 }, () => letters[Math.floor(random() * letters.length)]).join("")}`;
  return `${prefix}-${asName(instance)}-${own}`;
}

/** A changed name gets a hash: instances must not share workers. */
function asName(instance: string): string {
  const name = instance.toLowerCase().replace(/[^a-z0-9-]/g, "-");
  if (name === instance && name.length <= longestInstance) return name;
  return `${name.slice(0, longestInstance - 9).replace(/-+$/, "")}-${hashName([instance], 8)}`;
}
