import type { Random } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";

/** Every worker is called so; what stands behind it tells them apart. */
const prefix = "wharf-cmd-worker";

/** Of the instance in a name; the whole is to fit into a label, numbers of 16 digits included. */
const longestInstance = 28;

const letters = "abcdefghijkmnpqrstuvwxyz23456789";

/**
 * The name of a worker, and of everything that is made for it. It follows from the build, so that who asks twice finds the first one; for build 0
 * it is a new one every time.
 */
export function workerName(instance: string, buildRef: number, random: Random): string {
  const own =
    buildRef > 0
      ? `${buildRef}`
      : `x${Array.from({ length: 10 }, () => letters[Math.floor(random() * letters.length)]).join("")}`;
  return `${prefix}-${asName(instance)}-${own}`;
}

/** In lower case, as names of Kubernetes are. What had to be changed has a hash behind it: two instances must not share workers. */
function asName(instance: string): string {
  const name = instance.toLowerCase().replace(/[^a-z0-9-]/g, "-");
  if (name === instance && name.length <= longestInstance) return name;
  return `${name.slice(0, longestInstance - 9).replace(/-+$/, "")}-${hashName([instance], 8)}`;
}
